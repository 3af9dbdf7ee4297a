"""The evidence of a smooth model by Laplace's method, from its log posterior density and gradient.

    log p(D) ≈ log p(D, x̂) + (d/2) log 2π − ½ log |A|,   A = −∇² log p(D, x) at the mode x̂

A is computed by central differences of the gradient. A link maps unconstrained coordinates z,
(size, points), to the natural parameters of a column; the first `sloped` coordinates may depend on
a trait. `pull` is the gradient of E · natural(z) by z, `at_mean` the maximum likelihood z given
statistics, and `log_integral` log ∫ exp(hyper · η(z)) dz.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, helmert
from scipy.optimize import minimize
from scipy.special import gammaln, logsumexp

from lacunet.likelihoods import GAUSSIAN, POISSON, Binomial
from lacunet.likelihoods.gaussian import NormalInverseGamma
from lacunet.likelihoods.likelihood import Segment
from lacunet.models.network import Variable
from lacunet.runtime.arrays import FloatArray

Density: TypeAlias = Callable[[FloatArray], tuple[float, FloatArray]]  # the log, and its gradient

STEP = 1e-4  # of differences, in coordinates of order 1
MOST_STEPS = 300
POLISH = 2  # Newton steps after the search
FURTHEST = 300.0  # bound of a log rate, against overflow


@dataclass(frozen=True, eq=False)
class Mode:
    """The mode of a density, and Laplace's approximation of its integral."""

    x: FloatArray  # (d,)
    log_density: float
    log_evidence: float  # NaN where the curvature is not positive definite


def mode_of(
    density: Density, start: FloatArray, most: int = MOST_STEPS, *, volume: bool = True
) -> Mode:
    """Maximise a density from a start; with `volume`, integrate it by Laplace's method."""

    def negative(x: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = density(x)
        return -value, -gradient

    options: Any = {"maxiter": most, "maxfun": 2 * most, "maxcor": 20, "ftol": 1e-9, "gtol": 1e-3}
    result = minimize(negative, start, jac=True, method="L-BFGS-B", options=options)
    x, value = np.asarray(result.x, dtype=np.float64), -float(result.fun)
    if not volume:
        return Mode(x, value, math.nan)
    for _ in range(POLISH):
        A = _curvature(density, x)
        try:
            factor = cho_factor(A)
        except (LinAlgError, ValueError):
            return Mode(x, value, math.nan)
        move = cho_solve(factor, density(x)[1])
        higher = density(x + move)[0]
        log_det = 2.0 * float(np.log(np.diag(factor[0])).sum())
        if not higher > value:
            break
        gained, x, value = higher - value, x + move, higher
        if gained < 1e-3:  # the curvature has not moved either
            break
    evidence = value + 0.5 * len(x) * math.log(2.0 * math.pi) - 0.5 * log_det
    return Mode(x, value, evidence)


def if_finite(value: float, gradient: FloatArray) -> tuple[float, FloatArray]:
    """A density and its gradient; a very low density where they are not finite."""
    if math.isfinite(value) and np.isfinite(gradient).all():
        return value, gradient
    return -1e300, np.zeros_like(gradient)


def _curvature(density: Density, x: FloatArray) -> FloatArray:
    steps = STEP * np.eye(len(x))
    rows = [(density(x - step)[1] - density(x + step)[1]) / (2.0 * STEP) for step in steps]
    A = np.array(rows).reshape(len(x), len(x))
    return 0.5 * (A + A.T)


@dataclass(frozen=True)
class LevelsLink:
    """Probabilities of r levels: z are orthonormal contrasts of their logs."""

    r: int

    @property
    def size(self) -> int:
        return self.r - 1

    sloped = size

    @property
    def contrasts(self) -> FloatArray:
        """H, (r, r − 1): columns are orthonormal and sum to 0."""
        return np.asarray(helmert(self.r).T)

    def natural(self, z: FloatArray) -> FloatArray:
        log_p = self.contrasts @ z
        return np.asarray(log_p - logsumexp(log_p, axis=0))

    def pull(self, z: FloatArray, E: FloatArray) -> FloatArray:
        d = E - np.exp(self.natural(z)) * E.sum(axis=0)
        return np.asarray(self.contrasts.T @ d)

    def at_mean(self, seen: FloatArray) -> FloatArray:
        return np.asarray(self.contrasts.T @ np.log(np.maximum(seen, 1e-300)))

    def log_integral(self, hyper: FloatArray) -> float:
        # Contrasts have √r times the volume of log odds against one level.
        dirichlet = gammaln(hyper).sum() - gammaln(hyper.sum())
        return float(dirichlet - 0.5 * math.log(self.r))


@dataclass(frozen=True)
class RateLink:
    """A rate of counts: z is its log."""

    size: int = 1
    sloped: int = 1

    def natural(self, z: FloatArray) -> FloatArray:
        return np.concatenate([z, -np.exp(np.minimum(z, FURTHEST))])

    def pull(self, z: FloatArray, E: FloatArray) -> FloatArray:
        return E[:1] + self.natural(z)[1:] * E[1:]

    def at_mean(self, seen: FloatArray) -> FloatArray:
        return np.log(np.maximum(seen[:1], 1e-300) / seen[1:])

    def log_integral(self, hyper: FloatArray) -> float:
        shape, rate = hyper
        return float(gammaln(shape) - shape * math.log(rate))


@dataclass(frozen=True)
class NormalLink:
    """Mean and variance of numbers: z = (μ, log σ²)."""

    size: int = 2
    sloped: int = 1

    def natural(self, z: FloatArray) -> FloatArray:
        mean, precise = z[0], np.exp(-z[1])
        return np.stack([mean * precise, -0.5 * mean**2 * precise, -0.5 * precise, -0.5 * z[1]])

    def pull(self, z: FloatArray, E: FloatArray) -> FloatArray:
        mean, precise = z[0], np.exp(-z[1])
        squares = E[2] - 2.0 * mean * E[0] + mean**2 * E[1]
        return np.stack([(E[0] - mean * E[1]) * precise, 0.5 * (squares * precise - E[3])])

    def at_mean(self, seen: FloatArray) -> FloatArray:
        mean = seen[0] / seen[1]
        squares = seen[2] - 2.0 * mean * seen[0] + mean**2 * seen[1]
        return np.stack([mean, np.log(np.maximum(squares, 1e-300) / seen[3])])

    def log_integral(self, hyper: FloatArray) -> float:
        prior = NormalInverseGamma.of(hyper, Segment.of_table(GAUSSIAN, 1, 4))
        return float(prior.log_integral[0])


ColumnLink: TypeAlias = LevelsLink | RateLink | NormalLink


def link_of(v: Variable) -> ColumnLink | None:
    """The link of a column; None for fixed or tied tables and for blocks of numbers."""
    if v.known is not None or v.tied_to is not None:
        return None
    if v.family.tabular:
        return LevelsLink(len(v.states))
    if isinstance(v.family, Binomial):
        return LevelsLink(2)
    if v.family == GAUSSIAN:
        return NormalLink()
    return RateLink() if v.family == POISSON else None


def log_prior(link: ColumnLink, hyper: FloatArray, z: FloatArray) -> float:
    """Log prior density of the coordinates of points, (size, points), with a common prior."""
    density = float((hyper @ link.natural(z)).sum())
    points: int = z.shape[1]
    return density - points * link.log_integral(hyper)
