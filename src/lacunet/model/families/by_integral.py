"""Families whose prior is known by one integral for each configuration."""

from abc import abstractmethod

import numpy as np

from lacunet.model.families.family import Family, Segment
from lacunet.runtime.arrays import FloatArray


class ByIntegral(Family):
    """A family that gives log ∫ exp(hyper · η) dφ: all else that is said of its prior follows."""

    @abstractmethod
    def log_integrals(self, hyper: FloatArray, at: Segment) -> FloatArray:
        """The integral of each configuration, (..., s) → (..., q)."""

    def log_prior(self, theta: FloatArray, hyper: FloatArray, at: Segment) -> float:
        """See Family."""
        return self.log_constant(hyper, at) + self.log_density(self.in_theta(hyper, at), theta, at)

    def log_constant(self, hyper: FloatArray, at: Segment) -> float:
        """See Family."""
        return -float(self.log_integrals(hyper, at).sum())

    def log_marginal(self, N: FloatArray, hyper: FloatArray, at: Segment) -> FloatArray:
        """See Family."""
        after, before = (self.log_integrals(x, at) for x in (hyper + N, hyper))
        return at.by_variable(np.zeros(len(at.ij)), after - before)

    def log_integral(self, hyper: FloatArray, at: Segment) -> FloatArray:
        """See Family."""
        return np.asarray(self.log_integrals(hyper, at).sum(axis=-1))
