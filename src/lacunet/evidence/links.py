"""Natural parameters of a column as smooth functions of coordinates without bounds.

A link turns coordinates z (size, points), a point being a class or a value of a trait, into natural
parameters of the column's family (width, points), and takes gradients back. Its prior is that of
the family: hyperparameters are statistics that are seen before the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import helmert
from scipy.special import gammaln, logsumexp

from lacunet.likelihoods import GAUSSIAN, POISSON, Binomial
from lacunet.likelihoods.gaussian import NormalInverseGamma
from lacunet.likelihoods.likelihood import Segment
from lacunet.models.network import Variable
from lacunet.runtime.arrays import FloatArray

FURTHEST = 300.0  # of a log rate: beyond, no float holds the rate


class Link(Protocol):
    """How a column's natural parameters depend on coordinates."""

    @property
    def size(self) -> int:
        """How many coordinates there are for each point."""

    @property
    def sloped(self) -> int:
        """How many of them, the first ones, may depend on a trait."""

    def natural(self, z: FloatArray) -> FloatArray:
        """Natural parameters, (size, points) → (width, points)."""

    def pull(self, z: FloatArray, E: FloatArray) -> FloatArray:
        """Gradient of E · natural(z) by z: (size, points), of statistics E (width, points)."""

    def at_mean(self, seen: FloatArray) -> FloatArray:
        """Coordinates that statistics are likeliest at, (width, points) → (size, points)."""

    def log_integral(self, hyper: FloatArray) -> float:
        """Log ∫ exp(hyper · natural(z)) dz."""


@dataclass(frozen=True)
class Levels:
    """Chances of r levels: z are orthonormal contrasts of their logs."""

    r: int

    @property
    def size(self) -> int:
        return self.r - 1

    @property
    def sloped(self) -> int:
        return self.r - 1

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
class Rate:
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
class Normal:
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


def link_of(v: Variable) -> Link | None:
    """Give the link of a column; None for those whose tables are known, and blocks of numbers."""
    if v.known is not None or v.tied_to is not None:
        return None
    if v.family.tabular:
        return Levels(len(v.states))
    if isinstance(v.family, Binomial):
        return Levels(2)
    if v.family == GAUSSIAN:
        return Normal()
    return Rate() if v.family == POISSON else None


def log_prior(link: Link, hyper: FloatArray, z: FloatArray) -> float:
    """Log density of the coordinates of one point or of several, each with the same prior."""
    density = float((hyper @ link.natural(z)).sum())
    points: int = z.shape[1]
    return density - points * link.log_integral(hyper)
