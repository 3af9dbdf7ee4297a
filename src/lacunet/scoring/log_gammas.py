"""Dirichlets as normalised Gammas: θ = g / Σ g with g ~ Gamma(α), in coordinates u = log g.

Every real u is allowed, and the prior of θ is the Dirichlet: what Hamiltonian chains walk in.
"""

import numpy as np

from lacunet.model.layout import Layout
from lacunet.runtime.arrays import FloatArray


def log_theta_of(u: FloatArray, layout: Layout) -> FloatArray:
    """Give the logs of the parameters of a point."""
    top = np.full(layout.configurations, -np.inf)
    np.maximum.at(top, layout.ij, u)
    below = u - layout.spread(top)
    logs: FloatArray = below - np.log(layout.spread(layout.sum_k(np.exp(below))))
    return logs


def with_prior(
    value: float, gradient: FloatArray, u: FloatArray, alpha: FloatArray
) -> tuple[float, FloatArray]:
    """Add the log density of u, up to a constant, and its gradient."""
    g = np.exp(u)
    return value + float(alpha @ u) - float(g.sum()), gradient + alpha - g


def draw(shape: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw logs of Gamma variables; those of tiny shapes are less than any float, their logs not.

    If X ~ Gamma(a + 1) and U is uniform, X U^(1/a) ~ Gamma(a).
    """
    uniform = 1.0 - rng.random(len(shape))
    draws: FloatArray = np.log(rng.standard_gamma(shape + 1.0)) + np.log(uniform) / shape
    return draws
