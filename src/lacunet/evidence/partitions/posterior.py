"""Samples of the posterior of one latent class model: chains over partitions, as long as needed.

The weights are those of the model itself: a partition into m blocks stands for k!/(k − m)! ways to
label them. Splits and merges leave modes that no Gibbs sweep leaves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from lacunet.evidence.clock import Clock, Means
from lacunet.evidence.partitions.cases import draw_blocks, leaves_of, log_class_weights
from lacunet.evidence.partitions.chains import Chain, Stretch, start_chain, walk_on
from lacunet.evidence.partitions.tally import Tally
from lacunet.inference.kernels.blocks import LevelWeights
from lacunet.inference.problem import Problem
from lacunet.models.latent_class import classes_of
from lacunet.runtime.arrays import FloatArray

STREAM = 11  # of random numbers


@dataclass(frozen=True, eq=False)
class Snapshot:
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
        self.tally, self.chains, self.kept = Tally(problem), list[Chain](), list[Snapshot]()
        for n in range(chains):
            rng = np.random.default_rng([seed, STREAM, n])
            blocks = draw_blocks(weights[n % len(fits)][leaves.row], rng)
            self.chains.append(start_chain(leaves, blocks, self.most, rng))

    @property
    def _levels(self) -> LevelWeights:
        rise = np.maximum(self.most - np.arange(self.most + 2.0), 0.0)
        return LevelWeights(rise, np.ones(len(rise)))

    def go_on(self, sweeps: int, means: Means, *, samples: int) -> None:
        """Walk on with every chain, so many sweeps to each sample; without samples, just walk."""
        piece = _Piece(self.tally, Stretch(self._levels, sweeps), samples, means.clock)
        walked = means.map(partial(_sampled, piece), list(enumerate(self.chains)))
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


def _sampled(piece: _Piece, numbered: tuple[int, Chain]) -> tuple[Chain, list[Snapshot]]:
    """Walk on with one chain."""
    number, chain = numbered
    kept = list[Snapshot]()
    for _ in range(max(1, piece.samples)):
        piece.clock.check()
        chain, _ = walk_on(piece.stretch, chain)
        if piece.samples:
            used = int(chain.at.used[0])
            kept.append(Snapshot(used, piece.tally.of(chain.leaves.row, chain.at.block), number))
    return chain, kept
