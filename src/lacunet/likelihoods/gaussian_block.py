"""Several numbers with a joint normal distribution, and a normal-inverse-Wishart prior.

The mean μ given the covariance Σ is normal around m with covariance Σ/κ, and Σ is inverse Wishart
with ν degrees of freedom and scale S. With one number all of it is `gaussian.py`. Σ = L Lᵀ, and φ
are μ, λ_i = log L_ii² and u_ij = L_ij/L_ii: in these, dφ = |Σ|^−(d+1)/2 dΣ, so that the prior as a
density of φ is exp(hyper · η), as everywhere. What some numbers say of the others is in
`partial_block.py`; numpy's batches of small matrices do the work, (..., q, d, d).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import digamma

from lacunet.errors import ModelError
from lacunet.likelihoods import kernels
from lacunet.likelihoods.gaussian import GAUSSIAN
from lacunet.likelihoods.joint_normal import (
    LOG_2PI,
    BlockPlaces,
    BlockSpread,
    InverseWishart,
    Joint,
    cholesky,
    inverse,
    lower,
    moved_covariance,
    outer,
    places_of,
    slope,
    triangle,
)
from lacunet.likelihoods.likelihood import ByIntegral, Likelihood, Segment
from lacunet.likelihoods.unit import Unit
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.states import State

TINY = 1e-20  # of a complex step: its square is nothing


@dataclass(frozen=True)
class GaussianBlock(ByIntegral):
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

    def fewest_values(self, configurations: int) -> float:
        return np.inf

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

    def log_base(self, states: Sequence[State]) -> FloatArray:
        """Of one number: each has its own."""
        return np.full(len(states), -0.5 * LOG_2PI)

    def told(self, theta: FloatArray, unit: Unit) -> dict[str, FloatArray]:
        """Of the variable's own number, as if it were alone."""
        joint, own = self.places.read(theta), self.place
        mean, variance = joint.first[:, own], joint.second[:, own, own]
        return GAUSSIAN.told(np.stack([mean, mean, variance, variance], axis=1), unit)

    def deviations(self, theta: FloatArray) -> FloatArray:
        return np.asarray(np.sqrt(self.places.read(theta).second[:, self.place, self.place]))

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Of the variable's own number."""
        spread = BlockSpread.at(theta.reshape(-1, theta.shape[-1]), len(self.members))
        return self._own_moments(spread, theta.shape[:-1])

    def averaged_moments(self, hyper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Those of a Student t."""
        spread = BlockSpread.over(hyper.reshape(-1, hyper.shape[-1]), len(self.members))
        return self._own_moments(spread, hyper.shape[:-1])

    def _own_moments(
        self, spread: BlockSpread, shape: tuple[int, ...]
    ) -> tuple[FloatArray, FloatArray]:
        own = self.place
        return spread.mean[:, own].reshape(shape), spread.covariance[:, own, own].reshape(shape)

    def measured(self, hyper: FloatArray) -> FloatArray | None:
        """Of the variable's own number: as many degrees less as others are beside it."""
        joint, own = self.places.read(hyper), self.place
        fewer = joint.for_variance - (len(self.members) - 1.0)
        return np.array([joint.first[own], joint.cases, joint.second[own, own], fewer])

    def draw_values(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        """All numbers of the block, (..., d)."""
        mean, _, covariance, _ = self.places.read(theta)
        noise = rng.standard_normal(mean.shape)
        return np.asarray(mean + np.einsum("...ab,...b->...a", cholesky(covariance), noise))

    def alone(self, theta: FloatArray) -> tuple[Likelihood, FloatArray]:
        mean, variance = self.moments(theta)
        return GAUSSIAN, np.stack([mean, mean, variance, variance], axis=-1)

    def _read(self, x: FloatArray, at: Segment) -> Joint:
        return self.places.read(at.tables(x))

    def _write(self, joint: Joint, at: Segment) -> FloatArray:
        return at.from_tables(self.places.write(joint))

    def natural(self, theta: FloatArray, at: Segment) -> FloatArray:
        tables = at.tables(theta)
        found = np.empty(tables.shape)
        one_by_one = (-1, self.places.width)
        kernels.write_natural(tables.reshape(one_by_one), found.reshape(one_by_one), self.places.d)
        return at.from_tables(found)

    def _natural(self, mean: FloatArray, precise: FloatArray, at: Segment) -> FloatArray:
        h = np.einsum("...ab,...b->...a", precise, mean)
        log_det = np.linalg.slogdet(precise)[1]
        square = np.einsum("...a,...a->...", h, mean)
        return at.from_tables(self.places.natural(h, -0.5 * square, precise, 0.5 * log_det))

    def parameters(self, natural: FloatArray, at: Segment) -> FloatArray:
        h, _, precise, _ = self.places.read_natural(at.tables(natural))
        covariance = inverse(precise)
        return self.theta_of(np.einsum("...ab,...b->...a", covariance, h), covariance, at)

    def theta_of(self, mean: FloatArray, covariance: FloatArray, at: Segment) -> FloatArray:
        """θ of means (..., q, d) and covariances (..., q, d, d)."""
        one = np.ones(mean.shape[:-1])
        return self._write(Joint(mean, one, covariance, one), at)

    def prior(self, hyper: FloatArray, at: Segment) -> InverseWishart:
        """Read the prior off hyperparameters."""
        return InverseWishart.of(self._read(hyper, at))

    def has_mode(self, hyper: FloatArray, at: Segment) -> bool:
        return self.keeps_off_zero(hyper, at)

    def keeps_off_zero(self, pseudo: FloatArray, at: Segment) -> bool:
        """Whether no direction can have variance 0."""
        joint = self._read(pseudo, at)
        if not (joint.cases > 0).all():
            return False
        return bool((np.linalg.eigvalsh(InverseWishart.of(joint).S) > 0).all())

    def allows(self, theta: FloatArray, at: Segment) -> bool:
        return not self.on_boundary(theta, at)

    def on_boundary(self, theta: FloatArray, at: Segment) -> bool:
        return bool((np.linalg.eigvalsh(self._read(theta, at).second) <= 0).any())

    def widened(self, hyper: FloatArray, at: Segment, *, factor: float) -> FloatArray:
        joint, own = self._read(hyper, at), self.prior(hyper, at)
        return self._write(joint._replace(second=joint.second + (factor - 1.0) * own.S), at)

    def in_theta(self, hyper: FloatArray, at: Segment) -> FloatArray:
        """See Likelihood: dΣ = |Σ|^(d+1)/2 dφ."""
        last, more = self.places.width - 1, len(self.members) + 1.0
        return hyper + np.where(at.k == last, more, 0.0)

    def log_integrals(self, hyper: FloatArray, at: Segment) -> FloatArray:
        return self.prior(hyper, at).log_integral

    def expected_natural(self, hyper: FloatArray, at: Segment) -> FloatArray:
        m, kappa, nu, S = self.prior(hyper, at)
        d = len(self.members)
        precise = nu[..., None, None] * inverse(S)
        h = np.einsum("...ab,...b->...a", precise, m)
        square = np.einsum("...a,...a->...", h, m) + d / kappa
        gammas = digamma((nu[..., None] - np.arange(d)) / 2.0).sum(axis=-1)
        log_det = gammas + d * np.log(2.0) - np.linalg.slogdet(S)[1]
        return at.from_tables(self.places.natural(h, -0.5 * square, precise, 0.5 * log_det))

    def mean(self, hyper: FloatArray, at: Segment) -> FloatArray:
        """See Likelihood; up to ν = d + 1 the mean of Σ is infinite, and its mode stands in."""
        (m, _, nu, S), d = self.prior(hyper, at), len(self.members)
        over = np.where(nu > d + 1.0, nu - d - 1.0, nu + d + 1.0)
        return self.theta_of(m, S / over[..., None, None], at)

    def mean_statistics(self, theta: FloatArray, at: Segment) -> FloatArray:
        mean, _, covariance, _ = self._read(theta, at)
        one = np.ones(mean.shape[:-1])
        return self._write(Joint(mean, one, covariance + outer(mean, mean), one), at)

    def cases(self, N: FloatArray, at: Segment) -> FloatArray:
        return np.asarray(self._read(N, at).cases)[at.ij]

    def draw(self, hyper: FloatArray, at: Segment, rng: Any) -> FloatArray:
        """Λ is Wishart: by Bartlett's decomposition."""
        m, kappa, nu, S = self.prior(hyper, at)
        d = len(self.members)
        A = np.tril(rng.standard_normal(S.shape), -1)
        spread = 2.0 * rng.standard_gamma((nu[..., None] - np.arange(d)) / 2.0)
        A[..., range(d), range(d)] = np.sqrt(np.maximum(spread, np.finfo(float).tiny))
        root = np.linalg.cholesky(inverse(S)) @ A
        precise = root @ np.swapaxes(root, -1, -2)
        noise = rng.standard_normal(m.shape)[..., None]
        step = np.linalg.solve(np.swapaxes(root, -1, -2), noise)[..., 0]
        return self._natural(m + step / np.sqrt(kappa)[..., None], precise, at)

    def random(self, hyper: FloatArray, at: Segment, rng: np.random.Generator) -> FloatArray:
        """Means as far apart as values are, variances smaller than that of all of them."""
        q, d = at.configurations, len(self.members)
        covariance = np.broadcast_to(0.5 * np.eye(d), (q, d, d))
        return self.theta_of(rng.standard_normal((q, d)), covariance, at)

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

    def longest_move(self, *, edge: bool) -> float:
        return 4.0

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
        d = len(self.members)
        second = np.tril(np.broadcast_to(of_u, L.shape), -1)
        second[..., range(d), range(d)] = of_lambda
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

    def idle(self, theta: FloatArray, v: FloatArray, at: Segment) -> FloatArray:
        return np.zeros_like(v)

    def free(self, theta: FloatArray, at: Segment) -> tuple[IntArray, IntArray]:
        free = at.positions(*self.places.free)
        return free, free

    def on_scale(self, phi: FloatArray, theta: FloatArray, at: Segment) -> FloatArray:
        """That of means, of logs of variances, and of covariances."""
        here, step = self._read(theta, at), self._read_moves(phi.T, at)
        change = moved_covariance(here.second, step.second)
        own = np.einsum("...ii->...i", here.second)
        d = range(len(self.members))
        change[..., d, d] /= own
        return self._write(step._replace(second=change), at).T

    def _of_variance(self, at: Segment) -> BoolArray:
        """(s,) whether a position is a variance."""
        d = len(self.members)
        return np.asarray((at.k > d) & (at.k <= 2 * d))

    def off_scale(self, theta: FloatArray, move: FloatArray, at: Segment) -> FloatArray:
        log = self._of_variance(at)
        return np.where(log, theta * np.exp(np.where(log, move, 0.0)), theta + move)

    def scale_slope(self, theta: FloatArray, at: Segment) -> FloatArray:
        return np.where(self._of_variance(at), theta, 1.0)

    def log_jacobian(self, theta: FloatArray, at: Segment) -> float:
        log_det = np.linalg.slogdet(self._read(theta, at).second)[1]
        return float(0.5 * (len(self.members) + 1.0) * log_det.sum())

    def complete_log_det(self, theta: FloatArray, N: FloatArray, at: Segment) -> float:
        """Every configuration by itself: all of them move along one coordinate at a time."""
        free = np.array(self.places.free)
        columns = []
        for place in free:
            phi = np.where(at.k == place, 1.0, 0.0)
            columns.append(at.tables(self.information(theta, N, phi, at))[:, free])
        return float(np.linalg.slogdet(np.stack(columns, axis=-1))[1].sum())
