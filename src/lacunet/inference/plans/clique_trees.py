"""Clique trees over hidden variables, and kinds of components with their instances."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from lacunet.errors import ModelError
from lacunet.inference.kernels.merging import rank
from lacunet.inference.plans.decompose import RaggedGraph
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IndexArray, IntArray
from lacunet.runtime.jit import kernel


class CliqueSplit(NamedTuple):
    """Cliques of k members, each before its parent, the root last."""

    within: BoolArray  # (Q, k) members of each
    parent: IntArray  # (Q,) the clique that receives its message; -1 for the root


@kernel
def price(v: int, near: BoolArray, cards: FloatArray) -> tuple[float, float]:
    """Total joint states of the fill-in edges of v, and the joint states of its clique."""
    around = np.flatnonzero(near[v])
    absent, size = 0.0, cards[v]
    for i in range(around.shape[0]):
        size *= cards[around[i]]
        for j in range(i):
            if not near[around[i], around[j]]:
                absent += cards[around[i]] * cards[around[j]]
    return absent, size


@kernel
def eliminate(scopes: BoolArray, cards: FloatArray, last: BoolArray) -> tuple[IntArray, BoolArray]:
    """Elimination order by weighted min-fill, with some variables after all others.

    Returns the order, (k,), and the clique of each eliminated variable, (k, k).
    """
    k = scopes.shape[1]
    near, left = np.zeros((k, k), dtype=np.bool_), np.ones(k, dtype=np.bool_)
    for scope in scopes:
        for member in np.flatnonzero(scope):
            near[member] |= scope
            near[member, member] = False
    order, cliques = np.empty(k, dtype=np.int64), np.zeros((k, k), dtype=np.bool_)
    absent, size = np.empty(k), np.empty(k)
    stale = np.ones(k, dtype=np.bool_)
    for turn in range(k):
        v = -1
        for u in range(k):
            if not left[u]:
                continue
            if stale[u]:
                absent[u], size[u] = price(u, near, cards)
                stale[u] = False
            mine, best = (last[u], absent[u], size[u]), (last[v], absent[v], size[v])
            if v < 0 or mine < best:
                v = u
        order[turn], left[v] = v, False
        around = np.flatnonzero(near[v])
        cliques[turn] = near[v]
        cliques[turn, v] = True
        for w in around:  # costs change near the new edges
            stale |= near[w]
            stale[w] = True
        for w in around:
            near[w] |= cliques[turn]
            near[w, w] = near[w, v] = False
    return order, cliques


@kernel
def is_within(items: IntArray, clique: BoolArray) -> bool:
    """Whether a clique contains all items."""
    return bool(clique[items].all())


@kernel
def connect(cliques: BoolArray) -> CliqueSplit:
    """Join cliques by a maximum spanning tree of intersections (Prim), a clique tree."""
    number = cliques.shape[0]
    root = number - 1
    shared, nearest = np.full(number, np.int64(-1)), np.full(number, root)
    joined, parent = np.zeros(number, dtype=np.bool_), np.full(number, np.int64(-1))
    order, newest = np.empty(number, dtype=np.int64), root
    for turn in range(number):
        order[number - 1 - turn] = newest  # leaves first, the root last
        joined[newest] = True
        best = -1
        for j in range(number):
            if joined[j]:
                continue
            common = (cliques[j] & cliques[newest]).sum()
            if common > shared[j]:
                shared[j], nearest[j] = common, newest
            if best < 0 or shared[j] > shared[best]:
                best = j
        if best >= 0:
            parent[best] = nearest[best]
            newest = best
    place = np.empty(number, dtype=np.int64)
    place[order] = np.arange(number)
    above = np.full(number, np.int64(-1))
    for q in range(number - 1):
        above[q] = place[parent[order[q]]]
    return CliqueSplit(cliques[order], above)


@kernel
def split_into_cliques(scopes: BoolArray, cards: FloatArray, enumerated: float) -> CliqueSplit:
    """Clique tree that covers every scope, (F, k); one clique if joint states are few."""
    k = scopes.shape[1]
    if cards.prod() <= enumerated:
        return CliqueSplit(np.ones((1, k), dtype=np.bool_), np.full(1, np.int64(-1)))
    _, cliques = eliminate(scopes, cards, np.zeros(k, dtype=np.bool_))
    maximal = np.zeros(k, dtype=np.bool_)
    for i in range(k):
        mine, part = np.flatnonzero(cliques[i]), False
        for j in range(i):
            part = part or is_within(mine, cliques[j])
        maximal[i] = not part
    return connect(cliques[maximal])


ENUMERATED = 16  # joint states up to which a component is one clique, to save messages
LARGEST = 1 << 26  # joint states of the largest clique allowed


class Clique(NamedTuple):
    """Variables whose joint states are enumerated together."""

    variables: tuple[int, ...]
    parent: int  # index of the clique that receives its message; -1 for the root


def clique_tree(
    members: Sequence[int], scopes: Iterable[frozenset[int]], cards: Mapping[int, int]
) -> list[Clique]:
    """Clique tree that covers every scope, each clique before its parent, the root last."""
    split = split_into_cliques(*_as_arrays(members, scopes, cards), ENUMERATED)
    return [
        Clique(tuple(members[i] for i in np.flatnonzero(within).tolist()), int(parent))
        for within, parent in zip(*split, strict=True)
    ]


def check_clique(
    clique: Iterable[int], cards: Mapping[int, int], names: Mapping[int, str], why: str, advice: str
) -> None:
    """Refuse a joint table that would not fit into memory, before allocating it."""
    size = math.prod(cards[v] for v in clique)
    if size > LARGEST:
        variables = ", ".join(f"'{names[v]}' ({cards[v]})" for v in sorted(clique))
        raise ModelError(
            f"{why}: {variables}. Their joint table would have {size:,} cells "
            f"({8 * size / 2**30:,.1f} GiB); at most {LARGEST:,} are allowed. {advice}"
        )


def elimination_order(
    members: Sequence[int],
    scopes: Iterable[frozenset[int]],
    cards: Mapping[int, int],
    last: Collection[int] = (),
) -> list[tuple[int, frozenset[int]]]:
    """Members in elimination order, each with its clique; `last` come after all others."""
    late = np.array([v in last for v in members], dtype=np.bool_)
    order, sets = eliminate(*_as_arrays(members, scopes, cards), late)
    return [
        (members[v], frozenset(members[i] for i in np.flatnonzero(clique).tolist()))
        for v, clique in zip(order.tolist(), sets, strict=True)
    ]


def _as_arrays(
    members: Sequence[int], scopes: Iterable[frozenset[int]], cards: Mapping[int, int]
) -> tuple[BoolArray, FloatArray]:
    """Members of each scope, (F, k), and their numbers of states."""
    rows = [[v in scope for v in members] for scope in scopes]
    within = np.array(rows, dtype=np.bool_).reshape(len(rows), len(members))
    return within, np.array([cards[v] for v in members], dtype=np.float64)


# Kinds of components, and their instances: rows that agree in all families around a component.

LARGEST_KEY = np.iinfo(np.int64).max


class Collectors(NamedTuple):
    """Blocks of a flat vector that count the configurations of a family."""

    first: IntArray  # (C,) first position of each in a flat vector
    starts: IntArray  # (C + 1,) variables of each in the next two
    variable: IntArray
    stride: IntArray  # stride of the states of each variable
    cards: IntArray  # (n,) states of every variable


class ComponentKinds(NamedTuple):
    """Shapes of components. T kinds."""

    member_starts: IntArray  # (T + 1,)
    member: IntArray  # hidden variables, in order
    family_starts: IntArray  # (T + 1,)
    family: IntArray  # collectors with a member


class CodedRows(NamedTuple):
    """Coded rows, and the rows with a component of each kind."""

    codes: CodeArray  # (m, observed variables)
    column: IntArray  # (n,) of each variable; -1 if hidden or with one state
    starts: IntArray  # (T + 1,) rows of each kind in `rows`
    rows: IntArray  # (r,)


@kernel
def members_of(kinds: ComponentKinds, t: int) -> IntArray:
    """Members of a kind."""
    return kinds.member[kinds.member_starts[t] : kinds.member_starts[t + 1]]


@kernel
def families_around(kinds: ComponentKinds, t: int) -> IntArray:
    """Collectors of a kind."""
    return kinds.family[kinds.family_starts[t] : kinds.family_starts[t + 1]]


@kernel
def families_of(graph: RaggedGraph, barren: BoolArray, inside: BoolArray, out: IntArray) -> int:
    """List the families with a member, except those of barren children."""
    count = 0
    for f in range(inside.shape[0]):
        touched = inside[f]
        for e in range(graph.parent_start[f], graph.parent_start[f + 1]):
            touched = touched or inside[graph.parent[e]]
        if touched and not barren[f]:
            out[count] = f
            count += 1
    return count


@kernel
def write_kinds(
    graph: RaggedGraph, barren: BoolArray, label: IndexArray, seeds: IntArray
) -> ComponentKinds:
    """Kinds of components with first members `seeds`, (T,); other arrays (T, n) as in `Parts`."""
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
        count = families_of(graph, barren[t], inside, some)
        family[family_starts[t] : family_starts[t + 1]] = some[:count]
    return ComponentKinds(member_starts, member, family_starts, family)


@kernel
def merge_rows(
    kinds: ComponentKinds, collectors: Collectors, table: CodedRows
) -> tuple[IntArray, IntArray, IntArray]:
    """Merge r pairs of kind and row that agree around the component into I instances.

    Returns the instance of each pair, (r,), a row of each instance, (I,), and the first instance
    of each kind, (T + 1,).
    """
    r = table.rows.shape[0]
    index, first = np.empty(r, dtype=np.int64), np.empty(r, dtype=np.int64)
    instances = np.zeros(table.starts.shape[0], dtype=np.int64)
    for t in range(table.starts.shape[0] - 1):
        mine = table.rows[table.starts[t] : table.starts[t + 1]]
        keys, top = np.zeros(mine.shape[0], dtype=np.int64), 1
        around = np.zeros(collectors.cards.shape[0], dtype=np.bool_)
        for f in families_around(kinds, t):
            around[collectors.variable[collectors.starts[f] : collectors.starts[f + 1]]] = True
        around[members_of(kinds, t)] = False
        for v in np.flatnonzero(around):
            card, column = collectors.cards[v], table.column[v]
            if top > LARGEST_KEY // card:  # would overflow: renumber the keys
                top = rank(keys).shape[0]
            top *= card
            if column >= 0:
                for i in range(mine.shape[0]):
                    keys[i] = keys[i] * card + table.codes[mine[i], column]
        firsts = rank(keys)
        before, count = instances[t], firsts.shape[0]
        first[before : before + count] = mine[firsts]
        index[table.starts[t] : table.starts[t + 1]] = before + keys
        instances[t + 1] = before + count
    return index, first[: instances[-1]], instances


@kernel
def point_to(
    kinds: ComponentKinds,
    collectors: Collectors,
    table: CodedRows,
    first: IntArray,
    starts: IntArray,
) -> tuple[IntArray, IntArray]:
    """Offsets of families given the observed values of each instance, flattened.

    Also returns the start of each kind, (T + 1,).
    """
    width = kinds.family_starts[1:] - kinds.family_starts[:-1]
    begin = np.zeros(width.shape[0] + 1, dtype=np.int64)
    begin[1:] = np.cumsum(width * (starts[1:] - starts[:-1]))
    offsets = np.empty(begin[-1], dtype=np.int64)
    hidden = np.zeros(collectors.cards.shape[0], dtype=np.bool_)
    for t in range(width.shape[0]):
        hidden[members_of(kinds, t)] = True
        families, place = families_around(kinds, t), begin[t]
        for i in range(starts[t], starts[t + 1]):
            row = table.codes[first[i]]
            for f in families:
                offset = collectors.first[f]
                for e in range(collectors.starts[f], collectors.starts[f + 1]):
                    v = collectors.variable[e]
                    if not hidden[v] and table.column[v] >= 0:
                        offset += row[table.column[v]] * collectors.stride[e]
                offsets[place] = offset
                place += 1
        hidden[members_of(kinds, t)] = False
    return offsets, begin


@kernel
def steps_of(kinds: ComponentKinds, t: int, collectors: Collectors) -> IntArray:
    """Stride of the states of each member in each family, (F, k); 0 if not in the family."""
    members, families = members_of(kinds, t), families_around(kinds, t)
    steps = np.zeros((families.shape[0], members.shape[0]), dtype=np.int64)
    for f in range(families.shape[0]):
        for e in range(collectors.starts[families[f]], collectors.starts[families[f] + 1]):
            v = collectors.variable[e]
            i = np.searchsorted(members, v)
            if i < members.shape[0] and members[i] == v:
                steps[f, i] = collectors.stride[e]
    return steps
