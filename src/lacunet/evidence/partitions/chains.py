"""Chains over partitions: how one starts, and how it walks on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lacunet.inference.kernels import blocks as kernels
from lacunet.inference.kernels.blocks import BlockCounts, Leaves, LevelWeights, Partition
from lacunet.inference.kernels.lanes import padded
from lacunet.inference.kernels.number_blocks import NumberPriors
from lacunet.inference.kernels.splitting import Notes, Priors, walk
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.runtime.checkpoint import Packing

KINDS = 2  # of moves


@dataclass(frozen=True, eq=False)
class Chain:
    """Where a chain stands, with a generator of its own."""

    leaves: Leaves
    at: Partition
    rng: np.random.Generator


@dataclass(frozen=True, eq=False)
class AmongPriors:
    """Priors that chains move among. S priors, B numbers of blocks."""

    priors: Priors
    log_weights: FloatArray  # (S, B) of each beside the others, by number of blocks

    @property
    def number(self) -> int:
        """How many there are."""
        return len(self.log_weights)


@dataclass(frozen=True, eq=False)
class Stretch:
    """A piece of a walk: which weights, and how long."""

    levels: LevelWeights
    sweeps: int
    among: AmongPriors | None = None  # None: the prior that chains started with


def start_chain(
    leaves: Leaves, blocks: IntArray, most: int, rng: np.random.Generator, prior: int = 0
) -> Chain:
    """Put the cases into blocks, numbered without gaps; there may be `most` in the walk.

    `prior` is the place of that of `leaves` among several.
    """
    at = _nowhere(leaves, most, prior)
    at.block[:], at.used[0] = blocks, blocks.max() + 1
    kernels.fill(leaves, at)
    return Chain(leaves, at, rng)


def deal_chain(
    leaves: Leaves, number: int, most: int, rng: np.random.Generator, prior: int = 0
) -> Chain:
    """Deal the cases out in random order, each where those before it say, into some blocks."""
    at = _nowhere(leaves, most, prior)
    kernels.deal(leaves, at, rng.permutation(len(leaves.row)), number, rng)
    return Chain(leaves, at, rng)


def walk_on(stretch: Stretch, chain: Chain) -> tuple[Chain, Notes]:
    """Walk a stretch; tell where it ends, and what was seen."""
    numbers = len(stretch.levels.rise)
    among = stretch.among or alone(chain.leaves, numbers)
    notes = no_notes(numbers, among.number)
    levels, sweeps = stretch.levels, stretch.sweeps
    walk(chain.leaves, among.priors, chain.at, levels, among.log_weights, sweeps, notes, chain.rng)
    return chain, notes


def no_notes(numbers: int, priors: int = 1, *chains: int) -> Notes:
    """Notes of nothing yet, of one chain or of several."""
    shapes = (KINDS, numbers, 3), (numbers, 3), (numbers, priors)
    return Notes(*(np.zeros((*chains, *shape)) for shape in shapes))


def joined_priors(each: Sequence[Leaves]) -> Priors:
    """Write what the same cases have of several priors as arrays."""
    numbers = None
    if each[0].numbers is not None:
        numbers = NumberPriors(
            np.stack([leaves.numbers.prior for leaves in each]),
            np.stack([leaves.numbers.gamma_at for leaves in each]),
        )
    return Priors(
        np.stack([leaves.prior for leaves in each]),
        np.array([leaves.a for leaves in each]),
        np.array([leaves.log_empty for leaves in each]),
        numbers,
    )


def alone(leaves: Leaves, numbers: int) -> AmongPriors:
    """One prior, and no other to move to."""
    return AmongPriors(joined_priors([leaves]), np.zeros((1, numbers)))


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


def _nowhere(leaves: Leaves, most: int, prior: int) -> Partition:
    columns = padded(most + 2)
    return Partition(
        np.zeros(len(leaves.row), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.full(1, prior, dtype=np.int64),
        _empty(leaves, columns),
        _empty(leaves, padded(2)),
        *np.ones((3, columns)),
    )


def _empty(leaves: Leaves, columns: int) -> BlockCounts:
    return BlockCounts(
        np.zeros(columns),
        np.repeat(leaves.prior[:, None], columns, axis=1),
        None if leaves.numbers is None else np.repeat(leaves.numbers.prior[None], columns, axis=0),
    )
