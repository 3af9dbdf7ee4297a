"""The evidence of a latent class model by bridge sampling, anchored by a walk over partitions.

The walk visits numbers of used classes, and modes, in proportion to their mass. So the evidence is
the mass of partitions into m classes, the most frequent number, over the share of samples with m.
Bridge sampling between a proposal and the walk's samples estimates that mass. Samples outside the
region of the proposal are divided out, so one mode is enough.

Errors are jackknife estimates: they leave out one start of the walk at a time, or some of the
forward draws. If starts lead to different modes, the error bar shows it.
"""

import math
import time
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy.special import expit

from lacunet.evidence.annealing import OutOfTimeError, Reference, RunContext
from lacunet.evidence.estimate import (
    LogMean,
    Verdict,
    log_bridge,
    log_bridges,
    log_mean,
    stderr_limit,
)
from lacunet.evidence.modes import HiddenSample, all_used, ranked, reference_near
from lacunet.evidence.partitions.cases import shown_cells
from lacunet.evidence.partitions.chains import PosteriorWalk, WalkSample
from lacunet.evidence.proposals import STEPS, AnnealingProposal, BridgeProposal, CopulaProposal
from lacunet.inference.classes import with_classes
from lacunet.inference.problem import Problem
from lacunet.inference.symmetry import symmetries_of
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.scores.occupancy import log_factors

GROUPS = 4  # of forward draws, in a first round
CHAINS = 2  # of the walk, for each start
BURNED = 100  # sweeps of burn-in
APART = 5  # sweeps from one sample to the next
SAMPLES = 8  # of each chain, in a first round
PARTS = 32  # of the forward draws, one left out at a time
LEAST_MORE = 0.25  # relative growth of a round: less is not worth its cost
STREAM = 13  # of random numbers


class Bridge:
    """Forward weights of a proposal, and reverse weights of samples of the posterior."""

    def __init__(
        self, problem: Problem, proposal: BridgeProposal | None, first: int = GROUPS
    ) -> None:
        """Without a proposal the mass is known. The first round draws at least `first` groups."""
        self.problem, self.proposal, self.first = problem, proposal, first
        self.groups, self.weighed, self.seconds = 0, 0, 0.0
        self.forward: FloatArray = np.empty(0)  # −inf: the draw ended in another region
        self.reverse: FloatArray = np.empty(0)
        self.chain: IntArray = np.empty(0, dtype=np.int64)  # of the walk, of each reverse weight

    @property
    def steps(self) -> int:
        """Temperatures between the proposal and the posterior."""
        return 0 if self.proposal is None else self.proposal.steps

    def run_forwards(self, groups: int, context: RunContext) -> None:
        """Draw more groups from the proposal."""
        if self.proposal is None:
            return
        began = time.perf_counter()
        more = range(self.groups, self.groups + groups)
        log_weights, ends = self.proposal.forwards(more, context)
        inside = self.proposal.regions.in_region(0, ends)
        self.forward = np.concatenate([self.forward, np.where(inside, log_weights, -np.inf)])
        self.groups = more.stop
        self.seconds = time.perf_counter() - began

    def run_backwards(self, samples: Sequence[WalkSample], context: RunContext) -> None:
        """Compute reverse weights of the samples that have none yet."""
        new = samples[self.weighed :]
        if new and self.proposal is not None:
            log_weights, which = self.proposal.backwards(new, self.weighed, context)
            self.reverse = np.concatenate([self.reverse, log_weights])
            self.chain = np.concatenate([self.chain, np.array([new[n].chain for n in which])])
        self.weighed = len(samples)

    def lengthened(self) -> "Bridge":
        """A bridge with twice the steps; annealing in place of a copula, which has no steps."""
        last = self.proposal
        assert last is not None
        annealed = isinstance(last, AnnealingProposal)
        steps, first = (2 * last.steps, self.groups) if annealed else (STEPS, GROUPS)
        longer = AnnealingProposal(self.problem, last.reference, last.seed, steps)
        return Bridge(self.problem, longer, first)

    @property
    def wide(self) -> bool:
        """Whether more steps help more than additional draws."""
        if self.proposal is None:
            return False
        return self.no_overlap or self.proposal.wide(self.forward, self._overlap_weights()[0])

    @property
    def no_overlap(self) -> bool:
        """Whether no forward draw ended in the region of the proposal."""
        return self.proposal is not None and not (self.forward > -np.inf).any()

    def masses(self, forward: BoolArray, reverse: BoolArray) -> FloatArray:
        """Log mass by subsets of the weights: masks (R, weights) → (R,)."""
        if self.proposal is None:
            return np.full(len(forward), self.mass)
        if not reverse.any(axis=1).all():
            return np.full(len(forward), np.nan)
        if self.no_overlap:
            return np.full(len(forward), -np.inf)
        return log_bridges(self.forward, self.reverse, forward, reverse, near=self.mass)

    @property
    def mass(self) -> float:
        """Log mass by all weights."""
        if self.proposal is None:
            return self.problem.log_seen
        return log_bridge(self.forward, self.reverse) if len(self.reverse) else math.nan

    def _overlap_weights(self) -> list[FloatArray]:
        """Contributions of the forward and the reverse weights to the bridge equation."""
        mass = self.mass
        return [expit(self.forward - mass), expit(mass - self.reverse)]

    def size(self) -> float:
        """Effective number of weights, in the direction that has fewer."""
        if self.proposal is None:
            return float(self.weighed)
        return min(float(w.sum() ** 2 / (w**2).sum()) for w in self._overlap_weights())

    def largest(self) -> float:
        """Share of the largest weight, in the direction that has the larger one."""
        if self.proposal is None:
            return 0.0
        return max(float(w.max() / w.sum()) for w in self._overlap_weights())

    @property
    def bound(self) -> float:
        """Log mass by forward draws alone."""
        return self.mass if self.proposal is None else log_mean(self.forward).value


