"""Moves of a walk over partitions of the cases: single cases, and blocks that split or merge.

A partition weighs Π_blocks Γ(a + n_b)/Γ(a) · L_b, times a weight for its number of blocks, with L_b
the marginal likelihood of a block's leaves in closed form. Blocks are columns of arrays, so that
the inner loops run over contiguous memory; the column after the last block is that of an empty one.
Twins, by plain sums over all partitions, are in the tests.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from lacunet.arrays import FloatArray, IntArray
from lacunet.jit import kernel

RESCALED = 8  # leaves between two looks at the size of a product
SMALL, LARGE = 1e-100, 1e100

CASES, SPLITS = 0, 1  # kinds of moves
TRIES, UP, DOWN = 0, 1, 2  # what is noted of each kind, at each number of blocks


class Leaves(NamedTuple):
    """The cases, and the prior of one class. N cases, R distinct rows, L leaves, S cells."""

    row: IntArray  # (N,) the row of each case
    starts: IntArray  # (R + 1,) where the cells that a row shows start
    cells: IntArray  # which cells these are
    leaf: IntArray  # (S,) whose state a cell is
    first: IntArray  # (L + 1,) the cells of each leaf
    alpha: FloatArray  # (S,) exponents
    total: FloatArray  # (L,) their sums
    a: float  # exponent of a class weight


class Columns(NamedTuple):
    """What blocks hold; B columns."""

    size: FloatArray  # (B,) cases
    N: FloatArray  # (S, B) of them, those that show a cell
    seen: FloatArray  # (L, B) those that show a leaf
    mean: FloatArray  # (S, B) predictive probability of a cell


class Partition(NamedTuple):
    """Where a chain stands."""

    block: IntArray  # (N,) of each case
    used: IntArray  # (1,) number of blocks
    columns: Columns  # of the blocks, and of an empty one after them
    pair: Columns  # two columns, to try a split in


class Levels(NamedTuple):
    """Weights for the number of blocks; entry m is for the step from m to m + 1."""

    rise: FloatArray  # log weight of m + 1 less that of m; −inf: no further
    reference: FloatArray  # the same for the rates that are noted: finite


@kernel
def put(leaves: Leaves, columns: Columns, row: int, b: int, sign: float) -> None:
    """Put a case into a column (sign 1), or take it out (−1)."""
    columns.size[b] += sign
    for n in range(leaves.starts[row], leaves.starts[row + 1]):
        cell = leaves.cells[n]
        leaf = leaves.leaf[cell]
        columns.N[cell, b] += sign
        columns.seen[leaf, b] += sign
        scale = 1.0 / (leaves.total[leaf] + columns.seen[leaf, b])
        for s in range(leaves.first[leaf], leaves.first[leaf + 1]):
            columns.mean[s, b] = (leaves.alpha[s] + columns.N[s, b]) * scale


@kernel
def copy_column(source: Columns, b: int, target: Columns, c: int) -> None:
    """Copy a column."""
    target.size[c] = source.size[b]
    target.N[:, c] = source.N[:, b]
    target.seen[:, c] = source.seen[:, b]
    target.mean[:, c] = source.mean[:, b]


@kernel
def clear_column(leaves: Leaves, columns: Columns, b: int) -> None:
    """Make a column that of an empty block."""
    columns.size[b] = 0.0
    columns.N[:, b] = 0.0
    columns.seen[:, b] = 0.0
    for s in range(leaves.alpha.shape[0]):
        columns.mean[s, b] = leaves.alpha[s] / leaves.total[leaves.leaf[s]]


@kernel
def fill(leaves: Leaves, at: Partition) -> None:
    """Put every case into the block that it is said to be in."""
    for case in range(at.block.shape[0]):
        put(leaves, at.columns, leaves.row[case], at.block[case], 1.0)


@kernel
def close_block(leaves: Leaves, at: Partition, b: int) -> None:
    """Take away an empty block: the last one gets its number."""
    last = at.used[0] - 1
    if b != last:
        copy_column(at.columns, last, at.columns, b)
        for n in range(at.block.shape[0]):
            if at.block[n] == last:
                at.block[n] = b
    clear_column(leaves, at.columns, last)
    at.used[0] = last


@kernel
def weigh_columns(leaves: Leaves, columns: Columns, row: int, number: int, x: FloatArray) -> None:
    """Weights of a case in the first `number` columns, up to a common factor."""
    for b in range(number):
        x[b] = leaves.a + columns.size[b]
    start, stop = leaves.starts[row], leaves.starts[row + 1]
    for n in range(start, stop):
        cell = leaves.cells[n]
        for b in range(number):
            x[b] *= columns.mean[cell, b]
        if (n - start) % RESCALED == RESCALED - 1:
            top = 0.0
            for b in range(number):
                top = max(top, x[b])
            if top < SMALL:
                for b in range(number):
                    x[b] *= LARGE


@kernel
def draw_column(x: FloatArray, number: int, total: float, rng: Any) -> int:
    """Draw a column ∝ its weight; one that weighs nothing is never drawn."""
    u = rng.random() * total
    found = 0
    for b in range(number):
        if x[b] > 0.0:
            found = b
            if u < x[b]:
                break
            u -= x[b]
    return found


@kernel
def move_case(
    leaves: Leaves, at: Partition, levels: Levels, case: int, note: FloatArray, rng: Any
) -> None:
    """Draw the block of a case given those of all others."""
    row, own, used, columns = leaves.row[case], at.block[case], at.used[0], at.columns
    alone = columns.size[own] == 1.0
    others = used - 1 if alone else used
    x = np.empty(used + 1)
    put(leaves, columns, row, own, -1.0)
    weigh_columns(leaves, columns, row, used + 1, x)
    if alone:
        x[own] = 0.0  # an empty block is what the last column stands for
    old = 0.0
    for b in range(used):
        old += x[b]
    noted = x[used] * math.exp(levels.reference[others])
    note[used, TRIES] += 1.0
    if alone:
        note[used, DOWN] += old / (old + noted)
    else:
        note[used, UP] += noted / (old + noted)
    x[used] *= math.exp(levels.rise[others])
    b = draw_column(x, used + 1, old + x[used], rng)
    if b == used and alone:
        b = own
    put(leaves, columns, row, b, 1.0)
    at.block[case] = b
    if b == used:
        at.used[0] = used + 1
        clear_column(leaves, columns, used + 1)
    elif alone and b != own:
        close_block(leaves, at, own)


@kernel
def walk(
    leaves: Leaves, at: Partition, levels: Levels, sweeps: int, note: FloatArray, rng: Any
) -> None:
    """Walk; note tries and mean rates of steps up and down, (kinds, numbers of blocks, 3)."""
    for _ in range(sweeps):
        for case in range(at.block.shape[0]):
            move_case(leaves, at, levels, case, note[CASES], rng)
