"""Count vectors of completions, in independent blocks of components.

A completion enters the evidence only through its counts N_ijk and N_ij, the *places*, and the
evidence is a product over places. Components without a common place are independent.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import logsumexp, xlogy

from lacunet.inference.plans.plan import JointStates
from lacunet.inference.problem import Problem
from lacunet.likelihoods.gamma_functions import log_rising
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray

# The completions of equal cases: their number, and a list of them.


def choice_sizes(problem: Problem) -> Iterator[tuple[int, int]]:
    """Yield cases w and cells K of each distinct component, without listing its cells."""
    for plan in problem.components.plans:
        for w, cells in zip(plan.counts, plan.sizes(), strict=True):
            yield int(w), int(cells)


def compositions(cases: int, cells: int) -> IntArray:
    """All compositions of cases into cells, (ways, cells).

    >>> compositions(2, 2).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    left = np.array([cases], dtype=np.int64)
    taken = np.zeros((1, 0), dtype=np.int64)
    for _ in range(cells - 1):
        options = left + 1
        which = np.repeat(np.arange(len(left)), options)
        first = np.cumsum(options) - options
        part = np.arange(len(which)) - first[which]
        taken = np.column_stack([taken[which], part])
        left = left[which] - part
    return np.column_stack([taken, left])


def ways(cases: int, cells: int) -> int:
    """Number of compositions."""
    return math.comb(cases + cells - 1, min(cases, cells - 1))


def log_ways(cases: int, cells: int) -> float:
    """Log of `ways`, also for numbers of millions of digits."""
    fewer, more = sorted((cases, cells - 1))
    if more > 1 << 50:  # `more` dominates, and may exceed any float
        return fewer * math.log(more) - math.lgamma(fewer + 1)
    return float(np.sum(np.log1p(more / np.arange(1.0, fewer + 1))))


def log_multinomials(shares: IntArray) -> FloatArray:
    """Log multinomial coefficient of each composition, (ways,)."""
    factorials = np.array([math.lgamma(n + 1) for n in range(int(shares[0].sum()) + 1)])
    orders: FloatArray = factorials[-1] - factorials[shares].sum(axis=1)
    return orders


@dataclass(frozen=True, eq=False)
class SumPart:
    """A component of a block."""

    count: int  # w, its cases
    cells: IntArray  # (K, P) what a cell adds to a place: more than 1 only in tied tables
    log_weights: FloatArray  # (K,) log probability of each cell in known tables

    @cached_property
    def touched(self) -> BoolArray:
        """Which places some cell raises, (P,)."""
        return np.asarray(self.cells.any(axis=0))

    @cached_property
    def differences(self) -> IntArray:
        """Differences of its cells from the first, (K − 1, P)."""
        rows: IntArray = self.cells[1:] - self.cells[0]
        return rows

    @cached_property
    def ways(self) -> int:
        """Number of completions."""
        return ways(self.count, len(self.cells))

    @cached_property
    def log_ways(self) -> float:
        """Log of the number of completions."""
        return log_ways(self.count, len(self.cells))

    def completions(self) -> tuple[IntArray, FloatArray]:
        """Counts that every completion adds, (ways, P), and the log weight of each."""
        if self.count == 1:  # avoids an identity matrix of very many cells
            return self.cells, self.log_weights
        shares = compositions(self.count, len(self.cells))
        return shares @ self.cells, log_multinomials(shares) + shares @ self.log_weights


@dataclass(frozen=True, eq=False)
class SumBlock:
    """Components that share parameters, directly or through others. P places."""

    parts: tuple[SumPart, ...]
    tables: FloatArray  # (P, most + 1) log factor of the evidence at each count of a place

    def most(self, parts: Sequence[SumPart]) -> IntArray:
        """Largest count of each place by some components, (P,)."""
        counts = np.zeros(len(self.tables), dtype=np.int64)
        for part in parts:
            counts += part.count * part.cells.max(axis=0)
        return counts


@dataclass(frozen=True, eq=False)
class Raised:
    """The places whose count depends on the cell of a component. E entries."""

    cell: IntArray  # (E,)
    place: IntArray  # (E,)
    count: IntArray  # (E,) what a case in that cell adds to it
    log_weights: FloatArray  # (K,) log probability of each cell in known tables


