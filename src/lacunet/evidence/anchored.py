"""Latent classes: how often a walk is at one place, and how much mass that place has.

A walk over partitions visits numbers of used classes, and modes, in proportion to their mass. So
the evidence is the mass of one of them over the share of samples that are there. The mass of
partitions into m classes, m being the most frequent number, is measured by a bridge between a
reference and the walk's own samples (`crossings`). Samples that the reference does not lead to are
divided out with the rest, so that one mode is enough.

Errors come from leaving out one start of the walk (with its chains and samples), or some of those
who came from the reference: where starts lead to different places, the bar shows it.
"""

import math
import time
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lacunet.evidence.annealing import Means, OutOfTimeError, Reference
from lacunet.evidence.crossings import GROUPS, STEPS, ByChains, ByShape, Crossing, Seen
from lacunet.evidence.estimate import LogMean, Verdict, at_most
from lacunet.evidence.modes import Found, all_used, ranked, widened
from lacunet.evidence.partitions.cases import shown_cells
from lacunet.evidence.partitions.chains import PosteriorWalk, Snapshot
from lacunet.inference.classes import with_classes
from lacunet.inference.problem import Problem
from lacunet.inference.symmetry import symmetries_of
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.scores.occupancy import log_factors

CHAINS = 2  # of the walk, for each start
BURNED = 100  # sweeps that are forgotten
APART = 5  # sweeps from one sample to the next
SAMPLES = 8  # of each chain, in a first round
PARTS = 32  # of those who came from the reference, one left out at a time
LEAST_MORE = 0.25  # of what there is: less is not worth a round
STREAM = 13  # of random numbers


def walk_cost(problem: Problem, starts: int) -> float:
    """Numbers that the first round of the walk touches."""
    classes = problem.layout.cards[problem.network.hidden[0]]
    return starts * CHAINS * (BURNED + SAMPLES * APART) * shown_cells(problem) * classes


