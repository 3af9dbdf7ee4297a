"""A, the negative Hessian of g(θ) = log p(D|θ) + log p(θ), in free θ coordinates (DESIGN §3).

In the form of Louis (1982): A = A_c − Σ_rows Cov[complete-data score | row], with A_c what A would
be if the hidden values had been seen in their expected counts. The covariance is the second moment,
which couples only parameters of the same hidden cell (one small product per cell), less the
outer product of the mean, which is one large product GᵀG over the rows.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dsyrk

from lacunet.arrays import FloatArray, IndexArray
from lacunet.inference import kernels
from lacunet.inference.coordinates import FreeCoordinates
from lacunet.inference.expectation import expect, log_weight_table
from lacunet.inference.plan import Plan
from lacunet.inference.problem import Problem

CHUNK_NUMBERS = 1 << 22  # rows are taken in chunks of about 32 MiB, whatever the table's length


def negative_hessian(
    problem: Problem, theta: FloatArray, coordinates: FreeCoordinates
) -> FloatArray:
    """Give A, (d, d) in Fortran order; only the lower triangle is filled."""
    A = np.zeros((len(coordinates.free),) * 2, order="F")
    _add_complete(A, problem, theta, coordinates)
    if len(problem.plan.counts):
        A = _subtract_covariance(A, problem, theta, coordinates)
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


def _subtract_covariance(
    A: FloatArray, problem: Problem, theta: FloatArray, coordinates: FreeCoordinates
) -> FloatArray:
    plan = problem.plan
    with np.errstate(divide="ignore"):
        inverse = 1.0 / theta.reshape(-1, plan.cells)
    table = log_weight_table(problem, theta)
    pairs = np.zeros((plan.cells, len(inverse), len(inverse)))
    step = max(1, CHUNK_NUMBERS // len(theta))
    for first in range(0, len(plan.counts), step):
        index, counts = plan.index[first : first + step], plan.counts[first : first + step]
        posterior = np.empty((len(index), plan.width))
        kernels.posterior_rows(table, index, posterior, np.empty(len(index)))
        G = score_matrix(plan, index, posterior, inverse, coordinates)
        G *= np.sqrt(counts)[:, None]
        A = dsyrk(1.0, G.T, beta=1.0, c=A, lower=1, overwrite_c=1)
        _add_pairs(pairs, plan, index, posterior * counts[:, None])
    for cell in range(plan.cells):
        _subtract_second_moment(A, pairs[cell], cell, inverse, coordinates)
    return A


def score_matrix(
    plan: Plan,
    index: IndexArray,
    posterior: FloatArray,
    inverse_theta: FloatArray,
    coordinates: FreeCoordinates,
) -> FloatArray:
    """Give G, (m, d): the gradient of each row's log-likelihood in free coordinates."""
    scores = np.empty((len(index), *inverse_theta.shape))
    kernels.score_rows(plan.starts, plan.entries, index, posterior, inverse_theta, scores)
    return coordinates.eliminate(scores.reshape(len(index), -1))


def _add_pairs(pairs: FloatArray, plan: Plan, index: IndexArray, weights: FloatArray) -> None:
    """Count pairs of blocks that stand in one row, by hidden cell: (K, blocks, blocks)."""
    touched = np.empty((len(index), pairs.shape[1]))
    kernels.mark_blocks(plan.starts, plan.entries, index, touched)
    for cell in range(plan.cells):
        pairs[cell] += (touched * weights[:, cell, None]).T @ touched


def _subtract_second_moment(
    A: FloatArray,
    pairs: FloatArray,
    cell: int,
    inverse: FloatArray,
    coordinates: FreeCoordinates,
) -> None:
    """Subtract Σ_rows r_cell s sᵀ, s = the score of the row completed with this cell."""
    cells = inverse.shape[1]
    touched = np.zeros(inverse.size, dtype=bool)
    touched[cell::cells] = True
    columns = np.flatnonzero(touched[coordinates.free] | touched[coordinates.reference])
    free, reference = coordinates.free[columns], coordinates.reference[columns]
    # The chain rule from the positions of this cell to the free coordinates that they move.
    chain = np.zeros((len(pairs), len(columns)))
    mine, theirs = touched[free], touched[reference]
    chain[free[mine] // cells, np.flatnonzero(mine)] = 1.0
    chain[reference[theirs] // cells, np.flatnonzero(theirs)] -= 1.0
    chain *= inverse[:, cell, None]
    A[np.ix_(columns, columns)] -= chain.T @ pairs @ chain
