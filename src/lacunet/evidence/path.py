"""The annealing path from a reference to the posterior, over hidden values and parameters.

At inverse temperature b from 0 to 1

    f_b(θ, z) = [Dir(θ; α_q) q(z)]^(1−b) · [Dir(θ; α*) Π θ^N(z)]^b,

where z are the hidden values, N(z) their counts, α* = α + what was seen whole, and q(z) is the
posterior of the hidden values under weights e^λ in place of θ. Then both conditionals are simple:
hidden values are drawn with the weights e^((1−b)λ) θ^b, parameters from Dirichlets with exponents
(1−b) α_q + b (α* + N). θ is integrated out of f_b in closed form, so a chain's state, and its
weight, is a count vector alone. Where nothing is hidden there is nothing left to estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.inference.expectation import add_expected
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.draws import Draws
from lacunet.learn.variational import mean_log


@dataclass(frozen=True, eq=False)
class Reference:
    """Where a path starts: an independent distribution of parameters and hidden values."""

    exponents: FloatArray  # (size,) α_q
    log_weights: FloatArray  # (size,) λ

    @classmethod
    def around(cls, problem: Problem, N: FloatArray) -> Reference:
        """Fit to mean counts (hidden and seen): Dirichlets with α + N, and what goes with them."""
        exponents = problem.alpha + N
        return cls(exponents, mean_log(problem, exponents))

    @classmethod
    def prior(cls, problem: Problem) -> Reference:
        """The prior (given what was seen whole); hidden values all the same."""
        return cls(problem.alpha + problem.components.seen, np.zeros(problem.layout.size))


@dataclass(frozen=True, eq=False)
class Path:
    """From one reference to the posterior of one problem."""

    problem: Problem
    reference: Reference

    @cached_property
    def prior(self) -> FloatArray:
        """α*, the exponents given what was seen whole."""
        return self.problem.alpha + self.problem.components.seen

    @property
    def log_seen(self) -> float:
        """Log evidence of what was seen whole: the path estimates the rest."""
        return self.problem.log_seen

    @cached_property
    def _constants(self) -> tuple[float, float]:
        """What of log f_b depends on b alone: (at the reference, at the posterior)."""
        problem, q = self.problem, self.reference
        draws = Draws(problem, None)
        log_beta = draws.log_beta(np.stack([q.exponents, self.prior]))
        scratch = np.zeros(problem.layout.size)
        log_z = add_expected(problem.components, q.log_weights, scratch)
        return -log_z - float(log_beta[0]), -float(log_beta[1])

    def weights(self, b: float, log_theta: FloatArray) -> FloatArray:
        """Log weights to draw hidden values with, (chains, size)."""
        return (1.0 - b) * self.reference.log_weights + b * log_theta

    def exponents(self, b: float, N: FloatArray) -> FloatArray:
        """Exponents to draw parameters with, (chains, size)."""
        return (1.0 - b) * self.reference.exponents + b * (self.prior + N)

    def log_density(self, b: float, N: FloatArray, draws: Draws) -> FloatArray:
        """Log f_b with θ integrated out, (chains,)."""
        at_reference, at_posterior = self._constants
        q = N @ self.reference.log_weights + at_reference
        return (1.0 - b) * q + b * at_posterior + draws.log_beta(self.exponents(b, N))

    def start(self, chains: int, draws: Draws) -> FloatArray:
        """Draw hidden values from the reference."""
        return draws.hidden(np.tile(self.reference.log_weights, (chains, 1)))

    def move(self, b: float, N: FloatArray, draws: Draws) -> FloatArray:
        """One Gibbs sweep at b: parameters given the counts, then hidden values given them.

        Over count vectors it is reversible, so that the same move serves both directions.
        """
        return draws.hidden(self.weights(b, draws.log_theta(self.exponents(b, N))))
