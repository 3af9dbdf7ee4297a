"""Tables as sticks: of what is left, each state breaks off a share.

A row of a table with K states is K − 1 shares v in (0, 1), θ_k = v_k Π_{l<k} (1 − v_l). If the row
is Dirichlet, its shares are independent, and each is Beta: coordinates without constraints between
them.

The shape of a posterior: Beta shares, tied together by a Gaussian copula.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self, TypeAlias

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import betainc, betaincinv, betaln, ndtr, ndtri

from lacunet.inference.problem import Problem
from lacunet.models.layout import Layout
from lacunet.runtime.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Sticks:
    """Where the d shares of all tables are."""

    own: IntArray  # (d,) the position whose state breaks it off
    later: FloatArray  # (d, size) 1 at the states of the same row that come after it

    @classmethod
    def of(cls, layout: Layout) -> Self:
        """Find the shares of a layout that has nothing but tables."""
        last = np.zeros(layout.configurations, dtype=np.int64)
        np.maximum.at(last, layout.ij, layout.k)
        own = np.flatnonzero(layout.k < last[layout.ij])
        same_row = layout.ij[own][:, None] == layout.ij
        return cls(own, (same_row & (layout.k > layout.k[own][:, None])).astype(np.float64))

    def betas(self, exponents: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Both exponents of every share where rows are Dirichlet, (..., size) → 2 × (..., d)."""
        return exponents[..., self.own], exponents @ self.later.T

    def broken(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Every share, and what it leaves: (..., size) → 2 × (..., d)."""
        off, left = self.betas(theta)
        whole = off + left
        return off / whole, left / whole

    def log_theta(self, log_share: FloatArray, log_left: FloatArray) -> FloatArray:
        """The same the other way, in logs: 2 × (..., d) → (..., size)."""
        found = log_left @ self.later
        found[..., self.own] += log_share
        return np.asarray(found)


LogShares: TypeAlias = tuple[FloatArray, FloatArray]  # (draws, d) of each share; of what it leaves

LEAST_OWN = 0.05  # of a share's variance that does not come from hidden values
FARTHEST = 8.0  # standard deviations: samples that lie further out are beyond what floats resolve


@dataclass(frozen=True, eq=False)
class Shape:
    """A distribution of all shares."""

    sticks: Sticks
    a: FloatArray  # (d,) exponents of the Betas
    b: FloatArray  # (d,)
    factor: FloatArray  # (d, d) lower triangular: the covariance of u is factor factorᵀ

    @classmethod
    def around(cls, sticks: Sticks, exponents: FloatArray) -> Self:
        """Fit to Dirichlets given samples of the hidden values, (samples, size)."""
        a, b = sticks.betas(exponents)
        mean = a / (a + b)
        centre = mean.mean(axis=0)
        variance = (mean * (1.0 - mean) / (a + b + 1.0)).mean(axis=0) + mean.var(axis=0)
        cases = centre * (1.0 - centre) / variance - 1.0
        whole = cls(sticks, centre * cases, (1.0 - centre) * cases, np.empty((0, 0)))
        means = np.clip(whole.coordinates(mean, 1.0 - mean), -FARTHEST, FARTHEST)
        moved = np.atleast_2d(np.cov(means, rowvar=False))
        np.fill_diagonal(moved, np.maximum(1.0, np.diag(moved) + LEAST_OWN))
        factor: FloatArray = np.linalg.cholesky(moved).astype(np.float64)
        return cls(sticks, whole.a, whole.b, factor)

    @cached_property
    def _turned(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Exponents of the smaller side of each share, which is what floats resolve; its sign."""
        small, large = np.minimum(self.a, self.b), np.maximum(self.a, self.b)
        return small, large, np.where(self.a <= self.b, 1.0, -1.0)

    def coordinates(self, share: FloatArray, left: FloatArray) -> FloatArray:
        """Where shares are, (..., d); not finite beyond what floats resolve."""
        small, large, sign = self._turned
        smaller = np.where(sign > 0, share, left)
        return np.asarray(sign * ndtri(betainc(small, large, smaller)))

    def log_shares(self, u: FloatArray) -> LogShares:
        """Logs of the shares at u, and of what they leave."""
        small, large, sign = self._turned
        smaller = betaincinv(small, large, ndtr(sign * u))
        with np.errstate(divide="ignore"):
            log_smaller, log_larger = np.log(smaller), np.log1p(-smaller)
        return (
            np.where(sign > 0, log_smaller, log_larger),
            np.where(sign > 0, log_larger, log_smaller),
        )

    def draw(self, number: int, rng: np.random.Generator) -> FloatArray:
        """Draw coordinates, (number, d)."""
        return np.asarray(rng.standard_normal((number, len(self.a))) @ self.factor.T)

    def weighed(
        self, problem: Problem, u: FloatArray, at: LogShares
    ) -> tuple[FloatArray, FloatArray]:
        """Log of prior times likelihood over the density of the shape, (draws,); log θ there."""
        log_share, log_left = at
        log_theta = self.sticks.log_theta(log_share, log_left)
        cells = problem.components.cells.weights(log_theta)
        uncounted = np.zeros_like(cells)
        log_lik = sum(plan.expect(cells, uncounted) for plan in problem.components.plans)
        a, b = self.sticks.betas(problem.prior)
        constant = float((betaln(self.a, self.b) - betaln(a, b)).sum()) + problem.log_seen
        by_betas = log_share @ (a - self.a) + log_left @ (b - self.b) + constant
        return np.asarray(log_lik + by_betas - self._log_copula(u)), log_theta

    def _log_copula(self, u: FloatArray) -> FloatArray:
        """Log density at u over that of independent shares, (draws,)."""
        whitened = solve_triangular(self.factor, u.T, lower=True)
        log_det = float(np.log(np.diag(self.factor)).sum())
        return np.asarray(0.5 * ((u**2).sum(axis=1) - (whitened**2).sum(axis=0)) - log_det)
