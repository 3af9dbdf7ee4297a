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
from lacunet.runtime.jit import inlined, kernel, where_given

STUDENT, NEGATIVE_BINOMIAL, BETA_BINOMIAL = 0, 1, 2  # kinds of leaves
PLACES = 4  # statistics of a leaf, at most
KNOWN = 4  # numbers derived from them
LONGEST = 460.0  # nats: products of odds up to e^LONGEST stay finite


class NumberLeaves(NamedTuple):
    """Numeric cells of rows, and the prior of one class. R rows, G leaves, E cells."""

    starts: IntArray  # (R + 1,) start of each row
    leaf: IntArray  # (E,) leaf of each cell
    T: FloatArray  # (E, PLACES) statistics of each cell
    kind: IntArray  # (G,) of each leaf
    prior: FloatArray  # (G, PLACES + KNOWN) values of an empty block
    gamma_at: IntArray  # (G, 3) start of each leaf in `log_gamma`, for up to three arguments
    log_gamma: FloatArray  # log Γ(argument + n)/Γ(argument), or + n/2 for variances, n = 0, 1, …


class NumberPriors(NamedTuple):
    """The prior fields of `NumberLeaves`, for S priors."""

    prior: FloatArray  # (S, G, PLACES + KNOWN)
    gamma_at: IntArray  # (S, G, 3)


@where_given(otherwise=None)
def numbers_under(leaves: NumberLeaves, priors: NumberPriors, s: int) -> Any:
    """The leaves under prior s."""
    return NumberLeaves(
        leaves.starts,
        leaves.leaf,
        leaves.T,
        leaves.kind,
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
    """Update the derived numbers of a leaf in a block."""
    first, second = stats[b, g, 0], stats[b, g, 1]
    if leaves.kind[g] == STUDENT:
        mean, n = first / second, stats[b, g, 3] - leaves.prior[g, 3]
        steep = second / ((second + 1.0) * (stats[b, g, 2] - first * mean))  # κ/2(κ + 1)b
        stats[b, g, 4], stats[b, g, 5] = mean, steep
        stats[b, g, 6] = stats[b, g, 3] / 2.0  # a + ½
        one_more = log_gamma(leaves, g, 0, n + 1.0) - log_gamma(leaves, g, 0, n)
        stats[b, g, 7] = one_more + 0.5 * math.log(2.0 * steep)
    elif leaves.kind[g] == NEGATIVE_BINOMIAL:
        stats[b, g, 4] = math.log(second + 1.0)
        stats[b, g, 5] = log_gamma(leaves, g, 0, first - leaves.prior[g, 0])
        stats[b, g, 5] -= first * (math.log(second) - stats[b, g, 4])
    else:
        stats[b, g, 4] = log_integral(leaves, g, first, second, 0.0, 0.0)


@inlined
def log_predictive(leaves: NumberLeaves, e: int, stats: FloatArray, b: int) -> float:
    """Log predictive probability of a cell given a block without it, up to a constant."""
    g, x = leaves.leaf[e], leaves.T[e, 0]
    if leaves.kind[g] == STUDENT:
        away = x - stats[b, g, 4]
        value: float = stats[b, g, 7] - stats[b, g, 6] * math.log1p(stats[b, g, 5] * away * away)
    elif leaves.kind[g] == NEGATIVE_BINOMIAL:
        value = log_gamma(leaves, g, 0, stats[b, g, 0] - leaves.prior[g, 0] + x)
        value -= stats[b, g, 5] + x * stats[b, g, 4]
    else:
        value = log_integral(
            leaves, g, stats[b, g, 0] + x, stats[b, g, 1] + leaves.T[e, 1], 0.0, 0.0
        )
        value -= stats[b, g, 4]
    return value


@inlined
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


@where_given(otherwise=None)
def put_numbers(leaves: NumberLeaves, row: int, stats: FloatArray, b: int, sign: float) -> None:
    """Add a case to a block (sign 1), or remove it (−1)."""
    for e in range(leaves.starts[row], leaves.starts[row + 1]):
        g = leaves.leaf[e]
        for place in range(PLACES):
            stats[b, g, place] += sign * leaves.T[e, place]
        work_out(leaves, stats, b, g)


@where_given(otherwise=None)
def clear_numbers(leaves: NumberLeaves, stats: FloatArray, b: int | np.intp) -> None:
    """Reset a block to the prior."""
    for g in range(stats.shape[1]):
        for place in range(PLACES + KNOWN):
            stats[b, g, place] = leaves.prior[g, place]


@where_given(otherwise=None)
def copy_numbers(
    source: FloatArray, b: int | np.intp, target: FloatArray, c: int | np.intp
) -> None:
    """Copy the statistics of a block."""
    for g in range(source.shape[1]):
        for place in range(PLACES + KNOWN):
            target[c, g, place] = source[b, g, place]


@where_given(otherwise=None)
def change_prior_of_numbers(
    old: NumberLeaves, new: NumberLeaves, stats: FloatArray, b: int
) -> None:
    """Replace the prior of a block."""
    for g in range(stats.shape[1]):
        for place in range(PLACES):
            stats[b, g, place] += new.prior[g, place] - old.prior[g, place]
        work_out(new, stats, b, g)


@where_given(otherwise=0.0)
def log_number_blocks(
    old: NumberLeaves, new: NumberLeaves, stats: FloatArray, b: int, c: int
) -> float:
    """Log integrals of all leaves of a block, or of two merged blocks (b ≠ c).

    Blocks store the old prior; the integrals are under the new one.
    """
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


@kernel
def log_row(leaves: NumberLeaves, row: int, stats: FloatArray, b: int, inside: bool) -> float:
    """Log predictive probability of a row's numbers given a block, without itself if inside."""
    total = 0.0
    for e in range(leaves.starts[row], leaves.starts[row + 1]):
        if inside:
            total += log_predictive_without(leaves, e, stats, b)
        else:
            total += log_predictive(leaves, e, stats, b)
    return total


@kernel
def weigh_numbers(
    leaves: NumberLeaves, row: int, stats: FloatArray, number: int, x: FloatArray, logs: FloatArray
) -> None:
    """Log of weights x of blocks times the predictive probability of a row's numbers."""
    for b in range(number):
        logs[b] = math.log(x[b])
    for e in range(leaves.starts[row], leaves.starts[row + 1]):
        for b in range(number):
            logs[b] += log_predictive(leaves, e, stats, b)


@where_given(otherwise=1.0)
def number_odds(leaves: NumberLeaves, row: int, stats: FloatArray, side: int) -> float:
    """Odds of half 1 to half 0 by the numbers of a case, now in half `side` (−1: in none)."""
    apart = 0.0
    for b in range(2):
        apart += (2.0 * b - 1.0) * log_row(leaves, row, stats, b, side == b)
    return math.exp(min(max(apart, -LONGEST), LONGEST))


@where_given(otherwise=1.0)
def numbers_taken_out(leaves: NumberLeaves, row: int, stats: FloatArray, b: int) -> float:
    """Factor of a case's weight in its block, by its numbers, if the case is removed."""
    apart = 0.0
    for less in range(2):
        apart += (2.0 * less - 1.0) * log_row(leaves, row, stats, b, less == 1)
    return math.exp(min(max(apart, -LONGEST), LONGEST))
