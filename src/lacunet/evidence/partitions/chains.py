"""Chains over partitions: where they start, and how one walks on."""

from dataclasses import dataclass, replace

import numpy as np

from lacunet.arrays import FloatArray, IntArray
from lacunet.inference.kernels import partitions as kernels
from lacunet.inference.kernels.partitions import Columns, Leaves, Levels, Partition

KINDS = 2  # of moves


@dataclass(frozen=True, eq=False)
class Chain:
    """A chain with a generator of its own; walking on gives another."""

    leaves: Leaves
    at: Partition
    rng: np.random.Generator
    note: FloatArray  # (kinds of moves, numbers of blocks, 3) see `kernels.walk`; of the last walk


@dataclass(frozen=True, eq=False)
class Stretch:
    """A piece of a walk: which weights, and how long."""

    levels: Levels
    sweeps: int


def start_chain(leaves: Leaves, blocks: IntArray, most: int, rng: np.random.Generator) -> Chain:
    """Put the cases into blocks, numbered without gaps; there may be `most` in the walk."""
    # A start may use more blocks than the walk allows: it will close some.
    columns = max(most, int(blocks.max()) + 1) + 2
    used = int(blocks.max()) + 1
    at = Partition(
        blocks.copy(),
        np.array([used]),
        _columns(leaves, columns),
        _columns(leaves, 2),
    )
    kernels.fill(leaves, at)
    return Chain(leaves, at, rng, np.zeros((KINDS, columns, 3)))


def walk_on(stretch: Stretch, chain: Chain) -> Chain:
    """Walk a stretch."""
    note = np.zeros_like(chain.note)
    levels = _for_columns(stretch.levels, note.shape[1])
    kernels.walk(chain.leaves, chain.at, levels, stretch.sweeps, note, chain.rng)
    return replace(chain, note=note)


def _columns(leaves: Leaves, number: int) -> Columns:
    cells, variables = len(leaves.alpha), len(leaves.total)
    mean = (leaves.alpha / leaves.total[leaves.leaf])[:, None]
    return Columns(
        np.zeros(number),
        np.zeros((cells, number)),
        np.zeros((variables, number)),
        np.tile(mean, (1, number)),
    )


def _for_columns(levels: Levels, columns: int) -> Levels:
    """Say of numbers beyond the range of the walk that there is no way further up."""
    more = columns - len(levels.rise)
    return Levels(
        np.concatenate([levels.rise, np.full(more, -np.inf)]),
        np.concatenate([levels.reference, np.zeros(more)]),
    )
