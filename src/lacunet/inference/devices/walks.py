"""What is asked of a device that walks over partitions: cases, and where chains stand.

Moves are those of `kernels.walking`, and so are their random numbers, in order: NumPy's Philox, of
which a chain has a key and how many it has drawn. A device walks as the processor does, as long as
nothing lies within rounding of a limit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lacunet.runtime.arrays import FloatArray, IntArray

if TYPE_CHECKING:  # compiled code is not for those who only name a device
    from lacunet.inference.kernels.blocks import Leaves, Levels
    from lacunet.inference.kernels.walking import Notes

KeyArray: TypeAlias = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class WalkedCases:
    """Cases to be parted."""

    leaves: Leaves  # none of which is a number
    most: int  # blocks

    @property
    def log_alone(self) -> FloatArray:
        """Log probability of each row in a block without cases, (R,)."""
        rows, prior = self.leaves.rows, np.log(self.leaves.prior)
        ends = np.concatenate([[0.0], np.cumsum(prior[rows.cells] - prior[rows.owners])])
        return np.asarray(ends[rows.starts[1:]] - ends[rows.starts[:-1]])


@dataclass(frozen=True, eq=False)
class Walkers:
    """Where chains stand, and what they will draw."""

    blocks: IntArray  # (chains, cases) numbered without gaps
    keys: KeyArray  # (chains, 2) of Philox,
    drawn: KeyArray  # (chains,) and how many numbers of it each has had

    @classmethod
    def start(cls, blocks: Sequence[IntArray], seeds: Sequence[Sequence[int]]) -> Self:
        """Put chains somewhere, each with a stream of its own."""
        keys = [np.random.SeedSequence(seed).generate_state(2, np.uint64) for seed in seeds]
        return cls(np.stack(blocks), np.stack(keys), np.zeros(len(blocks), dtype=np.uint64))


class WalksThere(ABC):
    """Cases that a device walks over."""

    @abstractmethod
    def walk(
        self, walkers: Walkers, levels: Levels, sweeps: int, notes: Notes | None = None
    ) -> Walkers:
        """Let every chain walk so many sweeps by weights for m = 0, 1, …, `most` + 1 blocks.

        What each sees is added to notes, with an axis for chains before all others.
        """
