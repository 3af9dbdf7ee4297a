"""Holes filled in again, cell by cell, given the graph: parameters are integrated out.

A cell is drawn given all other cells: from what the other cases predict for its own family, and for
the families of its children.

`structure/completing.py` sweeps over missing cells too, but at given parameters: its weights are
looked up, rows do not depend on each other, and nothing is counted. Here every draw changes the
counts that the next one goes by. What the two could share is a loop over holes; a kernel for both
would ask at every cell which of the two it is.
"""

from typing import Any, NamedTuple

import numpy as np

from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.jit import kernel
from lacunet.structure.counting import Columns, Prior, child_of, cut_rows, exponents, log_bd_each
from lacunet.structure.edges.known_families import KnownFamilies
from lacunet.structure.zeros import Zeros, is_ruled_out


class Counts(NamedTuple):
    """How often each state of each family of a graph occurs: tables one after the other."""

    N: FloatArray  # (cells,) of tables that are fixed, their probabilities
    first: IntArray  # (n,) where each family's table starts: some may share one
    strides: IntArray  # (n, n) how far states of u are apart in the table of v, at [v, u]
    exponents: FloatArray  # (cells,) 0 where nothing can be, or all is known
    adds: FloatArray  # (n,) what a case adds to the table of a family: nothing to one that is fixed


@kernel
def draw_exponents(
    columns: Columns, prior: Prior, parents: BoolArray, known: KnownFamilies, rng: Any
) -> IntArray:
    """Draw which exponents each family has, of those that it is averaged over: (n,) places."""
    n, m = columns.codes.shape
    drawn, j = np.zeros(n, dtype=np.int64), np.empty(m, dtype=np.int64)
    for v in range(n if prior.values.shape[0] > 1 else 0):
        among, cells = np.flatnonzero(parents[v]), float(columns.cards[v])
        for u in among:
            cells *= columns.cards[u]
        q = cut_rows(columns, among, -1, j)
        each = log_bd_each(child_of(columns, v), j, q, cells, prior)
        weights = np.exp(each - each.max())
        left = rng.random() * weights.sum()
        while drawn[v] < weights.shape[0] - 1 and left >= weights[drawn[v]]:
            left -= weights[drawn[v]]
            drawn[v] += 1
    return drawn[known.leader]


@kernel
def lay_out(
    columns: Columns, prior: Prior, drawn: IntArray, parents: BoolArray, known: KnownFamilies
) -> Counts:
    """Count the families of a graph; `drawn`, (n,), is the place of each one's exponent."""
    n = parents.shape[0]
    first, sizes = np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64)
    strides, adds = known.strides.copy(), np.ones(n)
    for v in range(n):
        if not known.settled[v]:
            strides[v, v], cells = 1, columns.cards[v]
            for u in range(n):
                if parents[v, u]:
                    strides[v, u] = cells
                    cells *= columns.cards[u]
        for u in range(n):
            if strides[v, u] > 0:
                sizes[v] *= columns.cards[u]
    size = 0
    for v in range(n):
        if known.leader[v] == v:
            first[v] = size
            size += sizes[v]
    for v in range(n):
        first[v] = first[known.leader[v]]
    counts = Counts(np.zeros(size), first, strides, np.zeros(size), adds)
    for v in range(n):
        if known.first[v] >= 0:
            counts.adds[v] = 0.0
            at = known.first[v]
            counts.N[first[v] : first[v] + sizes[v]] = known.fixed[at : at + sizes[v]]
        else:
            own = exponents(float(sizes[v]), prior)[drawn[v]]
            _put_exponents(counts, v, sizes[v], columns.cards, own, known.zeros)
        for row in range(columns.counts.shape[0]):
            counts.N[_cell(counts, columns, v, row)] += counts.adds[v] * columns.counts[row]
    return counts


@kernel
def _put_exponents(
    counts: Counts, v: int, cells: int, cards: IntArray, exponent: float, zeros: Zeros
) -> None:
    """Write the prior of a table that is learned; zeros have none."""
    place = (counts.strides[v], cards)
    for cell in range(cells):
        ruled_out = zeros.child.shape[0] > 0 and is_ruled_out(zeros, v, cell, place)
        counts.exponents[counts.first[v] + cell] = 0.0 if ruled_out else exponent


