"""E-step kernels for components with one hidden variable; `tests/twins.py` is plain NumPy.

The log weights of the hidden cells of a row are a sum of a few pattern vectors, and each pattern is
a sum of blocks of log θ (see `plans.patterns`). So kernels sum blocks into patterns, loop over
rows, or spread patterns back to blocks. All tables are (number, W), with W the number of cells
padded to a multiple of four; padding cells have log weight −inf (see `kernels.lanes`).
"""

import math
from typing import NamedTuple

import numpy as np

from lacunet.inference.kernels.lanes import (
    LANES,
    add_four_lanes,
    add_lanes,
    fill_lanes,
    scale_lanes,
    shift_lanes,
)
from lacunet.runtime.arrays import FloatArray, IndexArray, IntArray
from lacunet.runtime.jit import kernel

ROWS_AT_ONCE = 64  # rows exponentiated together: long loops that fit into L1

# exp(x) = 2^k · exp(r) with r = x − k log 2, |r| ≤ ½ log 2. Adding and taking away 1.5 · 2^52
# rounds to the nearest integer and leaves k in the low bits; log 2 in two parts keeps r exact.
LOG2_E = 1.4426950408889634
LOG_2_HIGH = 6.93147180369123816490e-01
LOG_2_LOW = 1.90821492927058770002e-10
ROUNDER = 6755399441055744.0
LOWEST = -708.0  # below, exp(x) is not a normal double, and is set to 0


class PatternArrays(NamedTuple):
    """Arrays of a pattern plan. B blocks, P patterns, E entries, m rows, G groups."""

    positions: IntArray  # (B,) where each block starts in a flat vector
    starts: IndexArray  # (P + 1,) where the entries of each pattern start
    entries: IndexArray  # (E,) the blocks of the patterns
    of_row: IndexArray  # (m, G) the patterns of each row
    cells: int  # K, the length of a block
    width: int  # W, the same padded to whole lanes


@kernel
def exp_inplace(x: FloatArray, bits: IntArray) -> None:
    """Replace x by exp(x), for x ≤ 0, to about 1e-15 relative; exp(−inf) = 0.

    The compiler vectorises these loops: 4 × faster than a library call per number. With library
    calls, exponentials are half of an E step.
    """
    scale = bits.view(np.float64)
    n = x.shape[0]
    for i in range(n):
        v = max(x[i], LOWEST)
        t = v * LOG2_E + ROUNDER
        scale[i] = t
        k = t - ROUNDER
        r = (v - k * LOG_2_HIGH) - k * LOG_2_LOW
        p = 1.0 / 479001600.0  # Taylor: the first term left out is below 1e-16 of the sum
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = p * r + 1.0
        p = p * r + 1.0
        x[i] = p if x[i] >= LOWEST else 0.0
    for i in range(n):
        bits[i] = (bits[i] + 1023) << 52
    for i in range(n):
        x[i] *= scale[i]


@kernel
def gather_blocks(
    x: FloatArray, positions: IntArray, cells: int, padding: float, out: FloatArray
) -> None:
    """Gather blocks of a flat vector into a padded table: out[b, c] = x[positions[b] + c]."""
    for b in range(positions.shape[0]):
        for c in range(cells):
            out[b, c] = x[positions[b] + c]
        for c in range(cells, out.shape[1]):
            out[b, c] = padding


@kernel
def scatter_blocks(blocks: FloatArray, positions: IntArray, cells: int, out: FloatArray) -> None:
    """Scatter-add a padded table to a flat vector: out[positions[b] + c] += blocks[b, c]."""
    for b in range(positions.shape[0]):
        for c in range(cells):
            out[positions[b] + c] += blocks[b, c]


@kernel
def sum_blocks(starts: IndexArray, entries: IndexArray, x: FloatArray, out: FloatArray) -> None:
    """Sum the blocks of each pattern: out[p] = Σ_e x[entries[e]]."""
    width = out.shape[1]
    for p in range(out.shape[0]):
        for c in range(0, width, LANES):
            fill_lanes(out, p * width + c, 0.0)
        for e in range(starts[p], starts[p + 1]):
            first = np.int64(entries[e]) * width
            for c in range(0, width, LANES):
                add_lanes(out, p * width + c, x, first + c)


@kernel
def spread_patterns(
    starts: IndexArray, entries: IndexArray, patterns: FloatArray, out: FloatArray
) -> None:
    """Add each pattern to its blocks: out[entries[e]] += patterns[p]."""
    width = out.shape[1]
    for p in range(patterns.shape[0]):
        for e in range(starts[p], starts[p + 1]):
            first = np.int64(entries[e]) * width
            for c in range(0, width, LANES):
                add_lanes(out, first + c, patterns, p * width + c)


