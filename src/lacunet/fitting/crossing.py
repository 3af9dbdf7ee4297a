"""From two maxima a better one: what both tell apart stays apart, until it pays to be one again.

Each of two climbs found some groups of cases and put others together, and seldom the same ones. So
cases are divided as both divide them, which gives more clusters than there are states, and clusters
are merged as rows are (`agglomerate.py`) until there are as many as states: what only one of the
two had found is kept if it is worth its mass. A few iterations of EM follow. (Crossing partitions
and merging them is the idea of Côme, Jouvin, Latouche & Bouveyron 2021.)

Many points are crossed in rounds: all are paired at random, and what two points give takes the
place of the worse one if it is better. A climb need not be finished to be crossed.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self, TypeAlias

import numpy as np

from lacunet.fitting.agglomerate import CASES, ROWS, Around
from lacunet.fitting.maxima import Rank
from lacunet.fitting.objective import Objective, Point, em
from lacunet.fitting.regroup import Places, Rows, count_families, statistics_around
from lacunet.inference.classes import resizable
from lacunet.inference.kernels.merging import SparseRows, add_up
from lacunet.inference.problem import Problem, at_equal_distances
from lacunet.models import conjugacy
from lacunet.models.network import Network
from lacunet.runtime.arrays import FloatArray, IntArray

ROUNDS = 20  # most rounds,
PATIENCE = 2  # and rounds in a row that bring nothing better, before they end
SHORT = 8  # iterations after which what two points give is judged
WORTH = 0.1  # nats that a round must gain
SAME = 0.002  # share of the cases that two points may divide differently, to be the same
CLUSTERS = 400, 3  # most clusters to be merged: so many, or so many for each state
NUMBERS = 20_000_000  # most numbers that rows and the places where they are counted may have
CHILD = 3 << 30  # child seeds of the rounds begin here: walks and starts have those below


@dataclass(frozen=True, eq=False)
class Line:
    """A point, and how it divides the cases."""

    point: Point
    value: float  # by a rank
    states: IntArray  # (hidden variables that are crossed, rows) the most probable ones


Pair: TypeAlias = tuple[Line, Line]


@dataclass(frozen=True, eq=False)
class Crosser:
    """Crosses points of one objective."""

    objective: Objective
    rank: Rank
    problem: Problem  # a glimpse of many rows
    variables: tuple[int, ...]  # hidden ones that the data tell something of, with no known table
    taken: IntArray  # (m,) rows of it
    rows: Rows  # the same, nothing hidden known

    @classmethod
    def build(cls, objective: Objective, rank: Rank) -> Self:
        """Take as many cases as there is room for, at equal distances."""
        problem = objective.problem.glimpse
        network, members = problem.network, problem.components.members
        told = tuple(h for h in network.hidden if h in members and resizable(network, h))
        room = min(CASES, max(ROWS, NUMBERS // max(_places(network, h) for h in told or (0,))))
        cases = min(max(round(problem.cases), len(problem.counts)), room)
        taken, weights = at_equal_distances(problem.counts, cases)
        codes = np.full((len(taken), len(network.variables)), -1, dtype=np.int64)
        codes[:, list(network.observed)] = problem.codes[taken]
        return cls(objective, rank, problem, told, taken, Rows(codes, weights))

    def line(self, point: Point) -> Line:
        """See what a point is worth, and how it divides the cases."""
        states = self.states(self.problem, point)
        return Line(point, self.rank(self.objective, point), states)

    def states(self, problem: Problem, point: Point) -> IntArray:
        """Most probable states of the rows, (variables, m), as a problem with these rows has it."""
        posteriors = problem.glimpse.about_hidden(point.theta)
        shares = dict(zip(problem.network.hidden, posteriors, strict=True))
        return np.array([shares[h].argmax(axis=1)[self.taken] for h in self.variables])

    def cross(self, pair: Pair) -> Line | None:
        """Give what two points make together; None where they are the same."""
        if all(self._alike(*states) for states in zip(*(p.states for p in pair), strict=True)):
            return None
        N = self.statistics(*(line.states for line in pair))
        start = conjugacy.mean(self._softening + N, self.problem.layout)
        return self.line(em(self.objective, self.objective.at(start), iterations=SHORT))

    @cached_property
    def _softening(self) -> FloatArray:
        """What statistics of divided cases get, so that EM can still move cases: (size,).

        One case for each distribution of a table. Without it what no case of a state shows is
        nearly impossible there; with a whole case for each of many cells states are blurred.
        """
        layout, alpha = self.problem.layout, self.problem.alpha
        cells = np.array([len(v.states) for v in self.problem.network.variables])[layout.owner]
        return np.where(layout.in_tables, np.minimum(alpha, 1.0 / cells), alpha)

    def _alike(self, one: IntArray, other: IntArray) -> bool:
        """Whether nearly all cases of a state of either have one state of the other."""
        weights, shape = self.rows.weights, (int(one.max()) + 1, int(other.max()) + 1)
        together = np.bincount(_by_both(one, other), weights, math.prod(shape)).reshape(shape)
        kept = min(together.max(axis=axis).sum() for axis in (0, 1))
        return bool(kept >= (1.0 - SAME) * weights.sum())

    def statistics(self, one: IntArray, other: IntArray) -> FloatArray:
        """Divide cases by states of two points and merge them: statistics of that, (size,).

        The second may be of the same network with other numbers of hidden states.
        """
        of_all = self.problem.cases / float(self.rows.weights.sum())
        if len(self.variables) == 1:
            return of_all * self._alone.statistics(self._clusters(one[0], other[0]))
        # Each is merged given the others, which begin with the states of the first point.
        codes = self.rows.codes.copy()
        codes[:, list(self.variables)] = one.T
        rows = Rows(codes, self.rows.weights)
        for h, mine, theirs in zip(self.variables, one, other, strict=True):
            codes[:, h] = Around.of(self.problem, rows, h).merged(self._clusters(mine, theirs))
        return of_all * count_families(self.problem.network, rows)

    def _clusters(self, one: IntArray, other: IntArray) -> IntArray:
        """Number clusters of rows that have the same states of both; small ones too many are none.

        Their rows go to the largest cluster with the same state of the first.
        """
        cluster = _by_both(one, other)
        size = np.bincount(cluster, self.rows.weights)
        fixed, each = CLUSTERS
        most = max(fixed, each * (int(one.max()) + 1))
        if np.count_nonzero(size) <= most:
            return cluster
        wide = int(other.max()) + 1
        by_state = np.append(size, np.zeros(-len(size) % wide)).reshape(-1, wide)
        largest = by_state.argmax(axis=1) + wide * np.arange(len(by_state))
        small = size < np.partition(size, -most)[-most]
        return np.where(small[cluster], largest[one], cluster)

    @cached_property
    def _alone(self) -> "Alone":
        return Alone.of(self.problem, self.rows, self.variables[0])


@dataclass(frozen=True, eq=False)
class Alone:
    """A hidden variable around which nothing changes, whatever is crossed: looked at once."""

    around: Around
    places: Places
    own: SparseRows  # (m, P) what each row adds to its state
    others: FloatArray  # (size,) statistics of all other families

    @classmethod
    def of(cls, problem: Problem, rows: Rows, h: int) -> Self:
        """Look at rows of which all but h is as it is."""
        places, network = Places.build(problem.layout, h), problem.network
        own, others = statistics_around(network, rows, places), count_families(network, rows)
        return cls(Around.of(problem, rows, h), places, own, others)

    def statistics(self, together: IntArray) -> FloatArray:
        """Merge clusters of rows, and count what that gives."""
        N, mine = self.others.copy(), np.zeros(self.places.states.shape)
        add_up(self.own, self.around.merged(together), mine)
        N[self.places.states] = mine
        return N


def _places(network: Network, h: int) -> int:
    """Count the places at which rows may be counted around a hidden variable."""
    layout = network.layout
    around = (family for family in layout.families if h in family)
    return sum(math.prod(layout.cards[v] for v in family if v != h) for family in around)


def _by_both(one: IntArray, other: IntArray) -> IntArray:
    """Number clusters of rows that have the same states of two points."""
    return one * (int(other.max(initial=0)) + 1) + other


def cross_all(crosser: Crosser, lines: Sequence[Line], seed: int, part: int) -> list[Line]:
    """Cross points as long as that brings better ones, the best first."""
    lines, in_vain = list(lines), 0
    rng = np.random.default_rng([seed, crosser.problem.layout.size, CHILD + part])
    for _ in range(ROUNDS):
        best = max(line.value for line in lines)
        pairs = list(_pairs(len(lines), rng))
        given = [(lines[a], lines[b]) for a, b in pairs]
        children = crosser.objective.executor.map(crosser.cross, given)
        for (a, b), child in zip(pairs, children, strict=True):
            worse = a if lines[a].value < lines[b].value else b
            if child is not None and child.value > lines[worse].value:
                lines[worse] = child
        gained = max(line.value for line in lines) > best + WORTH
        in_vain = 0 if gained else in_vain + 1
        if in_vain == PATIENCE:
            break
    return sorted(lines, key=lambda line: -line.value)


def _pairs(number: int, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    order = rng.permutation(number).tolist()
    yield from zip(order[::2], order[1::2], strict=False)