@kernel
def _cell(counts: Counts, columns: Columns, family: int, row: int) -> int:
    """Where a row stands in the table of a family."""
    at = counts.first[family]
    for u in range(columns.codes.shape[0]):
        at += counts.strides[family, u] * columns.codes[u, row]
    return int(at)


@kernel
def redraw(columns: Columns, holes: IntArray, parents: BoolArray, counts: Counts, rng: Any) -> None:
    """Draw every hole, (holes, 2) variable and row, anew, in turn; the counts go along."""
    n = parents.shape[0]
    weights = np.empty(columns.cards.max())
    shared = np.unique(counts.first).shape[0] < n
    for h in range(holes.shape[0]):
        v, row = holes[h]
        weights[:] = 1.0
        _count(counts, columns, parents, (v, row), -1.0)
        if shared:
            _weigh_together(counts, columns, parents, (v, row), weights)
        else:
            for f in range(n):
                if f == v or parents[f, v]:
                    _weigh(counts, (f, v), columns, row, weights)
        r = columns.cards[v]
        total = weights[:r].sum()
        level = rng.random() * total
        k = 0
        if total == 0.0:  # nothing is possible beside what was drawn so far: anything may be next
            k = int(rng.random() * r)
        while total > 0.0 and k < r - 1 and level >= weights[k]:
            level -= weights[k]
            k += 1
        columns.codes[v, row] = k
        _count(counts, columns, parents, (v, row), 1.0)


@kernel
def _count(
    counts: Counts, columns: Columns, parents: BoolArray, hole: tuple[int, int], often: float
) -> None:
    """Put the families that a hole is in to the counts, or take them away."""
    v, row = hole
    for f in range(parents.shape[0]):
        if f == v or parents[f, v]:
            counts.N[_cell(counts, columns, f, row)] += often * counts.adds[f]


@kernel
def _weigh(
    counts: Counts, who: tuple[int, int], columns: Columns, row: int, weights: FloatArray
) -> None:
    """Multiply the weight of each state of v by what a family predicts with it."""
    f, v = who
    step = counts.strides[f, v]
    start = _cell(counts, columns, f, row) - step * columns.codes[v, row]
    if f == v:
        for k in range(columns.cards[v]):
            weights[k] *= counts.N[start + step * k] + counts.exponents[start + step * k]
        return
    for k in range(columns.cards[v]):
        weights[k] *= _predicted(counts, columns, f, start + step * k, row)


@kernel
def _predicted(counts: Counts, columns: Columns, f: int, cell: int, row: int) -> float:
    """What the other cases predict for a cell of a family."""
    total, step = 0.0, counts.strides[f, f]
    start = cell - step * columns.codes[f, row]
    for x in range(columns.cards[f]):
        total += counts.N[start + step * x] + counts.exponents[start + step * x]
    return float((counts.N[cell] + counts.exponents[cell]) / total) if total > 0.0 else 0.0


@kernel
def _weigh_together(
    counts: Counts, columns: Columns, parents: BoolArray, hole: tuple[int, int], weights: FloatArray
) -> None:
    """The same where families share a table: what one says of a state counts for the next."""
    v, row = hole
    for k in range(columns.cards[v]):
        columns.codes[v, row] = k
        for f in range(parents.shape[0]):
            if f == v or parents[f, v]:
                cell = _cell(counts, columns, f, row)
                weights[k] *= _predicted(counts, columns, f, cell, row)
                counts.N[cell] += counts.adds[f]
        _count(counts, columns, parents, hole, -1.0)


@kernel
def nothing_impossible(columns: Columns, counts: Counts) -> bool:
    """Whether every row is possible."""
    for v in range(columns.codes.shape[0]):
        for row in range(columns.counts.shape[0]):
            cell = _cell(counts, columns, v, row)
            learned = counts.adds[v] > 0.0
            if (learned and counts.exponents[cell] == 0.0) or counts.N[cell] == 0.0:
                return False
    return True
