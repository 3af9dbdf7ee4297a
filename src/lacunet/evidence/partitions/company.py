"""Who walks over partitions: the processor, chain by chain, or a device, with all chains at once.

On a device a chain is slower than here, but hundreds of them take no longer than one. So there are
more of them there, and their stretches are shorter.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial

import numpy as np

from lacunet.evidence.partitions.chains import (
    WHERE_CHAINS_STAND,
    Chain,
    Stretch,
    no_notes,
    smallest,
    walk_on,
)
from lacunet.evidence.partitions.starts import STREAM, Starts
from lacunet.inference.devices.device import Device
from lacunet.inference.devices.walks import WalkedCases, Walkers, WalksThere
from lacunet.inference.kernels.walking import Notes
from lacunet.runtime.checkpoint import Kept, Packing
from lacunet.runtime.executor import SERIAL, Executor

CHAINS = 16  # that the processor walks with,
CHAINS_THERE = 512  # and a device,
SHORTER = 4  # each a quarter of the sweeps of a stretch: eight times as many in all
AT_ONCE = 50  # sweeps that a device walks in one call


class Company(ABC):
    """Chains under way."""

    number: int  # of chains
    shorter: int = 1  # how many times shorter than usual their stretches may be

    @abstractmethod
    def walk(self, stretch: Stretch) -> Notes:
        """Walk on with every chain; what each has seen, chains before all other axes."""


def gather(starts: Starts, executor: Executor, kept: Kept, device: Device | None) -> Company:
    """Put chains where they start. A device knows categories, and one prior of them."""
    one = starts.leaves[0]
    if device is None or one.numbers is not None or len(starts.leaves) > 1:
        return Here([starts.chain(n) for n in range(CHAINS)], executor, kept)
    blocks = [starts.chain(n).at.block for n in range(CHAINS_THERE)]
    walkers = Walkers.start(blocks, [[starts.seed, STREAM, n, 1] for n in range(CHAINS_THERE)])
    return There(device.walk_over(WalkedCases(one, starts.last)), walkers, kept)


class Here(Company):
    """Chains that the processor walks with."""

    def __init__(self, chains: Sequence[Chain], executor: Executor, kept: Kept) -> None:
        self.chains, self.executor, self.kept = list(chains), executor, kept
        self.number = len(self.chains)

    def walk(self, stretch: Stretch) -> Notes:
        """Walk with one after the other."""
        go_on = partial(walk_on, stretch)
        walked = self.kept.map(go_on, self.chains, self.executor, packing=WHERE_CHAINS_STAND)
        self.chains = [chain for chain, _ in walked]
        seen = [notes for _, notes in walked]
        return Notes(*map(np.array, zip(*seen, strict=True)))


class There(Company):
    """Chains that a device walks with."""

    shorter = SHORTER

    def __init__(self, walks: WalksThere, walkers: Walkers, kept: Kept) -> None:
        self.walks, self.walkers, self.kept = walks, walkers, kept
        self.number = len(walkers.blocks)

    def walk(self, stretch: Stretch) -> Notes:
        """Walk with all at once."""
        go_on = partial(_walk_there, self.walks, stretch)
        ((self.walkers, notes),) = self.kept.map(go_on, [self.walkers], SERIAL, packing=SMALLER)
        return notes


def _walk_there(walks: WalksThere, stretch: Stretch, walkers: Walkers) -> tuple[Walkers, Notes]:
    chains, numbers = len(walkers.blocks), len(stretch.levels.rise)
    notes = no_notes(numbers, 1, chains)
    for first in range(0, stretch.sweeps, AT_ONCE):  # who interrupts waits for one of them
        sweeps = min(AT_ONCE, stretch.sweeps - first)
        walkers = walks.walk(walkers, stretch.levels, sweeps, notes)
    notes.priors[...] = notes.energy[..., :1]  # there is one prior only
    return walkers, notes


def _pack(_: Walkers, walked: tuple[Walkers, Notes]) -> tuple[Walkers, Notes]:
    walkers, notes = walked
    return Walkers(smallest(walkers.blocks), walkers.keys, walkers.drawn), notes


def _unpack(_: Walkers, told: tuple[Walkers, Notes]) -> tuple[Walkers, Notes]:
    walkers, notes = told
    return Walkers(walkers.blocks.astype(np.int64), walkers.keys, walkers.drawn), notes


SMALLER = Packing(_pack, _unpack)
