"""What every crossing has: who crossed, and the mass that they tell."""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from scipy.special import expit

from lacunet.evidence.bridge import log_bridge, log_bridges
from lacunet.evidence.clock import Means
from lacunet.evidence.estimate import log_mean
from lacunet.evidence.partitions.posterior import Snapshot
from lacunet.evidence.path import Reference
from lacunet.evidence.used_classes import all_used
from lacunet.inference.problem import Problem
from lacunet.inference.regions import Regions
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
