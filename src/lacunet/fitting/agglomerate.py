"""Starts by agglomerative clustering of rows into as many clusters as hidden states.

Merging two clusters changes the log marginal likelihood (log BD) of the families with the hidden
variable. As in Ward's method, the pair with the smallest loss is merged next.
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

ROWS = 400  # rows to be merged, because the work is quadratic; more if there are many states
ROWS_FOR_A_STATE = (12, 40)  # least and most rows per state
CASES = 10_000  # most cases of these rows: the length of the tables of log Γ
SHARE_OF_ROWS = 0.7  # share of the rows used by starts after the first, so that starts differ
CHILD = 1 << 31  # first child seed of these starts; random starts use smaller ones


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Cases with columns for all variables, observed and hidden."""

    codes: IntArray  # (m, variables), −1 = unknown
    weights: IntArray | FloatArray  # (m,) number of cases of each row


def count_families(network: Network, rows: LabelledRows) -> FloatArray:
    """Compute the sufficient statistics of rows with all values of a family, (size,)."""
    tables = []
    for i in range(len(network.layout.families)):
        _, cells, size, T = _family_statistics(network, rows, i)
        N = np.zeros((size, T.shape[1]))
        for k, t in enumerate(T.T):
            N[:, k] = np.bincount(cells, t, size)
        tables.append(N)
    return network.layout.flat(tables)


def statistics_around(network: Network, rows: LabelledRows, h: int) -> SparseRows:
    """Compute what each row adds to the statistics of its state of h, (m, P) as in StateBlocks."""
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
    """Return rows with family i complete, their cells, the number of cells, and weighted T(x)."""
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
    """Number the joint state of variables in each row, the last running fastest; −1: unknown."""
    cells = np.zeros(len(rows.weights), dtype=np.int64)
    for v in variables:
        cells = cells * layout.cards[v] + rows.codes[:, v]
    return np.where((rows.codes[:, list(variables)] >= 0).all(axis=1), cells, -1)


def sparse_rows(matrix: coo_array | csr_array) -> SparseRows:
    """Convert a matrix, (m, P), to compressed rows."""
    rows = csr_array(matrix)
    return SparseRows(rows.indptr.astype(np.int32), rows.indices.astype(np.int32), rows.data)


def agglomerated(problem: Problem, seed: int, index: int) -> FloatArray:
    """Compute mean parameters given clustered rows: all (index 0), or a random part."""
    layout, hidden, counts = problem.layout, problem.network.hidden, problem.counts
    if index:
        rng = np.random.default_rng([seed, layout.size, CHILD + index])
        counts = counts * (rng.permutation(len(counts)) < math.ceil(SHARE_OF_ROWS * len(counts)))
    rows = take_rows(problem, counts, max((layout.cards[h] for h in hidden), default=1))

    def others_around(h: int) -> int:  # families of h with another hidden variable
        return sum(h in family and len({*hidden} & {*family}) > 1 for family in layout.families)

    for h in sorted(hidden, key=others_around):
        rows.codes[:, h] = RowClustering.of(problem, rows, h).merged()
    return conjugacy.mean(problem.alpha + count_families(problem.network, rows), layout)


def take_rows(problem: Problem, counts: FloatArray, states: int) -> LabelledRows:
    """Select all rows with weight if they are few, else cases at equal distances."""
    least, most = ROWS_FOR_A_STATE
    room = min(most * states, max(ROWS, least * states))
    rows, total = int(np.count_nonzero(counts)), float(counts.sum())
    cases: int = min(max(math.ceil(total), rows), CASES) if rows <= room else room
    return labelled_rows(problem, *at_equal_distances(counts, cases))


def labelled_rows(problem: Problem, taken: IntArray, weights: IntArray) -> LabelledRows:
    """Select rows of a problem; hidden variables are unknown."""
    codes = np.full((len(taken), len(problem.layout.cards)), -1, dtype=np.int64)
    codes[:, list(problem.network.observed)] = problem.codes[taken]
    return LabelledRows(codes, weights)


