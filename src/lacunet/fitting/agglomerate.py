"""Starts from the data: rows merged by Ward-like clustering into as many clusters as states.

Merging two clusters changes the log marginal likelihood (log BD) of what they show around a hidden
variable; the pair that loses least is merged next.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.special import gammaln

from lacunet.inference.kernels.merging import (
    Counted,
    MeasuredClusters,
    SparseRows,
    add_gains_of_sums,
    add_up,
    gains_of_counts,
    merge_greedily,
)
from lacunet.inference.problem import Problem, at_equal_distances
from lacunet.likelihoods.gamma_functions import log_rising
from lacunet.models import conjugacy
from lacunet.models.layout import Layout
from lacunet.models.network import Network
from lacunet.models.surgery import members, statistics_of, table_of
from lacunet.runtime.arrays import BoolArray, FloatArray, IndexArray, IntArray

ROWS = 400  # rows to be merged: the work grows with their square. A few states need fewer,
ROWS_FOR_A_STATE = (12, 40)  # at most the second number for each; many may have the first
CASES = 10_000  # cases that these rows may stand for: so long are the tables of log Γ
KEPT = 0.7  # share of the rows that starts after the first are made from, to be different
CHILD = 1 << 31  # child seeds of these starts begin here: the random ones have those below


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Cases, with the hidden variables among their columns."""

    codes: IntArray  # (m, variables), −1 = unknown
    weights: IntArray | FloatArray  # (m,) how many cases each row stands for


def count_families(network: Network, rows: LabelledRows) -> FloatArray:
    """Sufficient statistics of the families whose members are all known, (size,)."""
    tables = []
    for i in range(len(network.layout.families)):
        _, cells, size, T = _family_statistics(network, rows, i)
        N = np.zeros((size, T.shape[1]))
        for k, t in enumerate(T.T):
            N[:, k] = np.bincount(cells, t, size)
        tables.append(N)
    return network.layout.flat(tables)


def statistics_around(network: Network, rows: LabelledRows, h: int) -> SparseRows:
    """Statistics that each row adds to whatever state of h it has, (m, P), P as in StateBlocks."""
    layout = network.layout
    at, columns, values, width = [], [], [], 0
    for i, family in enumerate(layout.families):
        if h in family and layout.widths[i]:
            known, cells, size, T = _family_statistics(network, rows, i, left_out=h)
            at.append(np.repeat(known, T.shape[1]))
            columns.append(
                (width + cells[:, None] * T.shape[1] + np.arange(T.shape[1])).reshape(-1)
            )
            values.append(T.reshape(-1))
            width += size * T.shape[1]
    where = np.concatenate(at), np.concatenate(columns)
    return sparse_rows(coo_array((np.concatenate(values), where), (len(rows.weights), width)))


def _family_statistics(
    network: Network, rows: LabelledRows, i: int, left_out: int = -1
) -> tuple[IntArray, IntArray, int, FloatArray]:
    """Rows that show family i, their cells, the number of cells, and weighted T(x), (…, width)."""
    layout, block = network.layout, members(network, i)
    tabular, family = layout.kinds[i].tabular, layout.families[i]
    located_by = [v for v in (family if tabular else family[:-1]) if v != left_out]
    cells = _cells(layout, rows, located_by)
    shown = cells >= 0
    if not tabular:
        shown &= (rows.codes[:, block] >= 0).all(axis=1)
    known = np.flatnonzero(shown)
    T = rows.weights[known, None].astype(np.float64)
    if not tabular and not block:
        T = np.zeros((len(known), layout.widths[i]))
    elif not tabular:
        T = T * statistics_of(network, i, {j: rows.codes[known, j] for j in block})
    return known, cells[known], math.prod(layout.cards[v] for v in located_by), T


def _cells(layout: Layout, rows: LabelledRows, variables: Sequence[int]) -> IntArray:
    """Number each row's joint state of some variables, the last running fastest; −1: unknown."""
    cells = np.zeros(len(rows.weights), dtype=np.int64)
    for v in variables:
        cells = cells * layout.cards[v] + rows.codes[:, v]
    return np.where((rows.codes[:, list(variables)] >= 0).all(axis=1), cells, -1)


def sparse_rows(matrix: coo_array | csr_array) -> SparseRows:
    """Convert a matrix, (m, P), to compressed rows."""
    rows = csr_array(matrix)
    return SparseRows(rows.indptr.astype(np.int32), rows.indices.astype(np.int32), rows.data)


