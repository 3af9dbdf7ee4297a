"""Greedy agglomerative clustering by marginal likelihood, and hashing of keys and lists.

A cluster has a count at each *place*. Its score is a sum over places of table entries, indexed by
the count; for the BD score (CH96 eq. 5) these are log gamma functions. For measurements a cluster
has sums and sums of squares. Their score is the marginal likelihood under a normal distribution
with unknown mean and variance.
"""

import math
from typing import NamedTuple

import numpy as np

from lacunet.runtime.arrays import BoolArray, FloatArray, IndexArray, IntArray
from lacunet.runtime.jit import kernel


class SparseRows(NamedTuple):
    """Sparse matrix of m rows and P places."""

    first: IndexArray  # (m + 1,) start of each row, and the end
    place: IndexArray
    value: FloatArray | IndexArray


class Counted(NamedTuple):
    """Counts of m clusters at P places, and their score table."""

    counts: IndexArray  # (m, P)
    first: IndexArray  # (P,) start of each place in `table`
    table: FloatArray  # scores of counts


class MeasuredClusters(NamedTuple):
    """Statistics of m clusters for D measurements."""

    cases: IndexArray  # (m, D)
    sums: FloatArray  # (m, D)
    squares: FloatArray  # (m, D)
    prior: FloatArray  # (D, 4) added to sums, cases of the mean, squares; and the shape
    table: FloatArray  # (D, most + 1) scores of cases, without the variance term


@kernel
def worth(positions: IndexArray, more: IndexArray, table: FloatArray) -> float:
    """Score Σ_p table[positions[p] + more[p]] of a cluster."""
    w0 = w1 = w2 = w3 = 0.0  # four independent sums, for instruction-level parallelism
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
def worth_of_sums(measured: MeasuredClusters, i: int, more: int | np.intp) -> float:
    """Score of the measurements of cluster i, merged with cluster `more` unless that is −1."""
    value = 0.0
    for d in range(measured.cases.shape[1]):
        n, total, squares = measured.cases[i, d], measured.sums[i, d], measured.squares[i, d]
        if more >= 0:
            n += measured.cases[more, d]
            total += measured.sums[more, d]
            squares += measured.squares[more, d]
        first, kappa, second, shape = measured.prior[d]
        total += first
        spread = 0.5 * (second + squares - total * total / (kappa + n))
        value += measured.table[d, n] - (shape + 0.5 * n) * math.log(spread)
    return value


@kernel
def add_gains_of_sums(measured: MeasuredClusters, gains: FloatArray) -> None:
    """Add the gains in score of merging two clusters by their measurements, (m, m)."""
    m = gains.shape[0]
    single = np.array([worth_of_sums(measured, i, np.intp(-1)) for i in range(m)])
    for i in range(m):
        for j in range(i):
            gain = worth_of_sums(measured, i, j) - single[i] - single[j]
            gains[i, j] += gain
            gains[j, i] += gain


@kernel
def add_up(rows: SparseRows, cluster: IntArray, sums: FloatArray | IndexArray) -> None:
    """Sum rows by cluster, (clusters, P)."""
    first, place, value = rows
    for i in range(cluster.shape[0]):
        for n in range(first[i], first[i + 1]):
            sums[cluster[i], place[n]] += value[n]


@kernel
def gains_of_counts(counted: Counted, gains: FloatArray) -> None:
    """Write the gains in score of merging two clusters by their counts, (m, m)."""
    counts, first, table = counted
    m = counts.shape[0]
    single = np.array([worth(first, counts[i], table) for i in range(m)])
    for i in range(m):
        positions = first + counts[i]
        for j in range(i):
            gains[i, j] = gains[j, i] = worth(positions, counts[j], table) - single[i] - single[j]


@kernel
def find_partner(i: int, gains: FloatArray, alive: BoolArray, partner: IntArray) -> None:
    """Find the best partner of cluster i among those alive; −1 if there is none."""
    partner[i] = -1
    for j in range(gains.shape[1]):
        if alive[j] and j != i and (partner[i] < 0 or gains[i, j] > gains[i, partner[i]]):
            partner[i] = j


