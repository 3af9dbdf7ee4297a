"""Kernels of draws, and of rows that show numbers beside patterns.

Draws take the place of the expectations of an E step; tests compare the two. They work on several
chains at once, one per row of their arrays. A random generator belongs to one group of chains and
is never used by two threads. Log weights of rows with numbers are polynomials of the numbers.
"""

from typing import Any, NamedTuple

import numpy as np

from lacunet.inference.kernels.lanes import (
    AT_ONCE,
    LANES,
    collect_column,
    collect_four_columns,
    weigh_four_rows,
    weigh_row,
)
from lacunet.inference.kernels.rows import (
    ROWS_AT_ONCE,
    PatternArrays,
    center_change,
    exp_rows,
    spread_rows,
    spread_table,
    sum_patterns,
    sum_table,
    to_expected,
    to_posteriors,
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
    for chain in range(log_weights.shape[0]):
        table = sum_table(plan, log_weights[chain], -np.inf)
        drawn = np.zeros(table.shape)
        draw_rows(table, plan.of_row, counts, plan.cells, rng, drawn)
        spread_table(plan, drawn, N[chain])


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


NUMBERS_AT_ONCE = 1 << 13  # of a block of rows: 64 KiB
FEWEST_ROWS = 16


class NumberRows(NamedTuple):
    """What rows show. m rows, D columns of numbers, G groups of patterns."""

    x: FloatArray  # (m, D) numbers, 0 where one is missing
    marks: Any  # (m, D) bytes: 1 where a number is there; (0, D) where none is missing
    of_row: IndexArray  # (m, G) the patterns of each row
    besides: FloatArray  # (m, W) what else is added to log weights; (0, W) where nothing is


class NumberWeights(NamedTuple):
    """Log weights, or whatever stands at their places. W cells, padded, and P patterns."""

    table: FloatArray  # (P, W) of the patterns
    powers: FloatArray  # (3, D, W) of 1, x and x² of each number


class NumberRoom(NamedTuple):
    """Room for a block of n rows."""

    marks: FloatArray  # (n, D)
    cells: FloatArray  # (n, W)
    part: FloatArray  # (n, W)
    gathered: FloatArray  # (D, W)


@kernel
def make_room(rows: NumberRows, width: int) -> NumberRoom:
    """Room for the blocks of some rows."""
    columns = rows.x.shape[1]
    n = min(max(FEWEST_ROWS, NUMBERS_AT_ONCE // max(1, columns)), rows.x.shape[0])
    return NumberRoom(
        np.empty((n, columns)),
        np.empty((n, width)),
        np.empty((n, width)),
        np.empty((columns, width)),
    )


@kernel
def add_numbers(x: FloatArray, out: FloatArray) -> None:
    """Add one table to another."""
    source, target = x.reshape(-1), out.reshape(-1)
    for i in range(source.shape[0]):
        target[i] += source[i]


@kernel
def block_of(rows: NumberRows, first: int, room: NumberRoom) -> NumberRows:
    """Some rows from `first` on, their marks written into the room."""
    last = min(first + room.cells.shape[0], rows.x.shape[0])
    some = rows.marks[first:last]
    told, marks = some.reshape(-1), room.marks.reshape(-1)
    for i in range(told.shape[0]):
        marks[i] = told[i]
    return NumberRows(rows.x[first:last], some, rows.of_row[first:last], rows.besides[first:last])


@kernel
def weigh(block: NumberRows, weights: NumberWeights, room: NumberRoom, out: FloatArray) -> None:
    """Log weights of the cells of each row of a block, whose marks are in the room, (n, W)."""
    n = out.shape[0]
    part = room.part[:n]
    sum_patterns(weights.table, block.of_row, out)
    if block.besides.shape[0] > 0:
        add_numbers(block.besides, out)
    if block.x.shape[1] == 0:
        return
    whole = n - n % AT_ONCE
    for c in range(0, out.shape[1], LANES):
        for i in range(0, whole, AT_ONCE):
            weigh_four_rows(out, i, block.x, i, weights.powers, c)
        for i in range(whole, n):
            weigh_row(out, i, block.x, i, weights.powers, c)
    if block.marks.shape[0] > 0:
        np.dot(room.marks[:n], weights.powers[0], part)
        add_numbers(part, out)


@kernel
def gather(block: NumberRows, cells: FloatArray, room: NumberRoom, out: NumberWeights) -> None:
    """Add what each row of a block has at its cells, (n, W), to its patterns and powers."""
    n = cells.shape[0]
    spread_rows(cells, block.of_row, out.table)
    if block.x.shape[1] == 0:
        return
    columns = block.x.shape[1]
    whole = columns - columns % AT_ONCE
    for c in range(0, cells.shape[1], LANES):
        for j in range(0, whole, AT_ONCE):
            collect_four_columns(out.powers, j, block.x, cells, c)
        for j in range(whole, columns):
            collect_column(out.powers, j, block.x, cells, c)
    if block.marks.shape[0] > 0:
        np.dot(room.marks[:n].T, cells, room.gathered)
        add_numbers(room.gathered, out.powers[0])


@kernel
def expect_numbers(
    rows: NumberRows, counts: FloatArray, weights: NumberWeights, out: NumberWeights
) -> float:
    """Add each row's posterior, times its count, to its patterns and powers; log-likelihood."""
    width = weights.table.shape[1]
    room = make_room(rows, width)
    step = room.cells.shape[0]
    top, total = np.empty(step), np.empty(step)
    bits = np.empty(step * width, dtype=np.int64)
    log_lik = 0.0
    for first in range(0, counts.shape[0], step):
        block = block_of(rows, first, room)
        n = block.x.shape[0]
        r = room.cells[:n]
        weigh(block, weights, room, r)
        exp_rows(r, bits, top, total)
        log_lik = to_expected(r, top, total, counts[first : first + n], log_lik)
        gather(block, r, room, out)
    return log_lik


@kernel
def number_posteriors(
    rows: NumberRows, weights: NumberWeights, posterior: FloatArray, log_z: FloatArray
) -> None:
    """Posterior of the hidden cells, (m, W), and log-likelihood, (m,), of each row."""
    width = weights.table.shape[1]
    room = make_room(rows, width)
    step = room.cells.shape[0]
    total, bits = np.empty(step), np.empty(step * width, dtype=np.int64)
    for first in range(0, log_z.shape[0], step):
        block = block_of(rows, first, room)
        n = block.x.shape[0]
        r, top = posterior[first : first + n], log_z[first : first + n]
        weigh(block, weights, room, r)
        exp_rows(r, bits, top, total)
        to_posteriors(r, top, total)


@kernel
def gather_numbers(rows: NumberRows, cells: FloatArray, out: NumberWeights) -> None:
    """Add what rows have at their cells, (m, W), to their patterns and powers."""
    room = make_room(rows, cells.shape[1])
    for first in range(0, cells.shape[0], room.cells.shape[0]):
        block = block_of(rows, first, room)
        gather(block, cells[first : first + block.x.shape[0]], room, out)


@kernel
def move_cells(
    rows: NumberRows,
    counts: FloatArray,
    posterior: FloatArray,
    along: NumberWeights,
    out: FloatArray,
) -> None:
    """How what is expected of cells, (m, W), moves along a direction (see `tangent_rows`)."""
    room = make_room(rows, along.table.shape[1])
    for first in range(0, counts.shape[0], room.cells.shape[0]):
        block = block_of(rows, first, room)
        n = block.x.shape[0]
        t = out[first : first + n]
        weigh(block, along, room, t)
        center_change(posterior[first : first + n], counts[first : first + n], t)


@kernel
def draw_number_cells(counts: FloatArray, cells: int, rng: Any, posterior: FloatArray) -> None:
    """Draw the hidden cell of every case: posteriors, (m, W), become numbers of cases."""
    often = np.empty(cells, dtype=np.int64)
    for i in range(counts.shape[0]):
        total = 0.0
        for c in range(cells):
            total += posterior[i, c]
        draw_cells(posterior[i], total, cells, int(counts[i]), rng, often)
        posterior[i, cells:] = 0.0
        for c in range(cells):
            posterior[i, c] = often[c]