def agglomerated(problem: Problem, seed: int, index: int) -> FloatArray:
    """Mean parameters given merged rows: all of them (index 0), or a part drawn at random."""
    layout, hidden, counts = problem.layout, problem.network.hidden, problem.counts
    if index:
        rng = np.random.default_rng([seed, layout.size, CHILD + index])
        counts = counts * (rng.permutation(len(counts)) < math.ceil(KEPT * len(counts)))
    rows = take_rows(problem, counts, max((layout.cards[h] for h in hidden), default=1))

    def others_around(h: int) -> int:  # families of h in which another variable is hidden, too
        return sum(h in family and len({*hidden} & {*family}) > 1 for family in layout.families)

    for h in sorted(hidden, key=others_around):
        rows.codes[:, h] = Around.of(problem, rows, h).merged()
    return conjugacy.mean(problem.alpha + count_families(problem.network, rows), layout)


def take_rows(problem: Problem, counts: FloatArray, states: int) -> LabelledRows:
    """Take all rows that count, if they are few; else as many cases, at equal distances."""
    least, most = ROWS_FOR_A_STATE
    room = min(most * states, max(ROWS, least * states))
    rows, total = int(np.count_nonzero(counts)), float(counts.sum())
    cases: int = min(max(math.ceil(total), rows), CASES) if rows <= room else room
    return labelled_rows(problem, *at_equal_distances(counts, cases))


def labelled_rows(problem: Problem, taken: IntArray, weights: IntArray) -> LabelledRows:
    """Take some rows of a problem; hidden variables are unknown."""
    codes = np.full((len(taken), len(problem.layout.cards)), -1, dtype=np.int64)
    codes[:, list(problem.network.observed)] = problem.codes[taken]
    return LabelledRows(codes, weights)


