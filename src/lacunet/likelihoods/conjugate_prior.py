"""Likelihoods with a conjugate prior: integrals over their parameters have closed forms.

The prior of φ has, up to a constant, the log density hyperparameters · η, so that the posterior
adds statistics to hyperparameters. The density of θ also has the Jacobian of φ.
"""

from abc import abstractmethod
from typing import Any

import numpy as np

from lacunet.errors import ModelError
from lacunet.likelihoods.likelihood import Likelihood, Segment, Vector
from lacunet.runtime.arrays import FloatArray


class ConjugatePrior(Likelihood):
    """A likelihood with its conjugate prior; implement `log_integrals` or what uses it."""

    @abstractmethod
    def parameters(self, natural: Vector, at: Segment) -> Vector:
        """θ(η)."""

    @abstractmethod
    def has_mode(self, hyper: Vector, at: Segment) -> bool:
        """Whether the density of θ is finite everywhere."""

    @abstractmethod
    def in_theta(self, hyper: Vector, at: Segment) -> Vector:
        """Hyperparameters, less the Jacobian of φ."""

    @abstractmethod
    def expected_natural(self, hyper: Vector, at: Segment) -> Vector:
        """E[η] under the prior with these hyperparameters."""

    @abstractmethod
    def mean(self, hyper: Vector, at: Segment) -> Vector:
        """E[θ] given hyperparameters."""

    @abstractmethod
    def draw(self, hyper: Vector, at: Segment, rng: Any) -> Vector:
        """Draw η given hyperparameters, (batch, s) → (batch, s)."""

    def draw_theta(self, hyper: Vector, at: Segment, rng: np.random.Generator) -> Vector:
        """Draw θ given hyperparameters, (s,)."""
        return self.parameters(self.draw(hyper[None, :], at, rng)[0], at)

    def widened(self, hyper: Vector, at: Segment, factor: float) -> Vector:
        """Hyperparameters with the expected variances multiplied by a factor."""
        return hyper

    # Integrals over θ

    def log_integrals(self, hyper: Vector, at: Segment) -> FloatArray:
        """Log ∫ exp(hyper · η) dφ of each configuration, (..., s) → (..., q)."""
        raise NotImplementedError

    def log_integral(self, hyper: Vector, at: Segment) -> FloatArray:
        """Sum of `log_integrals` over all configurations, (batch, s) → (batch,)."""
        return np.asarray(self.log_integrals(hyper, at).sum(axis=-1))

    def log_quotient(self, N: Vector, hyper: Vector, at: Segment) -> FloatArray:
        """Log ratio of the integrals after and before statistics N: (batch, s), (s,) → (batch,)."""
        return self.log_integral(hyper + N, at) - self.log_integral(hyper[None, :], at)

    def log_marginal(self, N: Vector, hyper: Vector, at: Segment) -> FloatArray:
        """Log marginal likelihood of statistics N for each variable, (n,)."""
        after, before = (self.log_integrals(x, at) for x in (hyper + N, hyper))
        return at.by_variable(np.zeros(len(at.ij)), after - before)

    def log_constant(self, hyper: Vector, at: Segment) -> float:
        return -float(self.log_integral(hyper[None, :], at)[0])

    # Posterior predictive distributions, given tables of hyperparameters

    def log_predictive(self, hyper: FloatArray, T: FloatArray) -> FloatArray:
        """Log predictive density of values without h(x): (..., width) each → (...)."""
        at = Segment.of_table(self, 1, hyper.shape[-1])

        def integral(x: FloatArray) -> FloatArray:
            rows = np.ascontiguousarray(x.reshape(-1, hyper.shape[-1]))
            return self.log_integral(rows, at).reshape(x.shape[:-1])

        return integral(hyper + T) - integral(hyper)

    def averaged_moments(self, hyper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the predictive distribution of a number, (..., width) → (...)."""
        raise NotImplementedError(f"values of a {self.name} family are not numbers")

    def draw_averaged(self, hyper: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw θ and then a value from the predictive distribution, (n, width) → (n,)."""
        at = Segment.of_table(self, 1, hyper.shape[-1])
        return self.draw_values(self.parameters(self.draw(hyper, at, rng), at), rng)


def with_prior(likelihood: Likelihood) -> ConjugatePrior:
    """Return the likelihood if it has a conjugate prior; raise ModelError otherwise."""
    if isinstance(likelihood, ConjugatePrior):
        return likelihood
    raise ModelError(
        f"the {likelihood.name} likelihood has no conjugate prior: its parameters cannot be "
        "integrated out. Fit it by maximum likelihood, and score it with BIC."
    )
