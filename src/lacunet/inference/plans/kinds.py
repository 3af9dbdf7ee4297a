"""Kinds of components written out, and their instances: rows that agree in all that is around them.

All kinds are done in one kernel each: data with many holes have thousands, with few rows each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lacunet.inference.kernels.numbering import rank
from lacunet.inference.plans.decompose import Graph
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IndexArray, IntArray
from lacunet.runtime.jit import kernel

LARGEST_KEY = np.iinfo(np.int64).max


class Collectors(NamedTuple):
    """Places where configurations of a few variables are counted: blocks of families, usually."""

    first: IntArray  # (C,) first position of each in a flat vector
    starts: IntArray  # (C + 1,) its variables in the next two
    variable: IntArray
    stride: IntArray  # how far neighbouring states of each variable are apart


class Kinds(NamedTuple):
    """Shapes of components. T kinds."""

    member_starts: IntArray  # (T + 1,)
    member: IntArray  # hidden variables, in order
    family_starts: IntArray  # (T + 1,)
    family: IntArray  # collectors that have a member in them


class Coded(NamedTuple):
    """Coded rows, and where each variable stands in them."""

    codes: CodeArray  # (m, observed variables)
    column: IntArray  # (n,) of each variable; -1 where it is hidden, or has one state only
    cards: IntArray  # (n,)


class Pairs(NamedTuple):
    """The rows that have a component of each kind."""

    starts: IntArray  # (T + 1,) those of each kind in the next
    rows: IntArray  # (r,)
    counts: FloatArray  # (r,) their weights


class Merged(NamedTuple):
    """Instances of kinds, I of them, from r pairs of a kind and a row."""

    instance: IntArray  # (r,) that each pair belongs to
    first: IntArray  # (I,) a row that each instance stands in
    starts: IntArray  # (T + 1,) instances of each kind


@kernel
def families_of(graph: Graph, barren: BoolArray, inside: BoolArray, out: IntArray) -> int:
    """List the families with a member in them, those of barren children as silent collectors."""
    found, n = 0, inside.shape[0]
    for f in range(n):
        touched = inside[f]
        for e in range(graph.parent_start[f], graph.parent_start[f + 1]):
            touched = touched or inside[graph.parent[e]]
        if touched and (graph.fill or not barren[f]):
            out[found] = f + n if barren[f] else f
            found += 1
    return found


@kernel
def write_kinds(graph: Graph, barren: BoolArray, label: IndexArray, seeds: IntArray) -> Kinds:
    """Write out the kinds of some components, each given by its row of holes and its first member.

    `barren` and `label` are (T, n), as in `Parts`.
    """
    kinds, n = label.shape
    member_starts = np.zeros(kinds + 1, dtype=np.int64)
    family_starts = np.zeros(kinds + 1, dtype=np.int64)
    some = np.empty(n, dtype=np.int64)
    for t in range(kinds):
        inside = label[t] == seeds[t]
        member_starts[t + 1] = member_starts[t] + inside.sum()
        family_starts[t + 1] = family_starts[t] + families_of(graph, barren[t], inside, some)
    member = np.empty(member_starts[-1], dtype=np.int64)
    family = np.empty(family_starts[-1], dtype=np.int64)
    for t in range(kinds):
        inside = label[t] == seeds[t]
        member[member_starts[t] : member_starts[t + 1]] = np.flatnonzero(inside)
        found = families_of(graph, barren[t], inside, some)
        family[family_starts[t] : family_starts[t + 1]] = some[:found]
    return Kinds(member_starts, member, family_starts, family)


@kernel
def seen_around(kinds: Kinds, t: int, collectors: Collectors, n: int) -> IntArray:
    """Variables in the families of a kind that are none of its members, in order."""
    around = np.zeros(n, dtype=np.bool_)
    for f in kinds.family[kinds.family_starts[t] : kinds.family_starts[t + 1]]:
        for e in range(collectors.starts[f], collectors.starts[f + 1]):
            around[collectors.variable[e]] = True
    for v in kinds.member[kinds.member_starts[t] : kinds.member_starts[t + 1]]:
        around[v] = False
    return np.flatnonzero(around)


@kernel
def merge_rows(
    kinds: Kinds, collectors: Collectors, table: Coded, starts: IntArray, rows: IntArray
) -> Merged:
    """Merge the rows of each kind, `rows[starts[t]:starts[t + 1]]`, that agree around it."""
    index, first = np.empty(rows.shape[0], dtype=np.int64), np.empty(rows.shape[0], dtype=np.int64)
    instances = np.zeros(starts.shape[0], dtype=np.int64)
    for t in range(starts.shape[0] - 1):
        mine = rows[starts[t] : starts[t + 1]]
        keys, top = np.zeros(mine.shape[0], dtype=np.int64), 1
        for v in seen_around(kinds, t, collectors, table.cards.shape[0]):
            if top > LARGEST_KEY // table.cards[v]:  # would not fit: number what is there
                top = rank(keys).shape[0]
            top *= table.cards[v]
            if table.column[v] >= 0:
                for i in range(mine.shape[0]):
                    keys[i] = keys[i] * table.cards[v] + table.codes[mine[i], table.column[v]]
        firsts = rank(keys)
        before, found = instances[t], firsts.shape[0]
        first[before : before + found] = mine[firsts]
        index[starts[t] : starts[t + 1]] = before + keys
        instances[t + 1] = before + found
    return Merged(index, first[: instances[-1]], instances)


@kernel
def point_to(
    kinds: Kinds, collectors: Collectors, table: Coded, merged: Merged
) -> tuple[IntArray, IntArray]:
    """Where the observed values of each instance point to, a row of families each, all as one list.

    Also gives where the rows of each kind begin, (T + 1,).
    """
    width = kinds.family_starts[1:] - kinds.family_starts[:-1]
    begin = np.zeros(width.shape[0] + 1, dtype=np.int64)
    begin[1:] = np.cumsum(width * (merged.starts[1:] - merged.starts[:-1]))
    offsets = np.empty(begin[-1], dtype=np.int64)
    hidden = np.zeros(table.cards.shape[0], dtype=np.bool_)
    for t in range(width.shape[0]):
        members = kinds.member[kinds.member_starts[t] : kinds.member_starts[t + 1]]
        hidden[members] = True
        place = begin[t]
        for i in range(merged.starts[t], merged.starts[t + 1]):
            row = table.codes[merged.first[i]]
            for f in kinds.family[kinds.family_starts[t] : kinds.family_starts[t + 1]]:
                offset = collectors.first[f]
                for e in range(collectors.starts[f], collectors.starts[f + 1]):
                    v = collectors.variable[e]
                    if not hidden[v] and table.column[v] >= 0:
                        offset += row[table.column[v]] * collectors.stride[e]
                offsets[place] = offset
                place += 1
        hidden[members] = False
    return offsets, begin


@kernel
def steps_of(kinds: Kinds, t: int, collectors: Collectors) -> IntArray:
    """How far the states of each member are apart in each family, (F, k); 0 where it is not in."""
    members = kinds.member[kinds.member_starts[t] : kinds.member_starts[t + 1]]
    families = kinds.family[kinds.family_starts[t] : kinds.family_starts[t + 1]]
    steps = np.zeros((families.shape[0], members.shape[0]), dtype=np.int64)
    for f in range(families.shape[0]):
        for e in range(collectors.starts[families[f]], collectors.starts[families[f] + 1]):
            v = collectors.variable[e]
            i = np.searchsorted(members, v)
            if i < members.shape[0] and members[i] == v:
                steps[f, i] = collectors.stride[e]
    return steps
