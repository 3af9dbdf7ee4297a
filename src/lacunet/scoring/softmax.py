"""The mode of the posterior in the softmax basis φ = log θ, and how sharp it is there.

Two scores are defined at this mode and nowhere else. θ = (E N + α)/Σ holds there, so it exists for
every prior, and no probability is 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lacunet.flags import Flag, Kind
from lacunet.inference.curvature.coordinates import free_coordinates
from lacunet.inference.curvature.hessian import prior_curvature, softmax_hessian
from lacunet.inference.problem import Problem
from lacunet.learn.ascent import Climb, Outcome
from lacunet.learn.objective import Point
from lacunet.model import conjugacy
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.scoring.determinant import factorise
from lacunet.scoring.overlap import canonical_order, log_own_labels
from lacunet.scoring.widths import held


@dataclass(frozen=True, eq=False)
class SoftmaxMode:
    """Where an ascent in φ ended, with A, the negative Hessian in φ there."""

    point: Point  # its g is log p(D|φ) + log p(φ)
    log_det: float | None  # log |A|; None where A is not positive definite
    log_det_complete: float  # log |A′|, as if the expected counts had been seen
    log_held: float  # log of what is left of the Gaussian if the prior holds its width
    log_own: float  # log of the part of that which is nearest to this mode, with its own labels
    flags: tuple[Flag, ...]


def softmax_mode(problem: Problem, climb: Climb, beside: Sequence[FloatArray] = ()) -> SoftmaxMode:
    """Look around where a climb in φ ended; `beside` it may be other modes, by their exponents."""
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
        log_held, narrowed = held(A, prior)
        log_own = _own_labels(problem, point, coordinates.free[order], narrowed, beside)
    return SoftmaxMode(
        point,
        factor.log_det if factor else None,
        conjugacy.complete_log_det(point.theta, point.N + problem.alpha, problem.layout),
        log_held,
        log_own,
        flags,
    )


def _own_labels(
    problem: Problem, point: Point, free: IntArray, A: FloatArray, beside: Sequence[FloatArray]
) -> float:
    """Log of the part of a Gaussian with its own labels."""
    factor = factorise(np.array(A, order="F"))
    return log_own_labels(problem, point, free, factor.L, beside) if factor else 0.0