@kernel
def merge_greedily(
    counted: Counted, measured: MeasuredClusters, gains: FloatArray, keep: int, label: IntArray
) -> None:
    """Merge m clusters until `keep` are left; `label` is the cluster of each.

    `gains`, (m, m), are the gains in score of merging pairs. Each cluster caches its best partner,
    so a merge updates one row of gains. All arguments are overwritten.
    """
    counts, first, table = counted
    m = counts.shape[0]
    alive = np.ones(m, dtype=np.bool_)
    partner = np.empty(m, dtype=np.int64)
    single = np.empty(m)
    for i in range(m):
        label[i] = i
        single[i] = worth(first, counts[i], table) + worth_of_sums(measured, i, np.intp(-1))
        find_partner(i, gains, alive, partner)
    for _ in range(m - keep):
        a = -1
        for i in range(m):
            if alive[i] and (a < 0 or gains[i, partner[i]] > gains[a, partner[a]]):
                a = i
        b = partner[a]
        alive[b] = False
        # Explicit loops, because array expressions take a second to compile.
        for p in range(counts.shape[1]):
            counts[a, p] += counts[b, p]
        for d in range(measured.cases.shape[1]):
            measured.cases[a, d] += measured.cases[b, d]
            measured.sums[a, d] += measured.sums[b, d]
            measured.squares[a, d] += measured.squares[b, d]
        single[a] = worth(first, counts[a], table) + worth_of_sums(measured, a, np.intp(-1))
        positions = first + counts[a]
        for i in range(m):
            if label[i] == b:
                label[i] = a
            if alive[i] and i != a:
                both = worth(positions, counts[i], table) + worth_of_sums(measured, i, a)
                gains[i, a] = gains[a, i] = both - single[i] - single[a]
                if partner[i] == a or partner[i] == b:
                    find_partner(i, gains, alive, partner)
                elif gains[i, a] > gains[i, partner[i]]:
                    partner[i] = a
        find_partner(a, gains, alive, partner)


MIX = np.int64(0x2545F4914F6CDD1D)  # an odd multiplier for hashing
EMPTY = np.int64(-1)


@kernel
def slots_for(number: int) -> int:
    """Size of a hash table for `number` keys: a power of two, at least half of it empty."""
    slots = 16
    while slots < 2 * number:
        slots *= 2
    return slots


@kernel
def renumber(keys: IntArray) -> int:
    """Replace keys by 0, 1, … in order of first occurrence; return the number of distinct keys."""
    slots = slots_for(keys.shape[0])
    slot_items = np.full(slots, EMPTY)
    number = np.empty(slots, dtype=np.int64)
    count = 0
    for row in range(keys.shape[0]):
        at = ((keys[row] * MIX) >> np.int64(20)) & (slots - 1)
        while slot_items[at] >= 0 and slot_items[at] != keys[row]:
            at = (at + 1) & (slots - 1)
        if slot_items[at] < 0:
            slot_items[at] = keys[row]
            number[at] = count
            count += 1
        keys[row] = number[at]
    return count


@kernel
def rank(keys: IntArray) -> IntArray:
    """Replace keys by their ranks among distinct keys; return the first occurrence of each."""
    given = keys.copy()
    count = renumber(keys)
    first, next_one = np.empty(count, dtype=np.int64), 0
    for row in range(keys.shape[0]):
        if keys[row] == next_one:
            first[next_one] = row
            next_one += 1
    order = np.argsort(given[first])
    place = np.empty(count, dtype=np.int64)
    place[order] = np.arange(count)
    for row in range(keys.shape[0]):
        keys[row] = place[keys[row]]
    return first[order]


@kernel
def number_lists(starts: IntArray, items: IntArray) -> tuple[IntArray, IntArray]:
    """Number distinct ragged lists in order of first occurrence; also return the first of each."""
    lists = starts.shape[0] - 1
    slots = slots_for(lists)
    slot_items = np.full(slots, EMPTY)  # the first list in each slot
    number, first = np.empty(lists, dtype=np.int64), np.empty(lists, dtype=np.int64)
    count = 0
    for d in range(lists):
        mine = items[starts[d] : starts[d + 1]]
        key = np.int64(mine.shape[0])
        for x in mine:
            key = (key ^ x) * MIX
            key ^= key >> np.int64(29)
        at = key & (slots - 1)
        while slot_items[at] >= 0:
            other = items[starts[slot_items[at]] : starts[slot_items[at] + 1]]
            if other.shape[0] == mine.shape[0] and (other == mine).all():
                break
            at = (at + 1) & (slots - 1)
        if slot_items[at] < 0:
            slot_items[at] = d
            first[count] = d
            number[d] = count
            count += 1
        else:
            number[d] = number[slot_items[at]]
    return number, first[:count]


@kernel
def with_room(array: IntArray, size: int) -> IntArray:
    """Return the array if it holds `size` items, else a copy with twice that capacity."""
    if array.shape[0] >= size:
        return array
    larger = np.empty(2 * size, dtype=array.dtype)
    larger[: array.shape[0]] = array
    return larger
