"""Ratios of neighbouring sums over partitions, from the rates at which chains go up and down.

Within m blocks partitions come in proportion to their weight, whatever the weights for m. A move
that is in balance then carries as much up from m as down from m + 1, so

    Z_m E_m[rate up] exp(reference) = Z_{m+1} E_{m+1}[rate down],

for rates that would be right under the weights of the reference. Chains need not have used them.
"""

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.inference.kernels.partitions import DOWN, TRIES, UP


def log_ratios(notes: FloatArray, reference: FloatArray, often: FloatArray) -> FloatArray:
    """Log Z_{m+1}/Z_m for m = 0.. (NaN where no chain has been on both sides).

    Parameters
    ----------
    notes : (kinds of moves, numbers of blocks, 3)
        Of one chain, or added up over several.
    reference : (numbers of blocks,)
        Log weight of m + 1 less that of m, for which rates were noted.
    often : (kinds of moves,)
        How often a sweep makes each move.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        up = often @ np.nan_to_num(notes[:, :-1, UP] / notes[:, :-1, TRIES])
        down = often @ np.nan_to_num(notes[:, 1:, DOWN] / notes[:, 1:, TRIES])
        ratios = np.log(up) - np.log(down) - reference[:-1]
    return np.where((up > 0) & (down > 0), ratios, np.nan)


def leave_one_out(notes: FloatArray) -> FloatArray:
    """Add up the notes of all chains but one, for each: (chains, ...) → (chains, ...)."""
    return np.asarray(notes.sum(axis=0) - notes)


def jackknife_error(replicates: FloatArray) -> FloatArray:
    """Standard error of a value whose leave-one-out versions are given, (chains, ...) → (...)."""
    chains = len(replicates)
    return np.asarray(np.std(replicates, axis=0) * np.sqrt(chains - 1))
