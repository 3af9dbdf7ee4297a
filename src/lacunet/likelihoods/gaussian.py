"""Numbers with a normal distribution, and a normal-inverse-gamma prior of its mean and variance.

It is a `GaussianBlock` of one number, written out where it is climbed in or drawn. μ given σ² is
normal around m with variance σ²/κ, and σ² is inverse gamma with shape a and scale b. Cases count
twice, once for the mean and once for the variance: the prior may know more of one than of the
other. φ = (μ, log σ²). Values should be of order 1 (`unit`): sums of squares then lose no digits,
and one random start is as good for lengths in metres as in miles.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import gammaln

from lacunet.likelihoods.joint_normal import LOG_2PI, BlockPlaces
from lacunet.likelihoods.likelihood import Segment
from lacunet.likelihoods.normal import Normal
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.runtime.states import State


class NormalInverseGamma(NamedTuple):
    """A prior of one mean and one variance, (..., q) each."""

    m: FloatArray  # where the mean is expected
    kappa: FloatArray  # cases that this is worth
    a: FloatArray  # shape of σ²
    b: FloatArray  # scale of σ²

    @classmethod
    def of(cls, hyper: FloatArray, at: Segment) -> "NormalInverseGamma":
        """Read it off hyperparameters, (κ m, κ, κ m² + 2 b, 2 a + 1)."""
        first, kappa, second, cases = at.by_place(hyper)
        return cls(first / kappa, kappa, (cases - 1.0) / 2.0, (second - first**2 / kappa) / 2.0)

    @property
    def log_integral(self) -> FloatArray:
        """Log ∫ exp(hyper · η) dμ dlog σ²."""
        mean = 0.5 * (LOG_2PI - np.log(self.kappa))
        integral: FloatArray = mean + gammaln(self.a) - self.a * np.log(self.b)
        return integral


def hyperparameters(m: float, kappa: float, a: float, b: float) -> tuple[float, ...]:
    """Write a prior as it stands at the places of a configuration."""
    return kappa * m, kappa, kappa * m**2 + 2.0 * b, 2.0 * a + 1.0


@dataclass(frozen=True)
class Gaussian(Normal):
    """Places are (Σ x, n, Σ x², n): θ = (μ, μ, σ², σ²), η = (μ/σ², −μ²/2σ², −1/2σ², −½ log σ²)."""

    name: ClassVar[str] = "gaussian"
    places: ClassVar[BlockPlaces] = BlockPlaces(1)
    place: ClassVar[int] = 0

    def width(self, states: Sequence[State]) -> int:
        return 4

    def statistics(self, states: Sequence[State]) -> FloatArray:
        x = np.array(states, dtype=np.float64)
        return np.stack([x, np.ones_like(x), x**2, np.ones_like(x)], axis=1)

    @property
    def powers(self) -> FloatArray:
        return np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])

    def draw_values(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        return rng.normal(theta[..., 0], np.sqrt(theta[..., 2]))

    def theta_of(self, mean: FloatArray, covariance: FloatArray, at: Segment) -> FloatArray:
        own, variance = mean[..., 0], covariance[..., 0, 0]
        return at.at_places(own, own, variance, variance)

    def natural(self, theta: FloatArray, at: Segment) -> FloatArray:
        mean, _, variance, _ = at.by_place(theta)
        precise = 1.0 / variance
        return at.at_places(
            mean * precise, -0.5 * mean**2 * precise, -0.5 * precise, -0.5 * np.log(variance)
        )

    def log_integrals(self, hyper: FloatArray, at: Segment) -> FloatArray:
        """See ByIntegral; log marginals are Student t distributions."""
        return NormalInverseGamma.of(hyper, at).log_integral

    def draw(self, hyper: FloatArray, at: Segment, rng: Any) -> FloatArray:
        m, kappa, a, b = NormalInverseGamma.of(hyper, at)
        variance = b / np.maximum(rng.standard_gamma(a), np.finfo(float).tiny)
        mean = m + np.sqrt(variance / kappa) * rng.standard_normal(m.shape)
        return self.natural(at.at_places(mean, mean, variance, variance), at)

    def maximize(
        self, N: FloatArray, pseudo: FloatArray, theta: FloatArray, at: Segment
    ) -> FloatArray:
        first, for_mean, second, for_variance = at.by_place(N + pseudo)
        mean, _, variance, _ = (x.copy() for x in at.by_place(theta))
        told = for_mean > 0
        np.divide(first, for_mean, out=mean, where=told)
        np.divide(second - first * mean, for_variance, out=variance, where=told)
        return at.at_places(mean, mean, variance, variance)

    def pull_back(self, theta: FloatArray, g: FloatArray, at: Segment) -> FloatArray:
        mean, _, variance, _ = at.by_place(theta)
        nothing = np.zeros_like(mean)
        first, for_mean, _, for_variance = at.by_place(g)
        along = (first - mean * for_mean) / variance
        return at.at_places(
            along, nothing, 0.5 * (_squares(g, mean, at) / variance - for_variance), nothing
        )

    def push(self, theta: FloatArray, phi: FloatArray, at: Segment) -> FloatArray:
        mean, _, variance, _ = at.by_place(theta)
        along, _, log_variance, _ = at.by_place(phi)
        return at.at_places(
            (along - mean * log_variance) / variance,
            (0.5 * mean * log_variance - along) * mean / variance,
            0.5 * log_variance / variance,
            -0.5 * log_variance,
        )

    def information(
        self, theta: FloatArray, N: FloatArray, phi: FloatArray, at: Segment
    ) -> FloatArray:
        along, _, log_variance, _ = at.by_place(phi)
        own, both, of_variance = _curvature(theta, N, at)
        nothing = np.zeros_like(along)
        return at.at_places(
            own * along + both * log_variance,
            nothing,
            both * along + of_variance * log_variance,
            nothing,
        )

    def sharpness(
        self, theta: FloatArray, N: FloatArray, at: Segment, *, edge: bool = False
    ) -> FloatArray:
        """That of the curvature; of log σ² no less than it is at the maximum."""
        own, _, of_variance = _curvature(theta, N, at)
        nothing = np.zeros_like(own)
        return at.at_places(own, nothing, np.maximum(of_variance, at.by_place(N)[3] / 2), nothing)

    def moved(
        self, theta: FloatArray, move: FloatArray, at: Segment, *, edge: bool = False
    ) -> FloatArray:
        mean, _, variance, _ = at.by_place(theta)
        along, _, log_variance, _ = at.by_place(move)
        there, wide = mean + along, variance * np.exp(log_variance)
        return at.at_places(there, there, wide, wide)

    def between(self, old: FloatArray, new: FloatArray, at: Segment, *, edge: bool) -> FloatArray:
        before, after = at.by_place(old), at.by_place(new)
        nothing = np.zeros_like(before[0])
        return at.at_places(after[0] - before[0], nothing, np.log(after[2] / before[2]), nothing)

    def on_log_scale(self, at: Segment) -> BoolArray:
        return np.asarray(at.k >= 2)

    def on_scale(self, phi: FloatArray, theta: FloatArray, at: Segment) -> FloatArray:
        """That of μ and of log σ², which stand at two places each."""
        along, _, log_variance, _ = at.by_place(phi.T)
        return at.at_places(along, along, log_variance, log_variance).T


def _squares(N: FloatArray, mean: FloatArray, at: Segment) -> FloatArray:
    """Σ (x − μ)² of statistics."""
    first, for_mean, second, _ = at.by_place(N)
    return np.asarray(second - 2.0 * mean * first + mean**2 * for_mean)


def _curvature(
    theta: FloatArray, N: FloatArray, at: Segment
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Negative second derivatives of N · η: by μ twice, by μ and log σ², by log σ² twice."""
    mean, _, variance, _ = at.by_place(theta)
    first, for_mean, _, _ = at.by_place(N)
    both = (first - mean * for_mean) / variance
    return for_mean / variance, both, 0.5 * _squares(N, mean, at) / variance


GAUSSIAN = Gaussian()
