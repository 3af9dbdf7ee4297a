"""What clusters of rows have of measurements that depend on one hidden variable alone.

Starts that are made from the data: rows merged into as many clusters as there are states.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln

from lacunet.fitting.regroup import Rows, cells_of, count_families, sparse_rows
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
from lacunet.models.surgery import table_of
from lacunet.runtime.arrays import BoolArray, FloatArray, IndexArray, IntArray

Numbers = TypeVar("Numbers", FloatArray, IndexArray)


@dataclass(frozen=True, eq=False)
class NumbersAround:
    """Measurements of m rows, D columns."""

    x: FloatArray  # (m, D) as families see them; NaN where one is missing
    prior: FloatArray  # (D, 4) hyperparameters of a normal distribution of each, by itself

    @classmethod
    def of(cls, problem: Problem, codes: IntArray, h: int) -> Self:
        """Those whose only parent is h, of rows of codes, (m, variables)."""
        network = problem.network
        alpha = conjugacy.by_configuration(problem.alpha, problem.layout)
        columns, priors = [], []
        for i, v in enumerate(network.variables):
            if network.parents[i] != (h,):
                continue
            # States of h may have priors of their own; which of them a cluster becomes is open.
            prior = v.family.measured(table_of(network, alpha, i).mean(axis=0))
            if prior is not None:
                columns.append(np.where(codes[:, i] >= 0, v.values_of(codes[:, i]), np.nan))
                priors.append(prior)
        x = np.array(columns).reshape(len(columns), len(codes)).T
        return cls(x, np.array(priors).reshape(len(priors), 4))

    def beside(self, seen: BoolArray) -> BoolArray | FloatArray:
        """What tells rows apart: what is seen of them elsewhere, (m, P), and their numbers."""
        if not self.x.shape[1]:
            return seen
        return np.column_stack([seen, np.nan_to_num(self.x), np.isnan(self.x)])

    def clusters(self, cases: IndexArray, cluster: IntArray) -> MeasuredClusters:
        """What clusters have of them; each row stands for so many cases of one of them, (m,)."""
        told = ~np.isnan(self.x)
        x, n = np.where(told, self.x, 0.0), np.where(told, cases[:, None], 0)
        first, kappa, second, degrees = self.prior.T
        shape = (degrees - 1.0) / 2.0
        often = np.arange(int(cases.sum()) + 1.0)
        table = gammaln(shape[:, None] + often / 2.0) - 0.5 * np.log(kappa[:, None] + often)
        prior = np.stack([first, kappa, second, shape], axis=1)
        sums, squares = added_up(n * x, cluster), added_up(n * x * x, cluster)
        return MeasuredClusters(added_up(n, cluster).astype(np.int32), sums, squares, prior, table)


def added_up(x: Numbers, cluster: IntArray) -> Numbers:
    """Add up what rows have, (m, …), in each cluster; none is empty."""
    order = np.argsort(cluster, kind="stable")
    first = np.searchsorted(cluster[order], np.arange(cluster[order[-1]] + 1))
    return np.add.reduceat(x[order], first, axis=0)


ROWS = 400  # rows to be merged: the work grows with their square. A few states need fewer,
ROWS_FOR_A_STATE = (12, 40)  # at most the second number for each; many may have the first
CASES = 10_000  # cases that these rows may stand for: so long are the tables of log Γ
KEPT = 0.7  # share of the rows that starts after the first are made from, to be different
CHILD = 1 << 31  # child seeds of these starts begin here: the random ones have those below


def agglomerated(problem: Problem, seed: int, index: int) -> FloatArray:
    """Mean parameters given merged rows: all of them (index 0), or a part drawn at random."""
    layout, hidden, counts = problem.layout, problem.network.hidden, problem.counts
    if index:
        rng = np.random.default_rng([seed, layout.size, CHILD + index])
        counts = counts * (rng.permutation(len(counts)) < math.ceil(KEPT * len(counts)))
    rows = take_rows(problem, counts, max((layout.cards[h] for h in hidden), default=1))
    for h in sorted(hidden, key=lambda h: _unknown_around(layout, hidden, h)):
        rows.codes[:, h] = merged(problem, rows, h)
    return conjugacy.mean(problem.alpha + count_families(problem.network, rows), layout)


def take_rows(problem: Problem, counts: FloatArray, states: int) -> Rows:
    """Take all rows that count, if they are few; else as many cases, at equal distances."""
    least, most = ROWS_FOR_A_STATE
    room = min(most * states, max(ROWS, least * states))
    rows, total = int(np.count_nonzero(counts)), float(counts.sum())
    cases: int = min(max(math.ceil(total), rows), CASES) if rows <= room else room
    taken, weights = at_equal_distances(counts, cases)
    codes = np.full((len(taken), len(problem.layout.cards)), -1, dtype=np.int64)
    codes[:, list(problem.network.observed)] = problem.codes[taken]
    return Rows(codes, weights)


def _unknown_around(layout: Layout, hidden: Sequence[int], h: int) -> int:
    """Count the families of h in which it is not the only hidden variable."""
    return sum(h in family and len({*hidden} & {*family}) > 1 for family in layout.families)


def merged(problem: Problem, rows: Rows, h: int) -> IntArray:
    """Merge the rows by what is known around h, and give a state of h to each, (m,)."""
    return Around.of(problem, rows, h).merged()


@dataclass(frozen=True, eq=False)
class Around:
    """What m rows show around a hidden variable: they can be merged again and again."""

    states: int  # of the variable
    cases: IndexArray  # (m,) that each row stands for
    places: "Places"
    numbers: NumbersAround
    counted: SparseRows  # (m, P) cases at each place
    which: IndexArray  # (P,) which table each place has
    tables: FloatArray  # (tables, cases + 1) what counts there add to log BD

    @classmethod
    def of(cls, problem: Problem, rows: Rows, h: int) -> Self:
        """Look at rows of a problem."""
        places, cases = Places.around(problem, rows, h), rows.weights.astype(np.int32)
        which, tables = places.tables(int(cases.sum()))
        numbers = NumbersAround.of(problem, rows.codes, h)
        counted = sparse_rows(csr_array(places.seen * cases[:, None]))
        return cls(problem.layout.cards[h], cases, places, numbers, counted, which, tables)

    def merged(self, together: IntArray | None = None) -> IntArray:
        """Merge until there are as many clusters as states, and give each row's, (m,).

        Clusters begin as `together` numbers them, (m,); without it, equal rows are one.
        """
        keys = self.numbers.beside(self.places.seen) if together is None else together
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
            measured = self.numbers.clusters(self.cases, index)
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


@dataclass(frozen=True, eq=False)
class Places:
    """Where rows with one state of a hidden variable are counted: N_ijk, and N_ij. P places."""

    seen: BoolArray  # (m, P) whether a row is counted there
    alpha: FloatArray  # (P,) exponent of the prior
    factor: FloatArray  # (P,) of log Γ(α + count) − log Γ(α) in log BD

    @classmethod
    def around(cls, problem: Problem, rows: Rows, h: int) -> Self:
        """Find the places of all families with h; equal ones are one, with their factors added."""
        factors: dict[tuple[bytes, float], float] = {}
        for cells, alpha, factor in _families_around(problem, rows, h):
            for k in np.unique(cells[cells >= 0]):
                key = (cells == k).tobytes(), float(alpha[k])
                factors[key] = factors.get(key, 0.0) + factor
        seen = np.frombuffer(b"".join(key for key, _ in factors), dtype=np.bool_)
        seen = seen.reshape(len(factors), len(rows.weights)).T
        exponents = np.array([alpha for _, alpha in factors])
        return cls(seen, exponents, np.array(list(factors.values())))

    def tables(self, cases: int) -> tuple[IndexArray, FloatArray]:
        """Which table each place has, and tables of what 0 to `cases` there add to log BD."""
        kinds, which = np.unique(np.stack([self.alpha, self.factor]), axis=1, return_inverse=True)
        alpha, factor = kinds[:, :, None]
        tables = factor * log_rising(alpha, np.arange(cases + 1.0))
        return which.reshape(-1).astype(np.int32), tables


def _families_around(
    problem: Problem, rows: Rows, h: int
) -> Iterator[tuple[IntArray, FloatArray, float]]:
    """Families with h, h left out: each row's cell (−1: unknown), exponents, factor in log BD."""
    layout = problem.layout
    for i, family in enumerate(layout.families):
        if h not in family or not layout.kinds[i].tabular:
            continue
        # States of h may have priors of their own; which of them a cluster becomes is open.
        alpha = layout.table(problem.alpha, i).mean(axis=family.index(h))
        if not alpha.all():  # of a table that is known clusters learn nothing
            continue
        cells = cells_of(layout, rows, [v for v in family if v != h])
        yield cells, alpha.reshape(-1), 1.0
        if (child := family[-1]) != h:
            yield cells // layout.cards[child], alpha.sum(axis=-1).reshape(-1), -1.0
