"""From a start to a true maximum: EM while it is fast, then Newton's method with the exact A.

A step that would not rise, or leads away from a saddle the wrong way, is damped until it does; near
the end each step doubles the digits. Stops where no slope is left, and where A is positive definite
there: a saddle is left along its negative direction.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from lacunet.fitting.ascent import EM_AT_MOST, LAST_DIGITS, PAPER_CHANGE, TOLERANCE, Outcome
from lacunet.fitting.regression.objective import ClassObjective, ClassPoint
from lacunet.runtime.arrays import FloatArray

LONGEST = 4.0  # move of one coordinate in a step
NEWTON_AT_MOST = 100
ESCAPES = 5
NEGATIVE = -1e-6  # curvature, relative to the largest, below which a point is a saddle
ROUNDING = 1e-13  # relative noise of a log-likelihood


@dataclass(frozen=True, eq=False)
class ClassClimb:
    """Where an ascent ended."""

    point: ClassPoint
    steps: int  # E steps, and Newton steps
    outcome: Outcome


def em(objective: ClassObjective, point: ClassPoint, iterations: int) -> ClassPoint:
    """Run EM for a number of iterations, or until it is slow."""
    for _ in range(iterations):
        before, point = point, objective.em_step(point)
        if point.g - before.g < PAPER_CHANGE * abs(point.g) / 10.0:
            break
    return point


def climb(objective: ClassObjective, start: ClassPoint) -> ClassClimb:
    """Climb to a maximum."""
    point, steps = em(objective, start, EM_AT_MOST), 0
    for _ in range(ESCAPES):
        point, more, done = _newton(objective, point)
        steps += more
        way = _way_up(objective, point) if done else None
        if way is None:
            return ClassClimb(point, steps, Outcome.CONVERGED if done else Outcome.MAX_STEPS)
        point = em(objective, way, EM_AT_MOST)
    return ClassClimb(point, steps, Outcome.MAX_STEPS)


def _newton(objective: ClassObjective, point: ClassPoint) -> tuple[ClassPoint, int, bool]:
    """Take Newton steps until no slope is left."""
    tolerance = max(TOLERANCE, LAST_DIGITS * objective.given.problem.cases)
    for steps in range(NEWTON_AT_MOST):
        if objective.steepest(point) <= tolerance:
            return point, steps, True
        free = objective.free(point.theta)
        slope, A = objective.gradient(point, free), objective.negative_hessian(point, free)
        moved = _damped(objective, point, slope, A)
        if moved is None:
            moved = objective.em_step(point)
            if moved.g <= point.g + ROUNDING * abs(point.g):
                return point, steps, objective.steepest(point) <= 10 * tolerance
        point = moved
    return point, NEWTON_AT_MOST, False


def _damped(
    objective: ClassObjective, point: ClassPoint, slope: FloatArray, A: FloatArray
) -> ClassPoint | None:
    """Take the longest step of Newton's that rises: damping grows until one does."""
    free, scale = objective.free(point.theta), np.maximum(A.diagonal(), 1e-12)
    for damping in (0.0, *10.0 ** np.arange(-6, 3)):
        try:
            factor = cho_factor(A + np.diag(damping * scale), lower=True)
        except LinAlgError:
            continue
        move = cho_solve(factor, slope)
        move *= min(1.0, LONGEST / max(float(np.abs(move).max()), 1e-300))
        moved = objective.moved(point, move, free)
        if moved.g >= point.g - ROUNDING * abs(point.g):
            return moved
    return None


def _way_up(objective: ClassObjective, point: ClassPoint) -> ClassPoint | None:
    """Leave a saddle; None from a maximum, or where no way leads up."""
    free = objective.free(point.theta)
    A = objective.negative_hessian(point, free)
    if not len(A):
        return None
    scale = np.sqrt(np.maximum(A.diagonal(), 1e-12))
    values, vectors = np.linalg.eigh(A / np.outer(scale, scale))
    if values[0] >= NEGATIVE:
        return None
    direction = vectors[:, 0] / scale
    direction /= np.abs(direction).max()
    tried = (objective.moved(point, s * direction, free) for s in (1.0, -1.0, 0.1, -0.1))
    return max((p for p in tried if p.g > point.g), key=lambda p: p.g, default=None)
