"""Collapsed Gibbs sampling of partitions of the cases into blocks.

A partition weighs Π_blocks Γ(a + n_b)/Γ(a) · L_b, times a weight of its number of blocks. L_b is
the closed-form marginal likelihood of a block's leaves. Blocks are columns of a table, so all are
weighed in parallel; the column after the last block is empty. A move changes counts only, and each
product of quotients is divided once, at the end. The tests sum over all partitions.
"""

from typing import Any, NamedTuple

import numpy as np

from lacunet.inference.kernels.lanes import (
    LANES,
    divide_lanes,
    fill_lanes,
    multiply_four_lanes,
    multiply_lanes,
)
from lacunet.inference.kernels.number_blocks import (
    change_prior_of_numbers,
    clear_numbers,
    copy_numbers,
    numbers_taken_out,
    put_numbers,
    weigh_numbers,
)
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.runtime.jit import inlined, kernel

RESCALED = 16  # leaves between two checks of the size of a product
SMALL, LARGE = 1e-100, 1e100

CASES, SPLITS = 0, 1  # kinds of moves
TRIES, UP, DOWN = 0, 1, 2  # statistics of each kind, at each number of blocks


class ShownCells(NamedTuple):
    """Observed cells of distinct rows, as lines of the table of blocks. R rows."""

    starts: IntArray  # (R + 1,) start of each row
    cells: IntArray  # lines of the observed cells
    owners: IntArray  # lines of their leaves


class Leaves(NamedTuple):
    """The cases, and the prior of one class. N cases, L categorical leaves, S cells."""

    row: IntArray  # (N,) row of each case
    rows: ShownCells
    first: IntArray  # (L + 1,) the cells of each leaf
    prior: FloatArray  # (S + L,) exponents of the cells, then their sums by leaf
    a: float  # exponent of a class weight
    log_empty: float  # Σ log ∫ of the leaves of an empty block
    numbers: Any  # `NumberLeaves`; None without numeric leaves


class BlockCounts(NamedTuple):
    """Statistics of blocks; B columns, padded to lanes. G numeric leaves."""

    size: FloatArray  # (B,) cases
    # (S + L, B) cases of a cell plus its exponent, then cases of a leaf plus the sum of exponents
    table: FloatArray
    numbers: Any  # (B, G, places) statistics of numbers, see `number_blocks`; or None


class Partition(NamedTuple):
    """State of a chain."""

    block: IntArray  # (N,) of each case
    used: IntArray  # (1,) number of blocks
    prior: IntArray  # (1,) index of the prior in the blocks
    blocks: BlockCounts  # their statistics, and an empty block after them
    pair: BlockCounts  # scratch: the halves of a split
    x: FloatArray  # (B,) scratch: weights of a case in blocks
    less: FloatArray  # (B,) weights in its block without the case; 0 if not computed yet
    below: FloatArray  # (B,) denominators of the weights


class LevelWeights(NamedTuple):
    """Weights for the number of blocks; entry m is for the step from m to m + 1."""

    rise: FloatArray  # weight of m + 1 over that of m; 0 at the largest number
    reference: FloatArray  # the same for the recorded rates: above 0


@inlined
def put(
    rows: ShownCells, numbers: Any, row: int, blocks: BlockCounts, stats: Any, b: int, sign: float
) -> None:
    """Add a case to a block (sign 1), or remove it (−1).

    `rows` and `numbers` are of the leaves, `stats` is `blocks.numbers`: loops look these fields up
    once, because each look-up of a tuple counts references to all of its arrays.
    """
    blocks.size[b] += sign
    for n in range(rows.starts[row], rows.starts[row + 1]):
        blocks.table[rows.cells[n], b] += sign
        blocks.table[rows.owners[n], b] += sign
    put_numbers(numbers, row, stats, b, sign)


