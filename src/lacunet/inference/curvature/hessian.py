"""A, the negative Hessian of g(θ) = log p(D|θ) + log p(θ), in two bases.

In the form of Louis (1982): A = A_c − Σ_components Cov[complete-data score | component], with A_c
what A would be if the hidden values had been seen in their expected counts. Both bases share the
covariances: those of φ are those of θ with the chain rule dθ/dφ on both sides, and no term with the
gradient appears, for complete data have none of it in their natural parameters φ.

For components of one hidden variable the covariance is the second moment, which couples only
parameters of the same hidden state (one small product per state), less the outer product of the
mean, which is one large product GᵀG over the rows. For all others it is the derivative of their
expected counts, exact by the complex step.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg.blas import dsyrk

from lacunet.arrays import FloatArray, IndexArray, IntArray
from lacunet.inference.curvature.coordinates import FreeCoordinates
from lacunet.inference.expectation import expect, pattern_table, safe_log, work_space
from lacunet.inference.kernels import rows as kernels
from lacunet.inference.kernels import trees as tree_kernels
from lacunet.inference.plans.patterns import PatternPlan
from lacunet.inference.plans.trees import TreePlan
from lacunet.inference.problem import Problem

CHUNK_NUMBERS = 1 << 22  # rows are taken in chunks of about 32 MiB, whatever the table's length


def negative_hessian(
    problem: Problem, theta: FloatArray, coordinates: FreeCoordinates
) -> FloatArray:
    """Give A, (d, d) in Fortran order; only the lower triangle is filled."""
    A = np.zeros((len(coordinates.free),) * 2, order="F")
    with np.errstate(divide="ignore", invalid="ignore"):
        curvature = (expect(problem, theta).N + (problem.alpha - 1.0)) / theta**2
    # A_c: diag(Ñ_k / θ_k²) + Ñ_ref / θ_ref² · 11ᵀ for each parent configuration.
    A[np.diag_indices_from(A)] += curvature[coordinates.free]
    for columns in _configurations(problem, coordinates):
        references = coordinates.reference[columns[:, 0]]
        A[columns[:, :, None], columns[:, None, :]] += curvature[references][:, None, None]
    return _less_covariances(A, problem, theta, coordinates)


def softmax_hessian(
    problem: Problem, theta: FloatArray, N: FloatArray, coordinates: FreeCoordinates
) -> FloatArray:
    """Give A of log p(D|φ) + log p(φ) with φ_k = log θ_k/θ_ref, (d, d); N are E[N_ijk] at θ > 0.

    The density of φ is that of θ times Π θ_k, so its prior adds α cases to the counts, not α − 1.
    """
    d = len(coordinates.free)
    lower = np.tril(_less_covariances(np.zeros((d, d), order="F"), problem, theta, coordinates))
    A = lower + np.tril(lower, -1).T
    free = theta[coordinates.free]
    ij = problem.layout.ij[coordinates.free]
    opens = np.diff(ij, prepend=-1) != 0  # `free` is ordered by configuration
    for _ in range(2 if d else 0):  # dθ_l/dφ_k = θ_l (1[l = k] − θ_k), over rows, then columns
        A *= free[:, None]
        sums = np.add.reduceat(A, np.flatnonzero(opens), axis=0)
        A -= free[:, None] * sums[np.cumsum(opens) - 1]
        A = A.T
    # A_c: Ñ_ij (diag θ − θθᵀ) for each parent configuration.
    cases = problem.layout.spread(problem.layout.sum_k(N + problem.alpha))[coordinates.free]
    A[np.diag_indices_from(A)] += cases * free
    for columns in _configurations(problem, coordinates):
        outer = free[columns][:, :, None] * free[columns][:, None, :]
        A[columns[:, :, None], columns[:, None, :]] -= cases[columns[:, :1]][:, :, None] * outer
    return A


def softmax_complete_log_det(problem: Problem, theta: FloatArray, N: FloatArray) -> float:
    """Log |A_c| in φ: Π_ij Ñ_ij^(r − 1) Π_k θ_k with Ñ = E N + α."""
    layout = problem.layout
    states = layout.sum_k(np.ones(layout.size))
    cases = layout.sum_k(N + problem.alpha)
    free = states > 1  # a variable with one state has no parameter
    return float(np.sum((states[free] - 1.0) * np.log(cases[free])) + np.sum(safe_log(theta)))


def _configurations(problem: Problem, coordinates: FreeCoordinates) -> Iterator[IntArray]:
    """Columns of A by parent configuration, (configurations, free states), a width at a time."""
    # `free` is ordered by configuration, so the columns of one configuration are neighbours.
    ij = problem.layout.ij[coordinates.free]
    first = np.flatnonzero(np.diff(ij, prepend=-1))
    width = np.diff(first, append=len(ij))
    for w in np.unique(width):
        yield first[width == w][:, None] + np.arange(w)


def _less_covariances(
    A: FloatArray, problem: Problem, theta: FloatArray, coordinates: FreeCoordinates
) -> FloatArray:
    """Subtract the covariances of all components, in free θ coordinates; lower triangle only."""
    for plan in problem.components.patterns:
        A = _subtract_patterns(A, plan, theta, coordinates)
    if problem.components.trees is not None:
        _subtract_trees(A, problem.components.trees, theta, coordinates)
    return A


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