@dataclass(frozen=True, eq=False)
class RowClustering:
    """Agglomerative clustering of m rows by their counts in the families of a hidden variable.

    A count is an N_ijk or N_ij of a family with the variable; P are distinct. Equal ones are joined
    and their factors added.
    """

    states: int  # of the variable
    cases: IndexArray  # (m,) of each row
    shown: BoolArray | FloatArray  # (m, …) equal rows are merged before all others
    x: FloatArray  # (m, D) numbers whose only parent is the variable; NaN: missing
    priors: FloatArray  # (D, 4) hyperparameters of the normal distribution of each
    counted: SparseRows  # (m, P) cases of each row in each count
    which: IndexArray  # (P,) the table of each count
    tables: FloatArray  # (tables, cases + 1) term of log BD, by the value of the count

    @classmethod
    def of(cls, problem: Problem, rows: LabelledRows, h: int) -> Self:
        """Collect the counts of rows of a problem around h."""
        layout, cases = problem.layout, rows.weights.astype(np.int32)
        factors: dict[tuple[bytes, float], float] = {}  # by the rows counted, and exponent

        def add_places(cells: IntArray, alpha: FloatArray, factor: float) -> None:
            for k in np.unique(cells[cells >= 0]):
                key = (cells == k).tobytes(), float(alpha[k])
                factors[key] = factors.get(key, 0.0) + factor

        for i, family in enumerate(layout.families):
            if h not in family or not layout.kinds[i].tabular:
                continue
            # Priors may differ between states of h: a cluster may become any of them.
            alpha = layout.table(problem.alpha, i).mean(axis=family.index(h))
            if not alpha.all():  # skip known tables
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
        table = which.reshape(-1).astype(np.int32)
        return cls(layout.cards[h], cases, shown, x, priors, counted, table, tables)

    def merged(self, together: IntArray | None = None) -> IntArray:
        """Merge until there are as many clusters as states; return the cluster of each row, (m,).

        `together`, (m,), are the initial clusters; the default are groups of equal rows.
        """
        keys = self.shown if together is None else together
        _, index = np.unique(keys, axis=0, return_inverse=True)
        index = index.reshape(-1)
        label = np.arange(int(index.max(initial=-1)) + 1)
        if len(label) > self.states:
            counts = np.zeros((len(label), len(self.which)), dtype=np.int32)
            add_up(self.counted, index, counts)
            shared = (counts > 0).sum(axis=0) > 1  # other counts do not change
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
    """Compute the gain in log BD of merging each pair of groups of equal rows, (m, m).

    This is `gains_of_counts` by matrix products: all cases of such a group enter a count, or none.
    So the gain of a shared count depends only on the cases of both.
    """
    gains = np.zeros((len(cases), len(cases)))
    both = cases[:, None] + cases
    np.fill_diagonal(
        both, 0
    )  # a row does not merge with itself; its double would exceed the tables
    for t, table in enumerate(tables):
        occupied = (counts[:, which == t] > 0).astype(np.float32)  # whole numbers: sums are exact
        single = table[cases]
        gains += (occupied @ occupied.T) * (table[both] - single[:, None] - single)
    return gains


def _measurements(problem: Problem, codes: IntArray, h: int) -> tuple[FloatArray, FloatArray]:
    """Collect numbers whose only parent is h, (m, D), NaN: missing, and their priors, (D, 4)."""
    network = problem.network
    alpha = conjugacy.by_configuration(problem.alpha, problem.layout)
    columns, priors = [], []
    for i, v in enumerate(network.variables):
        if network.parents[i] == (h,):
            # Priors may differ between states of h: a cluster may become any of them.
            prior = v.family.measured(table_of(network, alpha, i).mean(axis=0))
            if prior is not None:
                columns.append(np.where(codes[:, i] >= 0, v.values_of(codes[:, i]), np.nan))
                priors.append(prior)
    x = np.array(columns).reshape(len(columns), len(codes)).T
    return x, np.array(priors).reshape(len(priors), 4)


def _measured_clusters(
    x: FloatArray, priors: FloatArray, cases: IndexArray, cluster: IntArray
) -> MeasuredClusters:
    """Compute counts, sums and squares by cluster; `cases`, (m,), are those of each row."""
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
