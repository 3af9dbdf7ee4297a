"""The mode of the posterior in the softmax basis φ = log θ, and how sharp it is there.

Two scores are defined at this mode and nowhere else. θ = (E N + α)/Σ holds there, so it exists for
every prior, and no probability is 0.
"""

from dataclasses import dataclass

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.executor import SERIAL, Executor
from lacunet.flags import Flag, Kind
from lacunet.inference.curvature.coordinates import free_coordinates
from lacunet.inference.curvature.hessian import softmax_hessian
from lacunet.inference.problem import Problem
from lacunet.learn.ascent import Climb, Outcome
from lacunet.learn.objective import Estimate, Objective, Point
from lacunet.learn.schedules import climb_from
from lacunet.model import conjugacy
from lacunet.scoring.determinant import factorise
from lacunet.scoring.overlap import canonical_order, log_own_labels


@dataclass(frozen=True, eq=False)
class SoftmaxMode:
    """Where an ascent in φ ended, with A, the negative Hessian in φ there."""

    point: Point  # its g is log p(D|φ) + log p(φ)
    log_det: float | None  # log |A|; None where A is not positive definite
    log_det_complete: float  # log |A′|, as if the expected counts had been seen
    log_own: float  # log of the part of the Gaussian in which the states have their own labels
    flags: tuple[Flag, ...]


def softmax_mode(problem: Problem, theta: FloatArray, executor: Executor = SERIAL) -> SoftmaxMode:
    """Climb to the mode of φ that is uphill from θ."""
    climb = _climb(Objective.build(problem, Estimate.SOFTMAX, executor), theta)
    point = climb.point
    coordinates = free_coordinates(problem.layout, point.theta)
    A = softmax_hessian(problem, point.theta, point.N, coordinates)
    order = canonical_order(problem, point, coordinates)
    factor = factorise(np.asfortranarray(A[np.ix_(order, order)]))
    saddle = Flag(Kind.NOT_POSITIVE_DEFINITE, detail={"point": "φ"})
    flags = factor.flags if factor else (saddle,)
    if climb.outcome is Outcome.MAX_STEPS:
        flags = (Flag(Kind.NOT_CONVERGED, detail={"outcome": climb.outcome}), *flags)
    return SoftmaxMode(
        point,
        factor.log_det if factor else None,
        conjugacy.complete_log_det(point.theta, point.N + problem.alpha, problem.layout),
        log_own_labels(problem, point, coordinates.free[order], factor.L) if factor else 0.0,
        flags,
    )


def _climb(objective: Objective, theta: FloatArray) -> Climb:
    start = objective.at(theta)
    if objective.problem.exact:  # one M step is the maximum
        return Climb(objective.em_step(start), 1, Outcome.CLOSED_FORM)
    return climb_from(objective, start)[0]