@kernel
def copy_block(
    source: BlockCounts, b: int | np.intp, target: BlockCounts, c: int | np.intp
) -> None:
    """Copy the statistics of a block."""
    target.size[c] = source.size[b]
    for s in range(source.table.shape[0]):  # compiles faster than slices
        target.table[s, c] = source.table[s, b]
    copy_numbers(source.numbers, b, target.numbers, c)


@kernel
def clear_block(leaves: Leaves, blocks: BlockCounts, b: int | np.intp) -> None:
    """Reset a block to the prior."""
    blocks.size[b] = 0.0
    for s in range(len(leaves.prior)):
        blocks.table[s, b] = leaves.prior[s]
    clear_numbers(leaves.numbers, blocks.numbers, b)


@kernel
def change_prior(old: Leaves, new: Leaves, blocks: BlockCounts, number: int) -> None:
    """Replace the prior of the first blocks; counts are integers, so rounding is exact."""
    for b in range(number):
        for s in range(len(old.prior)):
            count = np.rint(blocks.table[s, b] - old.prior[s])
            blocks.table[s, b] = count + new.prior[s]
        change_prior_of_numbers(old.numbers, new.numbers, blocks.numbers, b)


@inlined
def multiply_lines(
    out: FloatArray, b: int, table: FloatArray, lines: IntArray, first: int, last: int
) -> None:
    """Multiply columns b to b + 3 of `out` by those of some lines of a table."""
    width, fours = table.shape[1], last - (last - first) % 4
    for n in range(first, fours, 4):
        i, j, k, m = lines[n], lines[n + 1], lines[n + 2], lines[n + 3]
        multiply_four_lanes(
            out, b, table, i * width + b, j * width + b, k * width + b, m * width + b
        )
    for n in range(fours, last):
        multiply_lanes(out, b, table, lines[n] * width + b)


@inlined
def weigh(
    rows: ShownCells, row: int, table: FloatArray, number: int, x: FloatArray, below: FloatArray
) -> None:
    """Multiply weights of blocks by the predictive probability of a row, up to a common factor."""
    first, last = rows.starts[row], rows.starts[row + 1]
    while first < last:
        stop = min(first + RESCALED, last)
        top = 0.0
        for b in range(0, number, LANES):
            fill_lanes(below, b, 1.0)
            multiply_lines(x, b, table, rows.cells, first, stop)
            multiply_lines(below, b, table, rows.owners, first, stop)
            divide_lanes(x, b, below, b)
        for b in range(number):
            top = max(top, x[b])
        if top < SMALL:
            for b in range(number):
                x[b] *= LARGE
        first = stop


@inlined
def taken_out(
    rows: ShownCells, row: int, sizes: FloatArray, table: FloatArray, b: int, a: float
) -> float:
    """Factor of a case's weight in its block, by its categories, if the case is removed."""
    ratio: float = (a + sizes[b] - 1.0) / (a + sizes[b])
    first, last = rows.starts[row], rows.starts[row + 1]
    while first < last:
        stop = min(first + RESCALED, last)
        left, whole = 1.0, 1.0
        for n in range(first, stop):
            hits, shown = table[rows.cells[n], b], table[rows.owners[n], b]
            left *= (hits - 1.0) * shown
            whole *= hits * (shown - 1.0)
        ratio *= left / whole
        first = stop
    return ratio


@kernel
def fill(leaves: Leaves, at: Partition) -> None:
    """Add every case to its block in `at.block`."""
    rows, numbers, blocks, stats = leaves.rows, leaves.numbers, at.blocks, at.blocks.numbers
    for case in range(at.block.shape[0]):
        put(rows, numbers, leaves.row[case], blocks, stats, at.block[case], 1.0)


