"""Merge clusters two by two, always the pair whose merging pays most: the loops that take the time.

A cluster is a vector of counts, one for each *place* at which rows are counted. What a cluster is
worth is a sum over places of a number that depends on the count there alone: it stands in a table,
so many positions after the first of that place. For the BD score (CH96 eq. 5) these numbers are
logarithms of gamma functions.
"""

import numpy as np

from lacunet.arrays import BoolArray, FloatArray, IndexArray, IntArray
from lacunet.jit import kernel


@kernel
def worth(positions: IndexArray, more: IndexArray, table: FloatArray) -> float:
    """Worth of a cluster whose counts stand at `positions`, with `more` counts: Σ over places."""
    w0 = w1 = w2 = w3 = 0.0  # four sums at a time: an addition need not wait for the one before
    whole = more.shape[0] // 4 * 4
    for p in range(0, whole, 4):
        w0 += table[positions[p] + more[p]]
        w1 += table[positions[p + 1] + more[p + 1]]
        w2 += table[positions[p + 2] + more[p + 2]]
        w3 += table[positions[p + 3] + more[p + 3]]
    for p in range(whole, more.shape[0]):
        w0 += table[positions[p] + more[p]]
    return (w0 + w1) + (w2 + w3)


@kernel
def find_partner(i: int, gains: FloatArray, alive: BoolArray, partner: IntArray) -> None:
    """Find the living cluster with which cluster i gains most; −1 where it is the last."""
    partner[i] = -1
    for j in range(gains.shape[1]):
        if alive[j] and j != i and (partner[i] < 0 or gains[i, j] > gains[i, partner[i]]):
            partner[i] = j


@kernel
def merge_greedily(
    counts: IndexArray,
    gains: FloatArray,
    first: IndexArray,
    table: FloatArray,
    keep: int,
    label: IntArray,
) -> None:
    """Merge the rows of `counts`, (m, places), until `keep` are left; `label` says into which.

    `gains`, (m, m), is what the merging of two rows adds to their worth. Each cluster remembers its
    best partner, so that a merge costs one row of gains. Counts and gains are used up.
    """
    m = counts.shape[0]
    alive = np.ones(m, dtype=np.bool_)
    partner = np.empty(m, dtype=np.int64)
    own = np.empty(m)
    for i in range(m):
        label[i] = i
        own[i] = worth(first, counts[i], table)
        find_partner(i, gains, alive, partner)
    for _ in range(m - keep):
        a = -1
        for i in range(m):
            if alive[i] and (a < 0 or gains[i, partner[i]] > gains[a, partner[a]]):
                a = i
        b = partner[a]
        alive[b] = False
        counts[a] += counts[b]
        own[a] = worth(first, counts[a], table)
        positions = first + counts[a]
        for i in range(m):
            if label[i] == b:
                label[i] = a
            if alive[i] and i != a:
                gains[i, a] = gains[a, i] = worth(positions, counts[i], table) - own[i] - own[a]
                if partner[i] == a or partner[i] == b:
                    find_partner(i, gains, alive, partner)
                elif gains[i, a] > gains[i, partner[i]]:
                    partner[i] = a
        find_partner(a, gains, alive, partner)
