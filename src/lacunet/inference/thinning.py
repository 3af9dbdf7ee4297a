"""Fewer rows that stand for all of them."""

import numpy as np

from lacunet.runtime.arrays import FloatArray, IntArray

AT_ONCE = 1 << 20  # rows


def at_equal_distances(weights: FloatArray, cases: int) -> tuple[IntArray, IntArray]:
    """Take so many cases at equal distances: the rows that have them, and how many each has."""
    along = (np.arange(cases) + 0.5) * (float(weights.sum()) / cases)
    found, before, known = np.full(cases, len(weights) - 1), 0.0, 0
    for first in range(0, len(weights), AT_ONCE):  # sums of all rows may be too much for memory
        sums = before + np.cumsum(weights[first : first + AT_ONCE])
        here = along[known:] < sums[-1]
        some = slice(known, known + int(here.sum()))
        found[some] = first + np.searchsorted(sums, along[some], side="right")
        before, known = float(sums[-1]), some.stop
    return np.unique(found, return_counts=True)


def thinned(weights: FloatArray, rows: int) -> FloatArray:
    """Weights of about so many rows, at equal distances; their sum stays."""
    taken, times = at_equal_distances(weights, rows)
    found = np.zeros(len(weights))
    found[taken] = times * (float(weights.sum()) / rows)
    return found
