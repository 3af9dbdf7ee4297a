"""Split-merge moves of blocks (Jain & Neal 2004, Dahl 2003), and walks over partitions.

Two cases are the anchors of a split. The other cases of the block are allocated sequentially to two
halves, and reallocated in a few restricted Gibbs scans. Only the last scan is the proposal, so its
probability is a product. A merge needs the reverse probability: the same scans, with the last one
forced to end in the two current blocks.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from lacunet.inference.kernels.blocks import (
    CASES,
    DOWN,
    RESCALED,
    SMALL,
    SPLITS,
    TRIES,
    UP,
    BlockCounts,
    Leaves,
    LevelWeights,
    Partition,
    ShownCells,
    change_prior,
    clear_block,
    close_block,
    copy_block,
    put,
    sweep_cases,
)
from lacunet.inference.kernels.number_blocks import log_number_blocks, number_odds, numbers_under
from lacunet.likelihoods.gamma_functions import log_gamma_above, log_rising_scalar
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.runtime.jit import inlined, kernel

SCANS = 2  # before the proposal scan
LARGEST_ODDS = 1e200  # products of such odds with factors above SMALL stay finite
HOPELESS = -50.0  # log of an acceptance probability that is negligible in any chain


class Halves(NamedTuple):
    """The cases of a block to split, or of two blocks to merge."""

    cases: IntArray  # (n,) the anchors first
    side: IntArray  # (n,) half of each, 0 or 1
    blocks: BlockCounts  # statistics of each half


@kernel
def log_block(leaves: Leaves, blocks: BlockCounts, b: int) -> float:
    """Log weight of a block: log Γ(a + n)/Γ(a) · L."""
    return log_block_under(leaves, leaves, blocks, b)


@kernel
def log_block_under(side_prior: Leaves, other: Leaves, blocks: BlockCounts, b: int) -> float:
    """Log weight of a block under a prior other than the stored one."""
    total = log_rising_scalar(other.a, blocks.size[b]) - other.log_empty
    cells = other.first[-1]
    for s in range(len(other.prior)):
        part = log_gamma_above(other.prior[s], blocks.table[s, b] - side_prior.prior[s])
        total += part if s < cells else -part
    return total + log_number_blocks(side_prior.numbers, other.numbers, blocks.numbers, b, b)


@kernel
def members(at: Partition, b: int, c: int, rng: Any) -> IntArray:
    """Cases of one or two blocks in random order, with an anchor from each first."""
    n = int(at.blocks.size[b] + (at.blocks.size[c] if b != c else 0.0))
    chosen = np.empty(n, dtype=np.int64)
    k = 0
    for case in range(at.block.shape[0]):
        if at.block[case] == b or at.block[case] == c:
            chosen[k] = case
            k += 1
    for k in range(n - 1, 0, -1):  # shuffled
        j = int(rng.random() * (k + 1))
        chosen[k], chosen[j] = chosen[j], chosen[k]
    if b != c:  # the first of each block in random order is uniform
        for place, side_prior in ((0, b), (1, c)):
            k = place
            while at.block[chosen[k]] != side_prior:
                k += 1
            chosen[place], chosen[k] = chosen[k], chosen[place]
    return chosen


@inlined
def odds_of_side(
    rows: ShownCells, numbers: Any, a: float, row: int, halves: BlockCounts, stats: Any, side: int
) -> float:
    """Odds of half 1 to half 0 for a case, now in half `side` (−1: in none).

    `rows`, `numbers` and `a` are of the leaves, `stats` is `halves.numbers`; see `put`.
    """
    out_of_zero, out_of_one = 1.0 if side == 0 else 0.0, 1.0 if side == 1 else 0.0
    odds: float = (a + halves.size[1] - out_of_one) / (a + halves.size[0] - out_of_zero)
    first, last = rows.starts[row], rows.starts[row + 1]
    while first < last:
        stop = min(first + RESCALED, last)
        # Four independent products, for instruction-level parallelism.
        hits_0, shown_0, hits_1, shown_1 = 1.0, 1.0, 1.0, 1.0
        for n in range(first, stop):
            cell, owner = rows.cells[n], rows.owners[n]
            hits_0 *= halves.table[cell, 0] - out_of_zero
            shown_0 *= halves.table[owner, 0] - out_of_zero
            hits_1 *= halves.table[cell, 1] - out_of_one
            shown_1 *= halves.table[owner, 1] - out_of_one
        odds *= (hits_1 / shown_1) * (shown_0 / hits_0)
        first = stop
    odds *= number_odds(numbers, row, stats, side)
    return min(max(odds, 1.0 / LARGEST_ODDS), LARGEST_ODDS)


@inlined
def deal_out(leaves: Leaves, halves: Halves, rng: Any) -> None:
    """Allocate cases to the halves sequentially."""
    rows, numbers, a, row_of = leaves.rows, leaves.numbers, leaves.a, leaves.row
    cases, side, pair, stats = halves.cases, halves.side, halves.blocks, halves.blocks.numbers
    for n in range(len(cases)):
        row = row_of[cases[n]]
        if n < 2:
            side[n] = n
        else:
            odds = odds_of_side(rows, numbers, a, row, pair, stats, -1)
            side[n] = 1 if rng.random() * (1.0 + odds) < odds else 0
        put(rows, numbers, row, pair, stats, side[n], 1.0)


@kernel
def scan(leaves: Leaves, halves: Halves, at: Partition, second: int, rng: Any) -> float:
    """Restricted Gibbs scan, or a forced one to the current blocks if `second` is given (not −1).

    Returns the log probability of the scan.
    """
    rows, numbers, a, row_of = leaves.rows, leaves.numbers, leaves.a, leaves.row
    cases, side, pair, stats = halves.cases, halves.side, halves.blocks, halves.blocks.numbers
    block = at.block
    log_q, q = 0.0, 1.0
    for n in range(2, len(cases)):
        row, old = row_of[cases[n]], side[n]
        odds = odds_of_side(rows, numbers, a, row, pair, stats, old)
        if second >= 0:
            new = 1 if block[cases[n]] == second else 0
        else:
            new = 1 if rng.random() * (1.0 + odds) < odds else 0
        q /= 1.0 + (odds if new == 0 else 1.0 / odds)
        if q < SMALL:  # a logarithm for many cases
            log_q, q = log_q + math.log(q), 1.0
        if new != old:
            side[n] = new
            put(rows, numbers, row, pair, stats, old, -1.0)
            put(rows, numbers, row, pair, stats, new, 1.0)
    return log_q + math.log(q)


@kernel
def log_odds(leaves: Leaves, at: Partition, halves: Halves, b: int, c: int, rng: Any) -> float:
    """Prepare a split of b (if b = c), or the reverse of a merge of b and c.

    Returns the log acceptance ratio of the split, without weights of the number of blocks. Anchors
    are ordered pairs: n(n − 1) in a block, or pairs of blocks.
    """
    clear_block(leaves, halves.blocks, np.intp(0))
    clear_block(leaves, halves.blocks, np.intp(1))
    deal_out(leaves, halves, rng)
    for _ in range(SCANS):
        scan(leaves, halves, at, -1, rng)
    log_q = scan(leaves, halves, at, -1 if b == c else c, rng)
    return log_gain(leaves, halves.blocks, 0, 1, at.used[0] + (1 if b == c else 0)) - log_q


@kernel
def log_gain(leaves: Leaves, blocks: BlockCounts, b: int, c: int, number: int) -> float:
    """Log ratio of the weights of two of `number` blocks to their merged block.

    It includes the forward and reverse choice of anchors, but not the proposal of the split.
    """
    n0, n1 = blocks.size[b], blocks.size[c]
    whole = n0 + n1
    total = log_block(leaves, blocks, b) + log_block(leaves, blocks, c)
    total -= log_rising_scalar(leaves.a, whole) - leaves.log_empty
    cells = leaves.first[-1]
    for s in range(len(leaves.prior)):
        a = leaves.prior[s]
        part = log_gamma_above(a, (blocks.table[s, b] - a) + (blocks.table[s, c] - a))
        total -= part if s < cells else -part
    total -= log_number_blocks(leaves.numbers, leaves.numbers, blocks.numbers, b, c)
    return total + math.log(whole * (whole - 1.0)) - math.log(number * n0 * n1)


@inlined
def try_split(
    leaves: Leaves, at: Partition, levels: LevelWeights, note: FloatArray, rng: Any
) -> None:
    """Propose to split a random block."""
    used = at.used[0]
    b = int(rng.random() * used)
    if at.blocks.size[b] < 2.0 or levels.rise[used] == 0.0:
        return
    cases = members(at, b, b, rng)
    halves = Halves(cases, np.empty(len(cases), dtype=np.int64), at.pair)
    odds = log_odds(leaves, at, halves, b, b, rng)
    note[used, UP] += math.exp(min(0.0, odds + math.log(levels.reference[used])))
    if math.log(rng.random()) < odds + math.log(levels.rise[used]):
        copy_block(halves.blocks, np.intp(0), at.blocks, b)
        copy_block(halves.blocks, np.intp(1), at.blocks, used)
        for n in range(len(cases)):
            if halves.side[n] == 1:
                at.block[cases[n]] = used
        at.used[0] = used + 1
        clear_block(leaves, at.blocks, used + 1)


@inlined
def try_merge(
    leaves: Leaves, at: Partition, levels: LevelWeights, note: FloatArray, rng: Any
) -> None:
    """Propose to merge two random blocks."""
    used = at.used[0]
    if used < 2:
        return
    b = int(rng.random() * used)
    c = (b + 1 + int(rng.random() * (used - 1))) % used
    # The reverse probability is at most 1, so hopeless merges are rejected without scans.
    least = -log_gain(leaves, at.blocks, b, c, used)
    weights = max(-math.log(levels.reference[used - 1]), -math.log(levels.rise[used - 1]))
    if least + weights < HOPELESS:
        return
    cases = members(at, b, c, rng)
    halves = Halves(cases, np.empty(len(cases), dtype=np.int64), at.pair)
    odds = log_odds(leaves, at, halves, b, c, rng)
    note[used, DOWN] += math.exp(min(0.0, -odds - math.log(levels.reference[used - 1])))
    if math.log(rng.random()) < -odds - math.log(levels.rise[used - 1]):
        rows, numbers, stats = leaves.rows, leaves.numbers, at.blocks.numbers
        for n in range(len(cases)):
            if at.block[cases[n]] == c:
                at.block[cases[n]] = b
                put(rows, numbers, leaves.row[cases[n]], at.blocks, stats, b, 1.0)
        close_block(leaves, at, c)


@inlined
def split_or_merge(
    leaves: Leaves, at: Partition, levels: LevelWeights, note: FloatArray, rng: Any
) -> None:
    """Propose a split or a merge with equal probability."""
    note[at.used[0], TRIES] += 1.0
    if rng.random() < 0.5:
        try_split(leaves, at, levels, note, rng)
    else:
        try_merge(leaves, at, levels, note, rng)


# A Markov chain over partitions of the cases and several priors.

STEEPEST = 300.0  # nats: largest difference of log weights of neighbouring numbers of blocks
TRIED = 2  # split-merge proposals per sweep: about as much work as the sweep


class Notes(NamedTuple):
    """Statistics of a chain at each number of blocks. B numbers, from 0 up; S priors."""

    rates: FloatArray  # (kinds of moves, B, 3) sums of tries, and of rates of steps up and down
    energy: FloatArray  # (B, 3) sweeps, and sums of log weights of partitions and of their squares
    priors: FloatArray  # (B, S) sums of probabilities of the priors given partitions


class Priors(NamedTuple):
    """The prior fields of `Leaves`, for S priors."""

    prior: FloatArray  # (S, cells + leaves) exponents
    a: FloatArray  # (S,) exponent of a class weight
    log_empty: FloatArray  # (S,)
    numbers: Any  # `NumberPriors`; None without numbers


@kernel
def steeper(ratio: float, more: float) -> float:
    """Multiply a ratio by e^more within the range of floats; 0 stays 0."""
    if ratio == 0.0 or more == 0.0:
        return ratio
    return math.exp(min(max(math.log(ratio) + more, -STEEPEST), STEEPEST))


@kernel
def under(leaves: Leaves, priors: Priors, s: int) -> Leaves:
    """The leaves under prior s."""
    return Leaves(
        leaves.row,
        leaves.rows,
        leaves.first,
        priors.prior[s],
        priors.a[s],
        priors.log_empty[s],
        numbers_under(leaves.numbers, priors.numbers, s),
    )


@kernel
def weigh_priors(
    leaves: Leaves, priors: Priors, at: Partition, log_weights: FloatArray, p: FloatArray
) -> float:
    """Write p(s|z) of every prior, (S,); return the log normaliser."""
    used, top = at.used[0], -math.inf
    side_prior = under(leaves, priors, at.prior[0])
    for s in range(len(p)):
        other = under(leaves, priors, s)
        p[s] = log_weights[s, used]
        for b in range(used):
            p[s] += log_block_under(side_prior, other, at.blocks, b)
        top = max(top, p[s])
    total = 0.0
    for s in range(len(p)):
        p[s] = math.exp(p[s] - top)
        total += p[s]
    for s in range(len(p)):
        p[s] /= total
    return top + math.log(total)


@kernel
def draw_prior(leaves: Leaves, priors: Priors, at: Partition, p: FloatArray, rng: Any) -> None:
    """Draw the next prior of the chain from p."""
    if len(p) == 1:
        return
    u, s = rng.random(), 0
    while s < len(p) - 1 and u >= p[s]:
        u -= p[s]
        s += 1
    if s != at.prior[0]:
        old, new = under(leaves, priors, at.prior[0]), under(leaves, priors, s)
        change_prior(old, new, at.blocks, at.used[0] + 1)
        at.prior[0] = s


@kernel
def walk(
    leaves: Leaves,
    priors: Priors,
    at: Partition,
    levels: LevelWeights,
    log_weights: FloatArray,
    sweeps: int,
    notes: Notes,
    rng: Any,
) -> None:
    """Run the chain and add to `notes`; `log_weights`, (S, B), are those of priors, log c."""
    numbers, p = len(levels.rise), np.empty(len(log_weights))
    steeper_levels = LevelWeights(np.empty(numbers), np.empty(numbers))
    for _ in range(sweeps):
        side_prior = at.prior[0]
        for m in range(numbers):
            more = 0.0
            if m + 1 < numbers:
                more = log_weights[side_prior, m + 1] - log_weights[side_prior, m]
            steeper_levels.rise[m] = steeper(levels.rise[m], more)
            steeper_levels.reference[m] = steeper(levels.reference[m], more)
        leaves_of_prior = under(leaves, priors, side_prior)
        sweep_cases(leaves_of_prior, at, steeper_levels, notes.rates[CASES], rng)
        for _ in range(TRIED):
            split_or_merge(leaves_of_prior, at, steeper_levels, notes.rates[SPLITS], rng)
        energy, used = weigh_priors(leaves, priors, at, log_weights, p), at.used[0]
        notes.energy[used, 0] += 1.0
        notes.energy[used, 1] += energy
        notes.energy[used, 2] += energy * energy
        for s in range(len(p)):
            notes.priors[used, s] += p[s]
        draw_prior(leaves, priors, at, p, rng)