class CountPlaces:
    """The factors of the evidence: Γ(α_ijk + N_ijk) and 1 / Γ(α_ij + N_ij).

    Tied tables share places. Known tables have none; they weigh cells.
    """

    def __init__(self, problem: Problem, choices: Sequence[JointStates]) -> None:
        layout, alpha, seen = problem.layout, problem.alpha, problem.seen
        self.choices, self.layout = choices, layout
        self.leading = layout.learned & (layout.slots == np.arange(layout.size))
        self.sign = np.repeat([1.0, -1.0], [layout.size, layout.configurations])
        self.alpha, self.fixed = self._at_places(alpha), self._at_places(seen)
        self.constant_weight = float(xlogy(seen, self._given).sum())  # of fixed known cells
        self.varying = [self._raised(choice) for choice in choices]

    @cached_property
    def _given(self) -> FloatArray:
        """(size,) known probabilities, 1 elsewhere."""
        given = self.layout.given
        return np.ones(self.layout.size) if given is None else np.where(np.isnan(given), 1.0, given)

    def _at_places(self, x: FloatArray) -> FloatArray:
        """Statistics or exponents of each place, with tied tables pooled."""
        pooled = np.where(self.leading, self.layout.pooled(x), 0.0)
        return np.concatenate([pooled, self.layout.sum_k(pooled)])

    def _raised(self, choice: JointStates) -> Raised:
        """Places whose count depends on the cell; adds counts common to all cells to `fixed`."""
        layout, cells = self.layout, choice.cells
        with np.errstate(divide="ignore"):
            log_weights = np.log(self._given[cells]).sum(axis=1)
        possible = log_weights > -np.inf
        cells, log_weights = cells[possible], log_weights[possible]
        slots, learned = layout.slots[cells], layout.learned[cells]
        places = np.column_stack([slots, layout.size + layout.ij[slots]])
        cell, column = np.nonzero(np.column_stack([learned, learned]))
        # Entries sorted by place, then by cell.
        keys, count = np.unique(places[cell, column] * len(cells) + cell, return_counts=True)
        place, cell = np.divmod(keys, max(1, len(cells)))
        which, first, often = np.unique(place, return_index=True, return_counts=True)
        least = np.minimum.reduceat(count, first) if len(first) else count
        least = np.where(often == len(cells), least, 0)
        self.fixed[which] += choice.count * least
        more = count - np.repeat(least, often)
        entries = more > 0
        if not entries.any():
            self.constant_weight += choice.count * float(logsumexp(log_weights))
        return Raised(cell[entries], place[entries], more[entries], log_weights)

    @property
    def constant(self) -> float:
        """Log evidence of the counts common to all completions."""
        used = self.fixed > 0.0
        rising = log_rising(self.alpha[used], self.fixed[used])
        return self.constant_weight + float(np.sum(self.sign[used] * rising))

    def connected(self) -> Iterator[IntArray]:
        """Yield groups of components connected by places; components without any are left out."""
        lengths = [len(raised.place) for raised in self.varying]
        component = np.repeat(np.arange(len(lengths)), lengths)
        if not len(component):
            return
        place = np.concatenate([raised.place for raised in self.varying])
        nodes = len(self.fixed) + len(lengths)
        edges = (np.ones(len(place)), (len(self.fixed) + component, place))
        _, label = connected_components(coo_array(edges, shape=(nodes, nodes)), directed=False)
        members = np.unique(component)
        label = label[len(self.fixed) + members]
        for group in np.unique(label):
            yield members[label == group]

    def extent(self, members: IntArray) -> int:
        """Size of the larger table of a block, before it is allocated."""
        places = np.unique(np.concatenate([self.varying[i].place for i in members]))
        cells: int = sum(len(self.varying[i].log_weights) for i in members)
        return max(cells, self._most(members) + 1) * len(places)

    def _most(self, members: IntArray) -> int:
        """Upper bound on the count of a place by some components."""
        return sum(self.choices[i].count * int(self.varying[i].count.max()) for i in members)

    def block(self, members: IntArray) -> SumBlock:
        """Build a block; places with equal counts in all completions are merged."""
        varying = [self.varying[i] for i in members]
        used = np.unique(np.concatenate([raised.place for raised in varying]))
        counts = [self.choices[i].count for i in members]
        cells = [np.zeros((len(r.log_weights), len(used)), np.int64) for r in varying]
        for raised, table in zip(varying, cells, strict=True):
            table[raised.cell, np.searchsorted(used, raised.place)] = raised.count
        base = (self.alpha + self.fixed)[used, None]
        each = self.sign[used, None] * log_rising(base, np.arange(self._most(members) + 1.0))
        columns, which = np.unique(np.concatenate(cells), axis=1, return_inverse=True)
        tables = np.zeros((columns.shape[1], each.shape[1]))
        np.add.at(tables, which.reshape(-1), each)
        split = np.split(columns, np.cumsum([len(c) for c in cells])[:-1])
        weights = (raised.log_weights for raised in varying)
        parts = tuple(SumPart(*part) for part in zip(counts, split, weights, strict=True))
        return SumBlock(parts, tables)
