"""Writes kinds of components into the flat arrays of cliques and slots that tree kernels read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lacunet.inference.kernels.cliques import cut_into_cliques, is_within
from lacunet.inference.kernels.numbering import number_lists, with_room
from lacunet.inference.plans.kinds import Collectors, Kinds, steps_of
from lacunet.runtime.arrays import IndexArray, IntArray
from lacunet.runtime.jit import kernel


class Forest(NamedTuple):
    """A clique tree for each kind. T kinds, Q cliques, S families of kinds."""

    kind_cliques: IntArray  # (T + 1,)
    starts: IntArray  # (Q + 1,) variables of each clique in the next
    variable: IntArray  # by their places among the members of the kind
    parent: IntArray  # (Q,) place in the same tree; -1 for a root
    home: IntArray  # (S,) place in the tree of the clique that takes a family in


class Written(NamedTuple):
    """What `TreeArrays` has of cliques and slots; maps are still lists of (states, step)."""

    cells: IntArray  # (Q,)
    first: IntArray  # (Q,)
    parent: IntArray  # (Q,)
    separator: IntArray  # (Q,)
    separator_first: IntArray  # (Q,)
    up: IntArray  # (Q,) number of its list
    down: IntArray  # (Q,)
    slots: IntArray  # (Q + 1,)
    slot_family: IntArray  # (S,)
    slot_map: IntArray  # (S,) number of its list
    map_starts: IntArray  # (2 Q + S + 1,) where each list begins in the next
    map_items: IntArray  # states and step of each variable of a clique, in turn


@kernel
def plant(
    kinds: Kinds, collectors: Collectors, cards: IntArray, enumerated: float, largest: float
) -> tuple[Forest, int]:
    """Cut every kind into cliques; also give the first kind with one that is too large, or -1."""
    number = kinds.member_starts.shape[0] - 1
    kind_cliques, starts = np.zeros(number + 1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    variable, parent = np.empty(64, dtype=np.int64), np.empty(64, dtype=np.int64)
    home = np.empty(kinds.family.shape[0], dtype=np.int64)
    for t in range(number):
        scopes = steps_of(kinds, t, collectors) > 0
        members = kinds.member[kinds.member_starts[t] : kinds.member_starts[t + 1]]
        states = cards[members].astype(np.float64)
        cut = cut_into_cliques(scopes, states, enumerated)
        base, found = kind_cliques[t], cut.parent.shape[0]
        kind_cliques[t + 1] = base + found
        starts, parent = with_room(starts, base + found + 1), with_room(parent, base + found)
        parent[base : base + found] = cut.parent
        for q in range(found):
            mine = np.flatnonzero(cut.within[q])
            if states[mine].prod() > largest:
                return Forest(kind_cliques, starts, variable, parent, home), t
            end = starts[base + q] + mine.shape[0]
            variable = with_room(variable, end)
            variable[starts[base + q] : end] = mine
            starts[base + q + 1] = end
        for f in range(scopes.shape[0]):
            scope, q = np.flatnonzero(scopes[f]), 0
            while not is_within(scope, cut.within[q]):
                q += 1
            home[kinds.family_starts[t] + f] = q
    cliques = kind_cliques[-1]
    starts = starts[: cliques + 1]
    return Forest(kind_cliques, starts, variable[: starts[-1]], parent[:cliques], home), -1


@kernel
def room_for_maps(kinds: Kinds, forest: Forest) -> int:
    """How many variables the maps of all cliques and slots have together."""
    room = 0
    for t in range(forest.kind_cliques.shape[0] - 1):
        base = forest.kind_cliques[t]
        for q in range(base, forest.kind_cliques[t + 1]):
            room += forest.starts[q + 1] - forest.starts[q]
            if forest.parent[q] >= 0:
                above = base + forest.parent[q]
                room += forest.starts[above + 1] - forest.starts[above]
        for s in range(kinds.family_starts[t], kinds.family_starts[t + 1]):
            q = base + forest.home[s]
            room += forest.starts[q + 1] - forest.starts[q]
    return room


@kernel
def put_map(written: Written, at: int, states: IntArray, steps: IntArray) -> None:
    """Write the list of a map: a clique's numbers of states, and how far each of them leads."""
    place = written.map_starts[at]
    for i in range(states.shape[0]):
        written.map_items[place + 2 * i] = states[i]
        written.map_items[place + 2 * i + 1] = steps[i]
    written.map_starts[at + 1] = place + 2 * states.shape[0]


