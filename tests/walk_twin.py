"""Walks over partitions by the processor's own kernels, with the random numbers of a device."""

from dataclasses import replace

import numpy as np

from lacunet.evidence.partitions.chains import Stretch, start_chain, walk_on
from lacunet.inference.devices.walks import WalksThere
from lacunet.inference.kernels.blocks import Levels

WORDS = 4  # that Philox makes at once


class TwinWalks(WalksThere):
    def __init__(self, cases):
        self.cases = cases
        self.levels = Levels(cases.rise, np.ones(len(cases.rise)))

    def walk(self, walkers, sweeps):
        each = zip(walkers.blocks, walkers.keys, walkers.drawn, strict=True)
        ended = [self.one(*one, sweeps) for one in each]
        blocks, drawn = zip(*ended, strict=True)
        return replace(walkers, blocks=np.array(blocks), drawn=np.array(drawn, dtype=np.uint64))

    def one(self, blocks, key, drawn, sweeps):
        bits = np.random.Philox(key=key)
        rng = np.random.Generator(bits)
        rng.random(int(drawn))
        chain = start_chain(self.cases.leaves, blocks, self.cases.most, rng)
        chain, _ = walk_on(Stretch(self.levels, sweeps), chain)
        state = bits.state
        return chain.at.block, (int(state["state"]["counter"][0]) - 1) * WORDS + state["buffer_pos"]
