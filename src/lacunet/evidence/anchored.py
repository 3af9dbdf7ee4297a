"""Latent classes: how often a walk is at one place, and how much mass that place has.

A walk over partitions visits numbers of used classes, and modes, in proportion to their mass. So
the evidence is the mass of one of them over the share of samples that are there. The mass of
partitions into m classes, m being the most frequent number, is measured by a bridge: chains in both
directions between a reference and the walk's own samples. Samples that the reference does not lead
to are divided out with the rest, so that one mode is enough.

Errors come from leaving out one start of the walk (with its chains and samples), or one forward
chain: where starts lead to different places, the bar shows it.
"""

import math
import time
from collections.abc import Sequence

import numpy as np
from scipy.special import expit

from lacunet.arrays import BoolArray, FloatArray, IntArray
from lacunet.evidence.annealing import GROUP, Annealing, expected
from lacunet.evidence.bridge import log_bridge, log_bridges
from lacunet.evidence.clock import Means, OutOfTimeError
from lacunet.evidence.estimate import LogMean, Verdict, log_mean
from lacunet.evidence.jackknife import at_most
from lacunet.evidence.modes import Found, ranked, widened
from lacunet.evidence.partitions.cases import shown_cells
from lacunet.evidence.partitions.posterior import PosteriorWalk, Snapshot
from lacunet.evidence.path import Path
from lacunet.evidence.used_classes import AllUsed
from lacunet.inference.classes import with_classes
from lacunet.inference.problem import Problem
from lacunet.inference.regions import Regions
from lacunet.inference.sampling.draws import Draws
from lacunet.inference.symmetry import symmetries_of
from lacunet.scoring.occupancy import log_factors

CHAINS = 2  # of the walk, for each start
BURNED = 100  # sweeps that are forgotten
APART = 5  # sweeps from one sample to the next
SAMPLES = 8  # of each chain, in the first round
STEPS, GROUPS = 64, 4  # of forward chains, in the first round
WIDE = 1.5  # nats: where forward chains differ by more, longer ones help better than more of them
STREAM = 13  # of random numbers


def walk_cost(problem: Problem, starts: int) -> float:
    """Numbers that the first round of the walk touches."""
    classes = problem.layout.cards[problem.network.hidden[0]]
    return starts * CHAINS * (BURNED + SAMPLES * APART) * shown_cells(problem) * classes


