"""Posterior predictive densities of numeric leaves in blocks of cases.

With parameters integrated out, the predictive density of a leaf is a quotient of two integrals: a
Student t (Gaussian leaves), negative binomial (counts) or beta-binomial (scores). A block stores
hyperparameters plus statistics of each leaf, and the terms of the quotient that do not depend on
the case, which change only with the block. Counts are integers, so log Γ is looked up in tables.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.runtime.jit import inlined, kernel

STUDENT, NEGATIVE_BINOMIAL, BETA_BINOMIAL = 0, 1, 2  # kinds of leaves
PLACES = 4  # statistics of a leaf, at most
KNOWN = 6  # numbers derived from them
LONGEST = 460.0  # nats: products of odds up to e^LONGEST stay finite
TINY, HUGE = 1e-140, 1e140  # products of factors between them take one more factor
CANCELLED = 1e-6  # below it a difference of scales has lost too many digits


class NumberLeaves(NamedTuple):
    """Numeric cells of rows, and the prior of one class. R rows, G leaves, E cells."""

    starts: IntArray  # (R + 1,) start of each row
    leaf: IntArray  # (E,) leaf of each cell
    T: FloatArray  # (E, PLACES) statistics of each cell
    kind: IntArray  # (G,) of each leaf
    counts: Any  # 1 if some leaves are counts or scores; None compiles kernels without them
    prior: FloatArray  # (G, PLACES + KNOWN) values of an empty block
    gamma_at: IntArray  # (G, 3) start of each leaf in `log_gamma`, for up to three arguments
    log_gamma: FloatArray  # log Γ(argument + n)/Γ(argument), or + n/2 for variances, n = 0, 1, …


class NumberPriors(NamedTuple):
    """The prior fields of `NumberLeaves`, for S priors."""

    prior: FloatArray  # (S, G, PLACES + KNOWN)
    gamma_at: IntArray  # (S, G, 3)


@kernel
def numbers_under(leaves: NumberLeaves | None, priors: NumberPriors, s: int) -> Any:
    """The leaves under prior s."""
    if leaves is None:
        return None
    return NumberLeaves(
        leaves.starts,
        leaves.leaf,
        leaves.T,
        leaves.kind,
        leaves.counts,
        priors.prior[s],
        priors.gamma_at[s],
        leaves.log_gamma,
    )


@inlined
def log_gamma(leaves: NumberLeaves, g: int, which: int, count: float) -> float:
    """Look up log Γ of an argument of a leaf, `count` above its prior value."""
    value: float = leaves.log_gamma[leaves.gamma_at[g, which] + int(count + 0.5)]
    return value


@inlined
def log_integral(
    leaves: NumberLeaves, g: int, first: float, second: float, third: float, fourth: float
) -> float:
    """Log ∫ exp(hyper · η) for the hyperparameters of a leaf, up to a constant."""
    if leaves.kind[g] == STUDENT:  # (κ m, κ, κ m² + 2 b, 2 a + 1)
        shape, scale = (fourth - 1.0) / 2.0, (third - first * first / second) / 2.0
        value = log_gamma(leaves, g, 0, fourth - leaves.prior[g, 3])
        value -= 0.5 * math.log(second) + shape * math.log(scale)
    elif leaves.kind[g] == NEGATIVE_BINOMIAL:  # (shape, rate)
        value = log_gamma(leaves, g, 0, first - leaves.prior[g, 0]) - first * math.log(second)
    else:  # exponents of a Beta
        low, high = first - leaves.prior[g, 0], second - leaves.prior[g, 1]
        value = log_gamma(leaves, g, 0, low) + log_gamma(leaves, g, 1, high)
        value -= log_gamma(leaves, g, 2, low + high)
    return value


@kernel
def work_out(leaves: NumberLeaves, stats: FloatArray, b: int, g: int) -> None:
    """Update the derived numbers of a leaf in a block.

    A Student t needs its mean, a factor and a constant for one case more, and the same for one case
    less: places 4, 5, 7 and 4, 8, 9. Place 6 is a + ½.
    """
    first, second = stats[b, g, 0], stats[b, g, 1]
    if leaves.kind[g] == STUDENT:
        mean, n = first / second, stats[b, g, 3] - leaves.prior[g, 3]
        scale = stats[b, g, 2] - first * mean  # 2b
        steep = second / ((second + 1.0) * scale)
        now = log_gamma(leaves, g, 0, n)
        stats[b, g, 4], stats[b, g, 5] = mean, steep
        stats[b, g, 6] = stats[b, g, 3] / 2.0  # a + ½
        one_more = log_gamma(leaves, g, 0, n + 1.0) - now
        stats[b, g, 7] = one_more + 0.5 * math.log(2.0 * steep)
        stats[b, g, 8], stats[b, g, 9] = 0.0, 0.0
        if n > 0.5:
            flat = second / ((second - 1.0) * scale)
            one_less = now - log_gamma(leaves, g, 0, n - 1.0)
            stats[b, g, 8] = flat
            stats[b, g, 9] = one_less - 0.5 * math.log(0.5 * scale * scale * flat)
    elif leaves.kind[g] == NEGATIVE_BINOMIAL:
        stats[b, g, 4] = math.log(second + 1.0)
        stats[b, g, 5] = log_gamma(leaves, g, 0, first - leaves.prior[g, 0])
        stats[b, g, 5] -= first * (math.log(second) - stats[b, g, 4])
    else:
        stats[b, g, 4] = log_integral(leaves, g, first, second, 0.0, 0.0)


@inlined
def log_predictive(leaves: NumberLeaves, e: int, stats: FloatArray, b: int) -> float:
    """Log predictive probability of a count given a block without it, up to a constant."""
    g, x = leaves.leaf[e], leaves.T[e, 0]
    if leaves.kind[g] == NEGATIVE_BINOMIAL:
        value: float = log_gamma(leaves, g, 0, stats[b, g, 0] - leaves.prior[g, 0] + x)
        value -= stats[b, g, 5] + x * stats[b, g, 4]
    else:
        value = log_integral(
            leaves, g, stats[b, g, 0] + x, stats[b, g, 1] + leaves.T[e, 1], 0.0, 0.0
        )
        value -= stats[b, g, 4]
    return value


@kernel
def log_predictive_without(leaves: NumberLeaves, e: int, stats: FloatArray, b: int) -> float:
    """Log predictive probability of a cell given the rest of its block."""
    g, T, value = leaves.leaf[e], leaves.T, 0.0
    for less in range(2):  # one call site, because each is inlined and compiled
        value += (1.0 - 2.0 * less) * log_integral(
            leaves,
            g,
            stats[b, g, 0] - less * T[e, 0],
            stats[b, g, 1] - less * T[e, 1],
            stats[b, g, 2] - less * T[e, 2],
            stats[b, g, 3] - less * T[e, 3],
        )
    return value


@kernel
def add_cells(
    starts: IntArray,
    leaf: IntArray,
    T: FloatArray,
    row: int,
    stats: FloatArray,
    b: int,
    sign: float,
) -> None:
    """Add the statistics of a row to a block (sign 1), or remove them (−1)."""
    for e in range(starts[row], starts[row + 1]):
        for place in range(PLACES):
            stats[b, leaf[e], place] += sign * T[e, place]


@kernel
def put_numbers(
    leaves: NumberLeaves | None, row: int, stats: FloatArray, b: int, sign: float
) -> None:
    """Add a case to a block (sign 1), or remove it (−1)."""
    if leaves is None:
        return
    add_cells(leaves.starts, leaves.leaf, leaves.T, row, stats, b, sign)
    for e in range(leaves.starts[row], leaves.starts[row + 1]):
        work_out(leaves, stats, b, leaves.leaf[e])


@kernel
def clear_numbers(leaves: NumberLeaves | None, stats: FloatArray, b: int | np.intp) -> None:
    """Reset a block to the prior."""
    if leaves is None:
        return
    for g in range(stats.shape[1]):
        for place in range(PLACES + KNOWN):
            stats[b, g, place] = leaves.prior[g, place]


@kernel
def copy_numbers(
    source: FloatArray | None, b: int | np.intp, target: FloatArray, c: int | np.intp
) -> None:
    """Copy the statistics of a block."""
    if source is None:
        return
    for g in range(source.shape[1]):
        for place in range(PLACES + KNOWN):
            target[c, g, place] = source[b, g, place]


@kernel
def change_prior_of_numbers(
    old: NumberLeaves | None, new: NumberLeaves, stats: FloatArray, b: int
) -> None:
    """Replace the prior of a block."""
    if old is None:
        return
    for g in range(stats.shape[1]):
        for place in range(PLACES):
            stats[b, g, place] += new.prior[g, place] - old.prior[g, place]
        work_out(new, stats, b, g)


@kernel
def log_number_blocks(
    old: NumberLeaves | None, new: NumberLeaves, stats: FloatArray, b: int, c: int
) -> float:
    """Log integrals of all leaves of a block, or of two merged blocks (b ≠ c).

    Blocks store the old prior; the integrals are under the new one.
    """
    if old is None:
        return 0.0
    total, both = 0.0, 0.0 if b == c else 1.0
    for g in range(old.kind.shape[0]):
        p, q = old.prior[g], new.prior[g]
        total += log_integral(
            new,
            g,
            stats[b, g, 0] + (q[0] - p[0]) + both * (stats[c, g, 0] - p[0]),
            stats[b, g, 1] + (q[1] - p[1]) + both * (stats[c, g, 1] - p[1]),
            stats[b, g, 2] + (q[2] - p[2]) + both * (stats[c, g, 2] - p[2]),
            stats[b, g, 3] + (q[3] - p[3]) + both * (stats[c, g, 3] - p[3]),
        )
    return total


@inlined
def log_students(
    starts: IntArray,
    leaf: IntArray,
    T: FloatArray,
    kind: IntArray,
    row: int,
    stats: FloatArray,
    b: int,
    inside: bool,
) -> float:
    """Log predictive density of a row's Gaussian cells given a block, without itself if inside.

    Densities are constants times powers of 1 ± steep · (x − mean)². Neighbouring factors with equal
    powers are multiplied, so that complete rows need one logarithm. Arguments are arrays, because
    the reference counts of tuples would take longer than the work.
    """
    total, power, product = 0.0, 0.0, 1.0
    for e in range(starts[row], starts[row + 1]):
        g = leaf[e]
        if kind[g] != STUDENT:
            continue
        x = T[e, 0]
        away = x - stats[b, g, 4]
        if inside:
            exponent, factor = stats[b, g, 6] - 1.0, 1.0 - stats[b, g, 8] * away * away
            if factor < CANCELLED:
                first, second, third = stats[b, g, 0], stats[b, g, 1], stats[b, g, 2]
                factor = third - x * x - (first - x) * (first - x) / (second - 1.0)
                factor /= third - first * first / second
            total += stats[b, g, 9]
        else:
            exponent, factor = -stats[b, g, 6], 1.0 + stats[b, g, 5] * away * away
            total += stats[b, g, 7]
        if exponent != power or product < TINY or product > HUGE:
            total += power * math.log(product)
            power, product = exponent, 1.0
        product *= factor
    return total + power * math.log(product)


@kernel
def log_counts(
    _counts: Any, leaves: NumberLeaves, row: int, stats: FloatArray, b: int, inside: bool
) -> float:
    """Log predictive probability of a row's counts given a block, without itself if inside."""
    if _counts is None:
        return 0.0
    total = 0.0
    for e in range(leaves.starts[row], leaves.starts[row + 1]):
        if leaves.kind[leaves.leaf[e]] != STUDENT:
            if inside:
                total += log_predictive_without(leaves, e, stats, b)
            else:
                total += log_predictive(leaves, e, stats, b)
    return total


