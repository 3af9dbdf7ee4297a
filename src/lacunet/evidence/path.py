"""The annealing path from a reference to the posterior, over hidden values and parameters.

At inverse temperature b from 0 to 1

    f_b(θ, z) = [Dir(θ; α_q) q(z)]^(1−b) · [Dir(θ; α*) Π θ^N(z)]^b,

where z are the hidden values, N(z) their counts, α* = α + what was seen whole, and q(z) is the
posterior of the hidden values under weights e^λ in place of θ. Then both conditionals are simple:
hidden values are drawn with the weights e^((1−b)λ) θ^b, parameters from Dirichlets with exponents
(1−b) α_q + b (α* + N). θ is integrated out of f_b in closed form, so a chain's state, and its
weight, is a count vector alone. Where nothing is hidden there is nothing left to estimate.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from lacunet.inference.expectation import hidden_counts
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.draws import Draws
from lacunet.models import conjugacy
from lacunet.runtime.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Reference:
    """Where a path starts: an independent distribution of parameters and hidden values."""

    exponents: FloatArray  # (size,) α_q
    log_weights: FloatArray  # (size,) λ
    counts: FloatArray  # (size,) α_q − α: beside a large α they would be lost

    @classmethod
    def around(cls, problem: Problem, N: FloatArray) -> Self:
        """Fit to mean counts (hidden and seen): Dirichlets with α + N, and what goes with them."""
        exponents = problem.alpha + N
        return cls(exponents, conjugacy.expected_natural(exponents, problem.layout), N)

    @classmethod
    def prior(cls, problem: Problem) -> Self:
        """The prior (given what was seen whole); hidden values all the same."""
        return cls(problem.prior, np.zeros(problem.layout.size), problem.seen)


@dataclass(frozen=True, eq=False)
class Path:
    """From one reference to the posterior of one problem."""

    problem: Problem
    reference: Reference

    @property
    def log_seen(self) -> float:
        """Log evidence of what was seen whole: the path estimates the rest."""
        return self.problem.log_seen

    @cached_property
    def constants(self) -> tuple[float, float]:
        """What of log f_b depends on b alone: (at the reference, at the posterior)."""
        problem, q = self.problem, self.reference
        both = np.stack([q.counts, problem.seen])
        at_reference, at_posterior = conjugacy.log_quotient(both, problem.alpha, problem.layout)
        log_z = hidden_counts(problem, q.log_weights).log_lik
        return -log_z - float(at_reference), -float(at_posterior)

    def weights(self, b: float, log_theta: FloatArray) -> FloatArray:
        """Log weights to draw hidden values with, (chains, size)."""
        return (1.0 - b) * self.reference.log_weights + b * log_theta

    def exponents(self, b: float, N: FloatArray) -> FloatArray:
        """Exponents to draw parameters with, (chains, size)."""
        return (1.0 - b) * self.reference.exponents + b * (self.problem.prior + N)

    def log_density(self, b: float, N: FloatArray) -> FloatArray:
        """Log f_b with θ integrated out, (chains,)."""
        at_reference, at_posterior = self.constants
        q = N @ self.reference.log_weights + at_reference
        counts = (1.0 - b) * self.reference.counts + b * (self.problem.seen + N)
        integral = conjugacy.log_quotient(counts, self.problem.alpha, self.problem.layout)
        return (1.0 - b) * q + b * at_posterior + integral

    def start(self, chains: int, draws: Draws) -> FloatArray:
        """Draw hidden values from the reference."""
        return draws.hidden(np.tile(self.reference.log_weights, (chains, 1)))

    def move(self, b: float, N: FloatArray, draws: Draws) -> FloatArray:
        """One Gibbs sweep at b: parameters given the counts, then hidden values given them.

        Over count vectors it is reversible, so that the same move serves both directions.
        """
        return draws.hidden(self.weights(b, draws.natural(self.exponents(b, N))))
