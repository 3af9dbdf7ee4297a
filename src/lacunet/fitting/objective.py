"""The objective of estimation: a posterior density, of θ or of φ = log θ, or the likelihood.

Also EM, random starts and the race between them (CH96 §3), and perturbed starts.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from typing import Self

import numpy as np

from lacunet.errors import OptionError
from lacunet.inference.classes import Expectation, dot, expect, expect_at_once
from lacunet.inference.hessian import softmax_hessian
from lacunet.inference.plans.plan import FreeCoordinates
from lacunet.inference.problem import Problem
from lacunet.models import conjugacy
from lacunet.models.conjugacy import draw_theta, random_theta
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor

AT_ONCE = 32  # starts in a batch on a device


class Estimate(StrEnum):
    """The kind of estimate.

    - map: the mode of the posterior density of θ. With an exponent below 1 the density has no
      maximum (it is infinite where a probability is 0), and the estimate is softmax.
    - ml: the maximum of the likelihood.
    - softmax: the mode of the posterior density of φ = log θ. It is that of θ times Π θ_ijk, so α
      replaces α − 1: every α > 0 has a maximum, and no probability is 0 there.
    """

    MAP = "map"
    ML = "ml"
    SOFTMAX = "softmax"

    @property
    def words(self) -> str:
        """The name in sentences, before "parameters"."""
        return {"map": "MAP", "ml": "ML", "softmax": "softmax MAP"}[self]

    @property
    def climbed(self) -> str:
        """The function that the estimate maximises."""
        map_, softmax = "log p(D|θ) + log p(θ)", "log p(D|φ) + log p(φ)"
        return {"map": map_, "ml": "log p(D|θ)", "softmax": softmax}[self]


def attainable(estimate: Estimate, problem: Problem) -> Estimate:
    """Return the estimate, or softmax instead of a MAP estimate that does not exist."""
    exists = estimate is not Estimate.MAP or conjugacy.has_mode(problem.alpha, problem.layout)
    return estimate if exists else Estimate.SOFTMAX


def unbounded(problem: Problem) -> Iterator[str]:
    """Explain why a likelihood has no maximum; yield nothing if it has one."""
    for i, v in enumerate(problem.network.variables):
        fewest = v.family.fewest_values(math.prod(problem.network.shape(i)[:-1]))
        if np.isfinite(fewest) and len(v.states) < fewest:
            yield (
                f"'{v.name}' has {len(v.states)} different values, and with so many classes the "
                f"likelihood has a maximum only from {fewest:g} up: variances go to 0. Use "
                "--estimate map, where the prior bounds them, or fewer classes."
            )
        if not v.family.bounded:
            yield (
                f"'{v.name}' is continuous, so the likelihood has no maximum: it is unbounded as "
                "the variance of a class with one case approaches 0. Use --estimate map, "
                "where the prior bounds variances."
            )


@dataclass(frozen=True, eq=False)
class Point:
    """Parameters, and the results of one E step there."""

    theta: FloatArray  # (size,)
    N: FloatArray  # (size,) expected counts at θ
    log_lik: float  # log p(D | θ)
    g: float  # the objective


@dataclass(frozen=True, eq=False)
class Objective:
    """The function to climb, with its M step and its gradient."""

    problem: Problem
    estimate: Estimate  # an attainable one
    pseudo: FloatArray  # (size,) pseudo-counts that the M step adds to statistics; 0 for ML
    constant: float  # the log prior without its linear part
    executor: Executor = SERIAL

    @classmethod
    def build(cls, problem: Problem, estimate: Estimate, executor: Executor = SERIAL) -> Self:
        """Make the function whose maximum is an estimate, or its substitute."""
        layout, alpha = problem.layout, problem.alpha
        executor = executor.if_worth(problem.components.nanoseconds)
        estimate = attainable(estimate, problem)
        if estimate is Estimate.ML:
            for why in unbounded(problem):
                raise OptionError(why)
            return cls(problem, estimate, np.zeros(layout.size), 0.0, executor)
        added = alpha if estimate is Estimate.SOFTMAX else conjugacy.in_theta(alpha, layout)
        return cls(problem, estimate, added, conjugacy.log_constant(alpha, layout), executor)

    @cached_property
    def edge(self) -> bool:
        """Whether the maximum may lie on the boundary, where probabilities are 0."""
        return not conjugacy.keeps_off_zero(self.pseudo, self.problem.layout)

    def at(self, theta: FloatArray) -> Point:
        """Run the E step at θ."""
        self.executor.check()
        return self._point(theta, expect(self.problem, theta, self.executor))

    def at_all(self, thetas: Sequence[FloatArray]) -> list[Point]:
        """Run the E step at several θ: in parallel, or in batches on a device."""
        if self.problem.place.device is None:
            return self.executor.map(self.at, thetas)
        points = list[Point]()
        for first in range(0, len(thetas), AT_ONCE):
            self.executor.check()
            some = thetas[first : first + AT_ONCE]
            points += map(self._point, some, expect_at_once(self.problem, some))
        return points

    def _point(self, theta: FloatArray, expected: Expectation) -> Point:
        g = expected.log_lik + self.constant
        if self.estimate is not Estimate.ML:
            g += dot(self.pseudo, expected.natural)
        return Point(theta, expected.N, expected.log_lik, g)

    def m_step(self, N: FloatArray, theta: FloatArray) -> FloatArray:
        """Compute the best θ given statistics; without cases, θ does not change.

        Nor does it if the likelihood is unbounded, because a variance goes to 0.
        """
        layout = self.problem.layout
        best = conjugacy.maximize(N, self.pseudo, theta, layout)
        bounded = self.estimate is not Estimate.ML or layout.tabular
        return best if bounded or conjugacy.allows(best, layout) else theta

    def em_step(self, point: Point) -> Point:
        """Run one iteration of EM: M step, then E step."""
        return self.at(self.m_step(point.N, point.theta))

    def best_for(self, N: FloatArray) -> Point:
        """Run the E step at the best θ given statistics; without cases it is the prior mean."""
        problem = self.problem
        anywhere = conjugacy.mean(problem.alpha + N, problem.layout)
        return self.at(conjugacy.maximize(N, self.pseudo, anywhere, problem.layout))

    def gradient(self, point: Point) -> FloatArray:
        """Compute the gradient in φ, in cases: zero exactly at fixed points of EM."""
        return conjugacy.pull_back(point.theta, point.N + self.pseudo, self.problem.layout)

    def steepest(self, point: Point) -> float:
        """Compute the largest component of the gradient."""
        return float(np.abs(self.gradient(point)).max(initial=0.0))

    def negative_hessian(self, point: Point, coordinates: FreeCoordinates) -> FloatArray:
        """Compute A, the negative Hessian in free φ, (d, d)."""
        # `softmax_hessian` adds α, for the density of φ.
        N = point.N + self.pseudo - self.problem.alpha
        return softmax_hessian(self.problem, point.theta, N, coordinates)


def random_starts(objective: Objective, starts: int, seed: int, first: int = 0) -> list[Point]:
    """Draw starts; start i does not depend on the number of starts or threads."""
    return objective.at_all([_drawn(objective, seed, first + i) for i in range(starts)])


def random_start(objective: Objective, seed: int, index: int) -> Point:
    """Draw one start."""
    return objective.at(_drawn(objective, seed, index))


def _drawn(objective: Objective, seed: int, index: int) -> FloatArray:
    layout, alpha = objective.problem.layout, objective.problem.alpha
    rng = np.random.default_rng([seed, layout.size, index])
    return random_theta(layout, rng, alpha)


def halving(
    objective: Objective, points: Sequence[Point], *, finalists: int
) -> Iterator[tuple[list[Point], list[Point]]]:
    """Run 1, 2, 4, … EM iterations, keeping the better half (by g, then by start) each time.

    After each round this yields the survivors, the best first, and the others. In the last round
    `finalists` points survive.
    """
    survivors, iterations = list(points), 1
    while len(survivors) > finalists:
        ranked = sorted(race(objective, survivors, iterations), key=lambda p: -p.g)
        number = max(finalists, len(survivors) // 2)
        survivors = ranked[:number]
        iterations *= 2
        yield survivors, ranked[number:]


def race(objective: Objective, points: Sequence[Point], iterations: int) -> list[Point]:
    """Run EM iterations from each point: in parallel, or in batches on a device."""
    if objective.problem.place.device is None:
        return objective.executor.map(partial(em, objective, iterations=iterations), points)
    for _ in range(iterations):
        points = objective.at_all([objective.m_step(point.N, point.theta) for point in points])
    return list(points)


def em(objective: Objective, point: Point, *, iterations: int) -> Point:
    """Run a number of EM iterations."""
    for _ in range(iterations):
        point = objective.em_step(point)
    return point


SWEEPS = 10  # fewer return to the same maximum, more lose its good parts
CHILD = 1 << 30  # first child seed of perturbed points; random starts use smaller ones


def perturbed(objective: Objective, point: Point, seed: int, index: int) -> Point:
    """Alternate between drawing parameters given counts and expected counts given parameters.

    This is Gibbs sampling with expected instead of drawn hidden values, so weights need not be
    whole. True parameters are a draw from the posterior, so EM from other draws should reach the
    same maximum.
    """
    layout, alpha = objective.problem.layout, objective.problem.alpha
    # Exponents near 0 would draw probabilities of 0 and 1 only.
    prior = np.where(layout.in_tables, np.maximum(alpha, 1.0), alpha)
    rng = np.random.default_rng([seed, layout.size, CHILD + index])
    for _ in range(SWEEPS):
        point = objective.at(draw_theta(prior + point.N, layout, rng))
    return point