@dataclass(frozen=True, eq=False)
class Around:
    """What m rows show around a hidden variable, where a merged cluster would count it: P places.

    A place is N_ijk or N_ij of a family with the variable; equal ones are one, factors added.
    """

    states: int  # of the variable
    cases: IndexArray  # (m,) that each row stands for
    shown: BoolArray | FloatArray  # (m, …) equal rows are merged before all others
    x: FloatArray  # (m, D) numbers that only the variable has for a parent; NaN where missing
    priors: FloatArray  # (D, 4) hyperparameters of a normal distribution of each, by itself
    counted: SparseRows  # (m, P) cases at each place
    which: IndexArray  # (P,) which table each place has
    tables: FloatArray  # (tables, cases + 1) what counts there add to log BD

    @classmethod
    def of(cls, problem: Problem, rows: LabelledRows, h: int) -> Self:
        """Look at rows of a problem."""
        layout, cases = problem.layout, rows.weights.astype(np.int32)
        factors: dict[tuple[bytes, float], float] = {}  # by the rows counted there, and exponent

        def add_places(cells: IntArray, alpha: FloatArray, factor: float) -> None:
            for k in np.unique(cells[cells >= 0]):
                key = (cells == k).tobytes(), float(alpha[k])
                factors[key] = factors.get(key, 0.0) + factor

        for i, family in enumerate(layout.families):
            if h not in family or not layout.kinds[i].tabular:
                continue
            # States of h may have priors of their own; which of them a cluster becomes is open.
            alpha = layout.table(problem.alpha, i).mean(axis=family.index(h))
            if not alpha.all():  # clusters learn nothing of a table that is known
                continue
            cells = _cells(layout, rows, [v for v in family if v != h])
            add_places(cells, alpha.reshape(-1), 1.0)
            if (child := family[-1]) != h:
                per_parents = alpha.sum(axis=-1).reshape(-1)
                add_places(cells // layout.cards[child], per_parents, -1.0)
        seen = np.frombuffer(b"".join(key for key, _ in factors), dtype=np.bool_)
        seen = seen.reshape(len(factors), len(cases)).T
        exponents, signs = np.array([alpha for _, alpha in factors]), np.array([*factors.values()])
        kinds, which = np.unique(np.stack([exponents, signs]), axis=1, return_inverse=True)
        alpha, factor = kinds[:, :, None]
        tables = factor * log_rising(alpha, np.arange(int(cases.sum()) + 1.0))
        x, priors = _measurements(problem, rows.codes, h)
        shown: BoolArray | FloatArray = seen
        if x.shape[1]:
            shown = np.column_stack([seen, np.nan_to_num(x), np.isnan(x)])
        counted = sparse_rows(csr_array(seen * cases[:, None]))
        own = which.reshape(-1).astype(np.int32)
        return cls(layout.cards[h], cases, shown, x, priors, counted, own, tables)

    def merged(self, together: IntArray | None = None) -> IntArray:
        """Merge until there are as many clusters as states, and give each row's, (m,).

        Clusters begin as `together` numbers them, (m,); without it, equal rows are one.
        """
        keys = self.shown if together is None else together
        _, index = np.unique(keys, axis=0, return_inverse=True)
        index = index.reshape(-1)
        label = np.arange(int(index.max(initial=-1)) + 1)
        if len(label) > self.states:
            counts = np.zeros((len(label), len(self.which)), dtype=np.int32)
            add_up(self.counted, index, counts)
            shared = (counts > 0).sum(axis=0) > 1  # where one is alone, merging changes nothing
            which = self.which[shared]
            first, table = which * np.int32(self.tables.shape[1]), self.tables.reshape(-1)
            counted = Counted(np.ascontiguousarray(counts[:, shared]), first, table)
            if together is None:
                cases = np.bincount(index, self.cases).astype(np.int32)
                gains = first_gains(counted.counts, cases, which, self.tables)
            else:
                gains = np.zeros((len(label), len(label)))
                gains_of_counts(counted, gains)
            measured = _measured_clusters(self.x, self.priors, self.cases, index)
            add_gains_of_sums(measured, gains)
            merge_greedily(counted, measured, gains, self.states, label)
        _, state = np.unique(label, return_inverse=True)
        return np.asarray(state[index], dtype=np.int64)


def first_gains(
    counts: IndexArray, cases: IndexArray, which: IndexArray, tables: FloatArray
) -> FloatArray:
    """What merging two equal-row clusters adds to log BD, (m, m): `gains_of_counts`, by products.

    Such a cluster has all of its cases at a place, or none: what is gained at each place that both
    have depends on their cases alone.
    """
    gains = np.zeros((len(cases), len(cases)))
    both = cases[:, None] + cases
    np.fill_diagonal(both, 0)  # a row does not merge with itself: that would run past the tables
    for t, table in enumerate(tables):
        here = (counts[:, which == t] > 0).astype(np.float32)  # whole numbers: sums are exact
        own = table[cases]
        gains += (here @ here.T) * (table[both] - own[:, None] - own)
    return gains


def _measurements(problem: Problem, codes: IntArray, h: int) -> tuple[FloatArray, FloatArray]:
    """Numbers whose only parent is h, (m, D), NaN where missing, and their priors, (D, 4)."""
    network = problem.network
    alpha = conjugacy.by_configuration(problem.alpha, problem.layout)
    columns, priors = [], []
    for i, v in enumerate(network.variables):
        if network.parents[i] == (h,):
            # States of h may have priors of their own; which a cluster becomes is open.
            prior = v.family.measured(table_of(network, alpha, i).mean(axis=0))
            if prior is not None:
                columns.append(np.where(codes[:, i] >= 0, v.values_of(codes[:, i]), np.nan))
                priors.append(prior)
    x = np.array(columns).reshape(len(columns), len(codes)).T
    return x, np.array(priors).reshape(len(priors), 4)


def _measured_clusters(
    x: FloatArray, priors: FloatArray, cases: IndexArray, cluster: IntArray
) -> MeasuredClusters:
    """Counts, sums and squares by cluster; each row stands for so many cases, (m,)."""
    order = np.argsort(cluster, kind="stable")
    first = np.searchsorted(cluster[order], np.arange(cluster[order[-1]] + 1))
    seen = ~np.isnan(x)
    x, n = np.where(seen, x, 0.0), np.where(seen, cases[:, None], 0)
    number, sums, squares = (
        np.add.reduceat(each[order], first, axis=0) for each in (n, n * x, n * x * x)
    )
    mean, kappa, second, degrees = priors.T
    shape = (degrees - 1.0) / 2.0
    often = np.arange(int(cases.sum()) + 1.0)
    table = gammaln(shape[:, None] + often / 2.0) - 0.5 * np.log(kappa[:, None] + often)
    prior = np.stack([mean, kappa, second, shape], axis=1)
    return MeasuredClusters(number.astype(np.int32), sums, squares, prior, table)
