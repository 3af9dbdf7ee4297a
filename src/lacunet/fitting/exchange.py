"""One state of a hidden variable as two: which halves it would fall into, and what that gains.

The cases of one state are a small problem of their own, with two states: each row counts as much as
it belongs to the state, other hidden variables have their most probable values. A few random starts
and a few iterations of EM there cost less than one iteration of the whole.

From a maximum to a better one: two states of a hidden variable become one, another one two.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Self, TypeAlias

import numpy as np

from lacunet.fitting.ascent import em_while_fast
from lacunet.fitting.diagnose import state_sizes
from lacunet.fitting.maxima import Rank
from lacunet.fitting.objective import Estimate, Objective, Point, em, random_start
from lacunet.fitting.regroup import FEWEST, Freed, Places, ways_to_free
from lacunet.inference.classes import resizable
from lacunet.inference.problem import Problem, Weighable, thinned
from lacunet.models.network import Network
from lacunet.models.surgery import with_hidden
from lacunet.runtime.arrays import FloatArray

ROWS = 400  # rows of a state that are looked at; of more, as many at equal distances
BELONGS = 0.01  # probability above which a row is one of the state's
STARTS = 4  # random starts,
RACE = 4  # iterations of each,
FIRST_STEPS = 12  # and of the best of them
SAME = 0.02  # share of its cases by which a state may have changed, to be split as it was


@dataclass(frozen=True, eq=False)
class Split:
    """A state of a hidden variable as two."""

    h: int
    state: int
    gain: float  # nats that it promises, over a second state that stays empty
    halves: FloatArray  # (2, P) statistics of each
    whole: FloatArray  # (P,) those of the state when this was found


Splits: TypeAlias = Mapping[tuple[int, int], Split]  # by variable and state
NONE: Splits = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Halver:
    """Divides the states of one hidden variable of a problem."""

    problem: Problem
    places: Places  # of the variable
    network: Network  # in which it has two states, and is all that is hidden
    two: Places  # of the variable there
    estimate: Estimate
    rank: Rank
    seed: int

    @classmethod
    def build(cls, objective: Objective, places: Places, rank: Rank, seed: int) -> Self:
        """Make the network that the cases of any state have."""
        problem, h = objective.problem.glimpse, places.h
        wide = with_hidden(problem.network, {problem.network.variables[h].name: 2})
        variables = [replace(v, hidden=i == h) for i, v in enumerate(wide.variables)]
        network = Network.build(variables, wide.parents)
        two = Places.build(network.layout, h)
        return cls(problem, places, network, two, objective.estimate, rank, seed)

    def divide(
        self, weighable: Weighable, task: tuple[int, FloatArray]
    ) -> tuple[float, FloatArray]:
        """Fit two states to the cases of one: what it gains, and the statistics of both, (2, P).

        A task is a state, and how much of each row belongs to it.
        """
        state, weights = task
        alpha = self.places.regroup_prior(self.problem.alpha, self.two, state)
        problem = weighable(weights, alpha)
        objective = Objective.build(problem, self.estimate)
        drawn = [random_start(objective, self.seed, i) for i in range(STARTS)]
        raced = [em(objective, start, iterations=RACE) for start in drawn]
        point = em(objective, max(raced, key=lambda p: p.g), iterations=FIRST_STEPS)
        together = self.two.regroup(point.N, self.two, [[0, 1], []])
        one = objective.at(objective.maximum(together, point.theta))
        gain = self.rank.measure(objective, point) - self.rank.measure(objective, one)
        return gain, point.N[self.two.states]

    def weighable(self, shares: Mapping[int, FloatArray]) -> Weighable:
        """The rows, with the most probable values of other hidden variables among their columns."""
        codes, h = self.problem.codes, self.places.h
        seen = dict(zip(self.problem.network.observed, codes.T, strict=True))
        seen |= {v: shares[v].argmax(axis=1) for v in shares if v != h}
        return Weighable(self.network, np.column_stack([seen[v] for v in sorted(seen)]))

    def weights(self, belongs: FloatArray) -> FloatArray:
        """How much each row counts that belongs so much to a state."""
        weights = np.where(belongs > BELONGS, self.problem.counts * belongs, 0.0)
        return thinned(weights, ROWS) if np.count_nonzero(weights) > ROWS else weights


def find_splits(
    objective: Objective, point: Point, halvers: Sequence[Halver], known: Splits = NONE
) -> dict[tuple[int, int], Split]:
    """Split every state that has cases; one that is as it was when it was split is not again."""
    problem = objective.problem.glimpse
    found = {
        key: split
        for key, split in known.items()
        for halver in halvers
        if halver.places.h == split.h
        and _is_same(point.N[halver.places.states[split.state]], split.whole)
    }
    shares: dict[int, FloatArray] = {}
    for halver in halvers:
        h = halver.places.h
        full = np.flatnonzero(state_sizes(problem.layout, point.N, h) >= FEWEST).tolist()
        wanted = [s for s in full if (h, s) not in found]
        if not wanted:
            continue
        if not shares:
            posteriors = problem.about_hidden(point.theta)
            shares = dict(zip(problem.network.hidden, posteriors, strict=True))
        tasks = [(s, halver.weights(shares[h][:, s])) for s in wanted]
        divide = partial(halver.divide, halver.weighable(shares))
        for s, (gain, halves) in zip(wanted, objective.executor.map(divide, tasks), strict=True):
            found[h, s] = Split(h, s, gain, halves, point.N[halver.places.states[s]])
    return found


def _is_same(now: FloatArray, before: FloatArray) -> bool:
    return bool(np.abs(now - before).sum() <= SAME * np.abs(before).sum())


TURNS = 30  # most exchanges, one after the other
WAYS = 8  # to free a state, those that lose least, that are looked at
TRIED = 4  # exchanges that are tried in a turn, those that promise most
SHORT = 10  # iterations after which they are judged
WORTH = 0.1  # nats that an exchange must gain


@dataclass(frozen=True, eq=False)
class Exchange:
    """A state is freed, and its place taken by half of another."""

    split: Split
    freed: Freed
    promise: float  # nats

    @property
    def touched(self) -> frozenset[tuple[int, int]]:
        """The states that it changes, with their variable."""
        return frozenset((self.split.h, s) for s in (self.split.state, *self.freed.touched))


Together: TypeAlias = tuple[Exchange, ...]  # exchanges that touch different states


@dataclass(frozen=True, eq=False)
class Exchanged:
    """Where exchanges led."""

    point: Point
    made: int  # how many of them were made
    settled: bool  # whether none was left that gains anything


def exchange(objective: Objective, point: Point, rank: Rank, seed: int) -> Exchanged:
    """Exchange states as long as that makes a point better."""
    halvers = halvers_of(objective, rank, seed)
    value, splits = rank(objective, point), NONE
    for made in range(TURNS):
        splits = find_splits(objective, point, halvers, splits)
        tries = choices(objective.problem, point, halvers, splits)
        ends = objective.executor.map(partial(_tried, objective, point, rank, halvers), tries)
        reached, there = max(ends, key=lambda end: end[0], default=(value, point))
        if reached > value + WORTH:  # what is heavy on the way up may be light at the top
            there = em_while_fast(objective, there).point
            reached = rank(objective, there)
        if reached <= value + WORTH:
            return Exchanged(point, made, settled=True)
        value, point = reached, there
    return Exchanged(point, TURNS, settled=False)


def halvers_of(objective: Objective, rank: Rank, seed: int) -> list[Halver]:
    """Make one for each hidden variable that the data tell something of, and no known table."""
    problem, members = objective.problem, objective.problem.components.members
    told = [h for h in problem.network.hidden if h in members and resizable(problem.network, h)]
    places = [Places.build(problem.layout, h) for h in told]
    return [Halver.build(objective, one, rank, seed) for one in places]


def choices(
    problem: Problem, point: Point, halvers: Sequence[Halver], splits: Splits
) -> list[Together]:
    """The exchanges that promise most: all that do not touch each other together, and each."""
    found: list[Exchange] = []
    for halver in halvers:
        ways = ways_to_free(problem, point.N, halver.places)
        mine = [split for split in splits.values() if split.h == halver.places.h]
        for split in mine:
            found += _for_split(split, ways)
    found.sort(key=lambda e: -e.promise)
    best: dict[tuple[int, int], Exchange] = {}  # for each state that may be split
    for e in found:
        best.setdefault((e.split.h, e.split.state), e)
    tries: list[Together] = [(e,) for e in list(best.values())[:TRIED]]
    joint = _apart(found)
    return [joint, *tries] if len(joint) > 1 else tries


def _for_split(split: Split, ways: Sequence[Freed]) -> list[Exchange]:
    apart = islice((way for way in ways if split.state not in way.touched), WAYS)
    return [Exchange(split, way, split.gain - way.loss) for way in apart]


def _apart(ranked: Sequence[Exchange]) -> Together:
    """Take one after the other of those that promise a gain and touch nothing touched before."""
    chosen: list[Exchange] = []
    touched: frozenset[tuple[int, int]] = frozenset()
    for e in ranked:
        if e.promise > 0 and not e.touched & touched:
            chosen.append(e)
            touched |= e.touched
    return tuple(chosen)


def _tried(
    objective: Objective,
    point: Point,
    rank: Rank,
    halvers: Sequence[Halver],
    together: Together,
) -> tuple[float, Point]:
    """Make exchanges and climb a little: the value there."""
    N, states = point.N.copy(), {x.places.h: x.places.states for x in halvers}
    for e in together:
        of = states[e.split.h]
        if e.freed.a is not None:
            N[of[e.freed.a]] += N[of[e.freed.b]]
        N[of[e.split.state]], N[of[e.freed.b]] = e.split.halves
    there = em(objective, objective.best_for(N), iterations=SHORT)
    return rank(objective, there), there
