"""Is a stationary point a maximum? The least curvature of g, relative to complete data.

B = C^-½ A C^-½ in the softmax basis, with A the negative Hessian of g and C the curvature that
complete data would have. Its eigenvalues are at most 1; the least is 1 − (EM's rate of
convergence): near 0 EM crawls and the data hardly tell, below 0 the point is a saddle. Lanczos
finds it with some dozens of products, each the price of an E step; A itself is never formed.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from lacunet.fitting.objective import Objective, Point
from lacunet.inference.expectation import Tangent
from lacunet.models import conjugacy
from lacunet.runtime.arrays import FloatArray

SMALL = 60  # up to this size the whole matrix is formed: it is as cheap, and exact
PRECISION = 1e-3
RESTARTS = 20


@dataclass(frozen=True, eq=False)
class Curvature:
    """The flattest direction, or the steepest way up from a saddle."""

    least: float  # least eigenvalue of B: 1 = as sharp as complete data, < 0 = saddle
    direction: FloatArray  # (size,) in φ, along which it is


def least_curvature(objective: Objective, point: Point) -> Curvature:
    """Find the least eigenvalue of B and its direction in φ."""
    layout, theta = objective.problem.layout, point.theta
    N = point.N + objective.pseudo
    complete = conjugacy.sharpness(theta, N, layout)
    alive = np.flatnonzero(complete > 0)
    root = np.sqrt(complete[alive])
    tangent = Tangent(objective.problem, theta, objective.executor)

    def times_B(v: FloatArray) -> FloatArray:
        whole, phi = np.zeros(layout.size), np.zeros(layout.size)
        whole[alive] = np.ravel(v)
        phi[alive] = whole[alive] / root
        missing = tangent(conjugacy.push(theta, phi, layout))
        curved = conjugacy.information(theta, N, phi, layout)
        curved -= conjugacy.pull_back(theta, missing, layout)
        # Directions that change nothing get curvature 1, not 0.
        product: FloatArray = conjugacy.idle(theta, whole, layout)[alive] + curved[alive] / root
        return product

    n = len(alive)
    if n == 0:  # no case, no prior: nothing is curved
        return Curvature(1.0, np.zeros(layout.size))
    if n <= SMALL:
        B = np.array([times_B(e) for e in np.eye(n)])
        values, vectors = np.linalg.eigh((B + B.T) / 2)
        least, v = float(values[0]), vectors[:, 0]
    else:
        least, v = _lanczos(times_B, n)
    direction = np.zeros(layout.size)
    direction[alive] = v / root
    return Curvature(least, direction)


def _lanczos(times_B: object, n: int) -> tuple[float, FloatArray]:
    start = np.random.default_rng(n).standard_normal(n)  # fixed: the same fit, the same answer
    operator = LinearOperator((n, n), matvec=times_B, dtype=np.float64)  # type: ignore[call-overload]
    try:
        values, vectors = eigsh(
            operator, k=1, which="SA", v0=start, tol=PRECISION, maxiter=RESTARTS
        )
    except ArpackNoConvergence:
        # Many directions are about equally flat. A few steps of the power method on 1 − B, whose
        # largest eigenvalue it is, tell its sign well enough.
        v = start
        for _ in range(RESTARTS):
            v = v / np.linalg.norm(v)
            v = v - times_B(v)  # type: ignore[operator]
        values, vectors = np.array([1.0 - np.linalg.norm(v)]), v[:, None]
    return float(values[0]), np.asarray(vectors[:, 0])
