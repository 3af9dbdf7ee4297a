"""Fewer rows that stand for all of them."""

import numpy as np

from lacunet.arrays import FloatArray, IntArray


def at_equal_distances(weights: FloatArray, cases: int) -> tuple[IntArray, IntArray]:
    """Take so many cases at equal distances: the rows that have them, and how many each has."""
    along = (np.arange(cases) + 0.5) * (float(weights.sum()) / cases)
    found = np.searchsorted(np.cumsum(weights), along, side="right")
    return np.unique(np.minimum(found, len(weights) - 1), return_counts=True)


def thinned(weights: FloatArray, rows: int) -> FloatArray:
    """Weights of about so many rows, at equal distances; their sum stays."""
    taken, times = at_equal_distances(weights, rows)
    found = np.zeros(len(weights))
    found[taken] = times * (float(weights.sum()) / rows)
    return found
