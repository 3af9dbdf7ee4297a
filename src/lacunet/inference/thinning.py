"""Fewer rows that stand for all of them."""

import numpy as np

from lacunet.arrays import FloatArray


def thinned(weights: FloatArray, rows: int) -> FloatArray:
    """Weights of about so many rows, at equal distances; their sum stays."""
    step = float(weights.sum()) / rows
    taken = np.searchsorted(np.cumsum(weights), (np.arange(rows) + 0.5) * step, side="right")
    drawn = np.bincount(np.minimum(taken, len(weights) - 1), minlength=len(weights))
    return np.asarray(drawn * step)
