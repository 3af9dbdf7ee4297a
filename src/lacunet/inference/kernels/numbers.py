"""E-step kernels for rows of patterns and numbers: log weights are quadratic in the numbers."""

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
    center_change,
    exp_rows,
    spread_rows,
    sum_patterns,
    to_expected,
    to_posteriors,
)
from lacunet.runtime.arrays import FloatArray, IndexArray
from lacunet.runtime.jit import kernel

NUMBERS_AT_ONCE = 1 << 13  # of a block of rows: 64 KiB
FEWEST_ROWS = 16


class NumberRows(NamedTuple):
    """Data of rows. m rows, D columns of numbers, G groups of patterns."""

    x: FloatArray  # (m, D) numbers, 0 where missing
    marks: Any  # (m, D) bytes: 1 where observed; (0, D) if none is missing
    of_row: IndexArray  # (m, G) the patterns of each row
    besides: FloatArray  # (m, W) further terms of the log weights; (0, W) without any


class NumberWeights(NamedTuple):
    """Log weights, or sums of the same shapes. W cells, padded, and P patterns."""

    table: FloatArray  # (P, W) of the patterns
    powers: FloatArray  # (3, D, W) of 1, x and x² of each number


class NumberRoom(NamedTuple):
    """Buffers for a block of n rows."""

    marks: FloatArray  # (n, D)
    cells: FloatArray  # (n, W)
    part: FloatArray  # (n, W)
    gathered: FloatArray  # (D, W)


@kernel
def make_room(rows: NumberRows, width: int) -> NumberRoom:
    """Allocate buffers for blocks of rows."""
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
    """The block of rows from `first` on; writes its marks to the buffers."""
    last = min(first + room.cells.shape[0], rows.x.shape[0])
    some = rows.marks[first:last]
    given, marks = some.reshape(-1), room.marks.reshape(-1)
    for i in range(given.shape[0]):
        marks[i] = given[i]
    return NumberRows(rows.x[first:last], some, rows.of_row[first:last], rows.besides[first:last])


@kernel
def weigh(block: NumberRows, weights: NumberWeights, room: NumberRoom, out: FloatArray) -> None:
    """Log weights of the cells of each row of a block, (n, W), whose marks are in `room`."""
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
    """Add the cell weights, (n, W), of each row of a block to its patterns and powers."""
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
    """Add expected counts of all rows to patterns and powers; return the log-likelihood."""
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
    """Add the cell weights, (m, W), of rows to their patterns and powers."""
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
    """Change of the expected cells, (m, W), along a direction (see `tangent_rows`)."""
    room = make_room(rows, along.table.shape[1])
    for first in range(0, counts.shape[0], room.cells.shape[0]):
        block = block_of(rows, first, room)
        n = block.x.shape[0]
        t = out[first : first + n]
        weigh(block, along, room, t)
        center_change(posterior[first : first + n], counts[first : first + n], t)
