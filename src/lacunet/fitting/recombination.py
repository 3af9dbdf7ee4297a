"""Recombination of local optima (Côme, Jouvin, Latouche & Bouveyron 2021).

Two optima usually separate different groups of cases. The intersection of their partitions has more
clusters than there are states. These are merged to as many as states (`agglomerate.py`), so a group
that only one parent separates survives if it raises log BD. A few EM iterations follow. A
population is recombined in rounds: individuals are paired at random, and a child replaces its worse
parent if it is better. Individuals need not have converged.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from lacunet.fitting.agglomerate import (
    CASES,
    ROWS,
    LabelledRows,
    RowClustering,
    count_families,
    labelled_rows,
    statistics_around,
)
from lacunet.fitting.maxima import Rank
from lacunet.fitting.objective import Objective, Point, em
from lacunet.fitting.split_merge import StateBlocks, resizable_hidden
from lacunet.inference.kernels.merging import SparseRows, add_up
from lacunet.inference.problem import Problem, at_equal_distances
from lacunet.models import conjugacy
from lacunet.models.network import Network
from lacunet.runtime.arrays import FloatArray, IntArray

ROUNDS = 20  # most rounds
PATIENCE = 2  # rounds in a row without gain before recombination ends
SHORT = 8  # EM iterations before a child is evaluated
WORTH = 0.1  # least gain of a round, in nats
SAME = 0.002  # share of cases in different groups up to which two partitions are equal
CLUSTERS = 400, 3  # most clusters to merge: in total, or per state
NUMBERS = 20_000_000  # most entries of the matrix of rows and counts
CHILD = 3 << 30  # first child seed of the rounds; other starts use smaller ones


@dataclass(frozen=True, eq=False)
class Individual:
    """A point, and its partition of the cases."""

    point: Point
    value: float  # by a rank
    states: IntArray  # (variables, rows) most probable states


@dataclass(frozen=True, eq=False)
class Recombiner:
    """Recombines points of one objective."""

    objective: Objective
    rank: Rank
    problem: Problem  # thinned if it has many rows
    variables: tuple[int, ...]  # hidden variables to recombine
    taken: IntArray  # (m,) indices of the rows used
    rows: LabelledRows  # the same rows, with unknown hidden variables

    @classmethod
    def build(cls, objective: Objective, rank: Rank) -> Self:
        """Select as many cases as fit, at equal distances."""
        problem = objective.problem.glimpse
        variables = resizable_hidden(problem)
        widest = max(_places(problem.network, h) for h in variables or (0,))
        room = min(CASES, max(ROWS, NUMBERS // widest))
        cases = min(max(round(problem.cases), len(problem.counts)), room)
        taken, weights = at_equal_distances(problem.counts, cases)
        rows = labelled_rows(problem, taken, weights)
        return cls(objective, rank, problem, variables, taken, rows)

    def individual(self, point: Point) -> Individual:
        """Evaluate a point, and compute its partition."""
        states = self.states(self.problem, point)
        return Individual(point, self.rank(self.objective, point), states)

    def states(self, problem: Problem, point: Point) -> IntArray:
        """Compute the most probable states, (variables, m), in a problem with the same rows."""
        posteriors = problem.glimpse.about_hidden(point.theta)
        of = dict(zip(problem.network.hidden, posteriors, strict=True))
        return np.array([of[h].argmax(axis=1)[self.taken] for h in self.variables])

    def recombine(self, pair: tuple[Individual, Individual]) -> Individual | None:
        """Make the child of two points; None if their partitions are equal."""
        if all(self._alike(*states) for states in zip(*(p.states for p in pair), strict=True)):
            return None
        N = self.statistics(*(parent.states for parent in pair))
        start = conjugacy.mean(self._pseudo_counts + N, self.problem.layout)
        return self.individual(em(self.objective, self.objective.at(start), iterations=SHORT))

    @cached_property
    def _pseudo_counts(self) -> FloatArray:
        """Pseudo-counts of one case per distribution, so that EM can still move cases: (size,).

        Smaller ones make unobserved values of a state nearly impossible; one case for each of many
        cells would blur the states.
        """
        layout, alpha = self.problem.layout, self.problem.alpha
        cells = np.array([len(v.states) for v in self.problem.network.variables])[layout.owner]
        return np.where(layout.in_tables, np.minimum(alpha, 1.0 / cells), alpha)

    def _alike(self, one: IntArray, other: IntArray) -> bool:
        """Whether two partitions are equal for nearly all cases, up to labels."""
        weights, shape = self.rows.weights, (int(one.max()) + 1, int(other.max()) + 1)
        together = np.bincount(_by_both(one, other), weights, math.prod(shape)).reshape(shape)
        agreeing = min(together.max(axis=axis).sum() for axis in (0, 1))
        return bool(agreeing >= (1.0 - SAME) * weights.sum())

    def statistics(self, one: IntArray, other: IntArray) -> FloatArray:
        """Intersect two partitions, merge clusters, and compute the statistics, (size,).

        The second partition may come from a network with other numbers of hidden states.
        """
        scale = self.problem.cases / float(self.rows.weights.sum())
        if len(self.variables) == 1:
            clustering, blocks, row_statistics, others = self._fixed
            N, by_state = others.copy(), np.zeros(blocks.states.shape)
            add_up(row_statistics, clustering.merged(self._clusters(one[0], other[0])), by_state)
            N[blocks.states] = by_state
            return scale * N
        # Each variable is merged given the others, which begin with the states of the first point.
        codes = self.rows.codes.copy()
        codes[:, list(self.variables)] = one.T
        rows = LabelledRows(codes, self.rows.weights)
        for h, states, other_states in zip(self.variables, one, other, strict=True):
            codes[:, h] = RowClustering.of(self.problem, rows, h).merged(
                self._clusters(states, other_states)
            )
        return scale * count_families(self.problem.network, rows)

    @cached_property
    def _fixed(self) -> tuple[RowClustering, StateBlocks, SparseRows, FloatArray]:
        """The clustering for a single variable, which all recombinations share.

        Also what each row adds to its state, (m, P), and statistics of other families, (size,).
        """
        problem, rows, (h,) = self.problem, self.rows, self.variables
        blocks, network = StateBlocks.build(problem.layout, h), problem.network
        row_statistics, others = statistics_around(network, rows, h), count_families(network, rows)
        return RowClustering.of(problem, rows, h), blocks, row_statistics, others

    def _clusters(self, one: IntArray, other: IntArray) -> IntArray:
        """Intersect two partitions; beyond the limit, the smallest clusters are dissolved.

        Their rows join the largest cluster with the same state of the first.
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


