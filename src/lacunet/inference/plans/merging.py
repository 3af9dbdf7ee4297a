"""Rows that are equal, and what they weigh together."""

from collections.abc import Sequence

import numpy as np

from lacunet.runtime.arrays import FloatArray, IntArray


def totals(index: IntArray, weights: FloatArray, length: int) -> FloatArray:
    """Sum the weights of each index."""
    return np.asarray(np.bincount(index, weights=weights, minlength=length), dtype=np.float64)


def distinct(
    columns: Sequence[IntArray], radix: Sequence[int], rows: int
) -> tuple[IntArray, IntArray]:
    """First row of each distinct combination of values, in their order, and each row's index."""
    key, top = np.zeros(rows, dtype=np.int64), 1
    for column, r in zip(columns, radix, strict=True):
        if top > np.iinfo(np.int64).max // r:  # would not fit: renumber what is there
            _, key = np.unique(key, return_inverse=True)
            top = int(key.max(initial=0)) + 1
        key = key * r + column
        top *= r
    _, first, index = np.unique(key, return_index=True, return_inverse=True)
    return first, index
