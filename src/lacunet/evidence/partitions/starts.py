"""Where chains over partitions start: at fits, and where cases fall by themselves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lacunet.evidence.partitions.cases import draw_blocks, log_class_weights
from lacunet.evidence.partitions.chains import Chain, deal_chain, start_chain
from lacunet.inference.classes import with_classes
from lacunet.inference.kernels.blocks import Leaves
from lacunet.inference.problem import Problem
from lacunet.runtime.arrays import FloatArray, IntArray

STREAM = 7  # of random numbers
KINDS = 4  # of starts


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
        prior = number // KINDS % len(self.leaves)
        leaves = self.leaves[prior]
        known = [k for k in sorted(self.fits) if self.first <= k <= self.last]
        if number % 2 == 0 or not known:
            most = self.last if number % KINDS else self.first
            return deal_chain(leaves, most, self.last, rng, prior)
        blocks = self._at_fit(known[number // 2 % len(known)], rng)
        return start_chain(leaves, blocks, self.last, rng, prior)

    def _at_fit(self, k: int, rng: np.random.Generator) -> IntArray:
        problem = with_classes(self.problem, k)
        weights = log_class_weights(problem, self.fits[k])
        return draw_blocks(weights[self.leaves[0].row], rng)
