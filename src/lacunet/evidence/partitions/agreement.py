"""Whether chains agree: those that are stuck in different places must not be averaged."""

import numpy as np

from lacunet.flags import Flag, Kind
from lacunet.runtime.arrays import FloatArray

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
