"""Ways between a reference, whose mass is known, and samples of the posterior: weights either way.

A crossing holds log weights of whoever came from the reference (−inf: ended elsewhere) and of
whoever came from a sample; `bridge.py` makes the mass of them. Samples have one labelling of many:
everybody is brought to the region around the reference in which all are labelled alike.

What every crossing has: who crossed, and the mass that they tell.
Crossing step by step: annealing, forwards and backwards.
Crossing at once: parameters are drawn from the shape of the posterior, and weighed.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial

import numpy as np
from scipy.special import expit

from lacunet.evidence.annealing import Annealing, Clock, Means, Path, Reference, expected
from lacunet.evidence.estimate import log_bridge, log_bridges, log_mean
from lacunet.evidence.modes import all_used
from lacunet.evidence.partitions.chains import Snapshot
from lacunet.evidence.shapes import LogShares, Shape, Sticks
from lacunet.inference.problem import Problem
from lacunet.inference.regions import Regions
from lacunet.inference.sampling.particles import Draws
from lacunet.inference.symmetry import symmetries_of
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray

GROUPS = 4  # that are sent from the reference, in a first round


class Crossing(ABC):
    """Whoever crossed so far."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.groups, self.sent, self.seconds = 0, 0, 0.0
        self.first = GROUPS  # groups to begin with
        self.up: FloatArray = np.empty(0)
        self.down: FloatArray = np.empty(0)
        self.chain: IntArray = np.empty(0, dtype=np.int64)  # of the walk: whence each came down

    @property
    @abstractmethod
    def steps(self) -> int:
        """How long the way is."""

    @property
    @abstractmethod
    def wide(self) -> bool:
        """Whether a longer way helps better than more who cross."""

    @abstractmethod
    def lengthened(self) -> "Crossing":
        """Give one with a longer way, which nobody crossed yet."""

    @abstractmethod
    def send_up(self, groups: int, means: Means) -> None:
        """Send more groups from the reference."""

    @abstractmethod
    def send_down(self, samples: Sequence[Snapshot], means: Means) -> None:
        """Send those of all samples that were not sent yet."""

    @property
    def nobody_home(self) -> bool:
        """Whether none from the reference ended in its region: there is no mass to speak of."""
        return not (self.up > -np.inf).any()

    def masses(self, counted_up: BoolArray, counted_down: BoolArray) -> FloatArray:
        """Log mass by some of those who crossed, (R, …), for several choices of them: (R,)."""
        if not counted_down.any(axis=1).all():
            return np.full(len(counted_up), np.nan)
        if self.nobody_home:
            return np.full(len(counted_up), -np.inf)
        return log_bridges(self.up, self.down, counted_up, counted_down, near=self.mass)

    @property
    def mass(self) -> float:
        """Log mass by everybody who crossed."""
        return log_bridge(self.up, self.down) if len(self.down) else math.nan

    def _counting(self) -> list[FloatArray]:
        """How much everybody counts, either way."""
        mass = self.mass
        return [expit(self.up - mass), expit(mass - self.down)]

    def size(self) -> float:
        """Effective number of those who crossed, in the direction that has fewer."""
        return min(float(w.sum() ** 2 / (w**2).sum()) for w in self._counting())

    def largest(self) -> float:
        """Share of whoever counts most, in the direction that has the larger one."""
        return max(float(w.max() / w.sum()) for w in self._counting())

    @property
    def bound(self) -> float:
        """What those from the reference alone reach."""
        return log_mean(self.up).value


class Seen(Crossing):
    """Nothing is hidden, and nobody has to cross: the mass is known."""

    steps = 0
    wide = False
    nobody_home = False

    def lengthened(self) -> "Seen":
        return self

    def send_up(self, groups: int, means: Means) -> None:
        pass

    def send_down(self, samples: Sequence[Snapshot], means: Means) -> None:
        self.sent = len(samples)

    @property
    def mass(self) -> float:
        return self.problem.log_seen

    def masses(self, counted_up: BoolArray, counted_down: BoolArray) -> FloatArray:
        return np.full(len(counted_up), self.mass)

    def size(self) -> float:
        return float(self.sent)

    def largest(self) -> float:
        return 0.0

    @property
    def bound(self) -> float:
        return self.problem.log_seen


class Sent(Crossing):
    """Those who cross are sent from a reference, and from samples with the labels that it has."""

    def __init__(self, problem: Problem, around: Reference, seed: Sequence[int]) -> None:
        super().__init__(problem)
        self.reference, self.seed = around, tuple(seed)
        self.allowed = all_used(problem)
        self.regions = Regions(symmetries_of(problem), [around.exponents])

    def send_up(self, groups: int, means: Means) -> None:
        began = time.perf_counter()
        more = range(self.groups, self.groups + groups)
        log_weights, ends = self._forwards(more, means)
        home = self.regions.at_home(0, ends)
        self.up = np.concatenate([self.up, np.where(home, log_weights, -np.inf)])
        self.groups = more.stop
        self.seconds = time.perf_counter() - began

    def send_down(self, samples: Sequence[Snapshot], means: Means) -> None:
        new = samples[self.sent :]
        if not new:
            return
        log_weights, who = self._backwards(new, means)
        self.down = np.concatenate([self.down, log_weights])
        self.chain = np.concatenate([self.chain, np.array([new[n].chain for n in who])])
        self.sent = len(samples)

    @abstractmethod
    def _forwards(self, groups: range, means: Means) -> tuple[FloatArray, FloatArray]:
        """Log weights, and expected counts at the end, (…, size)."""

    @abstractmethod
    def _backwards(self, samples: Sequence[Snapshot], means: Means) -> tuple[FloatArray, IntArray]:
        """Log weights, and which sample each came from."""


STEPS = 64  # in the first round
WIDE = 1.5  # nats: where forward chains differ by more, longer ones help better than more of them


class ByChains(Sent):
    """Annealing, step by step."""

    def __init__(
        self, problem: Problem, around: Reference, seed: Sequence[int], steps: int = STEPS
    ) -> None:
        super().__init__(problem, around, seed)
        self._steps = steps
        self.annealing = Annealing(Path(problem, around), self.allowed)

    @property
    def steps(self) -> int:
        return self._steps

    @property
    def wide(self) -> bool:
        home = self.up[self.up > -np.inf]
        return len(home) < 2 or float(home.std(ddof=1)) > WIDE

    def lengthened(self) -> "ByChains":
        """Twice the steps: an average of chains that differ much means little."""
        longer = ByChains(self.problem, self.reference, self.seed, 2 * self.steps)
        longer.first = self.groups
        return longer

    def _forwards(self, groups: range, means: Means) -> tuple[FloatArray, FloatArray]:
        ended = self.annealing.forwards(self.steps, groups, self.seed, means)
        return ended.log_weights, ended.ends

    def _backwards(self, samples: Sequence[Snapshot], means: Means) -> tuple[FloatArray, IntArray]:
        draws = Draws(self.problem, np.random.default_rng([*self.seed, self.sent]))
        drawn = expected(self.annealing.path, np.stack([s.N for s in samples]), draws)
        placed = [self.regions.bring_home(x) for x in drawn]
        starts = np.stack([home.apply(s.N) for home, s in zip(placed, samples, strict=True)])
        seed = (*self.seed, self.sent)
        new = self.annealing.backwards(starts, self.steps, seed, means)
        return new, np.arange(len(samples))


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
