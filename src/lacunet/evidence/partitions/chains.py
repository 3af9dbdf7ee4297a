"""Chains over partitions: how one starts, and how it walks on."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from lacunet.arrays import IntArray
from lacunet.inference.kernels import blocks as kernels
from lacunet.inference.kernels.blocks import Blocks, Leaves, Levels, Partition
from lacunet.inference.kernels.lanes import padded
from lacunet.inference.kernels.walking import Notes, walk
from lacunet.kept import Packing

KINDS = 2  # of moves


@dataclass(frozen=True, eq=False)
class Chain:
    """Where a chain stands, with a generator of its own."""

    leaves: Leaves
    at: Partition
    rng: np.random.Generator


@dataclass(frozen=True, eq=False)
class Stretch:
    """A piece of a walk: which weights, and how long."""

    levels: Levels
    sweeps: int


def start_chain(leaves: Leaves, blocks: IntArray, most: int, rng: np.random.Generator) -> Chain:
    """Put the cases into blocks, numbered without gaps; there may be `most` in the walk."""
    at = _nowhere(leaves, most)
    at.block[:], at.used[0] = blocks, blocks.max() + 1
    kernels.fill(leaves, at)
    return Chain(leaves, at, rng)


def deal_chain(leaves: Leaves, number: int, most: int, rng: np.random.Generator) -> Chain:
    """Deal the cases out in random order, each where those before it say, into some blocks."""
    at = _nowhere(leaves, most)
    kernels.deal(leaves, at, rng.permutation(len(leaves.row)), number, rng)
    return Chain(leaves, at, rng)


def walk_on(stretch: Stretch, chain: Chain) -> tuple[Chain, Notes]:
    """Walk a stretch; tell where it ends, and what was seen."""
    numbers = len(stretch.levels.rise)
    notes = Notes(np.zeros((KINDS, numbers, 3)), np.zeros((numbers, 3)))
    walk(chain.leaves, chain.at, stretch.levels, stretch.sweeps, notes, chain.rng)
    return chain, notes


def smallest(blocks: IntArray) -> Any:
    """Write numbers of blocks with as few bytes as hold them."""
    return blocks.astype(np.min_scalar_type(int(blocks.max())))


def _pack(_: Chain, walked: tuple[Chain, Notes]) -> tuple[Partition, Any, Notes]:
    chain, notes = walked
    return chain.at._replace(block=smallest(chain.at.block)), chain.rng, notes


def _unpack(chain: Chain, told: tuple[Partition, Any, Notes]) -> tuple[Chain, Notes]:
    at, rng, notes = told
    return Chain(chain.leaves, at._replace(block=at.block.astype(np.int64)), rng), notes


WHERE_CHAINS_STAND = Packing(_pack, _unpack)  # the cases stay where they are


def _nowhere(leaves: Leaves, most: int) -> Partition:
    columns = padded(most + 2)
    return Partition(
        np.zeros(len(leaves.row), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        _empty(leaves, columns),
        _empty(leaves, padded(2)),
        *np.ones((3, columns)),
    )


def _empty(leaves: Leaves, columns: int) -> Blocks:
    return Blocks(
        np.zeros(columns),
        np.repeat(leaves.prior[:, None], columns, axis=1),
        None if leaves.numbers is None else np.repeat(leaves.numbers.prior[None], columns, axis=0),
    )