@kernel
def write_clique(
    written: Written, q: int, above: int, mine: IntArray, over: IntArray, cards: IntArray
) -> int:
    """Write a clique with members `mine` under one with members `over`; give its separator's size.

    `cards` are those of the members; the joint states of what both have are numbered, the last
    fastest.
    """
    step = np.zeros(cards.shape[0], dtype=np.int64)
    size = 1
    for i in range(mine.shape[0] - 1, -1, -1):
        if (over == mine[i]).any():
            step[mine[i]] = size
            size *= cards[mine[i]]
    written.cells[q] = cards[mine].prod()
    written.parent[q] = above
    written.separator[q] = size
    lists = 2 * q + written.slots[q]
    put_map(written, lists, cards[mine], step[mine])
    put_map(written, lists + 1, cards[over], step[over])
    written.up[q], written.down[q] = lists, lists + 1
    return size


@kernel
def write_trees(kinds: Kinds, collectors: Collectors, cards: IntArray, forest: Forest) -> Written:
    """Write every clique of every kind, and its slots: one for each family that it takes in."""
    cliques, families = forest.parent.shape[0], kinds.family.shape[0]
    of_cliques = np.zeros((7, cliques), dtype=np.int64)
    of_slots = np.empty((2, families), dtype=np.int64)
    items = np.empty(2 * room_for_maps(kinds, forest), dtype=np.int64)
    written = Written(
        of_cliques[0], of_cliques[1], of_cliques[2], of_cliques[3], of_cliques[4], of_cliques[5],
        of_cliques[6], np.zeros(cliques + 1, dtype=np.int64), of_slots[0], of_slots[1],
        np.zeros(2 * cliques + families + 1, dtype=np.int64), items,
    )  # fmt: skip
    for t in range(forest.kind_cliques.shape[0] - 1):
        steps = steps_of(kinds, t, collectors)
        own = cards[kinds.member[kinds.member_starts[t] : kinds.member_starts[t + 1]]]
        base, first, separator_first = forest.kind_cliques[t], 0, 0
        for q in range(base, forest.kind_cliques[t + 1]):
            mine, over = forest.variable[forest.starts[q] : forest.starts[q + 1]], own[:0]
            above = -1
            if forest.parent[q] >= 0:
                above = base + forest.parent[q]
                over = forest.variable[forest.starts[above] : forest.starts[above + 1]]
            size = write_clique(written, q, above, mine, over, own)
            written.first[q], written.separator_first[q] = first, separator_first
            first, separator_first = first + written.cells[q], separator_first + size
            slot = written.slots[q]
            for f in range(steps.shape[0]):
                if base + forest.home[kinds.family_starts[t] + f] == q:
                    lists = 2 * (q + 1) + slot
                    written.slot_family[slot], written.slot_map[slot] = f, lists
                    put_map(written, lists, own[mine], steps[f][mine])
                    slot += 1
            written.slots[q + 1] = slot
    return written


@kernel
def fill_maps(starts: IntArray, items: IntArray, chosen: IntArray) -> tuple[IndexArray, IntArray]:
    """Write the maps Σ state · step over all joint states; also give where each begins."""
    begin = np.zeros(chosen.shape[0] + 1, dtype=np.int64)
    for m in range(chosen.shape[0]):
        begin[m + 1] = begin[m] + items[starts[chosen[m]] : starts[chosen[m] + 1] : 2].prod()
    maps = np.empty(begin[-1], dtype=np.int32)
    for m in range(chosen.shape[0]):
        out, filled = maps[begin[m] : begin[m + 1]], 1
        out[0] = 0
        for i in range(starts[chosen[m] + 1] - 2, starts[chosen[m]] - 2, -2):  # the last is fastest
            for k in range(1, items[i]):
                for c in range(filled):
                    out[k * filled + c] = out[c] + k * items[i + 1]
            filled *= items[i]
    return maps, begin[:-1]


def joined_maps(written: Written) -> tuple[IndexArray, IntArray]:
    """All maps, each distinct one once, and where that of each list begins."""
    number, chosen = number_lists(written.map_starts, written.map_items)
    maps, begin = fill_maps(written.map_starts, written.map_items, chosen)
    return maps, begin[number]
