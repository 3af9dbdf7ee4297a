"""Cut hidden variables into a tree of cliques. Held to what a clique tree is in the tests."""

from typing import NamedTuple

import numpy as np

from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.jit import kernel


class Cut(NamedTuple):
    """Cliques of k members, each before its parent, the root last."""

    within: BoolArray  # (Q, k) which members each has
    parent: IntArray  # (Q,) the clique that it sends its message to; -1 for the root


@kernel
def neighbours_of(scopes: BoolArray) -> BoolArray:
    """Which members are together in a scope, (k, k); nobody is a neighbour of itself."""
    k = scopes.shape[1]
    near = np.zeros((k, k), dtype=np.bool_)
    for scope in scopes:
        for u in np.flatnonzero(scope):
            near[u] |= scope
    for v in range(k):
        near[v, v] = False
    return near


@kernel
def price(v: int, near: BoolArray, cards: FloatArray) -> tuple[float, float]:
    """Joint states of the edges that eliminating v would add, and of its clique."""
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
    """Eliminate first what adds the smallest edges (weighted min-fill), some after all others.

    Gives their order, (k,), and the clique that each one leaves in, (k, k).
    """
    k = scopes.shape[1]
    near, left = neighbours_of(scopes), np.ones(k, dtype=np.bool_)
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
        for w in around:  # what knows two of them gets a new edge between its neighbours
            stale |= near[w]
            stale[w] = True
        for w in around:
            near[w] |= cliques[turn]
            near[w, w] = near[w, v] = False
    return order, cliques


@kernel
def is_within(items: IntArray, clique: BoolArray) -> bool:
    """Whether all of a list are in a clique."""
    outside = False
    for v in items:
        outside = outside or not clique[v]
    return not outside


@kernel
def connect(cliques: BoolArray) -> Cut:
    """Join cliques by a spanning tree of largest intersections, which is a clique tree (Prim)."""
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
    return Cut(cliques[order], above)


@kernel
def cut_into_cliques(scopes: BoolArray, cards: FloatArray, enumerated: float) -> Cut:
    """Cut members so that every scope, (F, k), fits into a clique; few joint states stay whole."""
    k = scopes.shape[1]
    if cards.prod() <= enumerated:
        return Cut(np.ones((1, k), dtype=np.bool_), np.full(1, np.int64(-1)))
    _, cliques = eliminate(scopes, cards, np.zeros(k, dtype=np.bool_))
    kept = np.zeros(k, dtype=np.bool_)
    for i in range(k):
        mine, part = np.flatnonzero(cliques[i]), False
        for j in range(i):
            part = part or is_within(mine, cliques[j])
        kept[i] = not part
    return connect(cliques[kept])
