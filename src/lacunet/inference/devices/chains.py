"""What is asked of a device that moves chains: where they go, and what it needs to know of a path.

A chain's state are counts of hidden states, whole numbers, by block of the packed rows. Its moves
are Gibbs sweeps at an inverse temperature of a path (`evidence.path`), and its weight is a sum of
differences of log densities. Random numbers are counted, not drawn in a row: Philox4x32-10 of
(number, try, sweep and use, chain), so that chains do not depend on who else moves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from lacunet.inference.devices.packing import PackedRows
from lacunet.runtime.arrays import FloatArray, IndexArray, IntArray


@dataclass(frozen=True, eq=False)
class Journey:
    """What chains do: weigh, move, weigh, move, …, weigh. S moves."""

    moves: FloatArray  # (S,) inverse temperatures of the sweeps
    # (S + 1,) before each and after the last a log weight grows by log f_upper − log f_lower
    upper: FloatArray
    lower: FloatArray

    @classmethod
    def upwards(cls, steps: int) -> Self:
        """From the reference to the posterior: a chain is weighed, then moved."""
        b = temperatures(steps)
        return cls(b[1:], np.append(b[1:], 1.0), b)

    @classmethod
    def downwards(cls, steps: int) -> Self:
        """From the posterior to the reference: a chain is moved, then weighed."""
        b = temperatures(steps)[::-1]
        return cls(b[:-1], np.append(1.0, b[:-1]), b)

    @classmethod
    def staying(cls, b: float, sweeps: int) -> Self:
        """So many sweeps where it is; nothing is weighed."""
        here = np.full(sweeps + 1, b)
        return cls(here[1:], here, here)

    def pieces(self, moves: int) -> Iterator[Journey]:
        """Cut it into journeys of at most so many moves, one after the other."""
        for first in range(0, len(self.moves), moves):
            last = min(first + moves, len(self.moves))
            upper, lower = (x[first : last + 1].copy() for x in (self.upper, self.lower))
            if last < len(self.moves):
                upper[-1] = lower[-1]  # the next one weighs it
            yield Journey(self.moves[first:last], upper, lower)


def temperatures(steps: int) -> FloatArray:
    """Inverse temperatures from 0 to 1."""
    return np.linspace(0.0, 1.0, steps + 1)


@dataclass(frozen=True, eq=False)
class PackedPath:
    """A path from a reference to a posterior, by block: B of K numbers, Q configurations."""

    rows: PackedRows
    owner: IndexArray  # (B, K) the configuration of each number: those of one sum to 1
    alpha: FloatArray  # (B, K) exponents of the prior
    seen: FloatArray  # (B, K) cases that were seen whole
    exponents: FloatArray  # (B, K) of the reference,
    counts: FloatArray  # (B, K) the same less α,
    log_weights: FloatArray  # (B, K) and its log weights of hidden states
    slope: float  # of what of log f_b depends on b alone
    watched: int  # the block whose numbers must all be above 0; −1: counts may be anything

    @property
    def often(self) -> IndexArray:
        """Cases of each row, (m,)."""
        return self.rows.counts.astype(np.int32)

    @property
    def written_out(self) -> tuple[IndexArray, IndexArray]:
        """The patterns of each row, (m, G), and its blocks, (m, families); −1: none."""
        patterns = (self.rows.first[:, None] + self.rows.bytes).T.astype(np.int32)
        blocks = self.rows.parts[patterns].reshape(len(patterns), -1)
        there = (blocks >= 0).any(axis=0)
        return np.ascontiguousarray(patterns), np.ascontiguousarray(blocks[:, there])

    @property
    def members(self) -> tuple[IndexArray, IndexArray]:
        """The numbers of every configuration: where each begins, (Q + 1,), and which, (B K,)."""
        owner = self.owner.reshape(-1)
        order = np.argsort(owner, kind="stable").astype(np.int32)
        starts = np.searchsorted(owner[order], np.arange(owner.max() + 2))
        return starts.astype(np.int32), order

    @property
    def sums(self) -> FloatArray:
        """Sums of α by configuration, (Q,)."""
        return self.by_configuration(self.alpha)

    def by_configuration(self, x: FloatArray) -> FloatArray:
        """Add up numbers of blocks, (B, K), by configuration, (Q,)."""
        found = np.bincount(self.owner.reshape(-1), x.reshape(-1))
        return np.asarray(found, dtype=np.float64)

    @property
    def touched(self) -> float:
        """Numbers that a sweep of one chain touches, about; a draw of a parameter is dear."""
        groups, m = self.rows.bytes.shape
        return float(m * groups * self.rows.cells + 50 * self.owner.size)


@dataclass(frozen=True, eq=False)
class Who:
    """Which chains: all their random numbers follow from this."""

    key: tuple[int, int]  # of 32 bits each
    chains: IntArray  # (chains,) their numbers
    sweep: int  # the number of the next one

    @classmethod
    def of(cls, seed: Sequence[int], chains: IntArray) -> Self:
        """Chains of a stream of random numbers that are about to start."""
        k, m = np.random.SeedSequence(seed).generate_state(2).tolist()
        return cls((k, m), chains, 0)


class ChainsThere(ABC):
    """Chains of one path that a device moves."""

    @abstractmethod
    def travel(self, N: FloatArray, journey: Journey, who: Who) -> tuple[FloatArray, FloatArray]:
        """Where chains at N, (chains, B, K), end, and what their weights grow by, (chains,)."""
