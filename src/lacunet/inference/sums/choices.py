"""How many ways there are to fill the holes of equal cases, and what each is."""

import math
from collections.abc import Iterator

import numpy as np

from lacunet.inference.problem import Problem
from lacunet.runtime.arrays import FloatArray, IntArray


def choice_sizes(problem: Problem) -> Iterator[tuple[int, int]]:
    """Cases w and cells K of each distinct component, without writing its cells out."""
    for plan in problem.components.plans:
        for w, cells in zip(plan.counts, plan.sizes(), strict=True):
            yield int(w), int(cells)


def compositions(cases: int, cells: int) -> IntArray:
    """All ways to share cases out to cells, (ways, cells).

    >>> compositions(2, 2).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    left = np.array([cases], dtype=np.int64)
    taken = np.zeros((1, 0), dtype=np.int64)
    for _ in range(cells - 1):
        options = left + 1
        which = np.repeat(np.arange(len(left)), options)
        first = np.cumsum(options) - options
        here = np.arange(len(which)) - first[which]
        taken = np.column_stack([taken[which], here])
        left = left[which] - here
    return np.column_stack([taken, left])


def ways(cases: int, cells: int) -> int:
    """Count the compositions."""
    return math.comb(cases + cells - 1, min(cases, cells - 1))


def log_ways(cases: int, cells: int) -> float:
    """Log of that number, also where it has millions of digits."""
    fewer, more = sorted((cases, cells - 1))
    if more > 1 << 50:  # more is all that counts, and no float may hold it
        return fewer * math.log(more) - math.lgamma(fewer + 1)
    return float(np.sum(np.log1p(more / np.arange(1.0, fewer + 1))))


def log_multinomials(shares: IntArray) -> FloatArray:
    """Log of the number of ways to order the cases of each composition, (ways,)."""
    factorials = np.array([math.lgamma(n + 1) for n in range(int(shares[0].sum()) + 1)])
    orders: FloatArray = factorials[-1] - factorials[shares].sum(axis=1)
    return orders
