"""What learning climbs: log p(D|θ) + log p(θ) for the MAP, log p(D|θ) for the ML."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Self

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.errors import OptionError
from lacunet.executor import SERIAL, Executor
from lacunet.inference.expectation import expect
from lacunet.inference.problem import Problem
from lacunet.model import conjugacy


class Estimate(StrEnum):
    """Which parameters to look for."""

    MAP = "map"
    ML = "ml"


@dataclass(frozen=True, eq=False)
class Point:
    """Parameters, and what one pass over the data says of them."""

    theta: FloatArray  # (size,)
    N: FloatArray  # (size,) expected counts at θ
    log_lik: float  # log p(D | θ)
    g: float  # the objective


@dataclass(frozen=True, eq=False)
class Objective:
    """The function to climb, with its M step and its gradient."""

    problem: Problem
    estimate: Estimate
    pseudo: FloatArray  # (size,) what the M step adds to statistics; nothing for the ML
    constant: float  # of the log prior: what is left without its linear part
    executor: Executor = SERIAL  # who does what can be done side by side

    @classmethod
    def build(cls, problem: Problem, estimate: Estimate, executor: Executor = SERIAL) -> Self:
        """Check that the maximum exists."""
        layout, alpha = problem.layout, problem.alpha
        if estimate is Estimate.ML:
            return cls(problem, estimate, np.zeros(layout.size), 0.0, executor)
        if not conjugacy.has_mode(alpha, layout):
            largest = np.diff(layout.offsets).max()  # a table; bdeu spreads its size over it
            size = "" if (alpha == alpha[0]).all() else f" (with bdeu:SIZE, {largest} or more)"
            raise OptionError(
                f"alpha {alpha.min():g} is below 1, so the posterior density has no maximum: it is "
                f"infinite at probability 0. Use alpha 1 or more{size}, or --estimate ml."
            )
        added = conjugacy.in_theta(alpha, layout)
        return cls(problem, estimate, added, conjugacy.log_constant(alpha, layout), executor)

    @classmethod
    def softmax(cls, problem: Problem, executor: Executor = SERIAL) -> Self:
        """Give log p(D|φ) + log p(φ), the posterior density of φ = log θ.

        It is that of θ times Π θ_ijk, so α stands where α − 1 did: every α > 0 has a maximum, and
        it is never on the boundary.
        """
        constant = conjugacy.log_constant(problem.alpha, problem.layout)
        return cls(problem, Estimate.MAP, problem.alpha, constant, executor)

    @cached_property
    def edge(self) -> bool:
        """Whether the maximum may lie on the boundary: nothing keeps probabilities off zero."""
        return not bool((self.pseudo > 0).all())

    def at(self, theta: FloatArray) -> Point:
        """Run the E step at θ."""
        expected = expect(self.problem, theta, self.executor)
        g = expected.log_lik + self.constant
        if self.estimate is Estimate.MAP:
            g += conjugacy.log_density(self.pseudo, theta, self.problem.layout)
        return Point(theta, expected.N, expected.log_lik, g)

    def m_step(self, point: Point) -> FloatArray:
        """Give the θ that is best for the expected counts; where there are none, θ stays."""
        return conjugacy.maximize(point.N, self.pseudo, point.theta, self.problem.layout)

    def em_step(self, point: Point) -> Point:
        """One iteration of EM: M step, then E step."""
        return self.at(self.m_step(point))

    def gradient(self, point: Point) -> FloatArray:
        """Gradient in φ, in cases: zero exactly where EM stands still."""
        return conjugacy.pull_back(point.theta, point.N + self.pseudo, self.problem.layout)
