"""Normal likelihoods: of a single number, and of a block of jointly normal numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import gammaln

from lacunet.errors import ModelError
from lacunet.likelihoods import kernels
from lacunet.likelihoods.joint_normal import (
    LOG_2PI,
    BlockPlaces,
    InverseWishart,
    cholesky,
    inverse,
    places_of,
)
from lacunet.likelihoods.likelihood import Likelihood, Segment, Vector
from lacunet.likelihoods.normal import NormalLikelihood
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.runtime.states import State


class NormalInverseGamma(NamedTuple):
    """The prior of a mean and a variance, (..., q) each."""

    m: FloatArray  # expected mean
    kappa: FloatArray  # its weight, in cases
    a: FloatArray  # shape of σ²
    b: FloatArray  # scale of σ²

    @classmethod
    def of(cls, hyper: Vector, at: Segment) -> "NormalInverseGamma":
        """The prior of hyperparameters (κ m, κ, κ m² + 2 b, 2 a + 1)."""
        first, kappa, second, cases = at.by_place(hyper)
        return cls(first / kappa, kappa, (cases - 1.0) / 2.0, (second - first**2 / kappa) / 2.0)

    @property
    def log_integral(self) -> FloatArray:
        """Log ∫ exp(hyper · η) dμ dlog σ²."""
        mean = 0.5 * (LOG_2PI - np.log(self.kappa))
        integral: FloatArray = mean + gammaln(self.a) - self.a * np.log(self.b)
        return integral


def hyperparameters(m: float, kappa: float, a: float, b: float) -> tuple[float, ...]:
    """Hyperparameters of one configuration."""
    return kappa * m, kappa, kappa * m**2 + 2.0 * b, 2.0 * a + 1.0


@dataclass(frozen=True)
class Gaussian(NormalLikelihood):
    """Places are (Σ x, n, Σ x², n): θ = (μ, μ, σ², σ²), η = (μ/σ², −μ²/2σ², −1/2σ², −½ log σ²).

    The methods that every iteration of a fit uses have closed forms here, for speed.
    """

    name: ClassVar[str] = "gaussian"
    places: ClassVar[BlockPlaces] = BlockPlaces(1)
    place: ClassVar[int] = 0
    powers: ClassVar[FloatArray] = np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0]])

    @property
    def univariate(self) -> Likelihood:
        return GAUSSIAN

    def width(self, states: Sequence[State]) -> int:
        return 4

    def statistics(self, states: Sequence[State]) -> FloatArray:
        x = np.array(states, dtype=np.float64)
        return np.stack([x, np.ones_like(x), x**2, np.ones_like(x)], axis=1)

    def draw_values(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        return rng.normal(theta[..., 0], np.sqrt(theta[..., 2]))

    def _both(self, first: FloatArray, second: FloatArray, other: float, at: Segment) -> Vector:
        """Write the mean and the variance, each at two places."""
        mean, variance = first[..., 0], second[..., 0, 0]
        return at.at_places(mean, mean, variance, variance)

    def natural(self, theta: Vector, at: Segment) -> Vector:
        mean, _, variance, _ = at.by_place(theta)
        precise = 1.0 / variance
        return at.at_places(
            mean * precise, -0.5 * mean**2 * precise, -0.5 * precise, -0.5 * np.log(variance)
        )

    def log_integrals(self, hyper: Vector, at: Segment) -> FloatArray:
        """Log integrals over θ; marginals are Student t distributions."""
        if self.common:
            return super().log_integrals(hyper, at)
        return NormalInverseGamma.of(hyper, at).log_integral

    def draw_apart(self, hyper: Vector, at: Segment, rng: Any) -> Vector:
        m, kappa, a, b = NormalInverseGamma.of(hyper, at)
        variance = b / np.maximum(rng.standard_gamma(a), np.finfo(float).tiny)
        mean = m + np.sqrt(variance / kappa) * rng.standard_normal(m.shape)
        return self.natural(at.at_places(mean, mean, variance, variance), at)

    def maximize(self, N: Vector, pseudo: Vector, theta: Vector, at: Segment) -> Vector:
        if self.common:
            return super().maximize(N, pseudo, theta, at)
        first, for_mean, second, for_variance = at.by_place(N + pseudo)
        mean, _, variance, _ = (x.copy() for x in at.by_place(theta))
        filled = for_mean > 0
        np.divide(first, for_mean, out=mean, where=filled)
        np.divide(second - first * mean, for_variance, out=variance, where=filled)
        return at.at_places(mean, mean, variance, variance)

    def pull_back(self, theta: Vector, g: Vector, at: Segment) -> Vector:
        mean, _, variance, _ = at.by_place(theta)
        first, for_mean, _, for_variance = at.by_place(g)
        nothing, along = np.zeros_like(mean), (first - mean * for_mean) / variance
        across = 0.5 * (_squares(g, mean, at) / variance - for_variance)
        return self._led(at.at_places(along, nothing, across, nothing), at)

    def metric(self, theta: Vector, N: Vector, at: Segment, *, edge: bool = False) -> Vector:
        """Diagonal of the curvature; that of log σ² is at least its value at the maximum."""
        mean, _, variance, _ = at.by_place(theta)
        _, for_mean, _, for_variance = at.by_place(N)
        nothing, curved = np.zeros_like(mean), 0.5 * _squares(N, mean, at) / variance
        wide = np.maximum(curved, for_variance / 2)
        return self._led(at.at_places(for_mean / variance, nothing, wide, nothing), at)

    def moved(self, theta: Vector, move: Vector, at: Segment, *, edge: bool = False) -> Vector:
        mean, _, variance, _ = at.by_place(theta)
        along, _, log_variance, _ = at.by_place(self._handed_out(move, at))
        new_mean, new_variance = mean + along, variance * np.exp(log_variance)
        return at.at_places(new_mean, new_mean, new_variance, new_variance)

    def on_log_scale(self, at: Segment) -> BoolArray:
        return np.asarray(at.k >= 2)  # the variance has two places


def _squares(N: FloatArray, mean: FloatArray, at: Segment) -> FloatArray:
    """Σ (x − μ)² from statistics."""
    first, for_mean, second, _ = at.by_place(N)
    return np.asarray(second - 2.0 * mean * first + mean**2 * for_mean)


GAUSSIAN = Gaussian()


@dataclass(frozen=True)
class GaussianBlock(NormalLikelihood):
    """Jointly normal numbers; the first variable has the parameters of all, θ = (μ, 1, Σ, 1)."""

    name: ClassVar[str] = "gaussian_block"
    members: tuple[str, ...]  # names of its variables
    place: int = 0  # index of the variable in the block

    @cached_property
    def places(self) -> BlockPlaces:
        """Places of vectors and matrices in a configuration."""
        return places_of(len(self.members))

    def width(self, states: Sequence[State]) -> int:
        return 0 if self.place else self.places.width

    @property
    def stands_at(self) -> str:
        return self.members[0]

    @property
    def univariate(self) -> Likelihood:
        return GAUSSIAN

    def statistics(self, states: Sequence[State]) -> FloatArray:
        """Raise ModelError: one number of a block has no statistics."""
        raise ModelError(
            f"'{self.members[self.place]}' has a joint distribution with other numbers "
            "(--covariance), but this operation needs each number alone. Use --covariance "
            "diagonal for that."
        )

    def draw_values(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw all numbers of the block, (..., d)."""
        mean, _, covariance, _ = self.places.read(theta)
        noise = rng.standard_normal(mean.shape)
        return np.asarray(mean + np.einsum("...ab,...b->...a", cholesky(covariance), noise))

    def natural(self, theta: Vector, at: Segment) -> Vector:
        tables = at.tables(theta)
        eta = np.empty(tables.shape)
        rows = (-1, self.places.width)
        kernels.write_natural(tables.reshape(rows), eta.reshape(rows), self.places.d)
        return at.from_tables(eta)

    def draw_apart(self, hyper: Vector, at: Segment, rng: Any) -> Vector:
        """Draw the Wishart matrix Λ by Bartlett's decomposition, then μ."""
        m, kappa, nu, S = InverseWishart.of(self._read(hyper, at))
        d = self.places.d
        A = np.tril(rng.standard_normal(S.shape), -1)
        spread = 2.0 * rng.standard_gamma((nu[..., None] - np.arange(d)) / 2.0)
        A[..., range(d), range(d)] = np.sqrt(np.maximum(spread, np.finfo(float).tiny))
        root = np.linalg.cholesky(inverse(S)) @ A
        precise = root @ np.swapaxes(root, -1, -2)
        noise = rng.standard_normal(m.shape)[..., None]
        step = np.linalg.solve(np.swapaxes(root, -1, -2), noise)[..., 0]
        mean = m + step / np.sqrt(kappa)[..., None]
        h = np.einsum("...ab,...b->...a", precise, mean)
        square = np.einsum("...a,...a->...", h, mean)
        log_det = np.linalg.slogdet(precise)[1]
        return at.from_tables(self.places.natural(h, -0.5 * square, precise, 0.5 * log_det))

    def maximize(self, N: Vector, pseudo: Vector, theta: Vector, at: Segment) -> Vector:
        if self.common:
            return super().maximize(N, pseudo, theta, at)
        total, best = at.tables(N + pseudo), np.ascontiguousarray(at.tables(theta))
        rows = (-1, self.places.width)
        kernels.write_best(total.reshape(rows), best.reshape(rows), self.places.d)
        return at.from_tables(best)