class AnchoredWalk:
    """Rounds of the walk, and of crossings between its samples and the reference."""

    def __init__(
        self, problem: Problem, fits: Sequence[FloatArray], seed: int, means: Means
    ) -> None:
        """Start at fits that have nothing in common but the data."""
        self.problem, self.seed, self.means = problem, (seed, STREAM), means
        self.starts = len(fits)
        chains = CHAINS * len(fits)
        self.walk = PosteriorWalk(problem, fits, chains, seed)
        self.walk.go_on(BURNED, means, samples=0)
        self._walk_on(SAMPLES)
        self.m = int(np.argmax(self.walk.shares()))
        self.fewer = with_classes(problem, self.m)
        factor = float(log_factors(problem)[self.m - 1])
        self.constant = factor + symmetries_of(self.fewer).log_count
        self.crossing = self._begun()

    @property
    def _there(self) -> list[Snapshot]:
        return [s for s in self.walk.kept if s.used == self.m]

    def _walk_on(self, samples: int) -> None:
        began = time.perf_counter()
        self.walk.go_on(APART, self.means, samples=samples)
        self.seconds = time.perf_counter() - began

    def _begun(self) -> Crossing:
        """Cross by the shape of the samples, if they have one; else by chains."""
        if self.fewer.exact:
            return Seen(self.fewer)
        reference = self._reference()
        if ByShape.suits(self.fewer, len(self._there)):
            shaped = ByShape(self.fewer, reference, self.seed, self._there)
            self._walk_on(SAMPLES)
            self._cross(shaped)
            if not shaped.wide:
                return shaped
        return self._cross(ByChains(self.fewer, reference, self.seed, STEPS))

    def _reference(self) -> Reference:
        """Put it at the heaviest mode that chains with m classes were in."""
        allowed = all_used(self.fewer)
        latest = {s.chain: Found(s.N, s.chain) for s in self._there}
        best = ranked(self.fewer, list(latest.values()), allowed, self.seed, self.means)[0]
        return widened(self.fewer, best.N, allowed, self.seed, self.means)

    def _cross(self, crossing: Crossing) -> Crossing:
        """Let somebody cross, both ways."""
        crossing.send_up(max(crossing.first, GROUPS), self.means)
        crossing.send_down(self._there, self.means)
        return crossing

    def _values(
        self, counted_up: BoolArray, counted_down: BoolArray, shares: FloatArray
    ) -> FloatArray:
        """The evidence by some of the crossings, (R, …), and shares of m classes, (R,): (R,)."""
        return self._evidence(self.crossing.masses(counted_up, counted_down), shares)

    def _evidence(self, masses: FloatArray, shares: FloatArray) -> FloatArray:
        """What masses of m classes, (R,), that have so much of the whole, (R,), make of it."""
        with np.errstate(divide="ignore"):
            return masses + np.where(shares > 0, self.constant - np.log(shares), math.nan)

    @cached_property
    def _errors(self) -> tuple[float, float]:
        """Standard errors that come from the walk, and from the reference."""
        starts, parts = np.arange(self.starts)[:, None], np.arange(PARTS)[:, None]
        up, down = np.arange(len(self.crossing.up)), self.crossing.chain % self.starts
        shares = np.array([self.walk.shares(n, self.starts)[self.m] for n in range(self.starts)])
        all_up = np.ones((self.starts, len(up)), dtype=np.bool_)
        without = self._values(all_up, down != starts, shares)
        all_down = np.ones((PARTS, len(down)), dtype=np.bool_)
        all_shares = np.repeat(self.walk.shares()[self.m], PARTS)
        fewer = self._values(up % PARTS != parts, all_down, all_shares)
        # A place that no sample was at may still have as much as one would have told.
        walked = math.hypot(at_most(without), 1.0 / len(self.walk.kept))
        return walked, at_most(fewer)

    @property
    def estimate(self) -> LogMean:
        """The evidence, all labellings."""
        mass, share = np.array([self.crossing.mass]), self.walk.shares()[[self.m]]
        value = float(self._evidence(mass, share)[0])
        if self.crossing.nobody_home:
            return LogMean(value, math.inf, 0.0, 1.0, len(self.walk.kept))
        size, largest = self.crossing.size(), self.crossing.largest()
        return LogMean(value, math.hypot(*self._errors), size, largest, len(self.walk.kept))

    @property
    def bound(self) -> float:
        """What those from the reference alone reach: a bound from below."""
        return self.crossing.bound + self.constant

    @property
    def shares(self) -> dict[int, float]:
        """Posterior of the number of used classes."""
        return {m: float(s) for m, s in enumerate(self.walk.shares()) if s > 0}

    @property
    def steps(self) -> int:
        """How long the way to the reference is."""
        return self.crossing.steps

    def until_done(self) -> LogMean:
        """Improve what the error is due to, until the goal is reached or the time is up."""
        clock = self.means.clock
        try:
            while self._wanting() and clock.allows(2 * (self.seconds + self.crossing.seconds)):
                self._improve()
        except OutOfTimeError:
            pass
        return self.estimate

    def _wanting(self) -> bool:
        estimate = self.estimate
        far = estimate.stderr > self.means.clock.goal.target
        return far or estimate.verdict is not Verdict.RELIABLE

    def _improve(self) -> None:
        walked, forwards = self._errors
        crossing = self.crossing
        del self._errors  # there will be others
        if forwards > walked and crossing.wide:
            # Only now: what there is stays if the time runs out.
            self.crossing = self._cross(crossing.lengthened())
        elif walked > forwards or (not math.isfinite(walked) and not crossing.nobody_home):
            samples = len(self.walk.kept) // self.walk.number
            self._walk_on(self._more(samples, walked, forwards))
            crossing.send_down(self._there, self.means)
        else:
            crossing.send_up(self._more(crossing.groups, forwards, walked), self.means)

    def _more(self, number: int, error: float, other: float) -> int:
        """How many more of that number, by the error that is due to them; twice as many at most."""
        target = self.means.clock.goal.target
        allowed = max(target**2 - other**2, target**2 / 2)
        missing = error**2 / allowed - 1.0
        return math.ceil(number * min(max(missing, LEAST_MORE), 1.0))
