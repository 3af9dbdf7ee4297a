"""The base class of normal likelihoods, with their conjugate prior.

The prior is normal-inverse-Wishart: μ given Σ is normal with mean m and covariance Σ/κ, and Σ is
inverse Wishart with ν degrees of freedom and scale S. With Σ = L Lᵀ, the coordinates φ are μ,
λ_i = log L_ii² and u_ij = L_ij/L_ii. Then dφ = |Σ|^−(d+1)/2 dΣ, and the prior density of φ is
exp(hyper · η).

With `common`, all configurations of a variable's parents share Σ. Flat vectors keep the places of
every configuration: θ and η repeat Σ in each. Statistics and hyperparameters of Σ add up over
configurations, so a prior of Σ is spread over them evenly. Coordinates of Σ stand at the first
configuration, the *leader*, and are zero elsewhere.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import digamma

from lacunet.likelihoods.conjugate_prior import ConjugatePrior
from lacunet.likelihoods.joint_normal import (
    LOG_2PI,
    BlockPlaces,
    BlockSpread,
    InverseWishart,
    Joint,
    cholesky,
    inverse,
    lower,
    natural_of,
    outer,
    slope,
    triangle,
)
from lacunet.likelihoods.likelihood import TINY, Likelihood, Segment, Vector
from lacunet.likelihoods.unit import Unit
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.states import State


@dataclass(frozen=True)
class NormalLikelihood(ConjugatePrior):
    """Places are (Σ x, n, Σ x_a x_b for a ≤ b, n) of d numbers: vector, count, matrix, count."""

    common: bool = field(default=False, kw_only=True)  # whether all configurations share Σ

    @property
    @abstractmethod
    def places(self) -> BlockPlaces:
        """Places of vectors and matrices in a configuration."""

    @property
    @abstractmethod
    def place(self) -> int:
        """Index of the variable in its block."""

    @property
    def apart(self) -> bool:
        return not self.common

    def fewest_values(self, configurations: int) -> float:
        """A class of one case has unbounded density, unless all classes share the variance."""
        return configurations + self.places.d if self.common else np.inf

    def fewest_pairs(self, configurations: int) -> float:
        """Two points lie on a line; with `common`, two more cases than classes suffice."""
        if self.common:
            return configurations + 2.0
        return 3.0 * configurations if self.places.d > 1 else 0.0

    def log_base(self, states: Sequence[State]) -> FloatArray:
        return np.full(len(states), -0.5 * LOG_2PI)

    # The marginal of one number, from tables of θ or of hyperparameters

    def summary(self, theta: FloatArray, unit: Unit) -> dict[str, FloatArray]:
        """Mean and sd; on a log scale the median and the geometric standard deviation."""
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
        return self.univariate, np.stack([mean, mean, variance, variance], axis=-1)

    def averaged_moments(self, hyper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Moments of the Student t; the variance is infinite up to two degrees of freedom."""
        i, shape = self.place, hyper.shape[:-1]
        spread = BlockSpread.over(hyper.reshape(-1, hyper.shape[-1]), self.places.d)
        return spread.mean[:, i].reshape(shape), spread.covariance[:, i, i].reshape(shape)

    def measured(self, hyper: FloatArray) -> FloatArray | None:
        """Marginal hyperparameters: one degree of freedom less for each other number."""
        joint, i = self.places.read(hyper), self.place
        degrees = joint.for_variance - (self.places.d - 1.0)
        return np.array([joint.first[i], joint.cases, joint.second[i, i], degrees])

    # Reading and writing; shared covariances

    @property
    def coordinate_places(self) -> Sequence[int]:
        return self.places.free

    def _read(self, x: Vector, at: Segment) -> Joint:
        return self.places.read(at.tables(x))

    def _write(self, joint: Joint, at: Segment) -> Vector:
        return at.from_tables(self.places.write(joint))

    def _both(self, first: FloatArray, second: FloatArray, other: float, at: Segment) -> Vector:
        """Write vectors and matrices, and one number at both count places."""
        others = np.full(first.shape[:-1], other)
        return self._write(Joint(first, others, second, others), at)

    def theta_of(self, mean: FloatArray, covariance: FloatArray, at: Segment) -> Vector:
        """θ of means (..., q, d) and covariances (..., q, d, d)."""
        return self._both(mean, covariance, 1.0, at)

    def _shared(self, x: FloatArray, at: Segment, axis: int) -> FloatArray:
        """Sum over the configurations that share Σ, at each of them."""
        if not self.common:
            return x
        return np.take(np.add.reduceat(x, at.first, axis=axis), at.owners, axis=axis)

    def _leads(self, at: Segment) -> BoolArray:
        """(q,) whether a configuration is the first of its variable."""
        return np.isin(np.arange(at.configurations), at.first)

    @property
    def _of_covariance(self) -> slice:
        """Places of coordinates of Σ."""
        return slice(self.places.d + 1, self.places.width - 1)

    def _led(self, phi: Vector, at: Segment) -> Vector:
        """Sum derivatives in coordinates of Σ at the leaders, zero elsewhere."""
        if not self.common:
            return phi
        tables, places = at.tables(phi), self._of_covariance
        total = np.add.reduceat(tables[..., places], at.first, axis=-2)
        tables[..., places] = 0.0
        tables[..., at.first, places] = total
        return at.from_tables(tables)

    def _handed_out(self, phi: Vector, at: Segment) -> Vector:
        """Copy coordinates of Σ from the leaders to every configuration."""
        if not self.common:
            return phi
        tables, places = at.tables(phi), self._of_covariance
        tables[..., places] = np.take(tables[..., places], at.first[at.owners], axis=-2)
        return at.from_tables(tables)

    def _read_moves(self, phi: Vector, at: Segment) -> Joint:
        """Moves of μ, and of λ and u as a lower triangle."""
        step = self._read(self._handed_out(phi, at), at)
        return step._replace(second=np.tril(step.second))

    # Parameters

    def parameters(self, natural: Vector, at: Segment) -> Vector:
        h, _, precise, _ = self.places.read_natural(at.tables(natural))
        covariance = inverse(precise)
        return self.theta_of(np.einsum("...ab,...b->...a", covariance, h), covariance, at)

    def mean_statistics(self, theta: Vector, at: Segment) -> Vector:
        mean, _, covariance, _ = self._read(theta, at)
        one = np.ones(mean.shape[:-1])
        return self._write(Joint(mean, one, covariance + outer(mean, mean), one), at)

    def cases(self, N: Vector, at: Segment) -> Vector:
        return np.asarray(self._read(N, at).cases)[at.ij]

    def random(self, hyper: Vector, at: Segment, rng: np.random.Generator) -> Vector:
        """Draw standard normal means, with half the variance of the data in each class."""
        q, d = at.configurations, self.places.d
        covariance = np.broadcast_to(0.5 * np.eye(d), (q, d, d))
        return self.theta_of(rng.standard_normal((q, d)), covariance, at)

    def keeps_off_zero(self, pseudo: Vector, at: Segment) -> bool:
        """Whether the prior scale matrices are positive definite, so no variance can be 0."""
        if not (self._read(pseudo, at).cases > 0).all():
            return False
        return bool((np.linalg.eigvalsh(self.prior(pseudo, at).S) > 0).all())

    def allows(self, theta: Vector, at: Segment) -> bool:
        second = self._read(theta, at).second
        alike = not self.common or np.allclose(second, second[at.first[at.owners]])
        return alike and not self.on_boundary(theta, at)

    def on_boundary(self, theta: Vector, at: Segment) -> bool:
        return bool((np.linalg.eigvalsh(self._read(theta, at).second) <= 0).any())

    def maximize(self, N: Vector, pseudo: Vector, theta: Vector, at: Segment) -> Vector:
        first, cases, second, for_variance = self._read(N + pseudo, at)
        old, filled = self._read(theta, at), cases > 0
        average = first / np.where(filled, cases, 1.0)[..., None]
        mean = np.where(filled[..., None], average, old.first)
        scatter = self._shared(second - outer(first, average), at, -3)
        over = self._shared(np.where(filled, for_variance, 0.0), at, -1)[..., None, None]
        best = np.where(over > 0, scatter / np.where(over > 0, over, 1.0), old.second)
        return self.theta_of(mean, (best + np.swapaxes(best, -1, -2)) / 2.0, at)

    # Coordinates

    def pull_back(self, theta: Vector, g: Vector, at: Segment) -> Vector:
        current = self._read(theta, at)
        gradient = slope(current.first, triangle(current.second), self._read(g, at))
        return self._led(self._write(gradient, at), at)

    def push(self, theta: Vector, phi: Vector, at: Segment) -> Vector:
        change = natural_of(*self._complex_steps(theta, self._read_moves(phi, at), at))
        return at.from_tables(self.places.natural(*(x.imag / TINY for x in change)))

    def information(self, theta: Vector, N: Vector, phi: Vector, at: Segment) -> Vector:
        """Negative derivative of the gradient, by complex steps."""
        steps = self._complex_steps(theta, self._read_moves(phi, at), at)
        change = slope(*steps, self._read(N, at))
        return self._led(self._write(Joint(*(-x.imag / TINY for x in change)), at), at)

    def _complex_steps(self, theta: Vector, step: Joint, at: Segment) -> tuple[Vector, Vector]:
        """Means and coordinates of Σ after a tiny imaginary step."""
        current = self._read(theta, at)
        moves: Any = (TINY * 1j * step.first, TINY * 1j * step.second)
        return current.first + moves[0], triangle(current.second) + moves[1]

    def metric(self, theta: Vector, N: Vector, at: Segment, *, edge: bool = False) -> Vector:
        """Diagonal of the expected information."""
        current, counts = self._read(theta, at), self._read(N, at)
        precise, L = inverse(current.second), cholesky(current.second)
        of_mean = counts.cases[..., None] * np.einsum("...aa->...a", precise)
        # With E = L⁻¹ dL for a move of row i of L, the curvature is that of tr E² + tr E Eᵀ.
        back = inverse(L)
        size, diagonal = np.einsum("...ki,...ki->...i", back, back), np.einsum("...ii->...i", L)
        of_u = counts.for_variance[..., None, None] * (diagonal**2 * size)[..., :, None]
        of_row = (L**2).sum(axis=-1) * size + 1.0  # tr E² adds 1: E_ii = ½, else 0 on the diagonal
        second = np.tril(np.broadcast_to(of_u, L.shape), -1)
        d = range(self.places.d)
        second[..., d, d] = counts.for_variance[..., None] * of_row / 4.0
        return self._led(self._both(of_mean, second, 0.0, at), at)

    def moved(self, theta: Vector, move: Vector, at: Segment, *, edge: bool = False) -> Vector:
        current, step = self._read(theta, at), self._read_moves(move, at)
        L = lower(triangle(current.second) + step.second)
        return self.theta_of(current.first + step.first, L @ np.swapaxes(L, -1, -2), at)

    def log_map(self, old: Vector, new: Vector, at: Segment, *, edge: bool) -> Vector:
        before, after = self._read(old, at), self._read(new, at)
        change = triangle(after.second) - triangle(before.second)
        if self.common:
            change[..., ~self._leads(at), :, :] = 0.0
        nothing = np.zeros_like(before.cases)
        return self._write(Joint(after.first - before.first, nothing, change, nothing), at)

    def free(self, theta: Vector, at: Segment) -> tuple[IntArray, IntArray]:
        free, _ = super().free(theta, at)
        if self.common:
            free = free[(at.k[free] < self.places.d) | self._leads(at)[at.ij[free]]]
        return free, free

    def on_log_scale(self, at: Segment) -> BoolArray:
        """Variances are on the log scale; means and covariances are not."""
        d = self.places.d
        return np.asarray((at.k > d) & (at.k <= 2 * d))

    def to_interval_scale(self, phi: FloatArray, theta: Vector, at: Segment) -> FloatArray:
        step, d = self._read_moves(phi.T, at), range(self.places.d)
        L = lower(self._complex_steps(theta, step, at)[1])
        change = (L @ np.swapaxes(L, -1, -2)).imag / TINY
        change[..., d, d] /= np.einsum("...ii->...i", self._read(theta, at).second)
        return self._both(step.first, change, 0.0, at).T

    def log_jacobian(self, theta: Vector, at: Segment) -> float:
        second = self._read(theta, at).second
        log_det = np.linalg.slogdet(second[at.first] if self.common else second)[1]
        return float(0.5 * (self.places.d + 1.0) * log_det.sum())

    def complete_log_det(self, theta: Vector, N: Vector, at: Segment) -> float:
        """Log determinant; with `common`, of one matrix over all configurations."""
        if not self.common:
            return super().complete_log_det(theta, N, at)
        free, _ = self.free(theta, at)
        units = np.eye(len(at.ij))[free]
        A = np.stack([self.information(theta, N, unit, at)[free] for unit in units])
        return float(np.linalg.slogdet(A)[1])

    # The prior

    def prior(self, hyper: Vector, at: Segment) -> InverseWishart:
        """The prior of each configuration; with `common`, that of the shared Σ is repeated."""
        m, kappa, nu, S = InverseWishart.of(self._read(hyper, at))
        return InverseWishart(m, kappa, self._shared(nu, at, -1), self._shared(S, at, -3))

    def has_mode(self, hyper: Vector, at: Segment) -> bool:
        return self.keeps_off_zero(hyper, at)

    def by_configuration(self, hyper: Vector, at: Segment) -> Vector:
        return self._write(self.prior(hyper, at).hyper, at) if self.common else hyper

    def shared_out(self, hyper: FloatArray, times: float) -> FloatArray:
        if not self.common:
            return hyper
        m, kappa, nu, S = InverseWishart.of(self.places.read(hyper))
        return self.places.write(InverseWishart(m, kappa, nu / times, S / times).hyper)

    def widened(self, hyper: Vector, at: Segment, factor: float) -> Vector:
        joint = self._read(hyper, at)
        more = (factor - 1.0) * InverseWishart.of(joint).S
        return self._write(joint._replace(second=joint.second + more), at)

    def in_theta(self, hyper: Vector, at: Segment) -> Vector:
        """Add the Jacobian dΣ = |Σ|^(d+1)/2 dφ; with `common`, once for all configurations."""
        more = np.where(at.k == self.places.width - 1, self.places.d + 1.0, 0.0)
        return hyper + (more / np.bincount(at.owners)[at.owners][at.ij] if self.common else more)

    def log_integrals(self, hyper: Vector, at: Segment) -> FloatArray:
        """Log integrals over θ; with `common`, the leader has the integral over Σ."""
        prior = self.prior(hyper, at)
        if not self.common:
            return prior.log_integral
        of_mean = 0.5 * self.places.d * (LOG_2PI - np.log(prior.kappa))
        return np.where(self._leads(at), prior.log_integral, of_mean)

    def expected_natural(self, hyper: Vector, at: Segment) -> Vector:
        m, kappa, nu, S = self.prior(hyper, at)
        d = self.places.d
        precise = nu[..., None, None] * inverse(S)
        h = np.einsum("...ab,...b->...a", precise, m)
        square = np.einsum("...a,...a->...", h, m) + d / kappa
        gammas = digamma((nu[..., None] - np.arange(d)) / 2.0).sum(axis=-1)
        log_det = gammas + d * np.log(2.0) - np.linalg.slogdet(S)[1]
        return at.from_tables(self.places.natural(h, -0.5 * square, precise, 0.5 * log_det))

    def mean(self, hyper: Vector, at: Segment) -> Vector:
        """E[θ]; up to ν = d + 1 the mean of Σ is infinite, and its mode replaces it."""
        (m, _, nu, S), d = self.prior(hyper, at), self.places.d
        over = np.where(nu > d + 1.0, nu - d - 1.0, nu + d + 1.0)
        return self.theta_of(m, S / over[..., None, None], at)

    @abstractmethod
    def draw_apart(self, hyper: Vector, at: Segment, rng: Any) -> Vector:
        """Draw η of each configuration independently."""

    def draw(self, hyper: Vector, at: Segment, rng: Any) -> Vector:
        """Draw η; with `common`, draw one Σ at the leader, and the means given it."""
        drawn = self.draw_apart(self.by_configuration(hyper, at), at, rng)
        if not self.common:
            return drawn
        m, kappa, _, _ = self.prior(hyper, at)
        covariances = self._read(self.parameters(drawn, at), at).second
        second = np.take(covariances, at.first[at.owners], axis=-3)
        noise = np.einsum("...ab,...b->...a", cholesky(second), rng.standard_normal(m.shape))
        return self.natural(self.theta_of(m + noise / np.sqrt(kappa)[..., None], second, at), at)

    # Hyperparameters of a single configuration: Σ is not shared

    def log_predictive(self, hyper: FloatArray, T: FloatArray) -> FloatArray:
        if self.common:
            return replace(self, common=False).log_predictive(hyper, T)
        return super().log_predictive(hyper, T)

    def draw_averaged(self, hyper: FloatArray, rng: np.random.Generator) -> FloatArray:
        if self.common:
            return replace(self, common=False).draw_averaged(hyper, rng)
        return super().draw_averaged(hyper, rng)
