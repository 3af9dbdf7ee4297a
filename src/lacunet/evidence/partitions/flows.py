"""Ratios of neighbouring sums over partitions, from the rates at which chains go up and down.

Within m blocks partitions come in proportion to their weight, whatever the weights for m. A move
that is in balance then carries as much up from m as down from m + 1, so

    Z_m E_m[rate up] = exp(reference) Z_{m+1} E_{m+1}[rate down],

for rates that are right where m + 1 blocks weigh exp(reference) times as much as m. The chain that
tells of them may have gone by other weights.
"""

import math

import numpy as np

from lacunet.inference.kernels.blocks import DOWN, TRIES, UP
from lacunet.runtime.arrays import FloatArray

HOPED = 0.1  # rate of the way back from where no chain has been yet, until one has
HARDLY = math.exp(-50.0)  # rate of a step that was tried often, and was never worth a note


def log_rates(rates: FloatArray, often: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Log of the mean number of steps up and down in a sweep, by number of blocks; NaN: not seen.

    Parameters
    ----------
    rates : (kinds of moves, numbers of blocks, 3)
        Of one chain, or added up over several.
    often : (kinds of moves,)
        How often a sweep makes each move.
    """
    tries = rates[..., TRIES]
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.log(often @ (rates[..., UP] / tries))
        down = np.log(often @ (rates[..., DOWN] / tries))
    return _finite(up), _finite(down)


def log_ratios(rates: FloatArray, reference: FloatArray, often: FloatArray) -> FloatArray:
    """Log Z_{m+1}/Z_m for m = 0, 1, …; NaN where chains have not been on both sides.

    `reference` has the log weight of m + 1 less that of m, for which rates were noted.
    """
    up, down = log_rates(rates, often)
    return up[:-1] - down[1:] - reference[:-1]


def hoped_ratios(rates: FloatArray, reference: FloatArray, often: FloatArray) -> FloatArray:
    """The same, to learn weights by: where one side was not seen, so that chains will go there."""
    up, down = log_rates(rates, often)
    known = up[:-1] - down[1:]
    been = rates[..., TRIES].sum(axis=0) > 0
    up, down = (np.where(been & np.isnan(x), math.log(HARDLY), x) for x in (up, down))
    # As likely back as from the neighbour that was seen: were the hope too small, nobody would go.
    back = up[:-1] - _at_least(HOPED, down[:-1])
    there = _at_least(HOPED, up[1:]) - down[1:]
    one_side = np.where(np.isnan(down[1:]), back, there)
    return np.where(np.isnan(known), one_side, known) - reference[:-1]


def _at_least(rate: float, logs: FloatArray) -> FloatArray:
    return np.fmax(logs, np.log(rate))


def carried_on(changes: FloatArray) -> FloatArray:
    """Give steps of which nothing is known, NaN, the change of the nearest one below or above.

    Guesses that are wrong are so in the same way for neighbours. Step by step chains would take a
    round for each number of blocks to come to those that nobody has seen.

    >>> carried_on(np.array([np.nan, 1.0, np.nan, 3.0, np.nan])).tolist()
    [1.0, 1.0, 1.0, 3.0, 3.0]
    """
    known = np.flatnonzero(np.isfinite(changes))
    if not len(known):
        return np.zeros_like(changes)
    below = np.searchsorted(known, np.arange(len(changes)), side="right") - 1
    return np.asarray(changes[known[np.maximum(below, 0)]])


def _finite(x: FloatArray) -> FloatArray:
    return np.where(np.isfinite(x), x, np.nan)
