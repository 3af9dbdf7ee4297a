"""Changes of a graph by one edge: which are possible, which is best; the loops over all pairs.

`parents[v, u]` says that u is a parent of v, so the row of a variable is its set of parents.
"""

from typing import NamedTuple

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
def look_at(parents: BoolArray, limits: Limits) -> Graph:
    """Find out what moves ask of a graph."""
    room = np.empty(parents.shape[0], dtype=np.bool_)
    for v in range(parents.shape[0]):
        room[v] = parents[v].sum() < limits.most[v]
    return Graph(parents, find_ancestors(parents), room)


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
    n = parents.shape[0]
    graph = look_at(parents, limits)
    top, tied, k = -np.inf, np.empty((2 * n * n, 3), dtype=np.int64), 0
    for v in range(n):
        for u in range(n):
            for kind in range(ADD, REVERSE + 1):
                if (kind == ADD) == parents[v, u] or u == v:
                    continue
                gain = gains[v, u] + (gains[u, v] if kind == REVERSE else 0.0)
                if gain < top - EQUAL or not is_possible(graph, limits, kind, u, v):
                    continue
                if gain > top + EQUAL:
                    top, k = gain, 0
                tied[k, 0], tied[k, 1], tied[k, 2] = kind, u, v
                k += 1
    return top, tied[:k]


@kernel
def every_move(parents: BoolArray, limits: Limits, gains: FloatArray) -> IntArray:
    """Give all possible moves, (k, 3) kind, u, v, those that gain most first."""
    n = parents.shape[0]
    graph = look_at(parents, limits)
    moves, worth, k = np.empty((2 * n * n, 3), dtype=np.int64), np.empty(2 * n * n), 0
    for v in range(n):
        for u in range(n):
            for kind in range(ADD, REVERSE + 1):
                if (kind == ADD) == parents[v, u] or u == v:
                    continue
                if is_possible(graph, limits, kind, u, v):
                    moves[k, 0], moves[k, 1], moves[k, 2] = kind, u, v
                    worth[k] = gains[v, u] + (gains[u, v] if kind == REVERSE else 0.0)
                    k += 1
    return moves[np.argsort(-worth[:k])]


def moved(parents: BoolArray, move: IntArray) -> BoolArray:
    """Make a move, (kind, u, v)."""
    kind, u, v = move.tolist()
    after = parents.copy()
    after[v, u] = kind == ADD
    after[u, v] |= kind == REVERSE
    return after
