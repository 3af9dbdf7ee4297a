"""Moves of a walk over partitions of the cases: single cases, and blocks that split or merge.

A partition weighs Π_blocks Γ(a + n_b)/Γ(a) · L_b, times a weight for its number of blocks, with L_b
the marginal likelihood of a block's leaves in closed form. What a block holds is a line of arrays;
the line after the last block is that of an empty one. Twins, by plain sums over all partitions, are
in the tests.
"""

from typing import Any, NamedTuple

from lacunet.arrays import FloatArray, IntArray
from lacunet.jit import kernel

RESCALED = 16  # leaves between two looks at the size of a product
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


class Blocks(NamedTuple):
    """What blocks hold; B lines."""

    size: FloatArray  # (B,) cases
    N: FloatArray  # (B, S) of them, those that show a cell
    seen: FloatArray  # (B, L) those that show a leaf
    # (B, 2, S) predictive probability of a cell, and what it would be without a case that shows it
    mean: FloatArray


class Partition(NamedTuple):
    """Where a chain stands."""

    block: IntArray  # (N,) of each case
    used: IntArray  # (1,) number of blocks
    blocks: Blocks  # what they hold, and an empty one after them
    pair: Blocks  # two more, to try a split in
    x: FloatArray  # (B,) scratch: weights of a case in blocks,
    less: FloatArray  # and in one that it is in, without itself


class Levels(NamedTuple):
    """Weights for the number of blocks; entry m is for the step from m to m + 1."""

    rise: FloatArray  # weight of m + 1 over that of m; 0: no further
    reference: FloatArray  # the same for the rates that are noted: above 0


@kernel
def put(leaves: Leaves, blocks: Blocks, row: int, b: int, sign: float) -> None:
    """Put a case into a block (sign 1), or take it out (−1)."""
    blocks.size[b] += sign
    for n in range(leaves.starts[row], leaves.starts[row + 1]):
        cell = leaves.cells[n]
        leaf = leaves.leaf[cell]
        blocks.N[b, cell] += sign
        blocks.seen[b, leaf] += sign
        total = leaves.total[leaf] + blocks.seen[b, leaf]
        scale, scale_less = 1.0 / total, 1.0 / (total - 1.0)
        for s in range(leaves.first[leaf], leaves.first[leaf + 1]):
            hits = leaves.alpha[s] + blocks.N[b, s]
            blocks.mean[b, 0, s] = hits * scale
            blocks.mean[b, 1, s] = (hits - 1.0) * scale_less


@kernel
def copy_block(source: Blocks, b: int, target: Blocks, c: int) -> None:
    """Copy what a block holds."""
    target.size[c] = source.size[b]
    target.N[c] = source.N[b]
    target.seen[c] = source.seen[b]
    target.mean[c] = source.mean[b]


@kernel
def clear_block(leaves: Leaves, blocks: Blocks, b: int) -> None:
    """Make a block empty."""
    blocks.size[b] = 0.0
    blocks.N[b] = 0.0
    blocks.seen[b] = 0.0
    for s in range(leaves.alpha.shape[0]):
        blocks.mean[b, 0, s] = leaves.alpha[s] / leaves.total[leaves.leaf[s]]


@kernel
def weigh_row(leaves: Leaves, at: Partition, case: int) -> None:
    """Weights of a case in all blocks and an empty one: `x` as they are, `less` without itself.

    They have a common factor. `less` is made for blocks that hold cases of its row from it on.
    """
    number, sizes, x, less = at.used[0] + 1, at.blocks.size, at.x, at.less
    mean, cells = at.blocks.mean, leaves.cells
    row = leaves.row[case]
    for b in range(number):
        x[b], less[b] = leaves.a + sizes[b], 0.0
    while case < len(at.block) and leaves.row[case] == row:
        less[at.block[case]] = x[at.block[case]] - 1.0
        case += 1
    first, last = leaves.starts[row], leaves.starts[row + 1]
    while first < last:
        stop = min(first + RESCALED, last)
        top = 0.0
        for b in range(number):
            weight = x[b]
            for n in range(first, stop):
                weight *= mean[b, 0, cells[n]]
            x[b] = weight
            top = max(top, weight)
            if less[b] > 0.0:
                without = less[b]
                for n in range(first, stop):
                    without *= mean[b, 1, cells[n]]
                less[b] = without
        if top < SMALL:
            for b in range(number):
                x[b] *= LARGE
                less[b] *= LARGE
        first = stop


