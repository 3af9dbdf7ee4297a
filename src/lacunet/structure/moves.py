"""Changes of a graph by one edge: which are possible, which is best; and perturbed graphs.

`parents[v, u]` says that u is a parent of v, so the row of a variable is its set of parents.
"""

from typing import Any, NamedTuple

import numpy as np

from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.jit import kernel

ADD, DELETE, REVERSE = 0, 1, 2
EQUAL = 1e-9  # nats: gains this near to each other are a tie


class Limits(NamedTuple):
    """What a graph may look like."""

    allowed: BoolArray  # (n, n) whether u may be a parent of v
    required: BoolArray  # (n, n) whether it has to be
    most: IntArray  # (n,) parents that a variable may have


class Graph(NamedTuple):
    """A graph, and what moves ask of it."""

    parents: BoolArray  # (n, n)
    above: BoolArray  # (n, n) whether u is an ancestor of v, at [v, u]
    room: BoolArray  # (n,) whether a variable may have one more parent


@kernel
def find_ancestors(parents: BoolArray) -> BoolArray:
    """Give the ancestors of every variable, (n, n): `above[v, u]` says that u is one of v's.

    Variables on a cycle, and what is below them, are their own ancestors.
    """
    n = parents.shape[0]
    above = np.zeros((n, n), dtype=np.bool_)
    waits = np.zeros(n, dtype=np.int64)  # for so many parents
    ready, known = np.empty(n, dtype=np.int64), 0
    for v in range(n):
        for u in range(n):
            waits[v] += parents[v, u]
        if waits[v] == 0:
            ready[known] = v
            known += 1
    done = 0
    while done < known:
        u = ready[done]
        done += 1
        for v in range(n):
            if parents[v, u]:
                above[v, u] = True
                for w in range(n):
                    above[v, w] |= above[u, w]
                waits[v] -= 1
                if waits[v] == 0:
                    ready[known] = v
                    known += 1
    for v in range(n):
        above[v, v] = waits[v] > 0
    return above


@kernel
def update(graph: Graph, limits: Limits) -> None:
    """Find the ancestors anew, and which variables may have one more parent."""
    graph.above[:] = find_ancestors(graph.parents)
    for v in range(graph.room.shape[0]):
        graph.room[v] = graph.parents[v].sum() < limits.most[v]


@kernel
def graph_of(parents: BoolArray, limits: Limits) -> Graph:
    """Prepare a graph for moves."""
    graph = Graph(parents, np.empty_like(parents), np.empty(parents.shape[0], dtype=np.bool_))
    update(graph, limits)
    return graph


@kernel
def is_possible(graph: Graph, limits: Limits, kind: int, u: int, v: int) -> bool:
    """Whether a move is allowed and closes no cycle."""
    if kind == ADD:
        return limits.allowed[v, u] and graph.room[v] and not graph.above[u, v]
    possible = not limits.required[v, u]
    if kind == REVERSE:
        possible = possible and limits.allowed[u, v] and graph.room[u]
        for p in range(graph.parents.shape[0]):  # no other way from u to v
            possible = possible and not (p != u and graph.parents[v, p] and graph.above[p, u])
    return possible


@kernel
def find_best(parents: BoolArray, limits: Limits, gains: FloatArray) -> tuple[float, IntArray]:
    """Give the largest gain of a possible move, and all moves that share it: (k, 3) kind, u, v.

    `gains[v, u]` is what it adds to put u to the parents of v, or to take it from them.
    """
    top, moves, _ = _list_moves(parents, limits, gains, True)
    return top, moves


@kernel
def every_move(parents: BoolArray, limits: Limits, gains: FloatArray) -> IntArray:
    """Give all possible moves, (k, 3) kind, u, v, those that gain most first."""
    _, moves, worth = _list_moves(parents, limits, gains, False)
    return moves[np.argsort(-worth)]


@kernel
def _list_moves(
    parents: BoolArray, limits: Limits, gains: FloatArray, only_best: bool
) -> tuple[float, IntArray, FloatArray]:
    """Give the largest gain, the possible moves, or the best alone, and what each gains."""
    n = parents.shape[0]
    graph = graph_of(parents, limits)
    moves, worth = np.empty((2 * n * n, 3), dtype=np.int64), np.empty(2 * n * n)
    top, k = -np.inf, 0
    for v in range(n):
        for u in range(n):
            for kind in range(ADD, REVERSE + 1):
                if (kind == ADD) == parents[v, u] or u == v:
                    continue
                gain = gains[v, u] + (gains[u, v] if kind == REVERSE else 0.0)
                if only_best and gain < top - EQUAL:
                    continue
                if is_possible(graph, limits, kind, u, v):
                    if gain > top + EQUAL:
                        top, k = gain, 0 if only_best else k
                    moves[k, 0], moves[k, 1], moves[k, 2] = kind, u, v
                    worth[k] = gain
                    k += 1
    return top, moves[:k], worth[:k]


def moved(parents: BoolArray, move: IntArray) -> BoolArray:
    """Make a move, (kind, u, v)."""
    kind, u, v = move.tolist()
    after = parents.copy()
    after[v, u] = kind == ADD
    after[u, v] |= kind == REVERSE
    return after


# On simulated networks of 4 to 37 variables these met the best graphs most.
NEIGHBOURS = 4  # variables that lose edges together
LOST = 0.7  # chance of each of their edges to go
GAINED = 2  # edges that one of them gets, where there may be one


@kernel
def scatter(graph: BoolArray, v: int, limits: Limits, rng: Any) -> None:
    """Take most edges around a variable away, and give it a few others, by chance."""
    n = graph.shape[0]
    near = neighbourhood(graph, v, rng)
    chance = rng.random((n, n))
    for w in range(n):
        for u in range(n):
            if (near[w] or near[u]) and chance[w, u] < LOST:
                graph[w, u] &= limits.required[w, u]
    for _ in range(GAINED):
        u, w = rng.permutation(np.array([v, rng.integers(0, n)]))
        if limits.allowed[w, u] and graph[w].sum() < limits.most[w]:
            graph[w, u] |= not find_ancestors(graph)[u, w]


@kernel
def neighbourhood(parents: BoolArray, v: int, rng: Any) -> BoolArray:
    """Give a variable and some that hang together with it, at random, (n,)."""
    n = parents.shape[0]
    near, others = np.zeros(n, dtype=np.bool_), np.empty(n, dtype=np.int64)
    near[v] = True
    for _ in range(NEIGHBOURS - 1):
        touching = 0
        for u in range(n):
            touched = False
            for w in range(n):
                touched |= near[w] and (parents[w, u] or parents[u, w])
            if touched and not near[u]:
                others[touching] = u
                touching += 1
        if touching == 0:
            break
        near[others[rng.integers(0, touching)]] = True
    return near


@kernel
def turn_covered(parents: BoolArray, limits: Limits, rng: Any) -> None:
    """Turn edges u → v round where v has the parents of u and u alone: the same independences.

    As many edges are tried, at random, as there are.
    """
    n = parents.shape[0]
    head, tail = np.nonzero(parents)
    for _ in range(head.shape[0]):
        at = int(rng.random() * head.shape[0])
        u, v = tail[at], head[at]
        covered = limits.allowed[u, v] and not limits.required[v, u]
        for w in range(n):
            covered = covered and (w == u or parents[v, w] == parents[u, w])
        if covered and parents[v].sum() <= limits.most[u]:
            parents[v, u], parents[u, v] = False, True
            head[at], tail[at] = u, v
