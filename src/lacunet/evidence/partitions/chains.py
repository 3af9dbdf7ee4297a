"""Chains over partitions: starts, transitions, and convergence diagnostics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from lacunet.evidence.annealing import RunContext, TimeLimit
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
TRAVELLED = 0.5  # share of the chains that must visit every number of blocks
MATTERS = 0.01  # whose posterior is at least this


@dataclass(frozen=True, eq=False)
class PartitionChain:
    """The state of a chain, with its random generator."""

    leaves: Leaves
    at: Partition
    rng: np.random.Generator


@dataclass(frozen=True, eq=False)
class Stretch:
    """A piece of a walk: its weights and its length. S priors, B numbers of blocks."""

    levels: LevelWeights
    sweeps: int
    priors: Priors | None = None  # among which chains move; None: they keep their prior
    log_weights: FloatArray | None = None  # (S, B) of the priors


def start_chain(
    leaves: Leaves, blocks: IntArray, most: int, rng: np.random.Generator, prior: int = 0
) -> PartitionChain:
    """Start a chain at given blocks, numbered without gaps; the walk may have `most` of them.

    `prior` is the index of the prior of `leaves` among several.
    """
    at = _empty_partition(leaves, most, prior)
    at.block[:], at.used[0] = blocks, blocks.max() + 1
    kernels.fill(leaves, at)
    return PartitionChain(leaves, at, rng)


def _empty_partition(leaves: Leaves, most: int, prior: int) -> Partition:
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
    """Start all chains: of four, one with few blocks, one with many, two at fits.

    Overdispersed starts make agreement of chains meaningful. Several priors are used in turn;
    `fits` are parameters by number of classes.
    """
    known, chains = [k for k in sorted(fits) if first <= k <= last], []
    for n in range(CHAINS):
        rng = np.random.default_rng([seed, STREAM, n])
        prior = n // START_KINDS % len(leaves)
        data = leaves[prior]
        if n % 2 == 0 or not known:  # sequential: each case by its odds given those before
            at = _empty_partition(data, last, prior)
            blocks = last if n % START_KINDS else first
            kernels.deal(data, at, rng.permutation(len(data.row)), blocks, rng)
            chains.append(PartitionChain(data, at, rng))
        else:
            k = known[n // 2 % len(known)]
            weights = log_class_weights(with_classes(problem, k), fits[k])
            blocks_of_cases = draw_blocks(weights[leaves[0].row], rng)
            chains.append(start_chain(data, blocks_of_cases, last, rng, prior))
    return chains


def advance_chain(stretch: Stretch, chain: PartitionChain) -> tuple[PartitionChain, Notes]:
    """Advance a chain by a stretch; return its state and its notes."""
    numbers, priors, log_weights = len(stretch.levels.rise), stretch.priors, stretch.log_weights
    if priors is None or log_weights is None:
        priors, log_weights = joined_priors([chain.leaves]), np.zeros((1, numbers))
    notes = empty_notes(numbers, len(log_weights))
    levels, sweeps = stretch.levels, stretch.sweeps
    walk(chain.leaves, priors, chain.at, levels, log_weights, sweeps, notes, chain.rng)
    return chain, notes


def empty_notes(numbers: int, priors: int = 1, *chains: int) -> Notes:
    """Empty notes of one chain or of several."""
    shapes = (KINDS, numbers, 3), (numbers, 3), (numbers, priors)
    return Notes(*(np.zeros((*chains, *shape)) for shape in shapes))


def joined_priors(each: Sequence[Leaves]) -> Priors:
    """Several priors of the same cases as arrays for the kernels."""
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


STATE_OF_CHAIN = Packing(_pack, _unpack)  # without the cases


def r_hat(energy: FloatArray, shares: FloatArray) -> float:
    """R̂ of the log weights of partitions, within each number of blocks, over chains.

    `energy`, (chains, numbers of blocks, 3), has sweeps, sum and sum of squares, of chains or
    halves of chains. Numbers of blocks are weighted by their posterior, `shares`, because chains
    spend different times at each.
    """
    sweeps, total, squares = (energy[..., place] for place in range(3))
    seen = sweeps.sum(axis=0)
    of_chain = np.divide(total, sweeps, out=np.zeros_like(total), where=sweeps > 0)
    mean = np.divide(total.sum(axis=0), seen, out=np.zeros_like(seen), where=seen > 0)
    weights = np.divide(shares, seen, out=np.zeros_like(seen), where=seen > 0)
    within = float(((squares - sweeps * of_chain**2).sum(axis=0) * weights).sum())
    variance_between = float(((sweeps * (of_chain - mean) ** 2).sum(axis=0) * weights).sum())
    # The variance within is 0 if all chains visited one and the same partition.
    return float(np.sqrt((within + variance_between) / within)) if within > 0 else 1.0


def agreement_flags(energy: FloatArray, shares: FloatArray) -> tuple[Flag, ...]:
    """Flags if chains disagree; `shares` are posteriors of the numbers of blocks."""
    # The share of chains at the number of blocks that the fewest chains visited.
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
    N: FloatArray  # hidden counts in the layout of the model with m classes
    chain: int  # number of the independent chain


class PosteriorWalk:
    """Chains from several fits, of any length, with their samples."""

    def __init__(
        self, problem: Problem, fits: Sequence[FloatArray], chains: int, seed: int
    ) -> None:
        """Start chains at fits, in turn; each draws a partition given the parameters."""
        leaves = leaves_of(problem)
        self.number, self.most = chains, min(classes_of(problem.network).number, len(leaves.row))
        weights = [log_class_weights(problem, theta) for theta in fits]
        self.statistics, self.collected = PartitionStatistics(problem), list[WalkSample]()
        self.chains = list[PartitionChain]()
        for n in range(chains):
            rng = np.random.default_rng([seed, POSTERIOR_STREAM, n])
            blocks = draw_blocks(weights[n % len(fits)][leaves.row], rng)
            self.chains.append(start_chain(leaves, blocks, self.most, rng))
        rise = np.maximum(self.most - np.arange(self.most + 2.0), 0.0)
        self.levels = LevelWeights(rise, np.ones(len(rise)))

    def advance(self, sweeps: int, context: RunContext, *, samples: int) -> None:
        """Advance every chain, with so many sweeps per sample; without samples, once."""
        stretch = Stretch(self.levels, sweeps)
        piece = partial(_sampled, self.statistics, stretch, samples, context.limit)
        walked = context.map(piece, list(enumerate(self.chains)))
        self.chains = [chain for chain, _ in walked]
        # Samples are ordered by time, then by chain.
        every = zip(*(samples for _, samples in walked), strict=True)
        self.collected += [one for at_once in every for one in at_once]

    def shares(self, without: int = -1, starts: int = 1) -> FloatArray:
        """Share of samples with each number of used classes, (k + 1,), without those of a start."""
        used = [s.used for s in self.collected if s.chain % starts != without]
        return np.bincount(used, minlength=self.most + 1) / max(1, len(used))


def _sampled(
    statistics: PartitionStatistics,
    stretch: Stretch,
    samples: int,
    limit: TimeLimit,
    numbered: tuple[int, PartitionChain],
) -> tuple[PartitionChain, list[WalkSample]]:
    number, chain = numbered
    collected = list[WalkSample]()
    for _ in range(max(1, samples)):
        limit.check()
        chain, _ = advance_chain(stretch, chain)
        if samples:
            N = statistics.of(chain.leaves.row, chain.at.block)
            collected.append(WalkSample(int(chain.at.used[0]), N, number))
    return chain, collected
