"""Normal numbers whose covariance is the same in every class, with a mean in each.

Given one Σ for all configurations of a variable's parents, the mean μ_c of each is normal around m
with covariance Σ/κ, and Σ is inverse Wishart. Every configuration keeps its places in flat vectors.
θ and natural parameters have Σ there once for each; statistics and hyperparameters of Σ are added
up over configurations before anything is asked of them, so a prior of Σ is shared out to them
evenly; coordinates of Σ stand at the first configuration, the *leader*, and are zero elsewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lacunet.likelihoods.gaussian import Gaussian, Normal
from lacunet.likelihoods.gaussian_block import GaussianBlock
from lacunet.likelihoods.joint_normal import (
    LOG_2PI,
    BlockPlaces,
    InverseWishart,
    Joint,
    cholesky,
    outer,
)
from lacunet.likelihoods.likelihood import Likelihood, Segment
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.states import State


@dataclass(frozen=True)
class Common(Normal):
    """A normal likelihood whose covariances are one."""

    name: ClassVar[str] = "common"
    apart: ClassVar[bool] = False
    inner: Gaussian | GaussianBlock  # what it would be with a covariance for each configuration

    @property
    def places(self) -> BlockPlaces:
        """Where vectors and matrices stand among the places of a configuration."""
        return self.inner.places

    @property
    def place(self) -> int:
        """Which of the numbers a variable is."""
        return self.inner.place

    # Values of one configuration: as without anything in common

    @property
    def stands_at(self) -> str | None:
        return self.inner.stands_at

    @property
    def by_itself(self) -> Likelihood:
        return self.inner.by_itself

    @property
    def powers(self) -> FloatArray | None:
        return self.inner.powers

    @property
    def written(self) -> dict[str, Any]:
        return {**self.inner.written, "common": True}

    def width(self, states: Sequence[State]) -> int:
        return self.inner.width(states)

    def statistics(self, states: Sequence[State]) -> FloatArray:
        return self.inner.statistics(states)

    def draw_values(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        return self.inner.draw_values(theta, rng)

    def draw_averaged(self, hyper: FloatArray, rng: np.random.Generator) -> FloatArray:
        return self.inner.draw_averaged(hyper, rng)

    def log_predictive(self, hyper: FloatArray, T: FloatArray) -> FloatArray:
        return self.inner.log_predictive(hyper, T)

    def theta_of(self, mean: FloatArray, covariance: FloatArray, at: Segment) -> FloatArray:
        return self.inner.theta_of(mean, covariance, at)

    def natural(self, theta: FloatArray, at: Segment) -> FloatArray:
        return self.inner.natural(theta, at)

    def fewest_values(self, configurations: int) -> float:
        """As many classes could have a value each, and no variance."""
        return configurations + self.places.d

    def fewest_pairs(self, configurations: int) -> float:
        """One in each class is where its mean is; two more say what is around means."""
        return configurations + 2.0

    # Configurations of one variable

    def _shared(self, x: FloatArray, at: Segment, axis: int) -> FloatArray:
        """Give every configuration the sum over those of its variable."""
        total = np.add.reduceat(x, at.first, axis=axis)
        return np.take(total, at.owners, axis=axis)

    def _leads(self, at: Segment) -> BoolArray:
        """(q,) whether a configuration is the first of its variable."""
        leads = np.zeros(at.configurations, dtype=np.bool_)
        leads[at.first] = True
        return leads

    @property
    def _of_covariance(self) -> slice:
        """Places of coordinates of Σ."""
        return slice(self.places.d + 1, self.places.width - 1)

    def _led(self, phi: FloatArray, at: Segment) -> FloatArray:
        """Add up what configurations say of coordinates of Σ, and put it at the leaders."""
        tables, own = at.tables(phi), self._of_covariance
        total = np.add.reduceat(tables[..., own], at.first, axis=-2)
        tables[..., own] = 0.0
        tables[..., at.first, own] = total
        return at.from_tables(tables)

    def _handed_out(self, phi: FloatArray, at: Segment) -> FloatArray:
        """Give every configuration the coordinates of Σ that the leaders have."""
        tables, own = at.tables(phi), self._of_covariance
        tables[..., own] = np.take(tables[..., own], at.first[at.owners], axis=-2)
        return at.from_tables(tables)

    # The prior

    def prior(self, hyper: FloatArray, at: Segment) -> InverseWishart:
        """Read the prior of each mean, and that of Σ, once for each configuration."""
        m, kappa, nu, S = super().prior(hyper, at)
        return InverseWishart(m, kappa, self._shared(nu, at, -1), self._shared(S, at, -3))

    def by_configuration(self, hyper: FloatArray, at: Segment) -> FloatArray:
        m, kappa, nu, S = self.prior(hyper, at)
        first = kappa[..., None] * m
        return self._write(Joint(first, kappa, S + outer(first, m), nu + 1.0), at)

    def shared_out(self, hyper: FloatArray, times: float) -> FloatArray:
        m, kappa, nu, S = InverseWishart.of(self.places.read(hyper))
        first = kappa[..., None] * m
        return self.places.write(Joint(first, kappa, S / times + outer(first, m), nu / times + 1.0))

    def allows(self, theta: FloatArray, at: Segment) -> bool:
        second = self._read(theta, at).second
        return super().allows(theta, at) and np.allclose(second, second[at.first[at.owners]])

    def in_theta(self, hyper: FloatArray, at: Segment) -> FloatArray:
        """See ConjugatePrior: there is one dΣ for all."""
        alike = np.bincount(at.owners)[at.owners]
        return hyper + (super().in_theta(hyper, at) - hyper) / alike[at.ij]

    def log_integrals(self, hyper: FloatArray, at: Segment) -> FloatArray:
        """See ByIntegral: the integral over Σ is that of the leader."""
        prior = self.prior(hyper, at)
        of_mean = 0.5 * self.places.d * (LOG_2PI - np.log(prior.kappa))
        return np.where(self._leads(at), prior.log_integral, of_mean)

    def draw(self, hyper: FloatArray, at: Segment, rng: Any) -> FloatArray:
        """One Σ, drawn at the leader, and a mean of each configuration given it."""
        m, kappa, _, _ = self.prior(hyper, at)
        drawn = self.inner.draw(self.by_configuration(hyper, at), at, rng)
        own = self._read(self.inner.parameters(drawn, at), at).second
        second = np.take(own, at.first[at.owners], axis=-3)
        noise = np.einsum("...ab,...b->...a", cholesky(second), rng.standard_normal(m.shape))
        return self.natural(self.theta_of(m + noise / np.sqrt(kappa)[..., None], second, at), at)

    # The maximum, and the way to it

    def maximize(
        self, N: FloatArray, pseudo: FloatArray, theta: FloatArray, at: Segment
    ) -> FloatArray:
        first, cases, second, for_variance = self._read(N + pseudo, at)
        old, told = self._read(theta, at), cases > 0
        own = first / np.where(told, cases, 1.0)[..., None]
        mean = np.where(told[..., None], own, old.first)
        scatter = self._shared(second - outer(first, own), at, -3)
        over = self._shared(np.where(told, for_variance, 0.0), at, -1)[..., None, None]
        best = np.where(over > 0, scatter / np.where(over > 0, over, 1.0), old.second)
        return self.theta_of(mean, (best + np.swapaxes(best, -1, -2)) / 2.0, at)

    def pull_back(self, theta: FloatArray, g: FloatArray, at: Segment) -> FloatArray:
        return self._led(self.inner.pull_back(theta, g, at), at)

    def push(self, theta: FloatArray, phi: FloatArray, at: Segment) -> FloatArray:
        return self.inner.push(theta, self._handed_out(phi, at), at)

    def information(
        self, theta: FloatArray, N: FloatArray, phi: FloatArray, at: Segment
    ) -> FloatArray:
        return self._led(self.inner.information(theta, N, self._handed_out(phi, at), at), at)

    def sharpness(
        self, theta: FloatArray, N: FloatArray, at: Segment, *, edge: bool = False
    ) -> FloatArray:
        return self._led(self.inner.sharpness(theta, N, at, edge=edge), at)

    def moved(
        self, theta: FloatArray, move: FloatArray, at: Segment, *, edge: bool = False
    ) -> FloatArray:
        return self.inner.moved(theta, self._handed_out(move, at), at, edge=edge)

    def between(self, old: FloatArray, new: FloatArray, at: Segment, *, edge: bool) -> FloatArray:
        move = at.tables(self.inner.between(old, new, at, edge=edge))
        move[..., ~self._leads(at), self._of_covariance] = 0.0
        return at.from_tables(move)

    def free(self, theta: FloatArray, at: Segment) -> tuple[IntArray, IntArray]:
        found, _ = super().free(theta, at)
        of_mean = at.k[found] < self.places.d
        free = found[of_mean | self._leads(at)[at.ij[found]]]
        return free, free

    def on_log_scale(self, at: Segment) -> BoolArray:
        return self.inner.on_log_scale(at)

    def on_scale(self, phi: FloatArray, theta: FloatArray, at: Segment) -> FloatArray:
        return self.inner.on_scale(self._handed_out(phi.T, at).T, theta, at)

    def log_jacobian(self, theta: FloatArray, at: Segment) -> float:
        second = self._read(theta, at).second[at.first]
        return float(0.5 * (self.places.d + 1.0) * np.linalg.slogdet(second)[1].sum())

    def complete_log_det(self, theta: FloatArray, N: FloatArray, at: Segment) -> float:
        """Means by themselves; Σ with what they leave of its curvature, over all configurations."""
        free, d = np.array(self.places.free), self.places.d
        columns = [
            at.tables(self.inner.information(theta, N, np.where(at.k == place, 1.0, 0.0), at))
            for place in free
        ]
        A = np.stack([column[:, free] for column in columns], axis=-1)
        of_mean, across = A[:, :d, :d], A[:, :d, d:]
        left = A[:, d:, d:] - np.swapaxes(across, -1, -2) @ np.linalg.solve(of_mean, across)
        of_covariance = np.add.reduceat(left, at.first, axis=0)
        return float(sum(np.linalg.slogdet(part)[1].sum() for part in (of_mean, of_covariance)))
