"""Chains over partitions: how one starts, and how it walks on.

Where chains over partitions start: at fits, and where cases fall by themselves.
Chains that walk over partitions, one after the other or side by side.
Whether chains agree: those that are stuck in different places must not be averaged.
Samples of the posterior of one latent class model: chains over partitions, as long as needed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from lacunet.evidence.annealing import Clock, RunContext
from lacunet.evidence.partitions.cases import Tally, draw_blocks, leaves_of, log_class_weights
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
from lacunet.runtime.checkpoint import Kept, Packing
from lacunet.runtime.executor import Executor

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


STREAM = 7  # of random numbers
START_KINDS = 4  # of starts


@dataclass(frozen=True, eq=False)
class Starts:
    """Places to start from, in turn: agreement of chains means something only if they differ."""

    problem: Problem
    leaves: Sequence[Leaves]  # the cases with each prior: chains start with one after the other
    fits: Mapping[int, FloatArray]  # parameters by number of classes
    first: int  # the smallest number of blocks,
    last: int  # and the largest
    seed: int

    def chain(self, number: int) -> Chain:
        """Start a chain: of four, one deals cases into few blocks, one into many, two at fits."""
        rng = np.random.default_rng([self.seed, STREAM, number])
        prior = number // START_KINDS % len(self.leaves)
        leaves = self.leaves[prior]
        known = [k for k in sorted(self.fits) if self.first <= k <= self.last]
        if number % 2 == 0 or not known:
            most = self.last if number % START_KINDS else self.first
            return deal_chain(leaves, most, self.last, rng, prior)
        blocks = self._at_fit(known[number // 2 % len(known)], rng)
        return start_chain(leaves, blocks, self.last, rng, prior)

    def _at_fit(self, k: int, rng: np.random.Generator) -> IntArray:
        problem = with_classes(self.problem, k)
        weights = log_class_weights(problem, self.fits[k])
        return draw_blocks(weights[self.leaves[0].row], rng)


CHAINS = 16


class Company:
    """Chains under way."""

    def __init__(self, starts: Starts, executor: Executor, kept: Kept) -> None:
        """Put chains where they start."""
        self.chains = [starts.chain(n) for n in range(CHAINS)]
        self.executor, self.kept = executor, kept

    def walk(self, stretch: Stretch) -> Notes:
        """Walk on with every chain; what each has seen, chains before all other axes."""
        go_on = partial(walk_on, stretch)
        walked = self.kept.map(go_on, self.chains, self.executor, packing=WHERE_CHAINS_STAND)
        self.chains = [chain for chain, _ in walked]
        seen = [notes for _, notes in walked]
        return Notes(*map(np.array, zip(*seen, strict=True)))


AGREED = 1.1  # R̂ up to which chains agree
TRAVELLED = 0.5  # part of the chains that must come to every number of blocks
MATTERS = 0.01  # that is at least so probable


def r_hat(energy: FloatArray, shares: FloatArray) -> float:
    """Compare chains by the log weights of their partitions, number of blocks by number of blocks.

    Chains in different places differ by more than their own spread allows. Each number of blocks
    counts by its posterior: chains need not have spent the same time at each, and most of it where
    least is known.

    Parameters
    ----------
    energy : (chains, numbers of blocks, 3)
        Sweeps, sum and sum of squares; chains may be halves of chains. See `Notes`.
    shares : (numbers of blocks,)
        Posterior of each.
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


def travelled(energy: FloatArray) -> float:
    """The part of chains that came to the number of blocks that fewest came to."""
    return float((energy[..., 0] > 0).mean(axis=0).min())


def doubts(energy: FloatArray, shares: FloatArray) -> tuple[Flag, ...]:
    """Say why chains cannot be trusted, if so; `shares` are posteriors of the numbers of blocks."""
    if (share := travelled(energy[:, shares >= MATTERS])) < TRAVELLED:
        return (Flag(Kind.CHAINS_STAY, detail={"share": share}),)
    if (apart := r_hat(energy, shares)) > AGREED:
        return (Flag(Kind.CHAINS_DISAGREE, detail={"r_hat": apart}),)
    return ()


POSTERIOR_STREAM = 11  # of random numbers


@dataclass(frozen=True, eq=False)
class WalkSample:
    """One sample."""

    used: int  # m, classes with a case
    N: FloatArray  # hidden counts in the layout of the model that has m classes
    chain: int  # which of the independent chains


class PosteriorWalk:
    """Chains from several fits, and the samples that they left."""

    def __init__(
        self, problem: Problem, fits: Sequence[FloatArray], chains: int, seed: int
    ) -> None:
        """Start chains at fits, in turn; each draws its own partition there."""
        leaves = leaves_of(problem)
        self.number, self.most = chains, min(classes_of(problem.network).number, len(leaves.row))
        weights = [log_class_weights(problem, theta) for theta in fits]
        self.tally, self.chains, self.kept = Tally(problem), list[Chain](), list[WalkSample]()
        for n in range(chains):
            rng = np.random.default_rng([seed, POSTERIOR_STREAM, n])
            blocks = draw_blocks(weights[n % len(fits)][leaves.row], rng)
            self.chains.append(start_chain(leaves, blocks, self.most, rng))

    @property
    def _levels(self) -> LevelWeights:
        rise = np.maximum(self.most - np.arange(self.most + 2.0), 0.0)
        return LevelWeights(rise, np.ones(len(rise)))

    def go_on(self, sweeps: int, context: RunContext, *, samples: int) -> None:
        """Walk on with every chain, so many sweeps to each sample; without samples, just walk."""
        piece = _Piece(self.tally, Stretch(self._levels, sweeps), samples, context.clock)
        walked = context.map(partial(_sampled, piece), list(enumerate(self.chains)))
        self.chains = [chain for chain, _ in walked]
        # Samples that were drawn at the same time stand together.
        self.kept += [
            one for at_once in zip(*(own for _, own in walked), strict=True) for one in at_once
        ]

    def shares(self, without: int = -1, starts: int = 1) -> FloatArray:
        """How often each number of classes was in use, (k + 1,), maybe without one start's."""
        used = [s.used for s in self.kept if s.chain % starts != without]
        return np.bincount(used, minlength=self.most + 1) / max(1, len(used))


@dataclass(frozen=True, eq=False)
class _Piece:
    """What a chain is to do."""

    tally: Tally
    stretch: Stretch  # to each sample
    samples: int  # to be kept
    clock: Clock


def _sampled(piece: _Piece, numbered: tuple[int, Chain]) -> tuple[Chain, list[WalkSample]]:
    """Walk on with one chain."""
    number, chain = numbered
    kept = list[WalkSample]()
    for _ in range(max(1, piece.samples)):
        piece.clock.check()
        chain, _ = walk_on(piece.stretch, chain)
        if piece.samples:
            used = int(chain.at.used[0])
            kept.append(WalkSample(used, piece.tally.of(chain.leaves.row, chain.at.block), number))
    return chain, kept
