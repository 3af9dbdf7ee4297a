"""Kernels of the sum over completions; in their tests a dictionary stands in their place.

Sorted tables of count vectors are merged by running through both, which keeps memory busy; a hash
table would wait for it, and was ten times slower.
"""

import math
from typing import NamedTuple

import numpy as np

from lacunet.inference.sums.packing import Digits
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.runtime.jit import kernel


class Vectors(NamedTuple):
    """A table of count vectors."""

    keys: IntArray  # (M, W) packed, each once, in lexicographic order
    log_ways: FloatArray  # (M,) log of the number of ways to each


class Anew(NamedTuple):
    """How count vectors are to be packed from now on, and room for them."""

    word: IntArray  # (D,) which of the integers a digit is in
    step: IntArray  # (D,) what one case adds to it
    place: IntArray  # (D,) the place that it counts
    keys: IntArray  # (M, W)


class Last(NamedTuple):
    """The ways to complete the last component; places that it does not raise stay as they are."""

    raised: IntArray  # places
    moves: IntArray  # (ways, raised) what each way adds to them
    log_moves: FloatArray  # (ways,) log of the orders of its cases


@kernel
def log_sum(x: float, y: float) -> float:
    """Log of exp x + exp y."""
    return max(x, y) + math.log1p(math.exp(-abs(x - y)))


@kernel
def compare(a: IntArray, i: int, b: IntArray, j: int) -> int:
    """Negative, zero or positive: row i of a comes before row j of b, is the same, comes after."""
    for w in range(a.shape[1]):
        if a[i, w] != b[j, w]:
            return -1 if a[i, w] < b[j, w] else 1
    return 0


@kernel
def merge_tables(
    keys: IntArray, log_ways: FloatArray, other_keys: IntArray, other_ways: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Merge two tables into one; the ways to equal vectors add up."""
    m, n, words = len(keys), len(other_keys), keys.shape[1]
    merged, total = np.empty((m + n, words), dtype=np.int64), np.empty(m + n)
    i = j = found = 0
    while i < m or j < n:
        order = -1 if j == n else 1 if i == m else compare(keys, i, other_keys, j)
        for w in range(words):
            merged[found, w] = other_keys[j, w] if order > 0 else keys[i, w]
        if order < 0:
            total[found] = log_ways[i]
        elif order > 0:
            total[found] = other_ways[j]
        else:
            total[found] = log_sum(log_ways[i], other_ways[j])
        i += order <= 0
        j += order >= 0
        found += 1
    return merged[:found].copy(), total[:found].copy()


@kernel
def merge_neighbours(keys: IntArray, log_ways: FloatArray) -> tuple[IntArray, FloatArray]:
    """Make sorted vectors a table, in place: equal ones become one."""
    found = 0
    for i in range(len(keys)):
        if found > 0 and compare(keys, found - 1, keys, i) == 0:
            log_ways[found - 1] = log_sum(log_ways[found - 1], log_ways[i])
            continue
        for w in range(keys.shape[1]):
            keys[found, w] = keys[i, w]
        log_ways[found] = log_ways[i]
        found += 1
    return keys[:found].copy(), log_ways[:found].copy()


@kernel
def unpack(digits: Digits, key: IntArray, counts: IntArray) -> None:
    """Write the counts of all places that a packed vector stands for."""
    places, length = digits.matrix.shape
    for p in range(places):
        n = digits.start[p]
        for d in range(length):
            digit = (key[digits.word[d]] // digits.step[d]) % digits.radix[d]
            n += digits.matrix[p, d] * digit
        counts[p] = int(n + 0.5)


@kernel
def close_places(
    digits: Digits, vectors: Vectors, tables: FloatArray, closing: IntArray, anew: Anew
) -> None:
    """Multiply the factors of some places in, and pack what is left anew (equal vectors stay)."""
    keys, log_ways = vectors
    word, step, place, new_keys = anew
    counts = np.empty(digits.matrix.shape[0], dtype=np.int64)
    new_keys[:] = 0
    for i in range(keys.shape[0]):
        unpack(digits, keys[i], counts)
        for p in closing:
            log_ways[i] += tables[p, counts[p]]
        for d in range(place.shape[0]):
            new_keys[i, word[d]] += counts[place[d]] * step[d]


@kernel
def sum_last(
    digits: Digits, vectors: Vectors, tables: FloatArray, others: IntArray, last: Last
) -> float:
    """Log Σ over count vectors and ways to complete the last component of Π over places."""
    keys, log_ways = vectors
    raised, moves, log_moves = last
    counts = np.empty(digits.matrix.shape[0], dtype=np.int64)
    x = np.empty(moves.shape[0])
    top, total = -np.inf, 0.0
    for i in range(keys.shape[0]):
        unpack(digits, keys[i], counts)
        base = log_ways[i]
        for p in others:
            base += tables[p, counts[p]]
        highest = -np.inf
        for m in range(moves.shape[0]):
            y = base + log_moves[m]
            for r in range(raised.shape[0]):
                y += tables[raised[r], counts[raised[r]] + moves[m, r]]
            x[m] = y
            highest = max(highest, y)
        if highest > top:
            total *= math.exp(top - highest)
            top = highest
        for m in range(moves.shape[0]):
            total += math.exp(x[m] - top)
    return top + math.log(total)
