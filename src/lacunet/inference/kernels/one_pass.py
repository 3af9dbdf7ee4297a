"""One pass over the cases, each of which moves the Dirichlets.

A twin, over whole mixtures, is the plan in `tests/enumeration.py`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from lacunet.inference.kernels.drawing import count_tree, draw_cell, draw_tree
from lacunet.inference.kernels.trees import Scratch, TreeArrays, posterior_tables, spread_cliques
from lacunet.runtime.arrays import BoolArray, FloatArray, IndexArray, IntArray
from lacunet.runtime.jit import kernel

NEGLIGIBLE = 1e-12  # part of a case from which a hidden state learns nothing that would show


class RowArrays(NamedTuple):
    """Components of one hidden variable, with the blocks of each written out. R rows."""

    starts: IntArray  # (R + 1,) where the blocks of each row start
    blocks: IntArray  # first position of each block in a flat vector
    cells: int  # K


class Beliefs(NamedTuple):
    """Dirichlets, and what is known of them; all but the first three are as long as needed."""

    eta: FloatArray  # (size,) exponents
    total: FloatArray  # (configurations,) their sums
    log_mean: FloatArray  # (size,) log of the mean of θ
    ij: IndexArray  # (size,) parent configuration of each position
    starts: IntArray  # (configurations + 1,) where the positions of each are listed
    listed: IntArray  # (size,) all positions, by configuration
    N: FloatArray  # (size,) expected counts of the case at hand; zero between cases
    touched: IntArray  # (configurations,) those that it touches
    is_touched: BoolArray  # (configurations,)


@kernel
def touch(b: Beliefs, position: int, found: int) -> int:
    """Note the configuration of a position; return how many are noted."""
    q = b.ij[position]
    if not b.is_touched[q]:
        b.is_touched[q] = True
        b.touched[found] = q
        found += 1
    return found


@kernel
def see_row(
    rows: RowArrays, row: int, b: Beliefs, drawn: bool, rng: Any, w: FloatArray
) -> tuple[float, int]:
    """Count a case of one hidden variable; return its log probability and what is touched."""
    cells, x = rows.cells, w
    x[:] = 0.0
    for n in range(rows.starts[row], rows.starts[row + 1]):
        for c in range(cells):
            x[c] += b.log_mean[rows.blocks[n] + c]
    top = x.max()
    total = 0.0
    for c in range(cells):
        x[c] = math.exp(x[c] - top)
        total += x[c]
    first, last = 0, cells
    if drawn:
        first = draw_cell(x, total, cells, rng)
        last = first + 1
        x[first] = total
    found = 0
    for c in range(first, last):
        share = x[c] / total
        if share > NEGLIGIBLE:
            for n in range(rows.starts[row], rows.starts[row + 1]):
                b.N[rows.blocks[n] + c] += share
                found = touch(b, rows.blocks[n] + c, found)
    return math.log(total) + top, found


@kernel
def see_tree(
    a: TreeArrays, instance: int, b: Beliefs, drawn: bool, scratch: Scratch, rng: Any
) -> tuple[float, int]:
    """Do the same for an instance of a clique tree."""
    kind = int(np.searchsorted(a.kind_instances, instance, side="right")) - 1
    row = a.kind_offsets[kind] + (instance - a.kind_instances[kind]) * a.kind_width[kind]
    log_p = posterior_tables(a, kind, row, b.log_mean, scratch)
    if drawn:
        cell_of = np.empty(a.kind_cliques[kind + 1] - a.kind_cliques[kind], dtype=np.int64)
        draw_tree(a, kind, scratch.work, cell_of, rng)
        count_tree(a, kind, row, cell_of, 1.0, b.N)
    else:
        spread_cliques(a, kind, row, 1.0, scratch.work, b.N)
    found = 0
    for q in range(a.kind_cliques[kind], a.kind_cliques[kind + 1]):
        for s in range(a.slots[q], a.slots[q + 1]):
            offset = a.offsets[row + a.slot_family[s]]
            for c in range(a.cells[q]):
                found = touch(b, offset + a.maps[a.slot_map[s] + c], found)
    return log_p, found


@kernel
def match_moments(b: Beliefs, q: int, used: float) -> None:
    """Give a Dirichlet the means, and the mean variance, of the mixture that a case makes of it.

    With probability N_k the case adds one to exponent k, with 1 − `used` it adds nothing. Variances
    are averaged with the means as weights.
    """
    if b.starts[q + 1] - b.starts[q] == 1:  # one state: nothing to learn, 0/0 to be had
        return
    s = b.total[q]
    numerator, denominator = 0.0, 0.0
    for n in range(b.starts[q], b.starts[q + 1]):
        k = b.listed[n]
        eta, r = b.eta[k], b.N[k]
        mean = (1.0 - used) * eta / s + (used * eta + r) / (s + 1.0)
        square = (1.0 - used) * eta * (eta + 1.0) / (s * (s + 1.0))
        square += (eta + 1.0) * (used * eta + 2.0 * r) / ((s + 1.0) * (s + 2.0))
        b.log_mean[k] = mean
        numerator += mean * mean * (1.0 - mean)
        denominator += mean * (square - mean * mean)
    precision = numerator / denominator - 1.0 if denominator > 0.0 else s
    for n in range(b.starts[q], b.starts[q + 1]):
        k = b.listed[n]
        b.eta[k] = b.log_mean[k] * precision


@kernel
def learn_case(b: Beliefs, found: int, moments: bool) -> None:
    """Move the Dirichlets that a case touches, and forget the case."""
    for t in range(found):
        q = b.touched[t]
        used = 0.0
        for n in range(b.starts[q], b.starts[q + 1]):
            used += b.N[b.listed[n]]
        if moments:
            match_moments(b, q, used)
        else:
            for n in range(b.starts[q], b.starts[q + 1]):
                b.eta[b.listed[n]] += b.N[b.listed[n]]
        total = 0.0
        for n in range(b.starts[q], b.starts[q + 1]):
            total += b.eta[b.listed[n]]
            b.N[b.listed[n]] = 0.0
        b.total[q] = total
        for n in range(b.starts[q], b.starts[q + 1]):
            b.log_mean[b.listed[n]] = math.log(b.eta[b.listed[n]] / total)
        b.is_touched[q] = False


@kernel
def pass_over_rows(rows: RowArrays, cases: IntArray, drawn: int, b: Beliefs, rng: Any) -> float:
    """Predict each row from those before it, then learn from it; return Σ log predictions.

    The hidden values of the first `drawn` cases are drawn; from the others exponents learn by
    moments.
    """
    w = np.empty(rows.cells)
    total = 0.0
    for n in range(cases.shape[0]):
        log_p, found = see_row(rows, cases[n], b, n < drawn, rng, w)
        total += log_p
        learn_case(b, found, n >= drawn)
    return total


@kernel
def pass_over_trees(
    a: TreeArrays, cases: IntArray, drawn: int, b: Beliefs, scratch: Scratch, rng: Any
) -> float:
    """Do the same for instances of clique trees."""
    total = 0.0
    for n in range(cases.shape[0]):
        log_p, found = see_tree(a, cases[n], b, n < drawn, scratch, rng)
        total += log_p
        learn_case(b, found, n >= drawn)
    return total