@kernel
def deal(leaves: Leaves, at: Partition, order: IntArray, most: int, rng: Any) -> None:
    """Allocate cases sequentially by their predictive weights, to at most `most` blocks."""
    rows, numbers, blocks, stats = leaves.rows, leaves.numbers, at.blocks, at.blocks.numbers
    for n in range(len(order)):
        case, used = order[n], at.used[0]
        number = min(used + 1, most)
        for b in range(number):
            at.x[b] = leaves.a + at.blocks.size[b]
        row = leaves.row[case]
        weigh(rows, row, blocks.table, number, at.x, at.below)
        weigh_numbers(numbers, row, stats, number, -1, at.x, at.less, at.below)
        total = 0.0
        for b in range(number):
            total += at.x[b]
        u = rng.random() * total
        b = 0
        while b < number - 1 and u >= at.x[b]:
            u -= at.x[b]
            b += 1
        at.block[case] = b
        at.used[0] = max(used, b + 1)
        put(rows, numbers, row, blocks, stats, b, 1.0)


@kernel
def close_block(leaves: Leaves, at: Partition, b: int) -> None:
    """Remove an empty block; the last block takes its number."""
    last = at.used[0] - 1
    if b != last:
        copy_block(at.blocks, last, at.blocks, b)
        for n in range(at.block.shape[0]):
            if at.block[n] == last:
                at.block[n] = b
    clear_block(leaves, at.blocks, last)
    at.used[0] = last


@inlined
def move_to(leaves: Leaves, at: Partition, case: int, b: int) -> None:
    """Move a case to another block, possibly a new one; close its block if it becomes empty."""
    row, current, used = leaves.row[case], at.block[case], at.used[0]
    rows, numbers, stats = leaves.rows, leaves.numbers, at.blocks.numbers
    put(rows, numbers, row, at.blocks, stats, current, -1.0)
    put(rows, numbers, row, at.blocks, stats, b, 1.0)
    at.block[case] = b
    if b == used:
        at.used[0] = used + 1
        clear_block(leaves, at.blocks, used + 1)
    if at.blocks.size[current] == 0.0:
        close_block(leaves, at, current)


@kernel
def sweep_cases(
    leaves: Leaves, at: Partition, levels: LevelWeights, note: FloatArray, rng: Any
) -> None:
    """Draw the block of every case given those of all others.

    Cases of one row are consecutive, and share weights until one of them moves.
    """
    # Local names, because looking up fields for every case dominates the time.
    block, sizes, table, x, less = at.block, at.blocks.size, at.blocks.table, at.x, at.less
    below, row_of, rows, a = at.below, leaves.row, leaves.rows, leaves.a
    numbers, stats = leaves.numbers, at.blocks.numbers
    weighed = -1
    for case in range(len(block)):
        current, used = block[case], at.used[0]
        if row_of[case] != weighed:
            weighed = row_of[case]
            for b in range(used + 1):
                x[b], less[b] = a + sizes[b], 0.0
            weigh(rows, weighed, table, used + 1, x, below)
            if numbers is not None:
                less[current] = x[current] * taken_out(rows, weighed, sizes, table, current, a)
                weigh_numbers(numbers, weighed, stats, used + 1, current, x, less, below)
        if less[current] == 0.0:
            less[current] = x[current] * taken_out(rows, weighed, sizes, table, current, a)
            less[current] *= numbers_taken_out(numbers, weighed, stats, current)
        # Without its only case a block is empty, like the one after the last.
        alone = sizes[current] == 1.0
        others = used - 1 if alone else used
        old = 0.0 if alone else less[current]
        for b in range(used):
            if b != current:
                old += x[b]
        noted = x[used] * levels.reference[others]
        note[used, TRIES] += 1.0
        if alone:
            note[used, DOWN] += old / (old + noted)
        else:
            note[used, UP] += noted / (old + noted)
        u = rng.random() * (old + x[used] * levels.rise[others])
        new, b = current, 0
        if alone or u >= less[current]:
            u -= 0.0 if alone else less[current]
            while b < used and (b == current or u >= x[b]):
                u -= 0.0 if b == current else x[b]
                b += 1
            # Rounding must not open a block at the largest number.
            new = b if b < used or levels.rise[others] > 0.0 else current
        if new != current and not (alone and new == used):
            move_to(leaves, at, case, new)
            weighed = -1
