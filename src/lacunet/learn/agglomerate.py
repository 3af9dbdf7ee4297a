"""Starts that are made from the data: rows merged into as many clusters as there are states.

Every row begins as a cluster of its own. Then the two clusters are merged whose merging raises most
(or lowers least) the probability of the data together with the hidden values that the clusters
stand for, log BD (CH96 eq. 5): parameters are averaged over, so it is mass that decides and not the
best fit. Measurements count as if they were independent of each other in a cluster. Where there are
many states random starts of EM end hundreds of nats below the best mode; this one is rarely off by
more than a few.

Any hidden variable will do: rows are counted where its families are known, and families with an
unknown cell do not count. Of several hidden variables the ones with the most known neighbours come
first, and are known to the others from then on.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from lacunet.arrays import BoolArray, FloatArray, IndexArray, IntArray
from lacunet.inference.kernels.merging import (
    Counted,
    add_gains_of_sums,
    merge_greedily,
)
from lacunet.inference.problem import Problem
from lacunet.inference.thinning import at_equal_distances
from lacunet.learn.number_clusters import NumbersAround
from lacunet.model import conjugacy
from lacunet.model.families.rising import log_rising
from lacunet.model.joint import members, statistics_of
from lacunet.model.layout import Layout
from lacunet.model.network import Network

ROWS = 400  # rows to be merged: the work grows with their square. A few states need fewer,
ROWS_FOR_A_STATE = (12, 40)  # at most the second number for each; many may have the first
CASES = 10_000  # cases that these rows may stand for: so long are the tables of log Γ
KEPT = 0.7  # share of the rows that starts after the first are made from, to be different
CHILD = 1 << 31  # child seeds of these starts begin here: the random ones have those below


@dataclass(frozen=True, eq=False)
class Rows:
    """Cases, with the hidden variables among their columns."""

    codes: IntArray  # (m, variables), −1 = not known
    weights: IntArray | FloatArray  # (m,) how many cases each row stands for


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
    places, numbers = Places.around(problem, rows, h), NumbersAround.of(problem, rows.codes, h)
    together = numbers.beside(places.seen)
    _, one, index = np.unique(together, axis=0, return_index=True, return_inverse=True)
    seen, numbers = places.seen[one], replace(numbers, x=numbers.x[one])
    cases = np.bincount(index.reshape(-1), weights=rows.weights).astype(np.int32)
    label, states = np.arange(len(seen)), problem.layout.cards[h]
    if len(seen) > states:
        shared = seen.sum(axis=0) > 1  # where a row is alone, merging changes nothing
        seen = seen[:, shared]
        which, tables = places.tables(shared, int(cases.sum()))
        gains, measured = first_gains(seen, cases, which, tables), numbers.clusters(cases)
        add_gains_of_sums(measured, gains)
        first = which * tables.shape[1]
        counted = Counted(seen * cases[:, None], first, tables.reshape(-1))
        merge_greedily(counted, measured, gains, states, label)
    _, state = np.unique(label, return_inverse=True)
    return np.asarray(state[index.reshape(-1)], dtype=np.int64)


def first_gains(
    seen: BoolArray, cases: IndexArray, which: IndexArray, tables: FloatArray
) -> FloatArray:
    """What merging two rows adds to log BD: something at each place that both have, (m, m)."""
    gains = np.zeros((len(seen), len(seen)))
    both = cases[:, None] + cases
    np.fill_diagonal(both, 0)  # a row does not merge with itself: that would run past the tables
    for t, table in enumerate(tables):
        here = seen[:, which == t].astype(np.float32)  # whole numbers: their sums are exact
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

    def tables(self, chosen: BoolArray, cases: int) -> tuple[IndexArray, FloatArray]:
        """Which table a chosen place has, and tables of what 0 to `cases` there add to log BD."""
        kinds = np.stack([self.alpha, self.factor])[:, chosen]
        kinds, which = np.unique(kinds, axis=1, return_inverse=True)
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
        cells = _cells(layout, rows, [v for v in family if v != h])
        yield cells, alpha.reshape(-1), 1.0
        if (child := family[-1]) != h:
            yield cells // layout.cards[child], alpha.sum(axis=-1).reshape(-1), -1.0


def _cells(layout: Layout, rows: Rows, variables: Sequence[int]) -> IntArray:
    """Number each row's joint state of some variables, the last running fastest; −1: unknown."""
    cells = np.zeros(len(rows.weights), dtype=np.int64)
    known = np.ones(len(cells), dtype=np.bool_)
    for v in variables:
        cells = cells * layout.cards[v] + rows.codes[:, v]
        known &= rows.codes[:, v] >= 0
    return np.where(known, cells, -1)


def count_families(network: Network, rows: Rows) -> FloatArray:
    """Statistics of the families whose members are all known, (size,)."""
    layout, tables = network.layout, []
    for i, family in enumerate(layout.families):
        own = family if layout.kinds[i].tabular else family[:-1]
        cells, size = _cells(layout, rows, own), math.prod(layout.cards[v] for v in own)
        around = members(network, i)
        known = (cells >= 0) & (rows.codes[:, around] >= 0).all(axis=1)
        cells, weights = cells[known], rows.weights[known]
        if layout.kinds[i].tabular:
            N = np.bincount(cells, weights=weights, minlength=size).astype(np.float64)
        else:
            N = np.zeros((size, layout.widths[i]))
            if around:
                T = statistics_of(network, i, {j: rows.codes[known, j] for j in around})
                np.add.at(N, cells, weights[:, None] * T)
        tables.append(N)
    return layout.flat(tables)
