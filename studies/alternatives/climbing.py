"""Ways up from the same start: EM, conjugate gradients, and EM that ends as quasi-Newton.

All climb g(θ) = log p(D|θ) + log p(θ), and each look at it costs one E step, which gives the
gradient too.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize

from lacunet.fitting.ascent import ascend, em_while_fast
from lacunet.fitting.objective import Estimate, Objective, Point
from lacunet.inference.problem import Problem
from lacunet.models import conjugacy
from lacunet.runtime.arrays import FloatArray, IntArray

TOLERANCE = 1e-4  # on the largest component of the gradient in φ, in cases
MOST = 20_000  # E steps
FURTHEST = 200.0  # in φ, that a trial step may go: exp must not overflow
NEAR = 0.01  # nats below its end from which a climb is as good as there


@dataclass(frozen=True, eq=False)
class Watched(Objective):
    """An objective that remembers what every E step found."""

    trace: list[float] = field(default_factory=list)  # g, E step by E step

    def at(self, theta: FloatArray) -> Point:
        """Run the E step at θ."""
        point = super().at(theta)
        self.trace.append(point.g)
        return point


@dataclass(frozen=True)
class Ascent:
    """Where a climb ended, and what it cost."""

    theta: FloatArray
    g: float  # log posterior
    gradient: float  # largest component in φ, in cases
    steps: int  # E steps
    near: int  # E steps after which g was within NEAR of its end
    cpu: float  # seconds

    @property
    def converged(self) -> bool:
        """Whether it came to a place where the gradient vanishes."""
        return self.gradient <= TOLERANCE


Climber = Callable[[Objective, Point], Point]


def climb(way: Climber, problem: Problem, start: FloatArray) -> Ascent:
    """Climb from a start, and count."""
    objective = Watched.build(problem, Estimate.MAP)
    began = time.thread_time()
    point = way(objective, objective.at(start))
    cpu = time.thread_time() - began
    best = np.maximum.accumulate(objective.trace)
    near = int(np.argmax(best >= point.g - NEAR)) + 1
    gradient = float(np.abs(objective.gradient(point)).max(initial=0.0))
    return Ascent(point.theta, point.g, gradient, len(objective.trace), near, cpu)


def em(objective: Objective, point: Point) -> Point:
    """Iterate EM, and nothing else."""
    for _ in range(MOST):
        if np.abs(objective.gradient(point)).max(initial=0.0) <= TOLERANCE:
            break
        point = objective.em_step(point)
    return point


def quasi_newton(objective: Objective, point: Point) -> Point:
    """EM while it is fast, then limited-memory BFGS: what Lacunet does."""
    return ascend(objective, em_while_fast(objective, point)).point


def conjugate_gradients(objective: Objective, point: Point) -> Point:
    """Polak & Ribière's conjugate gradients on φ = log θ, every coordinate as it is."""
    every = np.arange(len(point.theta))
    return along(objective, point.theta, every, np.ones(len(every)))


def along(objective: Objective, start: FloatArray, free: IntArray, scale: FloatArray) -> Point:
    """Climb by conjugate gradients over some coordinates φ, in units of 1/scale; others stay."""
    layout = objective.problem.layout

    def at(x: FloatArray) -> Point:
        move = np.zeros(layout.size)
        move[free] = np.clip(x / scale, -FURTHEST, FURTHEST)
        return objective.at(conjugacy.moved(start, move, layout))

    def downhill(x: FloatArray) -> tuple[float, FloatArray]:
        point = at(x)
        return -point.g, -objective.gradient(point)[free] / scale

    here: FloatArray = np.zeros(len(free))
    found = minimize(
        downhill, here, jac=True, method="CG", options={"gtol": TOLERANCE, "maxiter": MOST}
    )
    return at(found.x)
