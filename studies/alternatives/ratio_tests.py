"""Log |A| from likelihood-ratio tests alone (after Raftery 1995): no derivative is taken twice.

A test of one parameter moves it away from its best value, lets others make up for it, and reads the
curvature off what the log posterior loses: ½ s δ². If the parameters before it are held and those
behind it may follow, s is the curvature that is left when theirs is taken out, and the product of
all of them is |A|: nested tests, from the whole model down to one with nothing left to fit.
"""

import math
import time
from dataclasses import dataclass

import numpy as np

from lacunet.fitting.objective import Estimate
from lacunet.inference.plans.plan import free_coordinates
from lacunet.inference.problem import Problem
from lacunet.models import conjugacy
from lacunet.models.layout import Layout
from lacunet.runtime.arrays import FloatArray, IntArray
from studies.alternatives.climbing import Watched, along

STEP = 0.1  # standard errors, had the data been complete, by which a parameter is moved


@dataclass(frozen=True)
class RatioTests:
    """Log |A| in free θ, and what it cost."""

    log_det: float | None  # None where a test gained by moving away: no maximum
    passes: int  # E steps
    cpu: float  # seconds


def ratio_tests(problem: Problem, theta: FloatArray) -> RatioTests:
    """Test every parameter, each within the model that holds those before it."""
    began = time.thread_time()
    objective = Watched.build(problem, Estimate.MAP)
    best, log_det = objective.at(theta), -2 * conjugacy.log_jacobian(theta, problem.layout)
    free = free_coordinates(problem.layout, theta).free
    scale = _sharpness(best.N + objective.pseudo, theta, problem.layout)[free]
    for place, position in enumerate(free):
        behind = slice(place + 1, None)
        step = STEP / scale[place]
        # To both sides, so that skewness cancels.
        ends = [
            _moved(objective, theta, position, side * step, free[behind], scale[behind])
            for side in (1.0, -1.0)
        ]
        lost = best.g - sum(ends) / 2
        if lost <= 0:
            return RatioTests(None, len(objective.trace), time.thread_time() - began)
        log_det += math.log(2 * lost / step**2)
    return RatioTests(log_det, len(objective.trace), time.thread_time() - began)


def _sharpness(N: FloatArray, theta: FloatArray, layout: Layout) -> FloatArray:
    """One over the standard error of each φ, had the data been complete."""
    return np.sqrt(layout.spread(layout.sum_k(N)) * theta * (1.0 - theta))


def _moved(
    objective: Watched,
    theta: FloatArray,
    position: int,
    step: float,
    free: IntArray,
    scale: FloatArray,
) -> float:
    """Log posterior after φ at one position was moved, and those that are free have followed."""
    move = np.zeros(len(theta))
    move[position] = step
    started = conjugacy.moved(theta, move, objective.problem.layout)
    if not len(free):
        return objective.at(started).g
    return along(objective, started, free, scale).g
