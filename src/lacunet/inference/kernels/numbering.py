"""Number what is equal: keys, and lists of numbers, by hashing."""

import numpy as np

from lacunet.runtime.arrays import IntArray
from lacunet.runtime.jit import kernel

MIX = np.int64(0x2545F4914F6CDD1D)  # an odd number that scatters keys over a hash table
NOBODY = np.int64(-1)


@kernel
def slots_for(number: int) -> int:
    """How large a hash table for so many keys is: a power of two, at least half of it empty."""
    slots = 16
    while slots < 2 * number:
        slots *= 2
    return slots


@kernel
def renumber(keys: IntArray) -> int:
    """Replace keys by 0, 1, … in the order in which they first occur; give their number."""
    slots = slots_for(keys.shape[0])
    held = np.full(slots, NOBODY)
    number = np.empty(slots, dtype=np.int64)
    found = 0
    for row in range(keys.shape[0]):
        at = ((keys[row] * MIX) >> np.int64(20)) & (slots - 1)
        while held[at] >= 0 and held[at] != keys[row]:
            at = (at + 1) & (slots - 1)
        if held[at] < 0:
            held[at] = keys[row]
            number[at] = found
            found += 1
        keys[row] = number[at]
    return found


@kernel
def rank(keys: IntArray) -> IntArray:
    """Replace keys by their places among the distinct ones, in order; give where each is first."""
    given = keys.copy()
    found = renumber(keys)
    first, next_one = np.empty(found, dtype=np.int64), 0
    for row in range(keys.shape[0]):
        if keys[row] == next_one:
            first[next_one] = row
            next_one += 1
    order = np.argsort(given[first])
    place = np.empty(found, dtype=np.int64)
    place[order] = np.arange(found)
    for row in range(keys.shape[0]):
        keys[row] = place[keys[row]]
    return first[order]


@kernel
def number_lists(starts: IntArray, items: IntArray) -> tuple[IntArray, IntArray]:
    """Number ragged lists, equal ones alike, as they first occur; give also where each is first."""
    lists = starts.shape[0] - 1
    slots = slots_for(lists)
    held = np.full(slots, NOBODY)  # the first list of those that stand there
    number, first = np.empty(lists, dtype=np.int64), np.empty(lists, dtype=np.int64)
    found = 0
    for d in range(lists):
        mine = items[starts[d] : starts[d + 1]]
        key = np.int64(mine.shape[0])
        for x in mine:
            key = (key ^ x) * MIX
            key ^= key >> np.int64(29)
        at = key & (slots - 1)
        while held[at] >= 0:
            other = items[starts[held[at]] : starts[held[at] + 1]]
            if other.shape[0] == mine.shape[0] and (other == mine).all():
                break
            at = (at + 1) & (slots - 1)
        if held[at] < 0:
            held[at] = d
            first[found] = d
            number[d] = found
            found += 1
        else:
            number[d] = number[held[at]]
    return number, first[:found]


@kernel
def with_room(array: IntArray, size: int) -> IntArray:
    """Give an array that has room for `size`: itself, or a copy with room to spare."""
    if array.shape[0] >= size:
        return array
    larger = np.empty(2 * size, dtype=array.dtype)
    larger[: array.shape[0]] = array
    return larger
