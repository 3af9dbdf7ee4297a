"""What normal likelihoods share: one number or several, with or without a common covariance.

The prior is normal-inverse-Wishart: the mean μ given the covariance Σ is normal around m with
covariance Σ/κ, and Σ is inverse Wishart with ν degrees of freedom and scale S. Σ = L Lᵀ, and φ are
μ, λ_i = log L_ii² and u_ij = L_ij/L_ii: in these, dφ = |Σ|^−(d+1)/2 dΣ, so that the prior as a
density of φ is exp(hyper · η), as everywhere.

Numbers with a normal distribution, and a normal-inverse-gamma prior of its mean and variance.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from lacunet.likelihoods.conjugate_prior import ByIntegral
from lacunet.likelihoods.joint_normal import (
    LOG_2PI,
    BlockPlaces,
    BlockSpread,
    InverseWishart,
    Joint,
    inverse,
    outer,
)
from lacunet.likelihoods.likelihood import Likelihood, Segment
from lacunet.likelihoods.unit import Unit
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.runtime.states import State


class Normal(ByIntegral):
    """Places are (Σ x, n, Σ x_a x_b for a ≤ b, n): a vector, one, a matrix, one, of d numbers."""

    @property
    @abstractmethod
    def places(self) -> BlockPlaces:
        """Where vectors and matrices stand among the places of a configuration."""

    @property
    @abstractmethod
    def place(self) -> int:
        """Which of the numbers a variable is."""

    def fewest_values(self, configurations: int) -> float:
        """None are enough: a class of one case has variance 0, and infinite density."""
        return np.inf

    def log_base(self, states: Sequence[State]) -> FloatArray:
        return np.full(len(states), -0.5 * LOG_2PI)

    # The variable's own number, of tables of θ or of hyperparameters

    def told(self, theta: FloatArray, unit: Unit) -> dict[str, FloatArray]:
        """Of logarithms the median, and the factor that is one standard deviation."""
        mean, variance = self.moments(theta)
        middle, spread = unit.values(mean), unit.size * np.sqrt(variance)
        if unit.log:
            return {"median": middle, "factor": np.exp(spread)}
        return {"mean": middle, "sd": spread}

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        return theta[..., self.place], theta[..., self.places.d + 1 + self.place]

    def deviations(self, theta: FloatArray) -> FloatArray:
        return np.sqrt(self.moments(theta)[1])

    def alone(self, theta: FloatArray) -> tuple[Likelihood, FloatArray]:
        mean, variance = self.moments(theta)
        return self.by_itself, np.stack([mean, mean, variance, variance], axis=-1)

    def averaged_moments(self, hyper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Those of a Student t; up to two degrees of freedom its variance is infinite."""
        own, shape = self.place, hyper.shape[:-1]
        spread = BlockSpread.over(hyper.reshape(-1, hyper.shape[-1]), self.places.d)
        return spread.mean[:, own].reshape(shape), spread.covariance[:, own, own].reshape(shape)

    def measured(self, hyper: FloatArray) -> FloatArray | None:
        """As many degrees less as others are beside it."""
        joint, own = self.places.read(hyper), self.place
        fewer = joint.for_variance - (self.places.d - 1.0)
        return np.array([joint.first[own], joint.cases, joint.second[own, own], fewer])

    # Parameters

    @property
    def coordinate_places(self) -> Sequence[int]:
        return self.places.free

    def _read(self, x: FloatArray, at: Segment) -> Joint:
        return self.places.read(at.tables(x))

    def _write(self, joint: Joint, at: Segment) -> FloatArray:
        return at.from_tables(self.places.write(joint))

    @abstractmethod
    def theta_of(self, mean: FloatArray, covariance: FloatArray, at: Segment) -> FloatArray:
        """θ of means (..., q, d) and covariances (..., q, d, d)."""

    def parameters(self, natural: FloatArray, at: Segment) -> FloatArray:
        h, _, precise, _ = self.places.read_natural(at.tables(natural))
        covariance = inverse(precise)
        return self.theta_of(np.einsum("...ab,...b->...a", covariance, h), covariance, at)

    def mean_statistics(self, theta: FloatArray, at: Segment) -> FloatArray:
        mean, _, covariance, _ = self._read(theta, at)
        one = np.ones(mean.shape[:-1])
        return self._write(Joint(mean, one, covariance + outer(mean, mean), one), at)

    def cases(self, N: FloatArray, at: Segment) -> FloatArray:
        return np.asarray(self._read(N, at).cases)[at.ij]

    def random(self, hyper: FloatArray, at: Segment, rng: np.random.Generator) -> FloatArray:
        """Means as far apart as values are, variances smaller than that of all of them."""
        q, d = at.configurations, self.places.d
        covariance = np.broadcast_to(0.5 * np.eye(d), (q, d, d))
        return self.theta_of(rng.standard_normal((q, d)), covariance, at)

    def keeps_off_zero(self, pseudo: FloatArray, at: Segment) -> bool:
        """Whether no direction can have variance 0: some squares are there before any case is."""
        if not (self._read(pseudo, at).cases > 0).all():
            return False
        return bool((np.linalg.eigvalsh(self.prior(pseudo, at).S) > 0).all())

    def allows(self, theta: FloatArray, at: Segment) -> bool:
        return not self.on_boundary(theta, at)

    def on_boundary(self, theta: FloatArray, at: Segment) -> bool:
        return bool((np.linalg.eigvalsh(self._read(theta, at).second) <= 0).any())

    def log_jacobian(self, theta: FloatArray, at: Segment) -> float:
        log_det = np.linalg.slogdet(self._read(theta, at).second)[1]
        return float(0.5 * (self.places.d + 1.0) * log_det.sum())

    # The prior

    def prior(self, hyper: FloatArray, at: Segment) -> InverseWishart:
        """Read the prior off hyperparameters."""
        return InverseWishart.of(self._read(hyper, at))

    def has_mode(self, hyper: FloatArray, at: Segment) -> bool:
        return self.keeps_off_zero(hyper, at)

    def widened(self, hyper: FloatArray, at: Segment, *, factor: float) -> FloatArray:
        joint = self._read(hyper, at)
        more = (factor - 1.0) * InverseWishart.of(joint).S
        return self._write(joint._replace(second=joint.second + more), at)

    def in_theta(self, hyper: FloatArray, at: Segment) -> FloatArray:
        """See ConjugatePrior: dΣ = |Σ|^(d+1)/2 dφ."""
        return hyper + np.where(at.k == self.places.width - 1, self.places.d + 1.0, 0.0)

    def log_integrals(self, hyper: FloatArray, at: Segment) -> FloatArray:
        return self.prior(hyper, at).log_integral

    def expected_natural(self, hyper: FloatArray, at: Segment) -> FloatArray:
        m, kappa, nu, S = self.prior(hyper, at)
        d = self.places.d
        precise = nu[..., None, None] * inverse(S)
        h = np.einsum("...ab,...b->...a", precise, m)
        square = np.einsum("...a,...a->...", h, m) + d / kappa
        gammas = digamma((nu[..., None] - np.arange(d)) / 2.0).sum(axis=-1)
        log_det = gammas + d * np.log(2.0) - np.linalg.slogdet(S)[1]
        return at.from_tables(self.places.natural(h, -0.5 * square, precise, 0.5 * log_det))

    def mean(self, hyper: FloatArray, at: Segment) -> FloatArray:
        """See ConjugatePrior; up to ν = d + 1 the mean of Σ is infinite: its mode stands in."""
        (m, _, nu, S), d = self.prior(hyper, at), self.places.d
        over = np.where(nu > d + 1.0, nu - d - 1.0, nu + d + 1.0)
        return self.theta_of(m, S / over[..., None, None], at)


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
