"""Proposals for bridge sampling of the posterior: annealing, or a Gaussian copula of Betas.

Stick breaking maps a row of a table with K states to K − 1 shares v in (0, 1), θ_k = v_k Π_{l<k}
(1 − v_l). If the row is Dirichlet, its shares are independent Betas. The copula, fitted to samples
of the posterior, models the dependence of the shares of all rows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Self, TypeAlias

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import betainc, betaincinv, betaln, ndtr, ndtri

from lacunet.evidence.annealing import (
    AnnealingPath,
    Reference,
    RunContext,
    TimeLimit,
    expected_cases,
)
from lacunet.evidence.modes import all_used
from lacunet.evidence.partitions.chains import WalkSample
from lacunet.inference.problem import Problem
from lacunet.inference.regions import Regions
from lacunet.inference.sampling.particles import Draws
from lacunet.inference.symmetry import symmetries_of
from lacunet.models.layout import Layout
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray

LogShares: TypeAlias = tuple[FloatArray, FloatArray]  # (draws, d): log v, and log(1 − v)

STEPS = 64  # of annealing, in the first round
WIDE = 1.5  # nats: if forward chains differ by more, longer chains help more than additional ones
LEAST_SHARED = 0.03  # least overlap of copula and posterior: with less, annealing is better
FULL = 2  # parameters per sample: with more, a copula is mostly noise
TOGETHER = 64  # draws of a copula in one task
EACH = 4  # parameters drawn for a sample of hidden values
UP, DOWN = 1, 2  # streams of random numbers
LEAST_UNEXPLAINED = 0.05  # least part of a share's variance that hidden values do not explain
FARTHEST = 8.0  # standard deviations that floats resolve


@dataclass(frozen=True, eq=False)
class StickBreaking:
    """Tables as d shares by stick breaking."""

    states: IntArray  # (d,) position of the state of each share
    later: FloatArray  # (d, size) 1 at the later states of the same row

    @classmethod
    def of(cls, layout: Layout) -> Self:
        """Stick breaking of a layout that has only tables."""
        last = np.zeros(layout.configurations, dtype=np.int64)
        np.maximum.at(last, layout.ij, layout.k)
        states = np.flatnonzero(layout.k < last[layout.ij])
        same_row = layout.ij[states][:, None] == layout.ij
        return cls(states, (same_row & (layout.k > layout.k[states][:, None])).astype(np.float64))

    def betas(self, exponents: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Both Beta exponents of every share of Dirichlet rows, (..., size) → 2 × (..., d)."""
        return exponents[..., self.states], exponents @ self.later.T

    def broken(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Every share v, and 1 − v: (..., size) → 2 × (..., d)."""
        off, left = self.betas(theta)
        whole = off + left
        return off / whole, left / whole

    def log_theta(self, log_share: FloatArray, log_left: FloatArray) -> FloatArray:
        """The inverse, in logs: 2 × (..., d) → (..., size)."""
        log_theta = log_left @ self.later
        log_theta[..., self.states] += log_share
        return np.asarray(log_theta)


@dataclass(frozen=True, eq=False)
class BetaCopula:
    """A Gaussian copula of all shares, with Beta margins."""

    sticks: StickBreaking
    a: FloatArray  # (d,) exponents of the Betas
    b: FloatArray  # (d,)
    factor: FloatArray  # (d, d) lower triangular: the covariance of u is factor factorᵀ

    @classmethod
    def around(cls, sticks: StickBreaking, exponents: FloatArray) -> Self:
        """Fit to exponents of Dirichlets given samples of the hidden values, (samples, size)."""
        a, b = sticks.betas(exponents)
        mean = a / (a + b)
        centre = mean.mean(axis=0)
        variance = (mean * (1.0 - mean) / (a + b + 1.0)).mean(axis=0) + mean.var(axis=0)
        cases = centre * (1.0 - centre) / variance - 1.0
        whole = cls(sticks, centre * cases, (1.0 - centre) * cases, np.empty((0, 0)))
        means = np.clip(whole.coordinates(mean, 1.0 - mean), -FARTHEST, FARTHEST)
        moved = np.atleast_2d(np.cov(means, rowvar=False))
        np.fill_diagonal(moved, np.maximum(1.0, np.diag(moved) + LEAST_UNEXPLAINED))
        factor: FloatArray = np.linalg.cholesky(moved).astype(np.float64)
        return cls(sticks, whole.a, whole.b, factor)

    @cached_property
    def _turned(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Exponents of the smaller of v and 1 − v, which floats resolve better, and its sign."""
        small, large = np.minimum(self.a, self.b), np.maximum(self.a, self.b)
        return small, large, np.where(self.a <= self.b, 1.0, -1.0)

    def coordinates(self, share: FloatArray, left: FloatArray) -> FloatArray:
        """Gaussian coordinates of shares, (..., d); not finite where floats do not resolve them."""
        small, large, sign = self._turned
        smaller = np.where(sign > 0, share, left)
        return np.asarray(sign * ndtri(betainc(small, large, smaller)))

    def log_shares(self, u: FloatArray) -> LogShares:
        """Logs of the shares v at u, and of 1 − v."""
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
        """Log of prior times likelihood over the density of the copula, (draws,), and log θ."""
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


class _Proposal:
    """A proposal with forward weights of its draws and reverse weights of posterior samples."""

    def __init__(self, problem: Problem, reference: Reference, seed: Sequence[int]) -> None:
        """Restrict draws to all classes in use, labelled as the reference."""
        self.problem, self.reference, self.seed = problem, reference, tuple(seed)
        self.allowed = all_used(problem)
        self.regions = Regions(symmetries_of(problem), [reference.exponents])


class AnnealingProposal(_Proposal):
    """Annealing from a reference."""

    def __init__(
        self, problem: Problem, reference: Reference, seed: Sequence[int], steps: int = STEPS
    ) -> None:
        super().__init__(problem, reference, seed)
        self.steps = steps  # temperatures between the reference and the posterior
        self.path = AnnealingPath(problem, reference, self.allowed)

    def wide(self, forward: FloatArray, _: FloatArray) -> bool:
        """Whether log weights of chains that end in the region vary too much."""
        finite = forward[forward > -np.inf]
        return len(finite) < 2 or float(finite.std(ddof=1)) > WIDE

    def forwards(self, groups: range, context: RunContext) -> tuple[FloatArray, FloatArray]:
        """Run chains from the reference."""
        return self.path.forwards(self.steps, groups, self.seed, context)

    def backwards(
        self, samples: Sequence[WalkSample], first: int, context: RunContext
    ) -> tuple[FloatArray, IntArray]:
        """Run a chain from each sample, relabelled by parameters drawn given its counts.

        Gives log weights and the sample of each; `first` samples came before.
        """
        seed = (*self.seed, first)
        N = np.stack([s.N for s in samples])
        draws = Draws(self.problem, np.random.default_rng(seed))
        drawn = expected_cases(self.problem.prior + N, draws)
        starts = [
            self.regions.to_reference_region(x).apply(n) for x, n in zip(drawn, N, strict=True)
        ]
        new = self.path.backwards(np.stack(starts), self.steps, seed, context)
        return new, np.arange(len(samples))


class CopulaProposal(_Proposal):
    """Importance sampling from a copula fitted to samples."""

    steps = 1

    def __init__(
        self,
        problem: Problem,
        reference: Reference,
        seed: Sequence[int],
        samples: Sequence[WalkSample],
    ) -> None:
        super().__init__(problem, reference, seed)
        exponents = problem.prior + self._relabelled(samples)
        self.copula = BetaCopula.around(StickBreaking.of(problem.layout), exponents)

    @classmethod
    def suits(cls, problem: Problem, samples: int) -> bool:
        """Whether a copula can be fitted to so many samples."""
        return problem.layout.untied and problem.network.dimension <= FULL * samples

    def wide(self, _: FloatArray, shared: FloatArray) -> bool:
        """Whether copula and posterior hardly overlap."""
        return not float(shared.mean()) >= LEAST_SHARED

    def forwards(self, groups: range, context: RunContext) -> tuple[FloatArray, FloatArray]:
        """Draw parameters, and hidden values given them."""
        drawn = context.map(partial(self._drawn, context.limit), groups)
        log_weights, ends = zip(*drawn, strict=True)
        return np.concatenate(log_weights), np.concatenate(ends)

    def backwards(
        self, samples: Sequence[WalkSample], first: int, context: RunContext
    ) -> tuple[FloatArray, IntArray]:
        """Draw parameters given the hidden values of samples."""
        N = self._relabelled(samples)
        pieces = range(-(-len(N) // TOGETHER))
        weights = context.map(partial(self._weighed, N, first, context.limit), pieces)
        return np.concatenate(weights), np.repeat(np.arange(len(N)), EACH)

    def _relabelled(self, samples: Sequence[WalkSample]) -> FloatArray:
        """Counts of samples, labelled as the reference, (samples, size)."""
        counts = (s.N for s in samples)
        return np.stack(
            [self.regions.to_reference_region(self.problem.prior + N).apply(N) for N in counts]
        )

    def _drawn(self, limit: TimeLimit, group: int) -> tuple[FloatArray, FloatArray]:
        """Log weights of one group of draws, −inf if a class is empty, and their counts."""
        limit.check()
        draws = Draws(self.problem, np.random.default_rng([*self.seed, UP, group]))
        u = self.copula.draw(TOGETHER, draws.rng)
        at, resolved = _resolved(*self.copula.log_shares(u))
        log_weights, log_theta = self.copula.weighed(self.problem, u, at)
        N = draws.hidden(log_theta)
        counted = resolved & self.allowed(N)
        return np.where(counted, log_weights, -np.inf), self.problem.prior + N

    def _weighed(self, N: FloatArray, first: int, limit: TimeLimit, piece: int) -> FloatArray:
        """Log weights of one piece of samples; +inf where floats do not resolve the shares."""
        limit.check()
        N = np.repeat(N[piece * TOGETHER : (piece + 1) * TOGETHER], EACH, axis=0)
        draws = Draws(self.problem, np.random.default_rng([*self.seed, DOWN, first, piece]))
        theta = np.exp(draws.natural(self.problem.prior + N))
        share, left = self.copula.sticks.broken(theta)
        u = self.copula.coordinates(share, left)
        with np.errstate(divide="ignore"):
            at, resolved = _resolved(np.log(share), np.log(left))
        finite = np.isfinite(u)
        log_weights, _ = self.copula.weighed(self.problem, np.where(finite, u, 0.0), at)
        return np.where(resolved & finite.all(axis=1), log_weights, np.inf)


BridgeProposal: TypeAlias = AnnealingProposal | CopulaProposal


def _resolved(log_share: FloatArray, log_left: FloatArray) -> tuple[LogShares, BoolArray]:
    """Whether floats resolve all shares of a draw, (draws,); unresolved shares are set to ½."""
    finite = np.isfinite(log_share) & np.isfinite(log_left)
    half = math.log(0.5)
    at = np.where(finite, log_share, half), np.where(finite, log_left, half)
    return at, np.asarray(finite.all(axis=1))