def walk_cost(problem: Problem, starts: int) -> float:
    """Number of memory accesses in the first round of the walk."""
    classes = problem.layout.cards[problem.network.hidden[0]]
    return starts * CHAINS * (BURNED + SAMPLES * APART) * shown_cells(problem) * classes


class BridgedWalk:
    """Rounds of the walk and of the bridge between its samples and a proposal."""

    def __init__(
        self, problem: Problem, fits: Sequence[FloatArray], seed: int, context: RunContext
    ) -> None:
        """Start at independent fits."""
        self.problem, self.seed, self.context = problem, (seed, STREAM), context
        self.starts = len(fits)
        self.walk = PosteriorWalk(problem, fits, CHAINS * len(fits), seed)
        self.walk.advance(BURNED, context, samples=0)
        self._extend_walk(SAMPLES)
        self.m = int(np.argmax(self.walk.shares()))
        self.fewer = with_classes(problem, self.m)
        factor = float(log_factors(problem)[self.m - 1])
        self.constant = factor + symmetries_of(self.fewer).log_count
        self.bridge = self._first_bridge()

    @property
    def _with_m(self) -> list[WalkSample]:
        return [s for s in self.walk.collected if s.used == self.m]

    def _extend_walk(self, samples: int) -> None:
        began = time.perf_counter()
        self.walk.advance(APART, self.context, samples=samples)
        self.seconds = time.perf_counter() - began

    def _first_bridge(self) -> Bridge:
        """Propose by a copula of the samples if one can be fitted, else by annealing."""
        if self.fewer.exact:
            return Bridge(self.fewer, None)
        reference, samples = self._reference(), self._with_m
        if CopulaProposal.suits(self.fewer, len(samples)):
            proposal = CopulaProposal(self.fewer, reference, self.seed, samples)
            bridge = Bridge(self.fewer, proposal)
            bridge.weighed = len(samples)  # the proposal was fitted to these
            self._extend_walk(SAMPLES)
            if not self._run_both_ways(bridge).wide:
                return bridge
        return self._run_both_ways(
            Bridge(self.fewer, AnnealingProposal(self.fewer, reference, self.seed))
        )

    def _reference(self) -> Reference:
        """Put the reference at the best mode that chains with m classes reached."""
        allowed = all_used(self.fewer)
        latest = {s.chain: HiddenSample(s.N, s.chain) for s in self._with_m}
        best = ranked(self.fewer, list(latest.values()), allowed, self.seed, self.context)[0]
        return reference_near(self.fewer, best.N, allowed, self.seed, self.context)

    def _run_both_ways(self, bridge: Bridge) -> Bridge:
        """Run a first round in both directions."""
        bridge.run_forwards(max(bridge.first, GROUPS), self.context)
        bridge.run_backwards(self._with_m, self.context)
        return bridge

    def _evidence(self, masses: FloatArray, shares: FloatArray) -> FloatArray:
        """Log evidence from log masses of m classes, (R,), and the shares of m, (R,)."""
        with np.errstate(divide="ignore"):
            return masses + np.where(shares > 0, self.constant - np.log(shares), math.nan)

    @cached_property
    def _errors(self) -> tuple[float, float]:
        """Standard errors due to the walk and due to the proposal."""
        bridge = self.bridge
        starts, parts = np.arange(self.starts)[:, None], np.arange(PARTS)[:, None]
        up, down = np.arange(len(bridge.forward)), bridge.chain % self.starts
        shares = np.array([self.walk.shares(n, self.starts)[self.m] for n in range(self.starts)])
        all_up = np.ones((self.starts, len(up)), dtype=np.bool_)
        without = self._evidence(bridge.masses(all_up, down != starts), shares)
        all_down = np.ones((PARTS, len(down)), dtype=np.bool_)
        all_shares = np.repeat(self.walk.shares()[self.m], PARTS)
        fewer = self._evidence(bridge.masses(up % PARTS != parts, all_down), all_shares)
        # A mode that no sample visited may have a share of 1/samples.
        walked = math.hypot(stderr_limit(without), 1.0 / len(self.walk.collected))
        return walked, stderr_limit(fewer)

    @property
    def estimate(self) -> LogMean:
        """The evidence, all labellings."""
        mass, share = np.array([self.bridge.mass]), self.walk.shares()[[self.m]]
        value, samples = float(self._evidence(mass, share)[0]), len(self.walk.collected)
        if self.bridge.no_overlap:
            return LogMean(value, math.inf, 0.0, 1.0, samples)
        size, largest = self.bridge.size(), self.bridge.largest()
        return LogMean(value, math.hypot(*self._errors), size, largest, samples)

    @property
    def bound(self) -> float:
        """A lower bound by forward draws alone."""
        return self.bridge.bound + self.constant

    @property
    def shares(self) -> dict[int, float]:
        """Posterior of the number of used classes."""
        return {m: float(s) for m, s in enumerate(self.walk.shares()) if s > 0}

    def until_done(self) -> LogMean:
        """Reduce the larger error until the goal is reached or the time is up."""
        limit = self.context.limit
        try:
            while self._short_of_goal() and limit.allows(2 * (self.seconds + self.bridge.seconds)):
                self._improve()
        except OutOfTimeError:
            pass
        return self.estimate

    def _short_of_goal(self) -> bool:
        estimate = self.estimate
        far = estimate.stderr > self.context.limit.goal.target
        return far or estimate.verdict is not Verdict.RELIABLE

    def _improve(self) -> None:
        walked, forwards = self._errors
        bridge = self.bridge
        del self._errors  # the cached ones
        if forwards > walked and bridge.wide:
            # If the time runs out here, the old bridge remains.
            self.bridge = self._run_both_ways(bridge.lengthened())
        elif walked > forwards or (not math.isfinite(walked) and not bridge.no_overlap):
            samples = len(self.walk.collected) // self.walk.number
            self._extend_walk(self._more(samples, walked, forwards))
            bridge.run_backwards(self._with_m, self.context)
        else:
            bridge.run_forwards(self._more(bridge.groups, forwards, walked), self.context)

    def _more(self, number: int, error: float, other: float) -> int:
        """How many more of a number the error due to it requires; at most as many again."""
        target = self.context.limit.goal.target
        allowed = max(target**2 - other**2, target**2 / 2)
        missing = error**2 / allowed - 1.0
        return math.ceil(number * min(max(missing, LEAST_MORE), 1.0))