@kernel
def sum_patterns(table: FloatArray, index: IndexArray, out: FloatArray) -> None:
    """Sum the patterns of each row: out[i] = Σ_g table[index[i, g]]."""
    width = out.shape[1]
    groups = index.shape[1]
    for i in range(index.shape[0]):
        at = i * width
        for c in range(0, width, LANES):
            fill_lanes(out, at + c, 0.0)
        for g in range(0, groups - 3, 4):
            p = np.int64(index[i, g]) * width
            q = np.int64(index[i, g + 1]) * width
            r = np.int64(index[i, g + 2]) * width
            s = np.int64(index[i, g + 3]) * width
            for c in range(0, width, LANES):
                add_four_lanes(out, at + c, table, p + c, q + c, r + c, s + c)
        for g in range(groups - groups % 4, groups):
            p = np.int64(index[i, g]) * width
            for c in range(0, width, LANES):
                add_lanes(out, at + c, table, p + c)


@kernel
def spread_rows(rows: FloatArray, index: IndexArray, out: FloatArray) -> None:
    """Add each row to its patterns: out[index[i, g]] += rows[i]."""
    width = out.shape[1]
    for i in range(index.shape[0]):
        for g in range(index.shape[1]):
            p = np.int64(index[i, g]) * width
            for c in range(0, width, LANES):
                add_lanes(out, p + c, rows, i * width + c)


@kernel
def exp_rows(x: FloatArray, bits: IntArray, top: FloatArray, total: FloatArray) -> None:
    """Replace each row of log weights by exp(x − top), and write the row maxima and sums.

    An impossible row (every cell −inf) becomes all zeros, with top = −inf and total = 0.
    """
    m, width = x.shape
    for i in range(m):
        a, b, c, d = x[i, 0], x[i, 1], x[i, 2], x[i, 3]  # four independent maxima
        for k in range(LANES, width, LANES):
            a, b = max(a, x[i, k]), max(b, x[i, k + 1])
            c, d = max(c, x[i, k + 2]), max(d, x[i, k + 3])
        top[i] = max(a, b, c, d)
        shift = -top[i] if top[i] > -np.inf else 0.0
        for k in range(0, width, LANES):
            shift_lanes(x, i * width + k, shift)
    exp_inplace(x.reshape(-1), bits)
    for i in range(m):
        a, b, c, d = x[i, 0], x[i, 1], x[i, 2], x[i, 3]
        for k in range(LANES, width, LANES):
            a, b = a + x[i, k], b + x[i, k + 1]
            c, d = c + x[i, k + 2], d + x[i, k + 3]
        total[i] = (a + b) + (c + d)


@kernel
def to_posteriors(r: FloatArray, top: FloatArray, total: FloatArray) -> None:
    """Turn the output of `exp_rows` into posteriors, and `top` into log-likelihoods."""
    for i in range(r.shape[0]):
        top[i] += math.log(total[i])
        for c in range(r.shape[1]):
            r[i, c] *= 1.0 / total[i] if total[i] > 0.0 else 0.0


@kernel
def to_expected(
    r: FloatArray, top: FloatArray, total: FloatArray, counts: FloatArray, log_lik: float
) -> float:
    """Turn the output of `exp_rows` into expected counts; return the summed log-likelihood."""
    width = r.shape[1]
    for i in range(r.shape[0]):
        weight = counts[i]
        if weight > 0.0:  # 0 · −inf would be NaN
            log_lik += weight * (top[i] + math.log(total[i]))
        scale = weight / total[i] if total[i] > 0.0 else 0.0
        for c in range(0, width, LANES):
            scale_lanes(r, i * width + c, scale)
    return log_lik


@kernel
def posterior_rows(
    table: FloatArray, index: IndexArray, posterior: FloatArray, log_z: FloatArray
) -> None:
    """Posterior of the hidden cells, and log-likelihood, of each row."""
    width = table.shape[1]
    total = np.empty(ROWS_AT_ONCE)
    bits = np.empty(ROWS_AT_ONCE * width, dtype=np.int64)
    for first in range(0, index.shape[0], ROWS_AT_ONCE):
        m = min(ROWS_AT_ONCE, index.shape[0] - first)
        r, top = posterior[first : first + m], log_z[first : first + m]
        sum_patterns(table, index[first : first + m], r)
        exp_rows(r, bits, top, total)
        to_posteriors(r, top, total)


@kernel
def expect_rows(table: FloatArray, index: IndexArray, counts: FloatArray, out: FloatArray) -> float:
    """Add each row's posterior, times its count, to its patterns; return the log-likelihood."""
    width = table.shape[1]
    buffer = np.empty((ROWS_AT_ONCE, width))
    top, total = np.empty(ROWS_AT_ONCE), np.empty(ROWS_AT_ONCE)
    bits = np.empty(ROWS_AT_ONCE * width, dtype=np.int64)
    log_lik = 0.0
    for first in range(0, index.shape[0], ROWS_AT_ONCE):
        m = min(ROWS_AT_ONCE, index.shape[0] - first)
        r, rows = buffer[:m], index[first : first + m]
        sum_patterns(table, rows, r)
        exp_rows(r, bits, top, total)
        log_lik = to_expected(r, top, total, counts[first : first + m], log_lik)
        spread_rows(r, rows, out)
    return log_lik


