"""A family scored together with all that differ from it by one parent: what a climb asks for.

Where tables are small, rows are gone through once for all variables with few states together: each
row adds its 0s and 1s, one for each state of each of them, to the line of its parents and child.
Parents are taken away by adding cells of the family's own table up.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunet.likelihoods.gamma_functions import log_gamma_above
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.runtime.jit import kernel
from lacunet.structure.counting import (
    AIR,
    Columns,
    Prior,
    add_up_states,
    child_of,
    cut_rows,
    exponents,
    log_bd,
    log_mean,
    refine,
)

NARROW = 8  # states: of more, a row would add mostly zeros
ROOM = 1 << 27  # bytes of 0s and 1s that are kept, at most
STEP = 8  # numbers that a processor adds at once: lines are padded to a multiple


class Indicators(NamedTuple):
    """Which states each row has, as 0 and 1, of all variables with few states side by side."""

    shown: NDArray[np.int8]  # (m, width) the rest of a line is 0
    first: IntArray  # (n,) where the states of each variable begin; −1: it is not there


def indicators_of(columns: Columns) -> Indicators:
    """Write out the variables with few states, as many as there is room for."""
    n, m = columns.codes.shape
    first, width = np.full(n, -1), 0
    for u in np.flatnonzero(columns.cards <= NARROW).tolist():
        if (width + NARROW) * m <= ROOM:
            first[u], width = width, width + int(columns.cards[u])
    shown = np.zeros((m, -(-width // STEP) * STEP), dtype=np.int8)
    for u in np.flatnonzero(first >= 0).tolist():
        shown[np.arange(m), first[u] + columns.codes[u]] = 1
    return Indicators(shown, first)


@kernel
def score_toggles(
    columns: Columns, indicators: Indicators, v: int, parents: IntArray, prior: Prior
) -> FloatArray:
    """Log BD of a child with each variable in turn put to its parents, or taken from them: (n,).

    At the child's own place stands the family as it is.
    """
    cells = float(columns.cards[v])
    for p in parents:
        cells *= columns.cards[p]
    if cells <= AIR * columns.codes.shape[1] and columns.possible.shape[0] == 0:
        return score_by_tables(columns, indicators, v, parents, prior)
    return score_by_cuts(columns, v, parents, prior)


@kernel
def score_by_tables(
    columns: Columns, indicators: Indicators, v: int, parents: IntArray, prior: Prior
) -> FloatArray:
    """Score where a table has a cell for every configuration, and no zeros are known."""
    n, m = columns.codes.shape
    child = child_of(columns, v)
    scores, chosen = np.empty(n), np.zeros(n, dtype=np.bool_)
    j, other = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    q = cut_rows(columns, parents, -1, j)
    size = q * child.r
    N = add_up_states(j, q, child.x, child.r, child.counts).reshape((size, 1))
    scores[v] = log_bd_of(N, child.r, 0, 1, exponents(float(size), prior))
    after = size  # cells that go with each state of a parent, and of those before it
    for p in parents:
        r, chosen[p] = columns.cards[p], True
        after //= r
        fewer = N.reshape((size // (after * r), r, after)).sum(axis=1).reshape((size // r, 1))
        scores[p] = log_bd_of(fewer, child.r, 0, 1, exponents(float(size // r), prior))
    for row in range(m):
        j[row] = j[row] * child.r + child.x[row]
    together = size * NARROW <= AIR * m
    beside = add_up_lines(j, size if together else 0, indicators.shown, child.counts)
    for u in range(n):
        r = columns.cards[u]
        if u == v or chosen[u]:
            continue
        each = exponents(float(size) * r, prior)
        if together and indicators.first[u] >= 0:
            scores[u] = log_bd_of(beside, child.r, indicators.first[u], r, each)
        elif size * r <= AIR * m:
            wider = add_up_states(j, size, columns.codes[u], r, child.counts).reshape((size, r))
            scores[u] = log_bd_of(wider, child.r, 0, r, each)
        else:
            for row in range(m):
                other[row] = j[row] // child.r
            more = refine(other, q, columns.codes[u], r, other)
            scores[u] = log_bd(child, other, more, float(size) * r, prior)
    return scores


@kernel
def add_up_lines(
    key: IntArray, size: int, lines: NDArray[np.int8], counts: FloatArray
) -> FloatArray:
    """Sum the lines of rows with equal keys, each as often as its row counts: (size, width)."""
    width = lines.shape[1]
    N = np.zeros((size, width))
    for row in range(key.shape[0] if size else 0):
        weight, at = counts[row], key[row]
        for cell in range(width):
            N[at, cell] += weight * lines[row, cell]
    return N


@kernel
def log_bd_of(N: FloatArray, r: int, first: int, states: int, each: FloatArray) -> float:
    """Log BD of a table, averaged over exponents: lines are a configuration and a child's state.

    Some columns of it, from `first` on, are the states of one more parent.
    """
    values = np.empty(each.shape[0])
    for k in range(each.shape[0]):
        values[k] = log_bd_at(N, r, first, states, each[k])
    return log_mean(values)


@kernel
def log_bd_at(N: FloatArray, r: int, first: int, states: int, a: float) -> float:
    """Log BD of such a table for one exponent, CH96 eq. 5."""
    total, at_rest, all_at_rest = 0.0, log_gamma_above(a, 0.0), log_gamma_above(r * a, 0.0)
    for top in range(0, N.shape[0], r):
        for s in range(first, first + states):
            N_j = 0.0
            for line in range(top, top + r):
                if N[line, s] > 0.0:
                    N_j += N[line, s]
                    total += log_gamma_above(a, N[line, s]) - at_rest
            if N_j > 0.0:
                total -= log_gamma_above(r * a, N_j) - all_at_rest
    return total


@kernel
def score_by_cuts(columns: Columns, v: int, parents: IntArray, prior: Prior) -> FloatArray:
    """Score by cutting the rows for each set: tables may be larger than there are rows."""
    n, m = columns.codes.shape
    child = child_of(columns, v)
    scores, other = np.empty(n), np.empty(m, dtype=np.int64)
    chosen, cells = np.zeros(n, dtype=np.bool_), float(child.r)
    for p in parents:
        chosen[p] = True
        cells *= columns.cards[p]
    j = np.empty(m, dtype=np.int64)
    q = cut_rows(columns, parents, -1, j)
    scores[v] = log_bd(child, j, q, cells, prior)
    for u in range(n):
        r = columns.cards[u]
        if chosen[u]:
            fewer = cut_rows(columns, parents, u, other)
            scores[u] = log_bd(child, other, fewer, cells / r, prior)
        elif u != v:
            more = refine(j, q, columns.codes[u], r, other)
            scores[u] = log_bd(child, other, more, cells * r, prior)
    return scores
