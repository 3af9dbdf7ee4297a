"""Numbers with a normal distribution, and a normal-inverse-gamma prior of its mean and variance.

μ given σ² is normal around m with variance σ²/κ, and σ² is inverse gamma with shape a and scale b.
Cases count twice, once for the mean and once for the variance: the prior may know more of one
than of the other. φ = (μ, log σ²). Values should be of order 1 (`model.unit`): sums of squares
then lose no digits, and one random start is as good for lengths in metres as in miles.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from lacunet.likelihoods.joint_normal import LOG_2PI, BlockPlaces
from lacunet.likelihoods.likelihood import ByIntegral, Segment
from lacunet.likelihoods.unit import Unit
from lacunet.runtime.arrays import FloatArray, IntArray
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
class Gaussian(ByIntegral):
    """Places are (Σ x, n, Σ x², n): θ = (μ, μ, σ², σ²), η = (μ/σ², −μ²/2σ², −1/2σ², −½ log σ²)."""

    name: ClassVar[str] = "gaussian"
    places: ClassVar[BlockPlaces] = BlockPlaces(1)  # those of a block of one number

    def width(self, states: Sequence[State]) -> int:
        return 4

    def fewest_values(self, configurations: int) -> float:
        """None are enough: a class of one case has variance 0, and infinite density."""
        return np.inf

    def statistics(self, states: Sequence[State]) -> FloatArray:
        x = np.array(states, dtype=np.float64)
        return np.stack([x, np.ones_like(x), x**2, np.ones_like(x)], axis=1)

    @property
    def powers(self) -> FloatArray:
        return np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])

    def log_base(self, states: Sequence[State]) -> FloatArray:
        return np.full(len(states), -0.5 * LOG_2PI)

    def told(self, theta: FloatArray, unit: Unit) -> dict[str, FloatArray]:
        """Of logarithms the median, and the factor that is one standard deviation."""
        middle, spread = unit.values(theta[:, 0]), unit.size * np.sqrt(theta[:, 2])
        if unit.log:
            return {"median": middle, "factor": np.exp(spread)}
        return {"mean": middle, "sd": spread}

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        return theta[..., 0], theta[..., 2]

    def averaged_moments(self, hyper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Those of a Student t with 2 a degrees of freedom; up to 2 its variance is infinite."""
        at = Segment.of_table(self, 1, 4)
        m, kappa, a, b = (x[..., 0] for x in NormalInverseGamma.of(hyper, at))
        wide = np.full_like(m, np.inf)
        np.divide(b * (kappa + 1.0), kappa * (a - 1.0), out=wide, where=a > 1.0)
        return m, wide

    def measured(self, hyper: FloatArray) -> FloatArray | None:
        return hyper

    def draw_values(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        return rng.normal(theta[..., 0], np.sqrt(theta[..., 2]))

    def deviations(self, theta: FloatArray) -> FloatArray:
        return np.sqrt(theta[:, 2])

    def natural(self, theta: FloatArray, at: Segment) -> FloatArray:
        mean, _, variance, _ = at.by_place(theta)
        precise = 1.0 / variance
        return at.at_places(
            mean * precise, -0.5 * mean**2 * precise, -0.5 * precise, -0.5 * np.log(variance)
        )

    def theta_of(self, mean: FloatArray, covariance: FloatArray, at: Segment) -> FloatArray:
        """θ of means (..., q, 1) and variances (..., q, 1, 1)."""
        own, variance = mean[..., 0], covariance[..., 0, 0]
        return at.at_places(own, own, variance, variance)

    def parameters(self, natural: FloatArray, at: Segment) -> FloatArray:
        first, _, second, _ = at.by_place(natural)
        variance = -0.5 / second
        return at.at_places(first * variance, first * variance, variance, variance)

    def has_mode(self, hyper: FloatArray, at: Segment) -> bool:
        return self.keeps_off_zero(hyper, at)

    def keeps_off_zero(self, pseudo: FloatArray, at: Segment) -> bool:
        """Whether no variance can be 0: some squares are there before any case is."""
        first, kappa, second, _ = at.by_place(pseudo)
        return bool(((kappa > 0) & (second * kappa > first**2)).all())

    def allows(self, theta: FloatArray, at: Segment) -> bool:
        return not self.on_boundary(theta, at)

    def on_boundary(self, theta: FloatArray, at: Segment) -> bool:
        return bool((at.by_place(theta)[2] <= 0).any())

    def widened(self, hyper: FloatArray, at: Segment, *, factor: float) -> FloatArray:
        first, kappa, _, cases = at.by_place(hyper)
        m, _, _, b = NormalInverseGamma.of(hyper, at)
        return at.at_places(first, kappa, first * m + 2.0 * factor * b, cases)

    def in_theta(self, hyper: FloatArray, at: Segment) -> FloatArray:
        """Dσ² = σ² dlog σ²."""
        return hyper + np.where(at.k == 3, 2.0, 0.0)

    def log_integrals(self, hyper: FloatArray, at: Segment) -> FloatArray:
        """See ByIntegral; log marginals are Student t distributions."""
        return NormalInverseGamma.of(hyper, at).log_integral

    def expected_natural(self, hyper: FloatArray, at: Segment) -> FloatArray:
        m, kappa, a, b = NormalInverseGamma.of(hyper, at)
        precise = a / b
        return at.at_places(
            m * precise,
            -0.5 * (m**2 * precise + 1.0 / kappa),
            -0.5 * precise,
            0.5 * (digamma(a) - np.log(b)),
        )

    def mean(self, hyper: FloatArray, at: Segment) -> FloatArray:
        """See Likelihood; up to a shape of 1 the mean of σ² is infinite, and its mode stands in."""
        m, _, a, b = NormalInverseGamma.of(hyper, at)
        variance = b / np.where(a > 1.0, a - 1.0, a + 1.0)
        return at.at_places(m, m, variance, variance)

    def mean_statistics(self, theta: FloatArray, at: Segment) -> FloatArray:
        mean, _, variance, _ = at.by_place(theta)
        one = np.ones_like(mean)
        return at.at_places(mean, one, mean**2 + variance, one)

    def cases(self, N: FloatArray, at: Segment) -> FloatArray:
        cases = at.by_place(N)[1]
        return at.at_places(cases, cases, cases, cases)

    def draw(self, hyper: FloatArray, at: Segment, rng: Any) -> FloatArray:
        m, kappa, a, b = NormalInverseGamma.of(hyper, at)
        variance = b / np.maximum(rng.standard_gamma(a), np.finfo(float).tiny)
        mean = m + np.sqrt(variance / kappa) * rng.standard_normal(m.shape)
        return self.natural(at.at_places(mean, mean, variance, variance), at)

    def random(self, hyper: FloatArray, at: Segment, rng: np.random.Generator) -> FloatArray:
        """Means as far apart as values are, variances smaller than that of all of them."""
        mean = rng.standard_normal(at.configurations)
        variance = np.full(at.configurations, 0.5)
        return at.at_places(mean, mean, variance, variance)

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

    def longest_move(self, *, edge: bool) -> float:
        return 4.0

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

    def idle(self, theta: FloatArray, v: FloatArray, at: Segment) -> FloatArray:
        return np.zeros_like(v)

    def free(self, theta: FloatArray, at: Segment) -> tuple[IntArray, IntArray]:
        free = at.positions(0, 2)
        return free, free

    def on_scale(self, phi: FloatArray, theta: FloatArray, at: Segment) -> FloatArray:
        """That of μ and of log σ², which stand at two places each."""
        along, _, log_variance, _ = at.by_place(phi.T)
        return at.at_places(along, along, log_variance, log_variance).T

    def off_scale(self, theta: FloatArray, move: FloatArray, at: Segment) -> FloatArray:
        return np.where(at.k < 2, theta + move, theta * np.exp(np.where(at.k < 2, 0.0, move)))

    def scale_slope(self, theta: FloatArray, at: Segment) -> FloatArray:
        return np.where(at.k < 2, 1.0, theta)

    def log_jacobian(self, theta: FloatArray, at: Segment) -> float:
        return float(np.log(at.by_place(theta)[2]).sum())

    def complete_log_det(self, theta: FloatArray, N: FloatArray, at: Segment) -> float:
        """Where the statistics have their maximum; elsewhere it may be no maximum at all."""
        own, both, of_variance = _curvature(theta, N, at)
        return float(np.log(own * of_variance - both**2).sum())


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