def _places(network: Network, h: int) -> int:
    """Compute the number of counts in the families of a hidden variable."""
    layout = network.layout
    around = (family for family in layout.families if h in family)
    return sum(math.prod(layout.cards[v] for v in family if v != h) for family in around)


def _by_both(one: IntArray, other: IntArray) -> IntArray:
    return one * (int(other.max(initial=0)) + 1) + other


def recombine_all(
    recombiner: Recombiner, population: Sequence[Individual], seed: int, part: int
) -> list[Individual]:
    """Recombine a population until it stops improving; return it, the best first."""
    population, in_vain = list(population), 0
    rng = np.random.default_rng([seed, recombiner.problem.layout.size, CHILD + part])
    for _ in range(ROUNDS):
        best = max(one.value for one in population)
        order = rng.permutation(len(population)).tolist()
        pairs = list(zip(order[::2], order[1::2], strict=False))
        parents = [(population[a], population[b]) for a, b in pairs]
        children = recombiner.objective.executor.map(recombiner.recombine, parents)
        for (a, b), child in zip(pairs, children, strict=True):
            worse = a if population[a].value < population[b].value else b
            if child is not None and child.value > population[worse].value:
                population[worse] = child
        gained = max(one.value for one in population) > best + WORTH
        in_vain = 0 if gained else in_vain + 1
        if in_vain == PATIENCE:
            break
    return sorted(population, key=lambda one: -one.value)
