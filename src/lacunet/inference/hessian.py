"""A, the negative Hessian of g(θ) = log p(D|θ) + log p(θ), in θ and in φ (Louis 1982).

A = A_c − Σ_components Cov[complete-data score | component], with A_c the complete-data information
at the expected counts. The chain rule dθ/dφ on both sides turns covariances in θ into those in φ.
There is no gradient term, because φ are the natural parameters of the complete data.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from lacunet.inference.classes import Tangent, expect
from lacunet.inference.plans.plan import FreeCoordinates
from lacunet.inference.problem import Problem
from lacunet.models import conjugacy
from lacunet.runtime.arrays import FloatArray, IntArray

SPARSE = 1 << 20  # numbers from which directions, in which few cells move, are a sparse matrix


def negative_hessian(
    problem: Problem, theta: FloatArray, coordinates: FreeCoordinates
) -> FloatArray:
    """A in θ, (d, d) in Fortran order; only the lower triangle is filled."""
    if not problem.layout.untied:
        return _theta_from_softmax(problem, theta, coordinates)
    A = np.zeros((len(coordinates.free),) * 2, order="F")
    with np.errstate(divide="ignore", invalid="ignore"):
        curvature = (
            expect(problem, theta).N + conjugacy.in_theta(problem.alpha, problem.layout)
        ) / theta**2
    # A_c: diag(Ñ_k / θ_k²) + Ñ_ref / θ_ref² · 11ᵀ for each parent configuration.
    A[np.diag_indices_from(A)] += curvature[coordinates.free]
    for columns in _configurations(problem, coordinates):
        references = coordinates.reference[columns[:, 0]]
        A[columns[:, :, None], columns[:, None, :]] += curvature[references][:, None, None]
    return _subtract_covariances(A, problem, theta, coordinates)


def softmax_hessian(
    problem: Problem, theta: FloatArray, N: FloatArray, coordinates: FreeCoordinates
) -> FloatArray:
    """A of log p(D|φ) + log p(φ) with φ_k = log θ_k/θ_ref, (d, d); N are E[N_ijk] at θ > 0.

    The density of φ is that of θ times Π θ_k, so the prior adds α to the counts, not α − 1.
    """
    if not problem.layout.untied:
        return _softmax_by_columns(problem, theta, N + problem.alpha, coordinates)
    d = len(coordinates.free)
    lower = np.tril(_subtract_covariances(np.zeros((d, d), order="F"), problem, theta, coordinates))
    A = lower + np.tril(lower, -1).T
    free = theta[coordinates.free]
    ij = problem.layout.ij[coordinates.free]
    opens = np.diff(ij, prepend=-1) != 0  # `free` is ordered by configuration
    for _ in range(2 if d else 0):  # dθ_l/dφ_k = θ_l (1[l = k] − θ_k), over rows, then columns
        A *= free[:, None]
        sums = np.add.reduceat(A, np.flatnonzero(opens), axis=0)
        A -= free[:, None] * sums[np.cumsum(opens) - 1]
        A = A.T
    return _plus_complete(A, problem, theta, N + problem.alpha, coordinates)


def prior_curvature(
    problem: Problem, theta: FloatArray, coordinates: FreeCoordinates
) -> FloatArray:
    """The prior's part of A in φ, (d, d)."""
    d = len(coordinates.free)
    if problem.layout.untied:
        return _plus_complete(np.zeros((d, d)), problem, theta, problem.alpha, coordinates)
    columns = [
        conjugacy.information_of(theta, problem.alpha, position, problem.layout)
        for position in coordinates.free
    ]
    return np.array(columns).reshape(d, -1)[:, coordinates.free].T


def _plus_complete(
    A: FloatArray, problem: Problem, theta: FloatArray, N: FloatArray, coordinates: FreeCoordinates
) -> FloatArray:
    """Add A_c of statistics N of categories: N_ij (diag θ − θθᵀ) for each parent configuration."""
    free = theta[coordinates.free]
    cases = problem.layout.spread(problem.layout.sum_k(N))[coordinates.free]
    A[np.diag_indices_from(A)] += cases * free
    for columns in _configurations(problem, coordinates):
        outer = free[columns][:, :, None] * free[columns][:, None, :]
        A[columns[:, :, None], columns[:, None, :]] -= cases[columns[:, :1]][:, :, None] * outer
    return A


def _softmax_by_columns(
    problem: Problem, theta: FloatArray, N: FloatArray, coordinates: FreeCoordinates
) -> FloatArray:
    """A in φ of any families; statistics N include the prior's."""
    layout = problem.layout
    A = -_missing_information(problem, theta, coordinates)
    for column, position in enumerate(coordinates.free):
        A[:, column] += conjugacy.information_of(theta, N, position, layout)[coordinates.free]
    return A


def _missing_information(
    problem: Problem, theta: FloatArray, coordinates: FreeCoordinates
) -> FloatArray:
    """Missing information in φ, from covariances of all plans or from a tangent per column."""
    layout, cells, d = problem.layout, problem.components.cells, len(coordinates.free)
    weights = cells.weights(conjugacy.natural(theta, layout))
    pushed = (conjugacy.push_unit(theta, position, layout) for position in coordinates.free)
    each = [plan.covariance(weights) for plan in problem.components.plans]
    missing = np.zeros((d, d))
    if d and None not in each:
        for part in filter(None, each):
            missing += part.along(map(cells.weights, pushed))
        return missing
    if d:
        tangent, directions = Tangent(problem, theta), np.stack(list(pushed))
        J: Any = directions if directions.size < SPARSE else csr_array(directions)
        missing = np.asarray(J @ np.stack([tangent(direction) for direction in directions]).T)
    return missing


def _theta_from_softmax(
    problem: Problem, theta: FloatArray, coordinates: FreeCoordinates
) -> FloatArray:
    """A in φ of any families at a maximum, scaled so that its determinant is that in θ.

    Where the gradient vanishes, |A| in θ is |A| in φ over |dθ/dφ|².
    """
    added = conjugacy.in_theta(problem.alpha, problem.layout)
    A = _softmax_by_columns(problem, theta, expect(problem, theta).N + added, coordinates)
    log_scale = -2.0 * conjugacy.log_jacobian(theta, problem.layout) / max(1, len(A))
    return np.asfortranarray(A * np.exp(log_scale))


def _configurations(problem: Problem, coordinates: FreeCoordinates) -> Iterator[IntArray]:
    """Columns of A by parent configuration, (configurations, free states), for each width."""
    # `free` is ordered by configuration, so the columns of one configuration are contiguous.
    ij = problem.layout.ij[coordinates.free]
    first = np.flatnonzero(np.diff(ij, prepend=-1))
    width = np.diff(first, append=len(ij))
    for w in np.unique(width):
        yield first[width == w][:, None] + np.arange(w)


def _subtract_covariances(
    A: FloatArray, problem: Problem, theta: FloatArray, coordinates: FreeCoordinates
) -> FloatArray:
    """Subtract the covariances of all components, in free θ coordinates; lower triangle only."""
    for plan in problem.components.plans:
        A = plan.subtract_covariance(A, theta, coordinates)
    return A
