"""The mode of the posterior in the softmax basis φ = log θ, and the Gaussian around it.

θ = (E N + α)/Σ holds at the mode, so it exists for every prior, and no probability is 0.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular
from scipy.linalg.lapack import dpotrf

from lacunet.fitting.ascent import Climb, Outcome
from lacunet.fitting.objective import Point
from lacunet.flags import Flag, Kind
from lacunet.inference.curvature.coordinates import free_coordinates
from lacunet.inference.curvature.hessian import prior_curvature, softmax_hessian
from lacunet.inference.problem import Problem
from lacunet.models import conjugacy
from lacunet.runtime.arrays import FloatArray
from lacunet.scores.own_labels import canonical_order, log_own_labels

NEARLY_SINGULAR = 1e-8  # part of a parameter's curvature that is its own
WIDEST = 2.0  # variance in any direction, as a multiple of the prior's (docs: labels)


@dataclass(frozen=True, eq=False)
class Factor:
    """The Cholesky factor of A, a negative Hessian."""

    L: FloatArray  # (d, d) lower triangle; what is above it has no meaning
    flags: tuple[Flag, ...]

    @property
    def pivots(self) -> FloatArray:
        """Its diagonal, (d,)."""
        return self.L.diagonal()

    @property
    def log_det(self) -> float:
        """Log |A|."""
        return 2.0 * float(np.sum(np.log(self.pivots)))


def factorise(A: FloatArray) -> Factor | None:
    """Factor A, which is overwritten; None where it is not positive definite.

    Only its lower triangle is read. Two negative curvatures would hide from a determinant's sign,
    not from Cholesky.
    """
    curvature = A.diagonal().copy()
    L, failed = dpotrf(A, lower=1, overwrite_a=1, clean=0)
    if failed or not np.isfinite(curvature).all():
        return None
    pivots = L.diagonal()
    doubtful = len(A) and (pivots**2 / curvature).min() < NEARLY_SINGULAR
    return Factor(L, (Flag(Kind.NEARLY_SINGULAR),) if doubtful else ())


@dataclass(frozen=True, eq=False)
class SoftmaxMode:
    """Where an ascent in φ ended, with A, the negative Hessian in φ there."""

    point: Point  # its g is log p(D|φ) + log p(φ)
    log_det: float | None  # log |A|; None where A is not positive definite
    log_det_complete: float  # log |A′|, as if the expected counts had been seen
    log_held: float  # log of the share of the Gaussian's volume that the prior's width leaves
    log_own: float  # log of the share of that which has the mode's own labels
    flags: tuple[Flag, ...]


def softmax_mode(problem: Problem, climb: Climb) -> SoftmaxMode:
    """Take the curvature where an ascent in φ ended."""
    point = climb.point
    coordinates = free_coordinates(problem.layout, point.theta)
    A = softmax_hessian(problem, point.theta, point.N, coordinates)
    order = canonical_order(problem, point, coordinates)
    A = A[np.ix_(order, order)]
    factor = factorise(np.array(A, order="F"))
    saddle = Flag(Kind.NOT_POSITIVE_DEFINITE, detail={"point": "φ"})
    flags = factor.flags if factor else (saddle,)
    if climb.outcome is Outcome.MAX_STEPS:
        flags = (Flag(Kind.NOT_CONVERGED, detail={"outcome": climb.outcome}), *flags)
    log_held, log_own = 0.0, 0.0
    if factor:
        prior = prior_curvature(problem, point.theta, coordinates)[np.ix_(order, order)]
        log_held, narrowed = hold_widths(A, prior)
        if narrow := factorise(np.array(narrowed, order="F")):
            log_own = log_own_labels(problem, point, coordinates.free[order], narrow.L)
    complete = conjugacy.complete_log_det(point.theta, point.N + problem.alpha, problem.layout)
    log_det = factor.log_det if factor else None
    return SoftmaxMode(point, log_det, complete, log_held, log_own, flags)


def hold_widths(A: FloatArray, prior: FloatArray) -> tuple[float, FloatArray]:
    """Bound the variance in every direction by `WIDEST` times the prior's, both given as curvature.

    At a mode on a ridge between others, A may be so flat that its Gaussian is wider than the
    prior's, and would count parameters that neither data nor prior make probable. Returns the log
    of the share of the volume that is left, and the bounded curvature, (d, d).
    """
    if not len(A) or _definite(A - prior / WIDEST):
        return 0.0, A
    try:
        L = cholesky(prior, lower=True)
    except LinAlgError:  # the prior says next to nothing there
        return 0.0, A
    half = solve_triangular(L, A, lower=True)
    relative = solve_triangular(L, half.T, lower=True)
    values, vectors = eigh(relative, subset_by_value=[-np.inf, 1.0 / WIDEST])
    if (values <= 0.0).any():  # not a maximum, up to rounding
        return 0.0, A
    back = L @ vectors
    narrowed = A + (back * (1.0 / WIDEST - values)) @ back.T
    return 0.5 * float(np.sum(np.log(values * WIDEST))), narrowed


def _definite(A: FloatArray) -> bool:
    try:
        cholesky(A, lower=True)
    except LinAlgError:
        return False
    return True
