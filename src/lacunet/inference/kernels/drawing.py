"""Kernels that draw where those of the E step take expectations (tests compare the two).

All work on several chains at once, one per row of their arrays, so that the price of a call is
shared. A random generator belongs to one group of chains and is never used by two threads.
"""

from typing import Any

import numpy as np

from lacunet.inference.kernels.rows import (
    ROWS_AT_ONCE,
    PatternArrays,
    exp_rows,
    gather_blocks,
    scatter_blocks,
    spread_patterns,
    sum_blocks,
    sum_patterns,
)
from lacunet.inference.kernels.trees import TreeArrays, TreeScratch, posterior_tables
from lacunet.runtime.arrays import FloatArray, IndexArray, IntArray
from lacunet.runtime.jit import kernel

FEW = 4  # draws per cell up to which they are made one by one; beyond, by binomials


@kernel
def draw_cell(weights: FloatArray, total: float, cells: int, rng: Any) -> int:
    """Draw one of the first `cells` cells, with probabilities weights / total."""
    u = rng.random() * total
    cell = 0
    while cell < cells - 1 and u >= weights[cell]:
        u -= weights[cell]
        cell += 1
    while cell > 0 and weights[cell] == 0.0:  # rounding must never draw what is impossible
        cell -= 1
    return cell


@kernel
def draw_cells(
    weights: FloatArray, total: float, cells: int, draws: int, rng: Any, out: IntArray
) -> None:
    """Draw many times: out[cell] is how often (a multinomial, by conditional binomials)."""
    out[:cells] = 0
    if draws <= FEW * cells:
        for _ in range(draws):
            out[draw_cell(weights, total, cells, rng)] += 1
        return
    left = draws
    for cell in range(cells - 1):
        if left == 0 or not total > 0.0:
            break
        share = min(1.0, weights[cell] / total)
        drawn = rng.binomial(left, share) if share > 0.0 else 0
        out[cell] = drawn
        left -= drawn
        total -= weights[cell]
    if left > 0:
        last = cells - 1
        while last > 0 and weights[last] == 0.0:
            last -= 1
        out[last] += left


@kernel
def draw_rows(
    table: FloatArray, index: IndexArray, counts: FloatArray, cells: int, rng: Any, out: FloatArray
) -> None:
    """Draw the hidden cell of every case of every row, and count it at the row's patterns."""
    width = table.shape[1]
    buffer = np.empty((ROWS_AT_ONCE, width))
    top, total = np.empty(ROWS_AT_ONCE), np.empty(ROWS_AT_ONCE)
    bits = np.empty(ROWS_AT_ONCE * width, dtype=np.int64)
    often = np.empty(cells, dtype=np.int64)
    groups = index.shape[1]
    for first in range(0, index.shape[0], ROWS_AT_ONCE):
        m = min(ROWS_AT_ONCE, index.shape[0] - first)
        r, rows = buffer[:m], index[first : first + m]
        sum_patterns(table, rows, r)
        exp_rows(r, bits, top, total)
        for i in range(m):
            draws = int(counts[first + i])
            if draws == 1:
                cell = draw_cell(r[i], total[i], cells, rng)
                for g in range(groups):
                    out[rows[i, g], cell] += 1.0
                continue
            draw_cells(r[i], total[i], cells, draws, rng, often)
            for cell in range(cells):
                if often[cell] > 0:
                    for g in range(groups):
                        out[rows[i, g], cell] += often[cell]


@kernel
def draw_patterns(
    plan: PatternArrays, counts: FloatArray, log_weights: FloatArray, rng: Any, N: FloatArray
) -> None:
    """Add drawn counts of one plan to N; log weights and N have a row for each chain."""
    blocks = np.empty((plan.positions.shape[0], plan.width))
    table = np.empty((plan.starts.shape[0] - 1, plan.width))
    drawn = np.empty((plan.starts.shape[0] - 1, plan.width))
    for chain in range(log_weights.shape[0]):
        gather_blocks(log_weights[chain], plan.positions, plan.cells, -np.inf, blocks)
        sum_blocks(plan.starts, plan.entries, blocks, table)
        drawn[:] = 0.0
        draw_rows(table, plan.of_row, counts, plan.cells, rng, drawn)
        blocks[:] = 0.0
        spread_patterns(plan.starts, plan.entries, drawn, blocks)
        scatter_blocks(blocks, plan.positions, plan.cells, N[chain])


@kernel
def draw_tree(a: TreeArrays, kind: int, work: FloatArray, cell_of: IntArray, rng: Any) -> None:
    """Draw a cell of every clique from posterior tables: the root, then each given its parent."""
    first, last = a.kind_cliques[kind], a.kind_cliques[kind + 1] - 1
    for q in range(last, first - 1, -1):
        w = work[a.first[q] : a.first[q] + a.cells[q]]
        shared = a.maps[a.down[q] + cell_of[a.parent[q] - first]] if q < last else 0
        total = 0.0
        for c in range(a.cells[q]):
            if q == last or a.maps[a.up[q] + c] == shared:
                total += w[c]
        u = rng.random() * total
        chosen = 0
        for c in range(a.cells[q]):
            if w[c] > 0.0 and (q == last or a.maps[a.up[q] + c] == shared):
                chosen = c
                u -= w[c]
                if u < 0.0:
                    break
        cell_of[q - first] = chosen


@kernel
def draw_trees(
    a: TreeArrays, log_weights: FloatArray, rng: Any, scratch: TreeScratch, N: FloatArray
) -> None:
    """Add drawn counts of all clique trees to N; log weights and N have a row for each chain."""
    work = scratch.work
    cell_of = np.empty((a.kind_cliques[1:] - a.kind_cliques[:-1]).max(), dtype=np.int64)
    often = np.empty(work.shape[0], dtype=np.int64)
    for chain in range(log_weights.shape[0]):
        for kind in range(a.kind_width.shape[0]):
            root, cliques = a.kind_cliques[kind], a.kind_cliques[kind + 1] - a.kind_cliques[kind]
            for i in range(a.kind_instances[kind], a.kind_instances[kind + 1]):
                row = a.kind_offsets[kind] + (i - a.kind_instances[kind]) * a.kind_width[kind]
                posterior_tables(a, kind, row, log_weights[chain], scratch)
                draws = int(a.counts[i])
                if cliques == 1:
                    cells = a.cells[root]
                    draw_cells(work[:cells], 1.0, cells, draws, rng, often)
                    for c in range(cells):
                        if often[c] > 0:
                            cell_of[0] = c
                            count_tree(a, kind, row, cell_of, float(often[c]), N[chain])
                else:
                    for _ in range(draws):
                        draw_tree(a, kind, work, cell_of, rng)
                        count_tree(a, kind, row, cell_of, 1.0, N[chain])


@kernel
def count_tree(
    a: TreeArrays, kind: int, row: int, cell_of: IntArray, often: float, out: FloatArray
) -> None:
    """Count the families of drawn cells."""
    first = a.kind_cliques[kind]
    for q in range(first, a.kind_cliques[kind + 1]):
        for s in range(a.slots[q], a.slots[q + 1]):
            offset = a.offsets[row + a.slot_family[s]]
            out[offset + a.maps[a.slot_map[s] + cell_of[q - first]]] += often
