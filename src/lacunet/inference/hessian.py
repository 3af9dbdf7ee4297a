"""A, the negative Hessian of g(θ) = log p(D|θ) + log p(θ), in free θ coordinates (DESIGN §3).

In the form of Louis (1982): A = A_c − Σ_components Cov[complete-data score | component], with A_c
what A would be if the hidden values had been seen in their expected counts.

For components of one hidden variable the covariance is the second moment, which couples only
parameters of the same hidden state (one small product per state), less the outer product of the
mean, which is one large product GᵀG over the rows. For all others it is the derivative of their
expected counts, exact by the complex step.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dsyrk

from lacunet.arrays import FloatArray, IndexArray, IntArray
from lacunet.inference import kernels, tree_kernels
from lacunet.inference.coordinates import FreeCoordinates
from lacunet.inference.expectation import expect, pattern_table, safe_log, work_space
from lacunet.inference.pattern_plan import PatternPlan
from lacunet.inference.problem import Problem
from lacunet.inference.tree_plan import TreePlan

CHUNK_NUMBERS = 1 << 22  # rows are taken in chunks of about 32 MiB, whatever the table's length


def negative_hessian(
    problem: Problem, theta: FloatArray, coordinates: FreeCoordinates
) -> FloatArray:
    """Give A, (d, d) in Fortran order; only the lower triangle is filled."""
    A = np.zeros((len(coordinates.free),) * 2, order="F")
    _add_complete(A, problem, theta, coordinates)
    for plan in problem.components.patterns:
        A = _subtract_patterns(A, plan, theta, coordinates)
    if problem.components.trees is not None:
        _subtract_trees(A, problem.components.trees, theta, coordinates)
    return A


def _add_complete(
    A: FloatArray, problem: Problem, theta: FloatArray, coordinates: FreeCoordinates
) -> None:
    """Add A_c: diag(Ñ_k / θ_k²) + Ñ_ref / θ_ref² · 11ᵀ for each parent configuration."""
    with np.errstate(divide="ignore", invalid="ignore"):
        curvature = (expect(problem, theta).N + (problem.alpha - 1.0)) / theta**2
    free, reference = coordinates.free, coordinates.reference
    A[np.diag_indices_from(A)] += curvature[free]
    # `free` is ordered by configuration, so the columns of one configuration are neighbours.
    ij = problem.layout.ij[free]
    first = np.flatnonzero(np.diff(ij, prepend=-1))
    width = np.diff(first, append=len(ij))
    for w in np.unique(width):
        columns = first[width == w][:, None] + np.arange(w)
        A[columns[:, :, None], columns[:, None, :]] += curvature[reference[columns[:, 0]]][
            :, None, None
        ]


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


def _subtract_patterns(
    A: FloatArray, plan: PatternPlan, theta: FloatArray, coordinates: FreeCoordinates
) -> FloatArray:
    cells, blocks = plan.cells, len(plan.positions)
    positions = plan.positions[:, None] + np.arange(cells)  # (B, K)
    with np.errstate(divide="ignore"):
        inverse = 1.0 / theta[positions]
    touched = _Touched(positions.reshape(-1), len(theta), coordinates)
    if not len(touched.columns):  # nothing but variables with one state
        return A
    whole = len(touched.columns) == len(A)
    M = A if whole else np.zeros((len(touched.columns),) * 2, order="F")
    table = pattern_table(plan, safe_log(theta), padding=-np.inf)
    pairs = np.zeros((cells, blocks, blocks))
    step = max(1, CHUNK_NUMBERS // inverse.size)
    for first in range(0, len(plan.counts), step):
        index, counts = plan.index[first : first + step], plan.counts[first : first + step]
        posterior = np.empty((len(index), plan.width))
        kernels.posterior_rows(table, index, posterior, np.empty(len(index)))
        scores = np.zeros((len(index), inverse.size + 1))
        kernels.score_rows(plan.starts, plan.entries, index, posterior, inverse, scores)
        G = touched.eliminate(scores)
        G *= np.sqrt(counts)[:, None]
        M = dsyrk(1.0, G.T, beta=1.0, c=M, lower=1, overwrite_c=1)
        _add_pairs(pairs, plan, index, posterior * counts[:, None])
    for cell in range(cells):
        mine = _Touched(positions[:, cell], len(theta), coordinates)
        chain = mine.eliminate(np.vstack([np.diag(inverse[:, cell]), np.zeros(blocks)]).T).T
        columns = np.searchsorted(touched.columns, mine.columns)
        M[np.ix_(columns, columns)] -= chain @ pairs[cell] @ chain.T
    if not whole:
        A[np.ix_(touched.columns, touched.columns)] += np.tril(M)
    return M if whole else A


def _add_pairs(
    pairs: FloatArray, plan: PatternPlan, index: IndexArray, weights: FloatArray
) -> None:
    """Count pairs of blocks that stand in one row, by hidden cell: (K, B, B)."""
    touched = np.empty((len(index), pairs.shape[1]))
    kernels.mark_blocks(plan.starts, plan.entries, index, touched)
    for cell in range(plan.cells):
        pairs[cell] += (touched * weights[:, cell, None]).T @ touched


def _subtract_trees(
    A: FloatArray, trees: TreePlan, theta: FloatArray, coordinates: FreeCoordinates
) -> None:
    """Subtract the covariances of all other components."""
    starts, columns, signs = _targets(len(theta), coordinates)
    work, messages = work_space(trees, np.complex128)
    with np.errstate(divide="ignore"):
        inverse = 1.0 / theta
    log_theta = safe_log(theta).astype(np.complex128)
    tree_kernels.subtract_covariances(
        trees.arrays, log_theta, inverse, work, messages, starts, columns, signs, A
    )


def _targets(size: int, coordinates: FreeCoordinates) -> tuple[IntArray, IntArray, FloatArray]:
    """For each position the free coordinates that move it, and which way: a ragged list."""
    d = len(coordinates.free)
    position = np.concatenate([coordinates.free, coordinates.reference])
    column = np.concatenate([np.arange(d), np.arange(d)])
    sign = np.concatenate([np.ones(d), -np.ones(d)])
    order = np.argsort(position, kind="stable")
    starts = np.searchsorted(position[order], np.arange(size + 1))
    return starts.astype(np.int64), column[order], sign[order]