@kernel
def fill(leaves: Leaves, at: Partition) -> None:
    """Put every case into the block that it is said to be in."""
    for case in range(at.block.shape[0]):
        put(leaves, at.blocks, leaves.row[case], at.block[case], 1.0)


@kernel
def deal(leaves: Leaves, at: Partition, order: IntArray, most: int, rng: Any) -> None:
    """Put cases into blocks one by one, each where those before it say; open `most` at most."""
    for n in range(len(order)):
        case, used = order[n], at.used[0]
        weigh_row(leaves, at, case)
        number = min(used + 1, most)
        u = rng.random() * at.x[:number].sum()
        b = 0
        while b < number - 1 and u >= at.x[b]:
            u -= at.x[b]
            b += 1
        at.block[case] = b
        at.used[0] = max(used, b + 1)
        put(leaves, at.blocks, leaves.row[case], b, 1.0)


@kernel
def close_block(leaves: Leaves, at: Partition, b: int) -> None:
    """Take away an empty block: the last one gets its number."""
    last = at.used[0] - 1
    if b != last:
        copy_block(at.blocks, last, at.blocks, b)
        for n in range(at.block.shape[0]):
            if at.block[n] == last:
                at.block[n] = b
    clear_block(leaves, at.blocks, last)
    at.used[0] = last


@kernel
def move_to(leaves: Leaves, at: Partition, case: int, b: int) -> None:
    """Put a case into another block; that after the last opens one, and its own may close."""
    row, own, used = leaves.row[case], at.block[case], at.used[0]
    put(leaves, at.blocks, row, own, -1.0)
    put(leaves, at.blocks, row, b, 1.0)
    at.block[case] = b
    if b == used:
        at.used[0] = used + 1
        clear_block(leaves, at.blocks, used + 1)
    if at.blocks.size[own] == 0.0:
        close_block(leaves, at, own)


@kernel
def sweep_cases(leaves: Leaves, at: Partition, levels: Levels, note: FloatArray, rng: Any) -> None:
    """Draw the block of every case given those of all others.

    Cases of one row stand together, and share weights until one of them moves.
    """
    # Names for arrays: calls with tuples of them would cost more than what is done with a case.
    block, sizes, x, less = at.block, at.blocks.size, at.x, at.less
    weighed = -1
    for case in range(len(block)):
        if leaves.row[case] != weighed:
            weighed = leaves.row[case]
            weigh_row(leaves, at, case)
        own, used = block[case], at.used[0]
        # Alone, its own block is an empty one without it, as is the one after the last.
        alone = sizes[own] == 1.0
        others = used - 1 if alone else used
        old = 0.0 if alone else less[own]
        for b in range(used):
            if b != own:
                old += x[b]
        noted = x[used] * levels.reference[others]
        note[used, TRIES] += 1.0
        if alone:
            note[used, DOWN] += old / (old + noted)
        else:
            note[used, UP] += noted / (old + noted)
        u = rng.random() * (old + x[used] * levels.rise[others])
        new, b = own, 0
        if alone or u >= less[own]:
            u -= 0.0 if alone else less[own]
            while b < used and (b == own or u >= x[b]):
                u -= 0.0 if b == own else x[b]
                b += 1
            # Rounding must not open a block where there is no way up.
            new = b if b < used or levels.rise[others] > 0.0 else own
        if new != own and not (alone and new == used):
            move_to(leaves, at, case, new)
            weighed = -1
