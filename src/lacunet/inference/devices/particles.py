"""What is asked of a device that has particles take in cases: many runs of them, in step.

A run has its own order of the cases. Its particles take in one after the other until too few of
them count; then whoever asked says which go on, and the device moves those by Gibbs sweeps over the
cases so far. Random numbers are counted (`devices.chains`): a run is the same whoever else runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lacunet.inference.devices.chains import PackedPath, Who
from lacunet.runtime.arrays import FloatArray, IndexArray, IntArray


@dataclass(frozen=True, eq=False)
class PackedRuns:
    """Cases of several runs. R runs of P particles, N cases, m rows."""

    path: PackedPath  # to the posterior; where it comes from says nothing here
    orders: IndexArray  # (R, N) the row of each case, as each run takes them in
    particles: int  # P
    who: Who  # the numbers of all particles, run by run, (R P,)

    @property
    def exponents(self) -> FloatArray:
        """Those of the prior, and what was seen whole, (B, K)."""
        return self.path.alpha + self.path.seen

    @property
    def sums(self) -> FloatArray:
        """Their sums by configuration, (Q,)."""
        return self.path.by_configuration(self.exponents)

    @cached_property
    def rows(self) -> int:
        """Number of distinct rows, m."""
        return int(self.path.rows.bytes.shape[1])

    def so_far(self, taken: IntArray, runs: IntArray) -> IndexArray:
        """How often each row was taken in by some runs, (runs, m)."""
        counts = [np.bincount(self.orders[r, : taken[r]], minlength=self.rows) for r in runs]
        return np.array(counts, dtype=np.int32)


class RunsThere(ABC):
    """Particles of several runs on a device; none has taken in a case at first."""

    @abstractmethod
    def take_in(self, least: float) -> tuple[FloatArray, IntArray]:
        """Let runs take in cases until fewer than `least` of their particles count.

        Gives log weights, (R, P), and how many cases each has taken in so far, (R,).
        """

    @abstractmethod
    def renew(self, runs: IntArray, chosen: IntArray, sweeps: int) -> None:
        """Let chosen particles, (runs, P), go on in some runs, all weighing the same, and move."""

    @property
    @abstractmethod
    def counts(self) -> FloatArray:
        """What particles have counted, (R, P, B, K)."""
