"""The covariance of expected counts, and of the complete-data score, with one hidden variable.

It is the second moment, which is block-diagonal in the hidden state, minus the outer product of the
means, one large matrix product over rows. Features of rows without numbers are mostly zeros. If
features are few, sums over the pairs of each row fit into the cache and are five times as fast.
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg.blas import dsyrk

from lacunet.inference.kernels.lanes import LANES, add_lanes
from lacunet.inference.kernels.rows import ROWS_AT_ONCE, PatternArrays, mark_blocks, posterior_rows
from lacunet.inference.plans.plan import FreeCoordinates
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.jit import kernel

CACHED_NUMBERS = 1 << 18  # sums over pairs of blocks that fit into the cache: 2 MiB
CHUNK_NUMBERS = 1 << 22  # numbers in a chunk of rows: 32 MiB


@kernel
def pair_rows(plan: PatternArrays, counts: FloatArray, table: FloatArray, out: FloatArray) -> None:
    """Add count · r_c r_c′ to out[b, b′, c, c′] of all blocks b ≥ b′ that a row touches.

    `out`, (B, B, K, W), is padded as tables are; `table` are the log weights of the patterns.
    """
    blocks, cells, width = out.shape[0], plan.cells, plan.width
    posterior, log_z = np.empty((ROWS_AT_ONCE, width)), np.empty(ROWS_AT_ONCE)
    touched, products = np.empty(blocks, dtype=np.int64), np.empty(cells * width)
    each = cells * width
    for first in range(0, plan.of_row.shape[0], ROWS_AT_ONCE):
        rows = plan.of_row[first : first + ROWS_AT_ONCE]
        posterior_rows(table, rows, posterior[: rows.shape[0]], log_z[: rows.shape[0]])
        for i in range(rows.shape[0]):
            n = 0
            for g in range(rows.shape[1]):
                p = rows[i, g]
                for e in range(plan.starts[p], plan.starts[p + 1]):
                    touched[n] = plan.entries[e]
                    n += 1
            for c in range(cells):
                scale = counts[first + i] * posterior[i, c]
                for d in range(width):
                    products[c * width + d] = scale * posterior[i, d]
            for s in range(n):
                for t in range(s + 1):
                    at = (touched[s] * blocks + touched[t]) * each
                    if touched[t] > touched[s]:
                        at = (touched[t] * blocks + touched[s]) * each
                    for d in range(0, each, LANES):
                        add_lanes(out, at + d, products, d)


def covariance_of_pairs(plan: PatternArrays, counts: FloatArray, table: FloatArray) -> FloatArray:
    """Covariance of the counts of blocks, (K·B, K·B), by sums over pairs of each row."""
    blocks, K = len(plan.positions), plan.cells
    sums = np.zeros((blocks, blocks, K, plan.width))
    pair_rows(plan, counts, table, sums)
    sums = sums[..., :K]
    above = np.triu_indices(blocks, 1)
    sums[above] = sums.transpose(1, 0, 3, 2)[above]
    result = -sums.transpose(2, 0, 3, 1)
    every = np.arange(K)
    result[every, :, every] += sums.sum(axis=3).transpose(2, 0, 1)
    return result.reshape(K * blocks, K * blocks)


def covariance_of_features(
    features: Callable[[slice], FloatArray],
    posterior: FloatArray,
    counts: FloatArray,
    chain: Callable[[FloatArray], FloatArray] = lambda x: x,
) -> FloatArray:
    """Covariance of (n, F) features of rows, given (m, K) posteriors: (K·F, K·F).

    `chain` maps the last axis linearly: the result is the covariance of the mapped features.
    """
    m, K = posterior.shape
    F = features(slice(0, 0)).shape[1]
    second = np.zeros((K, F, K, F))
    t = chain(np.zeros((0, K * F))).shape[1]
    of_means: FloatArray = np.zeros((t, t), order="F")
    step = max(1, CHUNK_NUMBERS // (K * F))
    for first in range(0, m, step):
        rows = slice(first, min(first + step, m))
        x, p, root = features(rows), posterior[rows], np.sqrt(counts[rows])
        means = chain(((p * root[:, None])[:, :, None] * x[:, None, :]).reshape(len(x), -1))
        of_means = dsyrk(1.0, means.T, beta=1.0, c=of_means, lower=1, overwrite_c=1)
        for c in range(K):
            second[c, :, c] += (x * (p[:, c] * counts[rows])[:, None]).T @ x
    mapped = chain(chain(second.reshape(K * F, K * F)).T)
    return np.asarray(mapped - of_means - np.tril(of_means, -1).T)


def subtract_pattern_covariance(
    A: FloatArray,
    plan: PatternArrays,
    counts: FloatArray,
    table: FloatArray,
    theta: FloatArray,
    coordinates: FreeCoordinates,
) -> FloatArray:
    """Subtract the covariance of the score from A, in free θ; `table` as in `pair_rows`."""
    blocks, K = len(plan.positions), plan.cells
    positions = (plan.positions + np.arange(K)[:, None]).reshape(-1)
    place = np.full(len(theta), -1)
    place[positions] = np.arange(len(positions))
    free, reference = place[coordinates.free], place[coordinates.reference]
    columns = np.flatnonzero((free >= 0) | (reference >= 0))
    free, reference = free[columns], reference[columns]
    with np.errstate(divide="ignore", over="ignore"):
        inverse = 1.0 / theta[positions]
    inverse[np.isinf(inverse)] = 0.0  # a state of probability 0 is never expected
    for_free = np.where(free >= 0, inverse[free], 0.0)
    for_reference = np.where(reference >= 0, inverse[reference], 0.0)

    def chain(x: FloatArray) -> FloatArray:
        """Map scores to free coordinates."""
        return np.asarray(x[..., free] * for_free - x[..., reference] * for_reference)

    if blocks * blocks * K * plan.width <= CACHED_NUMBERS:
        covariance = chain(chain(covariance_of_pairs(plan, counts, table)).T)
    else:
        posterior = np.empty((len(counts), plan.width))
        posterior_rows(table, plan.of_row, posterior, np.empty(len(counts)))

        def features(rows: slice) -> FloatArray:
            marked = np.empty((len(counts[rows]), blocks))
            mark_blocks(plan.starts, plan.entries, plan.of_row[rows], marked)
            return marked

        cell_weights = np.ascontiguousarray(posterior[:, :K])
        covariance = covariance_of_features(features, cell_weights, counts, chain)
    A[np.ix_(columns, columns)] -= np.tril(covariance)
    return A
