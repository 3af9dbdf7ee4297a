"""From where a bridge to samples of the posterior starts: annealing, or a Gaussian copula of Betas.

A row of a table with K states is K − 1 shares v in (0, 1), θ_k = v_k Π_{l<k} (1 − v_l): sticks, of
which each state breaks off a share. If the row is Dirichlet, its shares are independent, and each
is Beta. The copula ties the Betas of all rows together, as samples of the posterior say.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Self, TypeAlias

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import betainc, betaincinv, betaln, ndtr, ndtri

from lacunet.evidence.annealing import AnnealingPath, Clock, Reference, RunContext, expected_cases
from lacunet.evidence.modes import all_used
from lacunet.evidence.partitions.chains import WalkSample
from lacunet.inference.problem import Problem
from lacunet.inference.regions import Regions
from lacunet.inference.sampling.particles import Draws
from lacunet.inference.symmetry import symmetries_of
from lacunet.models.layout import Layout
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray

LogShares: TypeAlias = tuple[FloatArray, FloatArray]  # (draws, d) of each share; of what it leaves

STEPS = 64  # of annealing, in the first round
WIDE = 1.5  # nats: where forward chains differ by more, longer ones help better than more of them
LEAST_SHARED = 0.03  # of the mass of a copula and of the posterior: less, and annealing does better
FULL = 2  # parameters to a sample: more, and a copula is mostly noise
TOGETHER = 64  # draws of a copula that are weighed by one task
EACH = 4  # parameters drawn for a sample of hidden values
UP, DOWN = 1, 2  # streams of random numbers
LEAST_OWN = 0.05  # of a share's variance that does not come from hidden values
FARTHEST = 8.0  # standard deviations: samples that lie further out are beyond what floats resolve


@dataclass(frozen=True, eq=False)
class StickBreaking:
    """Tables as d shares: of what is left, each state breaks one off."""

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


@dataclass(frozen=True, eq=False)
class BetaCopula:
    """A distribution of all shares."""

    sticks: StickBreaking
    a: FloatArray  # (d,) exponents of the Betas
    b: FloatArray  # (d,)
    factor: FloatArray  # (d, d) lower triangular: the covariance of u is factor factorᵀ

    @classmethod
    def around(cls, sticks: StickBreaking, exponents: FloatArray) -> Self:
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
        """Log of prior times likelihood over the density of the copula, (draws,); log θ there."""
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
    """What is drawn, and weighed against the posterior; samples are weighed the other way."""

    def __init__(self, problem: Problem, reference: Reference, seed: Sequence[int]) -> None:
        """Count draws with all classes in use that have the labels of the reference."""
        self.problem, self.reference, self.seed = problem, reference, tuple(seed)
        self.allowed = all_used(problem)
        self.regions = Regions(symmetries_of(problem), [reference.exponents])


class AnnealingProposal(_Proposal):
    """Annealing, step by step."""

    def __init__(
        self, problem: Problem, reference: Reference, seed: Sequence[int], steps: int = STEPS
    ) -> None:
        super().__init__(problem, reference, seed)
        self.steps = steps  # temperatures between the reference and the posterior
        self.path = AnnealingPath(problem, reference, self.allowed)

    def wide(self, forward: FloatArray, _: FloatArray) -> bool:
        """Whether chains that end at home are too far apart."""
        home = forward[forward > -np.inf]
        return len(home) < 2 or float(home.std(ddof=1)) > WIDE

    def forwards(self, groups: range, context: RunContext) -> tuple[FloatArray, FloatArray]:
        """Run chains from the reference."""
        return self.path.forwards(self.steps, groups, self.seed, context)

    def backwards(
        self, samples: Sequence[WalkSample], first: int, context: RunContext
    ) -> tuple[FloatArray, IntArray]:
        """Run a chain from each sample, labelled by parameters that are drawn for it.

        Gives log weights, and which sample each came from; there were `first` samples before.
        """
        seed = (*self.seed, first)
        N = np.stack([s.N for s in samples])
        draws = Draws(self.problem, np.random.default_rng(seed))
        drawn = expected_cases(self.problem.prior + N, draws)
        starts = [self.regions.bring_home(x).apply(n) for x, n in zip(drawn, N, strict=True)]
        new = self.path.backwards(np.stack(starts), self.steps, seed, context)
        return new, np.arange(len(samples))


class CopulaProposal(_Proposal):
    """Parameters drawn from a copula that is fitted to samples, in one step."""

    steps = 1

    def __init__(
        self,
        problem: Problem,
        reference: Reference,
        seed: Sequence[int],
        samples: Sequence[WalkSample],
    ) -> None:
        super().__init__(problem, reference, seed)
        exponents = problem.prior + self._home(samples)
        self.copula = BetaCopula.around(StickBreaking.of(problem.layout), exponents)

    @classmethod
    def suits(cls, problem: Problem, samples: int) -> bool:
        """Whether a copula can be fitted to so many."""
        return problem.layout.untied and problem.network.dimension <= FULL * samples

    def wide(self, _: FloatArray, shared: FloatArray) -> bool:
        """Whether copula and posterior have hardly any mass in common."""
        return not float(shared.mean()) >= LEAST_SHARED

    def forwards(self, groups: range, context: RunContext) -> tuple[FloatArray, FloatArray]:
        """Draw parameters, and hidden values given them."""
        found = context.map(partial(self._drawn, context.clock), groups)
        log_weights, ends = zip(*found, strict=True)
        return np.concatenate(log_weights), np.concatenate(ends)

    def backwards(
        self, samples: Sequence[WalkSample], first: int, context: RunContext
    ) -> tuple[FloatArray, IntArray]:
        """Draw parameters for the hidden values of samples."""
        N = self._home(samples)
        pieces = range(-(-len(N) // TOGETHER))
        found = context.map(partial(self._weighed, N, first, context.clock), pieces)
        return np.concatenate(found), np.repeat(np.arange(len(N)), EACH)

    def _home(self, samples: Sequence[WalkSample]) -> FloatArray:
        """Counts of samples, labelled as the reference is, (samples, size)."""
        counts = (s.N for s in samples)
        return np.stack([self.regions.bring_home(self.problem.prior + N).apply(N) for N in counts])

    def _drawn(self, clock: Clock, group: int) -> tuple[FloatArray, FloatArray]:
        """Log weights of one group of draws: −inf where a class is empty."""
        clock.check()
        draws = Draws(self.problem, np.random.default_rng([*self.seed, UP, group]))
        u = self.copula.draw(TOGETHER, draws.rng)
        at, resolved = _resolved(*self.copula.log_shares(u))
        log_weights, log_theta = self.copula.weighed(self.problem, u, at)
        N = draws.hidden(log_theta)
        counted = resolved & self.allowed(N)
        return np.where(counted, log_weights, -np.inf), self.problem.prior + N

    def _weighed(self, N: FloatArray, first: int, clock: Clock, piece: int) -> FloatArray:
        """Log weights of one piece of samples; what floats do not resolve is far away: +inf."""
        clock.check()
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
    """Tell where floats resolve all shares, (draws,); elsewhere some number stands for them."""
    finite = np.isfinite(log_share) & np.isfinite(log_left)
    half = math.log(0.5)
    at = np.where(finite, log_share, half), np.where(finite, log_left, half)
    return at, np.asarray(finite.all(axis=1))