class AnchoredWalk:
    """Rounds of the walk, and of chains between its samples and the reference."""

    def __init__(
        self, problem: Problem, fits: Sequence[FloatArray], seed: int, means: Means
    ) -> None:
        """Start at fits that have nothing in common but the data."""
        self.problem, self.seed, self.means = problem, (seed, STREAM), means
        self.starts = len(fits)
        self.walk = PosteriorWalk(problem, fits, CHAINS * len(fits), seed)
        self.seconds = {"walk": 0.0, "chains": 0.0}
        self.walk.go_on(BURNED, means, samples=0)
        self._walk_on(SAMPLES)
        self.m = int(np.argmax(self.walk.shares()))
        self.fewer = with_classes(problem, self.m)
        self.symmetries = symmetries_of(self.fewer)
        self.constant = float(log_factors(problem)[self.m - 1]) + self.symmetries.log_count
        self.steps, self.groups, self.sent = STEPS, 0, 0
        self.up: FloatArray = np.empty(0)
        self.down: FloatArray = np.empty(0)
        self.start_of: IntArray = np.empty(0, dtype=np.int64)  # of each chain down
        if not self.fewer.exact:
            self._set_anchor()
            self._send_up(GROUPS)
            self._send_down()

    @property
    def _there(self) -> list[Snapshot]:
        return [s for s in self.walk.kept if s.used == self.m]

    def _walk_on(self, samples: int) -> None:
        began = time.perf_counter()
        self.walk.go_on(APART, self.means, samples=samples)
        self.seconds["walk"] = time.perf_counter() - began

    def _set_anchor(self) -> None:
        """Put the reference at the heaviest mode that chains with m classes were in."""
        allowed = AllUsed.of(self.fewer)
        latest = {s.chain: Found(s.N, s.chain) for s in self._there}
        best = ranked(self.fewer, list(latest.values()), allowed, self.seed, self.means)[0]
        reference = widened(self.fewer, best.N, allowed, self.seed, self.means)
        self.annealing = Annealing(Path(self.fewer, reference), allowed)
        self.regions = Regions(self.symmetries, [reference.exponents])

    def _send_up(self, groups: int) -> None:
        """Run more chains from the reference."""
        began = time.perf_counter()
        more = range(self.groups, self.groups + groups)
        ended = self.annealing.forwards(self.steps, more, self.seed, self.means)
        home = self.regions.at_home(0, ended.ends)
        self.up = np.concatenate([self.up, np.where(home, ended.log_weights, -np.inf)])
        self.groups = more.stop
        self.seconds["chains"] = time.perf_counter() - began

    def _send_down(self) -> None:
        """Run chains from the samples that are new."""
        there = self._there
        chosen = there[self.sent :]
        if not chosen:
            return
        draws = Draws(self.fewer, np.random.default_rng([*self.seed, self.sent]))
        drawn = expected(self.annealing.path, np.stack([s.N for s in chosen]), draws)
        starts = [self.regions.bring_home(x).apply(s.N) for x, s in zip(drawn, chosen, strict=True)]
        seed = (*self.seed, self.sent)
        new = self.annealing.backwards(np.stack(starts), self.steps, seed, self.means)
        from_start = np.array([s.chain % self.starts for s in chosen])
        known = self.start_of if len(self.down) else self.start_of[:0]
        self.start_of = np.concatenate([known, from_start])
        self.down = np.concatenate([self.down, new])
        self.sent = len(there)

    def _values(
        self, counted_up: BoolArray, counted_down: BoolArray, shares: FloatArray
    ) -> FloatArray:
        """The evidence by some of the chains, (R, chains), and shares of m classes, (R,): (R,)."""
        with np.errstate(divide="ignore"):
            constants = np.where(shares > 0, self.constant - np.log(shares), math.nan)
        if self.fewer.exact:  # one class
            return np.asarray(self.fewer.log_seen + constants)
        if not counted_down.any(axis=1).all():
            return np.full(len(shares), math.nan)
        return log_bridges(self.up, self.down, counted_up, counted_down) + constants

    @property
    def _value(self) -> float:
        up, down = (np.ones((1, len(x)), dtype=np.bool_) for x in (self.up, self.down))
        return float(self._values(up, down, self.walk.shares()[[self.m]])[0])

    def _errors(self) -> tuple[float, float]:
        """Standard errors that come from the walk, and from forward chains."""
        starts, groups = np.arange(self.starts)[:, None], np.arange(GROUP * GROUPS)[:, None]
        shares = np.array([self.walk.shares(n, self.starts)[self.m] for n in range(self.starts)])
        all_up = np.ones((self.starts, len(self.up)), dtype=np.bool_)
        without = self._values(all_up, self.start_of != starts, shares)
        all_down = np.ones((len(groups), len(self.down)), dtype=np.bool_)
        fewer = self._values(
            np.arange(len(self.up)) % len(groups) != groups,
            all_down,
            np.repeat(self.walk.shares()[self.m], len(groups)),
        )
        # A place that no sample was at may still have as much as one would have told.
        walked = math.hypot(at_most(without), 1.0 / len(self.walk.kept))
        return walked, at_most(fewer)

    @property
    def estimate(self) -> LogMean:
        """The evidence, all labellings."""
        value = self._value
        stderr = math.hypot(*self._errors())
        if self.fewer.exact:
            return LogMean(value, stderr, float(self.starts * CHAINS), 0.0, len(self.walk.kept))
        mass = log_bridge(self.up, self.down)
        if not math.isfinite(mass):  # no forward chain ended at home
            return LogMean(value, math.inf, 0.0, 1.0, len(self.down))
        both = [expit(self.up - mass), expit(mass - self.down)]  # what counts, of either direction
        size = min(float(w.sum() ** 2 / (w**2).sum()) for w in both)
        share = max(float(w.max() / w.sum()) for w in both)
        return LogMean(value, stderr, size, share, len(self.down))

    @property
    def bound(self) -> float:
        """What forward chains alone reach: a bound from below."""
        reached = self.fewer.log_seen if self.fewer.exact else log_mean(self.up).value
        return reached + self.constant

    @property
    def shares(self) -> dict[int, float]:
        """Posterior of the number of used classes."""
        return {m: float(s) for m, s in enumerate(self.walk.shares()) if s > 0}

    def until_done(self) -> LogMean:
        """Improve what the error is due to, until the goal is reached or the time is up."""
        clock = self.means.clock
        try:
            while self._wanting() and clock.allows(2 * sum(self.seconds.values())):
                self._improve()
        except OutOfTimeError:
            pass
        return self.estimate

    def _wanting(self) -> bool:
        estimate = self.estimate
        far = estimate.stderr > self.means.clock.goal.target
        return far or estimate.verdict is not Verdict.RELIABLE

    def _improve(self) -> None:
        walked, forwards = self._errors()
        if forwards > walked and self._wide:
            before = self.steps, self.up, self.down, self.start_of, self.groups, self.sent
            try:
                self._send_longer()
            except OutOfTimeError:
                self.steps, self.up, self.down, self.start_of, self.groups, self.sent = before
                raise
        elif walked > forwards or (not math.isfinite(walked) and not self._nobody_home):
            self._walk_on(len(self.walk.kept) // len(self.walk.chains))
            self._send_down()
        else:
            self._send_up(self.groups)

    @property
    def _nobody_home(self) -> bool:
        """Whether no forward chain ended in its own region: there is no mass to speak of yet."""
        return not (self.up > -np.inf).any()

    @property
    def _wide(self) -> bool:
        """Whether forward chains are so far apart that longer ones help better than more."""
        home = self.up[self.up > -np.inf]
        return len(home) < 2 or float(home.std(ddof=1)) > WIDE

    def _send_longer(self) -> None:
        """Begin again with twice the steps: an average of chains that differ much means little."""
        groups, self.steps = self.groups, 2 * self.steps
        self.groups, self.sent = 0, 0
        self.up, self.down = np.empty(0), np.empty(0)
        self._send_up(groups)
        self._send_down()
