"""Chains over partitions: how they start, how they walk on, and whether they agree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from lacunet.evidence.annealing import Clock, RunContext
from lacunet.evidence.partitions.cases import (
    PartitionStatistics,
    draw_blocks,
    leaves_of,
    log_class_weights,
)
from lacunet.flags import Flag, Kind
from lacunet.inference.classes import with_classes
from lacunet.inference.kernels import blocks as kernels
from lacunet.inference.kernels.blocks import BlockCounts, Leaves, LevelWeights, Partition
from lacunet.inference.kernels.lanes import padded
from lacunet.inference.kernels.number_blocks import NumberPriors
from lacunet.inference.kernels.splitting import Notes, Priors, walk
from lacunet.inference.problem import Problem
from lacunet.models.latent_class import classes_of
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.runtime.checkpoint import Packing

CHAINS = 16
KINDS = 2  # of moves
START_KINDS = 4  # of starts
STREAM, POSTERIOR_STREAM = 7, 11  # of random numbers
AGREED = 1.1  # R̂ up to which chains agree
TRAVELLED = 0.5  # part of the chains that must come to every number of blocks
MATTERS = 0.01  # that is at least so probable


@dataclass(frozen=True, eq=False)
class PartitionChain:
    """Where a chain stands, with a generator of its own."""

    leaves: Leaves
    at: Partition
    rng: np.random.Generator


@dataclass(frozen=True, eq=False)
class Stretch:
    """A piece of a walk: which weights, and how long. S priors, B numbers of blocks."""

    levels: LevelWeights
    sweeps: int
    priors: Priors | None = None  # that chains move among; None: the prior that they started with
    log_weights: FloatArray | None = None  # (S, B) of each beside the others


def start_chain(
    leaves: Leaves, blocks: IntArray, most: int, rng: np.random.Generator, prior: int = 0
) -> PartitionChain:
    """Put the cases into blocks, numbered without gaps; there may be `most` in the walk.

    `prior` is the place of that of `leaves` among several.
    """
    at = _nowhere(leaves, most, prior)
    at.block[:], at.used[0] = blocks, blocks.max() + 1
    kernels.fill(leaves, at)
    return PartitionChain(leaves, at, rng)


def _nowhere(leaves: Leaves, most: int, prior: int) -> Partition:
    def empty(columns: int) -> BlockCounts:
        table = np.repeat(leaves.prior[:, None], columns, axis=1)
        numbers = leaves.numbers
        if numbers is not None:
            numbers = np.repeat(numbers.prior[None], columns, axis=0)
        return BlockCounts(np.zeros(columns), table, numbers)

    columns = padded(most + 2)
    return Partition(
        np.zeros(len(leaves.row), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.full(1, prior, dtype=np.int64),
        empty(columns),
        empty(padded(2)),
        *np.ones((3, columns)),
    )


def several_starts(
    problem: Problem,
    leaves: Sequence[Leaves],
    fits: Mapping[int, FloatArray],
    first: int,
    last: int,
    seed: int,
) -> list[PartitionChain]:
    """Start all chains: of four, one deals cases into few blocks, one into many, two at fits.

    Agreement of chains means something only if their starts differ. With several priors one chain
    after the other starts with each; `fits` are parameters by number of classes.
    """
    known, chains = [k for k in sorted(fits) if first <= k <= last], []
    for n in range(CHAINS):
        rng = np.random.default_rng([seed, STREAM, n])
        prior = n // START_KINDS % len(leaves)
        own = leaves[prior]
        if n % 2 == 0 or not known:  # cases in random order, each by its odds given those before
            at = _nowhere(own, last, prior)
            blocks = last if n % START_KINDS else first
            kernels.deal(own, at, rng.permutation(len(own.row)), blocks, rng)
            chains.append(PartitionChain(own, at, rng))
        else:
            k = known[n // 2 % len(known)]
            weights = log_class_weights(with_classes(problem, k), fits[k])
            blocks_of_cases = draw_blocks(weights[leaves[0].row], rng)
            chains.append(start_chain(own, blocks_of_cases, last, rng, prior))
    return chains


def walk_on(stretch: Stretch, chain: PartitionChain) -> tuple[PartitionChain, Notes]:
    """Walk a stretch; give where it ends, and what was seen."""
    numbers, priors, log_weights = len(stretch.levels.rise), stretch.priors, stretch.log_weights
    if priors is None or log_weights is None:
        priors, log_weights = joined_priors([chain.leaves]), np.zeros((1, numbers))
    notes = no_notes(numbers, len(log_weights))
    levels, sweeps = stretch.levels, stretch.sweeps
    walk(chain.leaves, priors, chain.at, levels, log_weights, sweeps, notes, chain.rng)
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


def _pack(_: PartitionChain, walked: tuple[PartitionChain, Notes]) -> tuple[Partition, Any, Notes]:
    chain, notes = walked
    block = chain.at.block  # in as few bytes as hold it
    small: Any = block.astype(np.min_scalar_type(int(block.max())))
    return chain.at._replace(block=small), chain.rng, notes


def _unpack(
    chain: PartitionChain, packed: tuple[Partition, Any, Notes]
) -> tuple[PartitionChain, Notes]:
    at, rng, notes = packed
    at = at._replace(block=at.block.astype(np.int64))
    return PartitionChain(chain.leaves, at, rng), notes


STATE_OF_CHAIN = Packing(_pack, _unpack)  # the cases are not kept


def r_hat(energy: FloatArray, shares: FloatArray) -> float:
    """Compare chains by the log weights of their partitions, number of blocks by number of blocks.

    Chains in different places differ by more than their own spread allows. `energy`, (chains,
    numbers of blocks, 3), has sweeps, sum and sum of squares, of chains or halves of chains. Each
    number of blocks counts by its posterior, `shares`: chains need not have spent the same time at
    each, and most of it where least is known.
    """
    sweeps, total, squares = (energy[..., place] for place in range(3))
    seen = sweeps.sum(axis=0)
    own = np.divide(total, sweeps, out=np.zeros_like(total), where=sweeps > 0)
    mean = np.divide(total.sum(axis=0), seen, out=np.zeros_like(seen), where=seen > 0)
    weights = np.divide(shares, seen, out=np.zeros_like(seen), where=seen > 0)
    within = float(((squares - sweeps * own**2).sum(axis=0) * weights).sum())
    between = float(((sweeps * (own - mean) ** 2).sum(axis=0) * weights).sum())
    # Nothing varies where chains have come to one partition only, and the same one.
    return float(np.sqrt((within + between) / within)) if within > 0 else 1.0


def agreement_flags(energy: FloatArray, shares: FloatArray) -> tuple[Flag, ...]:
    """Say why chains cannot be trusted, if so; `shares` are posteriors of the numbers of blocks."""
    # The part of chains that came to the number of blocks that fewest came to.
    share = float((energy[:, shares >= MATTERS, 0] > 0).mean(axis=0).min())
    if share < TRAVELLED:
        return (Flag(Kind.CHAINS_STAY, detail={"share": share}),)
    if (apart := r_hat(energy, shares)) > AGREED:
        return (Flag(Kind.CHAINS_DISAGREE, detail={"r_hat": apart}),)
    return ()


@dataclass(frozen=True, eq=False)
class WalkSample:
    """One sample of the posterior of a latent class model."""

    used: int  # m, classes with a case
    N: FloatArray  # hidden counts in the layout of the model that has m classes
    chain: int  # which of the independent chains


class PosteriorWalk:
    """Chains from several fits, as long as needed, and the samples that they left."""

    def __init__(
        self, problem: Problem, fits: Sequence[FloatArray], chains: int, seed: int
    ) -> None:
        """Start chains at fits, in turn; each draws its own partition there."""
        leaves = leaves_of(problem)
        self.number, self.most = chains, min(classes_of(problem.network).number, len(leaves.row))
        weights = [log_class_weights(problem, theta) for theta in fits]
        self.statistics, self.kept = PartitionStatistics(problem), list[WalkSample]()
        self.chains = list[PartitionChain]()
        for n in range(chains):
            rng = np.random.default_rng([seed, POSTERIOR_STREAM, n])
            blocks = draw_blocks(weights[n % len(fits)][leaves.row], rng)
            self.chains.append(start_chain(leaves, blocks, self.most, rng))
        rise = np.maximum(self.most - np.arange(self.most + 2.0), 0.0)
        self.levels = LevelWeights(rise, np.ones(len(rise)))

    def go_on(self, sweeps: int, context: RunContext, *, samples: int) -> None:
        """Walk on with every chain, so many sweeps to each sample; without samples, just walk."""
        stretch = Stretch(self.levels, sweeps)
        piece = partial(_sampled, self.statistics, stretch, samples, context.clock)
        walked = context.map(piece, list(enumerate(self.chains)))
        self.chains = [chain for chain, _ in walked]
        # Samples that were drawn at the same time stand together.
        every = zip(*(own for _, own in walked), strict=True)
        self.kept += [one for at_once in every for one in at_once]

    def shares(self, without: int = -1, starts: int = 1) -> FloatArray:
        """How often each number of classes was in use, (k + 1,), maybe without one start's."""
        used = [s.used for s in self.kept if s.chain % starts != without]
        return np.bincount(used, minlength=self.most + 1) / max(1, len(used))


def _sampled(
    statistics: PartitionStatistics,
    stretch: Stretch,
    samples: int,
    clock: Clock,
    numbered: tuple[int, PartitionChain],
) -> tuple[PartitionChain, list[WalkSample]]:
    number, chain = numbered
    kept = list[WalkSample]()
    for _ in range(max(1, samples)):
        clock.check()
        chain, _ = walk_on(stretch, chain)
        if samples:
            N = statistics.of(chain.leaves.row, chain.at.block)
            kept.append(WalkSample(int(chain.at.used[0]), N, number))
    return chain, kept
