"""Crossing at once: parameters are drawn from the shape of the posterior, and weighed."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from lacunet.evidence.clock import Clock, Means
from lacunet.evidence.crossings.chains import ByChains
from lacunet.evidence.crossings.crossing import Sent
from lacunet.evidence.crossings.shape import LogShares, Shape
from lacunet.evidence.crossings.sticks import Sticks
from lacunet.evidence.partitions.posterior import Snapshot
from lacunet.evidence.path import Reference
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.draws import Draws
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray

LEAST_SHARED = 0.03  # of the mass of a shape and of the posterior: less, and chains do better
FULL = 2  # parameters to a sample: more, and a shape is mostly noise
TOGETHER = 64  # draws of a shape that are weighed by one task
EACH = 4  # parameters drawn for a sample of hidden values
UP, DOWN = 1, 2  # streams of random numbers


class ByShape(Sent):
    """No way at all between a shape and the posterior."""

    def __init__(
        self, problem: Problem, around: Reference, seed: Sequence[int], samples: Sequence[Snapshot]
    ) -> None:
        """Fit the shape to samples, which are not sent."""
        super().__init__(problem, around, seed)
        self.shape = Shape.around(Sticks.of(problem.layout), problem.prior + self._home(samples))
        self.sent = len(samples)

    @classmethod
    def suits(cls, problem: Problem, samples: int) -> bool:
        """Whether a shape can be fitted to so many."""
        return problem.layout.untied and problem.network.dimension <= FULL * samples

    @property
    def steps(self) -> int:
        return 1

    @property
    def wide(self) -> bool:
        if self.nobody_home or not len(self.down):
            return True
        shared, _ = self._counting()
        return float(shared.mean()) < LEAST_SHARED

    def lengthened(self) -> ByChains:
        """Chains, step by step, find the posterior where a shape does not."""
        return ByChains(self.problem, self.reference, self.seed)

    def _forwards(self, groups: range, means: Means) -> tuple[FloatArray, FloatArray]:
        found = means.map(partial(_drawn, self, means.clock), groups)
        log_weights, ends = zip(*found, strict=True)
        return np.concatenate(log_weights), np.concatenate(ends)

    def _backwards(self, samples: Sequence[Snapshot], means: Means) -> tuple[FloatArray, IntArray]:
        N = self._home(samples)
        pieces = range(-(-len(N) // TOGETHER))
        found = means.map(partial(_placed, self, N, means.clock), pieces)
        return np.concatenate(found), np.repeat(np.arange(len(N)), EACH)

    def _home(self, samples: Sequence[Snapshot]) -> FloatArray:
        """Counts of samples, labelled as the reference is, (samples, size)."""
        counts = (s.N for s in samples)
        return np.stack([self.regions.bring_home(self.problem.prior + N).apply(N) for N in counts])


def _drawn(crossing: ByShape, clock: Clock, group: int) -> tuple[FloatArray, FloatArray]:
    """Draw from the shape, and hidden values given the parameters: −inf where a class is empty."""
    clock.check()
    problem, shape = crossing.problem, crossing.shape
    draws = Draws(problem, np.random.default_rng([*crossing.seed, UP, group]))
    u = shape.draw(TOGETHER, draws.rng)
    at, resolved = _resolved(*shape.log_shares(u))
    log_weights, log_theta = shape.weighed(problem, u, at)
    N = draws.hidden(log_theta)
    return np.where(resolved & crossing.allowed(N), log_weights, -np.inf), problem.prior + N


def _placed(crossing: ByShape, N: FloatArray, clock: Clock, piece: int) -> FloatArray:
    """Draw parameters given hidden values; what the shape does not resolve is far from it."""
    clock.check()
    problem, shape = crossing.problem, crossing.shape
    N = np.repeat(N[piece * TOGETHER : (piece + 1) * TOGETHER], EACH, axis=0)
    draws = Draws(problem, np.random.default_rng([*crossing.seed, DOWN, crossing.sent, piece]))
    theta = np.exp(draws.natural(problem.prior + N))
    share, left = shape.sticks.broken(theta)
    u = shape.coordinates(share, left)
    with np.errstate(divide="ignore"):
        at, resolved = _resolved(np.log(share), np.log(left))
    resolved &= np.isfinite(u).all(axis=1)
    log_weights, _ = shape.weighed(problem, np.where(np.isfinite(u), u, 0.0), at)
    return np.where(resolved, log_weights, np.inf)


def _resolved(log_share: FloatArray, log_left: FloatArray) -> tuple[LogShares, BoolArray]:
    """Tell where floats resolve all shares, (draws,); elsewhere some number stands for them."""
    finite = np.isfinite(log_share) & np.isfinite(log_left)
    half = math.log(0.5)
    at = np.where(finite, log_share, half), np.where(finite, log_left, half)
    return at, np.asarray(finite.all(axis=1))