@kernel
def log_row(leaves: NumberLeaves, row: int, stats: FloatArray, b: int, inside: bool) -> float:
    """Log predictive probability of a row's numbers given a block, without itself if inside."""
    starts, leaf, T, kind = leaves.starts, leaves.leaf, leaves.T, leaves.kind
    total = log_students(starts, leaf, T, kind, row, stats, b, inside)
    return total + log_counts(leaves.counts, leaves, row, stats, b, inside)


@kernel
def weigh_numbers(
    leaves: NumberLeaves | None,
    row: int,
    stats: FloatArray,
    number: int,
    b: int,
    x: FloatArray,
    less: FloatArray,
    logs: FloatArray,
) -> None:
    """Multiply weights x of blocks by predictive densities of numbers, up to a common factor.

    A case in block b (−1: in none) has two weights there: x with itself, which may dwarf all
    others, and `less` without. Only the latter sets the common factor. `logs` is scratch.
    """
    if leaves is None:
        return
    starts, leaf, T, kind = leaves.starts, leaves.leaf, leaves.T, leaves.kind
    top, without = -math.inf, -math.inf
    if b >= 0:
        without = math.log(less[b]) + log_students(starts, leaf, T, kind, row, stats, b, True)
        without += log_counts(leaves.counts, leaves, row, stats, b, True)
        top = without
    for c in range(number):
        logs[c] = math.log(x[c]) + log_students(starts, leaf, T, kind, row, stats, c, False)
        logs[c] += log_counts(leaves.counts, leaves, row, stats, c, False)
        if c != b:
            top = max(top, logs[c])
    for c in range(number):
        x[c] = math.exp(min(logs[c] - top, LONGEST))
    if b >= 0:
        less[b] = math.exp(without - top)


@kernel
def number_odds(leaves: NumberLeaves | None, row: int, stats: FloatArray, side: int) -> float:
    """Odds of half 1 to half 0 by the numbers of a case, now in half `side` (−1: in none)."""
    if leaves is None:
        return 1.0
    starts, leaf, T, kind, apart = leaves.starts, leaves.leaf, leaves.T, leaves.kind, 0.0
    for b in range(2):
        sign = 2.0 * b - 1.0
        apart += sign * log_students(starts, leaf, T, kind, row, stats, b, side == b)
        apart += sign * log_counts(leaves.counts, leaves, row, stats, b, side == b)
    return math.exp(min(max(apart, -LONGEST), LONGEST))


@kernel
def numbers_taken_out(leaves: NumberLeaves | None, row: int, stats: FloatArray, b: int) -> float:
    """Factor of a case's weight in its block, by its numbers, if the case is removed."""
    if leaves is None:
        return 1.0
    apart = 0.0
    for less in range(2):
        apart += (2.0 * less - 1.0) * log_row(leaves, row, stats, b, less == 1)
    return math.exp(min(max(apart, -LONGEST), LONGEST))
