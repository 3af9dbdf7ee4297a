"""Newton's method with the exact Hessian, for classes that covariates predict.

Coefficients of covariates are strongly coupled with each other, so a diagonal metric is a bad guide
to them. EM, with Newton's method in the M step of coefficients, runs while it is fast.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from lacunet.fitting.ascent import (
    EM_AT_MOST,
    LAST_DIGITS,
    PAPER_CHANGE,
    TOLERANCE,
    Climb,
    Convergence,
)
from lacunet.fitting.maxima import SAME_OPTIMUM
from lacunet.fitting.objective import Objective, Point
from lacunet.fitting.schedules import FINALISTS, Search
from lacunet.inference.plans.plan import FreeCoordinates, free_coordinates
from lacunet.inference.predicted import PredictedClasses
from lacunet.models import conjugacy
from lacunet.runtime.arrays import FloatArray

LONGEST = 4.0  # move of one coordinate in a step
NEWTON_AT_MOST = 100
ESCAPES = 5
NEGATIVE = -1e-6  # curvature, relative to the largest, below which a point is a saddle
ROUNDING = 1e-13  # relative noise of a log-likelihood
LAPS = 3  # of successive halving of random starts, with 1, 2 and 4 iterations


def search_predicted(
    objective: Objective,
    predicted: PredictedClasses,
    known: Sequence[FloatArray],
    starts: int,
    seed: int,
) -> Search:
    """Climb from random starts and from `known` parameters of models without covariates.

    Starts have coefficients 0, except intercepts.
    """
    executor = objective.executor
    draw = partial(_random_start, objective, predicted, seed)
    raced = executor.map(draw, range(starts))
    for lap in range(LAPS):
        further = executor.map(partial(_em, objective, iterations=2**lap), raced)
        ranked = sorted(further, key=lambda p: -p.g)
        raced = ranked[: max(FINALISTS, len(ranked) // 2)]
    points = [*(_start(objective, predicted, theta) for theta in known), *raced[:FINALISTS]]
    climbs = executor.map(partial(climb_by_newton, objective), points)
    best = max(climbs, key=lambda one: one.point.g)
    below = [best.point.g - one.point.g for one in climbs]
    others = [nats for nats in below if nats >= SAME_OPTIMUM]
    reached, margin = len(below) - len(others), min(others, default=0.0)
    return Search(best, len(below), reached, None, margin, further="more --starts")


def _start(objective: Objective, predicted: PredictedClasses, theta: FloatArray) -> Point:
    """A start with the items and class sizes of a model without covariates."""
    sizes = np.maximum(predicted.network.layout.table(theta, predicted.root), 1e-6)
    coefficients = np.zeros((predicted.states, predicted.logit.design.shape[1]))
    coefficients[:, 0] = np.log(sizes / sizes[0])
    return objective.at(predicted.with_items(theta, coefficients))


def _random_start(
    objective: Objective, predicted: PredictedClasses, seed: int, index: int
) -> Point:
    layout, alpha = predicted.network.layout, predicted.alpha
    rng = np.random.default_rng([seed, layout.size, index])
    return _start(objective, predicted, conjugacy.random_theta(layout, rng, alpha))


def _em(objective: Objective, point: Point, iterations: int) -> Point:
    """Run EM for a number of iterations, or until its gain is small."""
    for _ in range(iterations):
        before, point = point, objective.em_step(point)
        if point.g - before.g < PAPER_CHANGE * abs(point.g) / 10.0:
            break
    return point


def climb_by_newton(objective: Objective, start: Point) -> Climb:
    """Climb to a maximum; `steps` counts those of Newton's method."""
    point, steps = _em(objective, start, EM_AT_MOST), 0
    for _ in range(ESCAPES):
        point, more, done = _newton(objective, point)
        steps += more
        higher = _uphill_from_saddle(objective, point) if done else None
        if higher is None:
            return Climb(point, steps, Convergence.CONVERGED if done else Convergence.MAX_STEPS)
        point = _em(objective, higher, EM_AT_MOST)
    return Climb(point, steps, Convergence.MAX_STEPS)


def _newton(objective: Objective, point: Point) -> tuple[Point, int, bool]:
    """Take Newton steps until the gradient is 0 within tolerance; point, steps, and success."""
    tolerance = max(TOLERANCE, LAST_DIGITS * objective.problem.cases)
    for steps in range(NEWTON_AT_MOST):
        if objective.steepest(point) <= tolerance:
            return point, steps, True
        moved = _damped_newton_step(objective, point)
        if moved is None:
            moved = objective.em_step(point)
            if moved.g <= point.g + ROUNDING * abs(point.g):
                return point, steps, objective.steepest(point) <= 10 * tolerance
        point = moved
    return point, NEWTON_AT_MOST, False


def _curvature(objective: Objective, point: Point) -> tuple[FreeCoordinates, FloatArray]:
    """Free coordinates, and the negative Hessian in them."""
    coordinates = free_coordinates(objective.problem.layout, point.theta)
    return coordinates, objective.negative_hessian(point, coordinates)


def _moved(objective: Objective, point: Point, free: FreeCoordinates, move: FloatArray) -> Point:
    """The point after a step in free coordinates."""
    layout = objective.problem.layout
    along = np.zeros(layout.size)
    along[free.free] = move
    return objective.at(conjugacy.moved(point.theta, along, layout))


def _damped_newton_step(objective: Objective, point: Point) -> Point | None:
    """The Newton step with the least damping that does not decrease the objective."""
    free, A = _curvature(objective, point)
    slope, scale = objective.gradient(point)[free.free], np.maximum(A.diagonal(), 1e-12)
    for damping in (0.0, *10.0 ** np.arange(-6, 3)):
        try:
            factor = cho_factor(A + np.diag(damping * scale), lower=True)
        except LinAlgError:
            continue
        move = cho_solve(factor, slope)
        move *= min(1.0, LONGEST / max(float(np.abs(move).max()), 1e-300))
        moved = _moved(objective, point, free, move)
        if moved.g >= point.g - ROUNDING * abs(point.g):
            return moved
    return None


def _uphill_from_saddle(objective: Objective, point: Point) -> Point | None:
    """A higher point along the direction of negative curvature; None at a maximum."""
    free, A = _curvature(objective, point)
    if not len(A):
        return None
    scale = np.sqrt(np.maximum(A.diagonal(), 1e-12))
    values, vectors = np.linalg.eigh(A / np.outer(scale, scale))
    if values[0] >= NEGATIVE:
        return None
    direction = vectors[:, 0] / scale
    direction /= np.abs(direction).max()
    tried = (_moved(objective, point, free, s * direction) for s in (1.0, -1.0, 0.1, -0.1))
    return max((p for p in tried if p.g > point.g), key=lambda p: p.g, default=None)
