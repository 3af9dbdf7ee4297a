"""A walk over partitions of the cases, sweep after sweep."""

from typing import Any, NamedTuple

from lacunet.arrays import FloatArray
from lacunet.inference.kernels.blocks import CASES, SPLITS, Leaves, Levels, Partition, sweep_cases
from lacunet.inference.kernels.splitting import log_block, split_or_merge
from lacunet.jit import kernel

TRIED = 2  # splits or merges tried in each sweep: about as much work as the sweep


class Notes(NamedTuple):
    """What a walk sees at each number of blocks. B numbers, from 0 up."""

    rates: FloatArray  # (kinds of moves, B, 3) tries, and rates of steps up and down, added up
    energy: FloatArray  # (B, 3) sweeps, and log weights of partitions: their sum, that of squares


@kernel
def walk(
    leaves: Leaves, at: Partition, levels: Levels, sweeps: int, notes: Notes, rng: Any
) -> None:
    """Walk, and note what is seen."""
    for _ in range(sweeps):
        sweep_cases(leaves, at, levels, notes.rates[CASES], rng)
        for _ in range(TRIED):
            split_or_merge(leaves, at, levels, notes.rates[SPLITS], rng)
        used, energy = at.used[0], 0.0
        for b in range(used):
            energy += log_block(leaves, at.blocks, b)
        notes.energy[used, 0] += 1.0
        notes.energy[used, 1] += energy
        notes.energy[used, 2] += energy * energy
