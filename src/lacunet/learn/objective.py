"""What learning climbs: log p(D|θ) + log p(θ) for the MAP, log p(D|θ) for the ML."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.special import xlogy

from lacunet.arrays import FloatArray
from lacunet.errors import OptionError
from lacunet.executor import SERIAL, Executor
from lacunet.inference.curvature.coordinates import em_residual
from lacunet.inference.expectation import expect
from lacunet.inference.kernels import rows as kernels
from lacunet.inference.problem import Problem
from lacunet.model.prior import log_prior


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
    pseudo: FloatArray  # (size,) α − 1 for the MAP, 0 for the ML: what the M step adds to counts
    constant: float  # of the log prior: what is left without its Σ pseudo log θ
    executor: Executor = SERIAL  # who does what can be done side by side

    @classmethod
    def build(cls, problem: Problem, estimate: Estimate, executor: Executor = SERIAL) -> Objective:
        """Check that the maximum exists."""
        layout, alpha = problem.layout, problem.alpha
        if estimate is Estimate.ML:
            return cls(problem, estimate, np.zeros(layout.size), 0.0, executor)
        if (alpha < 1.0).any():
            largest = np.diff(layout.offsets).max()  # a table; bdeu spreads its size over it
            size = "" if (alpha == alpha[0]).all() else f" (with bdeu:SIZE, {largest} or more)"
            raise OptionError(
                f"alpha {alpha.min():g} is below 1, so the posterior density has no maximum: it is "
                f"infinite at probability 0. Use alpha 1 or more{size}, or --estimate ml."
            )
        return cls(problem, estimate, alpha - 1.0, _normaliser(problem), executor)

    @classmethod
    def softmax(cls, problem: Problem, executor: Executor = SERIAL) -> Objective:
        """Give log p(D|φ) + log p(φ), the posterior density of φ = log θ.

        It is that of θ times Π θ_ijk, so α stands where α − 1 did: every α > 0 has a maximum, and
        it is never on the boundary.
        """
        return cls(problem, Estimate.MAP, problem.alpha, _normaliser(problem), executor)

    def at(self, theta: FloatArray) -> Point:
        """Run the E step at θ."""
        found = expect(self.problem, theta)
        g = found.log_lik + self.constant
        if self.estimate is Estimate.MAP:
            g += float(np.sum(xlogy(self.pseudo, theta)))
        return Point(theta, found.N, found.log_lik, g)

    def m_step(self, point: Point) -> FloatArray:
        """Give the θ that is best for the expected counts; where there are none, θ stays."""
        layout = self.problem.layout
        theta = point.theta.copy()
        totals = np.empty(layout.configurations)
        kernels.maximize(point.N, self.pseudo, layout.ij, totals, theta)
        return theta

    def em_step(self, point: Point) -> Point:
        """One iteration of EM: M step, then E step."""
        return self.at(self.m_step(point))

    def gradient(self, point: Point) -> FloatArray:
        """Gradient in the softmax basis, in cases: zero exactly where EM stands still."""
        return em_residual(point.theta, point.N + self.pseudo, self.problem.layout)


def _normaliser(problem: Problem) -> float:
    """Log of the constant of the Dirichlet densities, which is their value at θ = 1 throughout."""
    return log_prior(np.ones(problem.layout.size), problem.alpha, problem.layout)
