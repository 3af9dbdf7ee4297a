"""Several numbers with a joint normal distribution, a covariance in every configuration.

What some numbers say of the others is in `joint_normal`; numpy's batches of small matrices do the
work, (..., q, d, d).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from lacunet.errors import ModelError
from lacunet.likelihoods import kernels
from lacunet.likelihoods.gaussian import GAUSSIAN, Normal
from lacunet.likelihoods.joint_normal import (
    BlockPlaces,
    Joint,
    cholesky,
    inverse,
    lower,
    moved_covariance,
    places_of,
    slope,
    triangle,
)
from lacunet.likelihoods.likelihood import TINY, Likelihood, Segment
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.runtime.states import State


@dataclass(frozen=True)
class GaussianBlock(Normal):
    """Places are (Σ x, n, Σ x_a x_b for a ≤ b, n): θ = (μ, 1, Σ, 1), as many of each."""

    name: ClassVar[str] = "gaussian_block"
    members: tuple[str, ...]  # names of its variables
    place: int = 0  # which of them a variable is; parameters of all stand at the first

    @cached_property
    def places(self) -> BlockPlaces:
        """Where vectors and matrices stand among the places of a configuration."""
        return places_of(len(self.members))

    def width(self, states: Sequence[State]) -> int:
        return 0 if self.place else self.places.width

    def fewest_pairs(self, configurations: int) -> float:
        """Two always lie on a line."""
        return 3.0 * configurations

    @property
    def written(self) -> dict[str, Any]:
        return {"family": self.name, "members": list(self.members)}

    @property
    def stands_at(self) -> str:
        return self.members[0]

    @property
    def by_itself(self) -> Likelihood:
        return GAUSSIAN

    def statistics(self, states: Sequence[State]) -> FloatArray:
        """A value of one number is no statistic: who asks for it cannot do with blocks yet."""
        raise ModelError(
            f"'{self.members[self.place]}' has a joint distribution with other numbers "
            "(--covariance): cases with it cannot be taken in one by one, as this asks for. Use "
            "--covariance diagonal for that."
        )

    def draw_values(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        """All numbers of the block, (..., d)."""
        mean, _, covariance, _ = self.places.read(theta)
        noise = rng.standard_normal(mean.shape)
        return np.asarray(mean + np.einsum("...ab,...b->...a", cholesky(covariance), noise))

    def theta_of(self, mean: FloatArray, covariance: FloatArray, at: Segment) -> FloatArray:
        one = np.ones(mean.shape[:-1])
        return self._write(Joint(mean, one, covariance, one), at)

    def natural(self, theta: FloatArray, at: Segment) -> FloatArray:
        tables = at.tables(theta)
        found = np.empty(tables.shape)
        one_by_one = (-1, self.places.width)
        kernels.write_natural(tables.reshape(one_by_one), found.reshape(one_by_one), self.places.d)
        return at.from_tables(found)

    def draw(self, hyper: FloatArray, at: Segment, rng: Any) -> FloatArray:
        """Λ is Wishart: by Bartlett's decomposition."""
        m, kappa, nu, S = self.prior(hyper, at)
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

    def maximize(
        self, N: FloatArray, pseudo: FloatArray, theta: FloatArray, at: Segment
    ) -> FloatArray:
        told, found = at.tables(N + pseudo), np.ascontiguousarray(at.tables(theta))
        one_by_one = (-1, self.places.width)
        kernels.write_best(told.reshape(one_by_one), found.reshape(one_by_one), self.places.d)
        return at.from_tables(found)

    def pull_back(self, theta: FloatArray, g: FloatArray, at: Segment) -> FloatArray:
        here = self._read(theta, at)
        return self._write(slope(here.first, triangle(here.second), self._read(g, at)), at)

    def push(self, theta: FloatArray, phi: FloatArray, at: Segment) -> FloatArray:
        mean, _, covariance, _ = self._read(theta, at)
        step = self._read_moves(phi, at)
        precise = inverse(covariance)
        turned = -precise @ moved_covariance(covariance, step.second) @ precise
        along = np.einsum("...ab,...b->...a", precise, step.first)
        h = np.einsum("...ab,...b->...a", turned, mean) + along
        square = np.einsum("...a,...a->...", mean, 2.0 * along) + np.einsum(
            "...a,...ab,...b->...", mean, turned, mean
        )
        log_det = -np.einsum("...aa->...", step.second)
        return at.from_tables(self.places.natural(h, -0.5 * square, turned, 0.5 * log_det))

    def _read_moves(self, phi: FloatArray, at: Segment) -> Joint:
        """Moves of μ, and of λ and u as a lower triangle."""
        step = self._read(phi, at)
        return step._replace(second=np.tril(step.second))

    def information(
        self, theta: FloatArray, N: FloatArray, phi: FloatArray, at: Segment
    ) -> FloatArray:
        """Minus the derivative of the slope along a direction, by the complex step."""
        here, step = self._read(theta, at), self._read_moves(phi, at)
        mean = here.first + TINY * 1j * step.first
        coordinates = triangle(here.second) + TINY * 1j * step.second
        change = slope(mean, coordinates, self._read(N, at))
        return self._write(Joint(*(-x.imag / TINY for x in change)), at)

    def sharpness(
        self, theta: FloatArray, N: FloatArray, at: Segment, *, edge: bool = False
    ) -> FloatArray:
        """The diagonal of the curvature where it is highest: that of Fisher's information."""
        here, told = self._read(theta, at), self._read(N, at)
        precise, L = inverse(here.second), cholesky(here.second)
        of_mean = told.cases[..., None] * np.einsum("...aa->...a", precise)
        # A move of row i of L is E = L⁻¹ dL; its curvature is that of tr E² + tr E Eᵀ.
        back = inverse(L)
        size, own = np.einsum("...ki,...ki->...i", back, back), np.einsum("...ii->...i", L)
        of_u = told.for_variance[..., None, None] * (own**2 * size)[..., :, None]
        of_row = (L**2).sum(axis=-1) * size + 1.0  # tr E² is 1: E_ii = ½ is all of its diagonal
        of_lambda = told.for_variance[..., None] * of_row / 4.0
        d = range(self.places.d)
        second = np.tril(np.broadcast_to(of_u, L.shape), -1)
        second[..., d, d] = of_lambda
        nothing = np.zeros_like(told.cases)
        return self._write(Joint(of_mean, nothing, second, nothing), at)

    def moved(
        self, theta: FloatArray, move: FloatArray, at: Segment, *, edge: bool = False
    ) -> FloatArray:
        here, step = self._read(theta, at), self._read_moves(move, at)
        L = lower(triangle(here.second) + step.second)
        there = here._replace(first=here.first + step.first, second=L @ np.swapaxes(L, -1, -2))
        return self._write(there, at)

    def between(self, old: FloatArray, new: FloatArray, at: Segment, *, edge: bool) -> FloatArray:
        before, after = self._read(old, at), self._read(new, at)
        nothing = np.zeros_like(before.cases)
        change = triangle(after.second) - triangle(before.second)
        return self._write(Joint(after.first - before.first, nothing, change, nothing), at)

    def on_log_scale(self, at: Segment) -> BoolArray:
        """Variances are; means and covariances are not."""
        d = self.places.d
        return np.asarray((at.k > d) & (at.k <= 2 * d))

    def on_scale(self, phi: FloatArray, theta: FloatArray, at: Segment) -> FloatArray:
        here, step = self._read(theta, at), self._read_moves(phi.T, at)
        change = moved_covariance(here.second, step.second)
        d = range(self.places.d)
        change[..., d, d] /= np.einsum("...ii->...i", here.second)
        return self._write(step._replace(second=change), at).T
