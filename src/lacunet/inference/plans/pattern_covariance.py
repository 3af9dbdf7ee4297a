"""The covariance of the complete-data score of components with one hidden variable.

It is the second moment, which couples only parameters of the same hidden state (one small product
per state), less the outer product of the mean, which is one large product GᵀG over the rows. G is
mostly zeros: of a few blocks, whose pairs fit into the cache, both are sums over the pairs that a
row touches (`kernels/pairs.py`), five times as fast.
"""

import numpy as np
from scipy.linalg.blas import dsyrk

from lacunet.inference.kernels import rows
from lacunet.inference.kernels.lanes import LANES, add_lanes
from lacunet.inference.kernels.rows import ROWS_AT_ONCE, PatternArrays, posterior_rows
from lacunet.inference.plans.plan import FreeCoordinates
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.runtime.jit import kernel

# How often pairs of blocks and of hidden cells meet in a row: what covariances of scores are
# of.


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


CACHED_NUMBERS = 1 << 18  # sums over pairs of blocks that stay in the cache: 2 MiB
CHUNK_NUMBERS = 1 << 22  # rows are taken in chunks of about 32 MiB, whatever the table's length


class _Touched:
    """The free coordinates that the positions of a plan move, and the chain rule to them."""

    def __init__(self, positions: IntArray, size: int, coordinates: FreeCoordinates) -> None:
        local = np.full(size, len(positions), dtype=np.int64)  # one past the end: a zero column
        local[positions] = np.arange(len(positions))
        free, reference = local[coordinates.free], local[coordinates.reference]
        self.columns = np.flatnonzero(
            (free < len(positions)) | (reference < len(positions))
        )  # (t,) of A
        self.free, self.reference = free[self.columns], reference[self.columns]

    def eliminate(self, x: FloatArray) -> FloatArray:
        """Chain rule over the last axis, (..., positions + 1) → (..., t); the last is zero."""
        return x[..., self.free] - x[..., self.reference]


def less_pattern_covariance(
    A: FloatArray,
    plan: rows.PatternArrays,
    counts: FloatArray,
    table: FloatArray,
    theta: FloatArray,
    coordinates: FreeCoordinates,
) -> FloatArray:
    """Subtract it from A, in free θ coordinates; `table` are the log weights of the patterns."""
    cells, blocks = plan.cells, len(plan.positions)
    positions = plan.positions[:, None] + np.arange(cells)  # (B, K)
    with np.errstate(divide="ignore", over="ignore"):  # 1/θ of 0, or of a number next to it
        inverse = 1.0 / theta[positions]
    touched = _Touched(positions.reshape(-1), len(theta), coordinates)
    if not len(touched.columns):  # nothing but variables with one state
        return A
    whole = len(touched.columns) == len(A)
    M = A if whole else np.zeros((len(touched.columns),) * 2, order="F")
    few = blocks * blocks * cells * plan.width <= CACHED_NUMBERS
    add = _add_by_pairs if few else _add_by_products
    M, pairs = add(M, touched, plan, counts, table, inverse)
    for cell in range(cells):
        mine = _Touched(positions[:, cell], len(theta), coordinates)
        chain = mine.eliminate(np.vstack([np.diag(inverse[:, cell]), np.zeros(blocks)]).T).T
        columns = np.searchsorted(touched.columns, mine.columns)
        M[np.ix_(columns, columns)] -= chain @ pairs[cell] @ chain.T
    if not whole:
        A[np.ix_(touched.columns, touched.columns)] += np.tril(M)
    return M if whole else A


def _add_by_pairs(
    M: FloatArray,
    touched: _Touched,
    plan: rows.PatternArrays,
    counts: FloatArray,
    table: FloatArray,
    inverse: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Add GᵀG to M, and give the second moments of blocks by hidden cell, (K, B, B)."""
    blocks, cells = inverse.shape
    sums = np.zeros((blocks, blocks, cells, plan.width))
    pair_rows(plan, counts, table, sums)
    sums = sums[..., :cells]
    above = np.triu_indices(blocks, 1)
    sums[above] = sums.transpose(1, 0, 3, 2)[above]
    whole = np.zeros((inverse.size + 1,) * 2)
    with np.errstate(invalid="ignore"):
        scaled = inverse[:, None, :, None] * sums * inverse[None, :, None, :]
    scaled[sums == 0.0] = 0.0  # what no case has weighs nothing, also where θ is 0
    whole[:-1, :-1] = scaled.transpose(0, 2, 1, 3).reshape(inverse.size, inverse.size)
    M += touched.eliminate(touched.eliminate(whole).T)
    return M, np.ascontiguousarray(sums.sum(axis=3).transpose(2, 0, 1))


def _add_by_products(
    M: FloatArray,
    touched: _Touched,
    plan: rows.PatternArrays,
    counts: FloatArray,
    table: FloatArray,
    inverse: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Do the same by products of matrices."""
    blocks, cells = inverse.shape
    pairs = np.zeros((cells, blocks, blocks))
    step = max(1, CHUNK_NUMBERS // inverse.size)
    for first in range(0, len(counts), step):
        some = plan._replace(of_row=plan.of_row[first : first + step])
        weights = counts[first : first + step]
        posterior = np.empty((len(weights), plan.width))
        rows.posterior_rows(table, some.of_row, posterior, np.empty(len(weights)))
        scores = np.zeros((len(weights), inverse.size + 1))
        rows.score_rows(some, posterior, inverse, scores)
        G = touched.eliminate(scores)
        G *= np.sqrt(weights)[:, None]
        M = dsyrk(1.0, G.T, beta=1.0, c=M, lower=1, overwrite_c=1)
        _add_pairs(pairs, some, posterior * weights[:, None])
    return M, pairs


def _add_pairs(pairs: FloatArray, plan: rows.PatternArrays, weights: FloatArray) -> None:
    """Count pairs of blocks that stand in one row, by hidden cell: (K, B, B)."""
    marked = np.empty((len(weights), pairs.shape[1]))
    rows.mark_blocks(plan.starts, plan.entries, plan.of_row, marked)
    for cell in range(plan.cells):
        pairs[cell] += (marked * weights[:, cell, None]).T @ marked