@kernel
def sum_table(plan: PatternArrays, x: FloatArray, padding: float) -> FloatArray:
    """Sum the blocks of a flat vector for each pattern, (P, W)."""
    blocks = np.empty((plan.positions.shape[0], plan.width))
    gather_blocks(x, plan.positions, plan.cells, padding, blocks)
    table = np.empty((plan.starts.shape[0] - 1, plan.width))
    sum_blocks(plan.starts, plan.entries, blocks, table)
    return table


@kernel
def spread_table(plan: PatternArrays, table: FloatArray, out: FloatArray) -> None:
    """Add sums by pattern to the positions of a flat vector."""
    blocks = np.zeros((plan.positions.shape[0], plan.width))
    spread_patterns(plan.starts, plan.entries, table, blocks)
    scatter_blocks(blocks, plan.positions, plan.cells, out)


@kernel
def expect_all(
    plan: PatternArrays, counts: FloatArray, log_weights: FloatArray, out: FloatArray
) -> float:
    """Run a whole E step in one call, to save overhead when rows are few."""
    table = sum_table(plan, log_weights, -np.inf)
    expected = np.zeros(table.shape)
    log_lik: float = expect_rows(table, plan.of_row, counts, expected)
    spread_table(plan, expected, out)
    return log_lik


@kernel
def center_change(posterior: FloatArray, counts: FloatArray, change: FloatArray) -> None:
    """Replace changes t of log weights by changes of expected counts, n r_c (t_c − Σ r t)."""
    for i in range(change.shape[0]):
        mean = 0.0
        for c in range(change.shape[1]):
            mean += posterior[i, c] * change[i, c]
        for c in range(change.shape[1]):
            change[i, c] = counts[i] * posterior[i, c] * (change[i, c] - mean)


@kernel
def tangent_rows(
    table: FloatArray, direction: FloatArray, index: IndexArray, counts: FloatArray, out: FloatArray
) -> None:
    """Derivative of the expected counts of patterns along a direction of their log weights."""
    width = table.shape[1]
    posterior = np.empty((ROWS_AT_ONCE, width))
    change = np.empty((ROWS_AT_ONCE, width))
    log_z = np.empty(ROWS_AT_ONCE)
    for first in range(0, index.shape[0], ROWS_AT_ONCE):
        m = min(ROWS_AT_ONCE, index.shape[0] - first)
        r, t, rows = posterior[:m], change[:m], index[first : first + m]
        posterior_rows(table, rows, r, log_z[:m])
        sum_patterns(direction, rows, t)
        center_change(r, counts[first : first + m], t)
        spread_rows(t, rows, out)


@kernel
def put_posteriors(plan: PatternArrays, posterior: FloatArray, first: int, out: FloatArray) -> None:
    """E[N] of each row at positions from `first` on: out (m, positions)."""
    for i in range(plan.of_row.shape[0]):
        for g in range(plan.of_row.shape[1]):
            p = plan.of_row[i, g]
            for e in range(plan.starts[p], plan.starts[p + 1]):
                at = plan.positions[plan.entries[e]] - first
                if 0 <= at < out.shape[1]:
                    for c in range(plan.cells):
                        out[i, at + c] = posterior[i, c]


@kernel
def mark_blocks(
    starts: IndexArray, entries: IndexArray, index: IndexArray, out: FloatArray
) -> None:
    """Mark the blocks that each row touches: out[i, block] = 1."""
    out[:] = 0.0
    for i in range(index.shape[0]):
        for g in range(index.shape[1]):
            p = index[i, g]
            for e in range(starts[p], starts[p + 1]):
                out[i, entries[e]] = 1.0


@kernel
def two_loop(
    moves: FloatArray, changes: FloatArray, stored: int, curvature: FloatArray, q: FloatArray
) -> None:
    """L-BFGS two-loop recursion: multiply q by the inverse curvature of steps and changes.

    Pair n is in row n modulo the number of rows. Coordinates without curvature (states of
    probability 0) do not move.
    """
    places = moves.shape[0]
    oldest = max(0, stored - places)
    weights = np.empty(places)
    for n in range(stored - 1, oldest - 1, -1):
        move, change = moves[n % places], changes[n % places]
        weights[n % places] = np.dot(move, q) / np.dot(move, change)
        q -= weights[n % places] * change
    for i in range(q.shape[0]):
        q[i] = q[i] / curvature[i] if curvature[i] > 0.0 else 0.0
    for n in range(oldest, stored):
        move, change = moves[n % places], changes[n % places]
        q += (weights[n % places] - np.dot(change, q) / np.dot(move, change)) * move
