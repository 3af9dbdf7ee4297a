"""Holes filled in again, cell by cell, given the graph: parameters are integrated out.

A cell is drawn given all other cells: from what the other cases predict for its own family, and for
the families of its children.

`graphs/completing.py` sweeps over missing cells too, but at given parameters: its weights are
looked up, rows do not depend on each other, and nothing is counted. Here every draw changes the
counts that the next one goes by. What the two could share is a loop over holes; a kernel for both
would ask at every cell which of the two it is.
"""

from typing import Any, NamedTuple

import numpy as np

from lacunet.arrays import BoolArray, FloatArray, IntArray
from lacunet.graphs.counting import Columns, Prior
from lacunet.jit import kernel


class Counts(NamedTuple):
    """How often each state of each family of a graph occurs: tables one after the other."""

    N: FloatArray  # (cells,)
    first: IntArray  # (n,) where each family's table starts
    strides: IntArray  # (n, n) how far states of u are apart in the table of v, at [v, u]
    exponents: FloatArray  # (n,) of each cell of a family


@kernel
def lay_out(columns: Columns, prior: Prior, parents: BoolArray) -> Counts:
    """Count the families of a graph."""
    n = parents.shape[0]
    first, size = np.empty(n, dtype=np.int64), 0
    strides, exponents = np.zeros((n, n), dtype=np.int64), np.empty(n)
    for v in range(n):
        strides[v, v], cells = 1, columns.cards[v]
        for u in range(n):
            if parents[v, u]:
                strides[v, u] = cells
                cells *= columns.cards[u]
        first[v] = size
        size += cells
        exponents[v] = prior.value / cells if prior.is_size else prior.value
    counts = Counts(np.zeros(size), first, strides, exponents)
    for v in range(n):
        for row in range(columns.counts.shape[0]):
            counts.N[_cell(counts, columns, v, row)] += columns.counts[row]
    return counts


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
    for h in range(holes.shape[0]):
        v, row = holes[h]
        weights[:] = 1.0
        for f in range(n):
            if f == v or parents[f, v]:
                at = _cell(counts, columns, f, row)
                counts.N[at] -= 1.0
                _weigh(counts, (f, v), at, columns, row, weights)
        r = columns.cards[v]
        level = rng.random() * weights[:r].sum()
        k = 0
        while k < r - 1 and level >= weights[k]:
            level -= weights[k]
            k += 1
        columns.codes[v, row] = k
        for f in range(n):
            if f == v or parents[f, v]:
                counts.N[_cell(counts, columns, f, row)] += 1.0


@kernel
def _weigh(
    counts: Counts, who: tuple[int, int], at: int, columns: Columns, row: int, weights: FloatArray
) -> None:
    """Multiply the weight of each state of v by what a family predicts with it."""
    f, v = who
    step, a = counts.strides[f, v], counts.exponents[f]
    start = at - step * columns.codes[v, row]
    if f == v:
        for k in range(columns.cards[v]):
            weights[k] *= counts.N[start + k] + a
        return
    r = columns.cards[f]
    for k in range(columns.cards[v]):
        cell = start + step * k
        total = r * a
        for x in range(r):
            total += counts.N[cell - columns.codes[f, row] + x]
        weights[k] *= (counts.N[cell] + a) / total
