"""How often a walk shall visit each number of blocks: where its error comes from."""

import numpy as np

from lacunet.evidence.jackknife import jackknife_error, leave_one_out
from lacunet.evidence.partitions.flows import log_rates
from lacunet.inference.kernels.blocks import TRIES
from lacunet.runtime.arrays import FloatArray

WORTH = 1e-3  # posterior of a number of blocks that is worth more than the survey
RAREST = 0.2  # of the most visits any number has: chains must get through


def by_shares(shares: FloatArray) -> FloatArray:
    """Log of visits by posteriors of numbers of blocks, before errors are known, (M,)."""
    return 0.5 * np.log(np.maximum(shares, WORTH))


def by_errors(
    rates: FloatArray, often: FloatArray, shares: FloatArray, first: int
) -> FloatArray | None:
    """Log of visits with which the posterior of the number of blocks is soonest known, (M,).

    The rate up from m, and that down from m + 1, are each known to an error that shrinks with the
    root of the visits there; each moves the posterior by what is below times what is above. A sum
    of such errors is smallest if visits go with the root of what one visit leaves of each. None: no
    error is known.

    Parameters
    ----------
    rates : (chains, kinds of moves, numbers of blocks, 3)
        Noted so far, from no block up.
    often : (kinds of moves,)
        How often a sweep makes each move.
    shares : (M,)
        Posterior of the number of blocks, from one up.
    first
        The fewest blocks that are visited: nobody asks for the way down from there.
    """
    one_less = np.array([log_rates(rest, often) for rest in leave_one_out(rates)])
    up, down = np.nan_to_num(jackknife_error(one_less))[:, 1 : len(shares) + 1]
    visits = rates[:, -1, 1 : len(shares) + 1, TRIES].sum(axis=0)
    below = np.cumsum(shares)
    moved = below * (1.0 - below)  # by the step from m to m + 1
    error = np.hypot(moved * up, np.concatenate([[0.0], moved[:-1]]) * down)
    error[first - 1] = moved[first - 1] * up[first - 1]
    wanted = error * np.sqrt(visits)
    if not wanted.max() > 0:
        return None
    return np.asarray(np.log(np.maximum(wanted, RAREST * wanted.max())))
