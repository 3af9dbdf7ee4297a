"""Walks over partitions by the processor's own kernels, with the random numbers of a device."""

from dataclasses import replace

import numpy as np

from lacunet.evidence.partitions.chains import Stretch, start_chain, walk_on
from lacunet.inference.devices.walks import WalksThere

WORDS = 4  # that Philox makes at once


class TwinWalks(WalksThere):
    def __init__(self, cases):
        self.cases = cases

    def walk(self, walkers, levels, sweeps, notes=None):
        each = zip(walkers.blocks, walkers.keys, walkers.drawn, strict=True)
        ended = [self.one(*one, Stretch(levels, sweeps)) for one in each]
        blocks, drawn, seen = zip(*ended, strict=True)
        if notes is not None:
            notes.rates[:] += [own.rates for own in seen]
            notes.energy[:] += [own.energy for own in seen]
        return replace(walkers, blocks=np.array(blocks), drawn=np.array(drawn, dtype=np.uint64))

    def one(self, blocks, key, drawn, stretch):
        bits = np.random.Philox(key=key)
        rng = np.random.Generator(bits)
        rng.random(int(drawn))
        chain = start_chain(self.cases.leaves, blocks, self.cases.most, rng)
        chain, notes = walk_on(stretch, chain)
        state = bits.state
        drawn = (int(state["state"]["counter"][0]) - 1) * WORDS + state["buffer_pos"]
        return chain.at.block, drawn, notes
