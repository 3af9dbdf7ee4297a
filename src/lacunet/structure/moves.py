"""Moves of one edge: the possible ones and the best one; random perturbations of graphs.

`parents[v, u]` is true if u is a parent of v, so row v is the parent set of v.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.jit import kernel

ADD, DELETE, REVERSE = 0, 1, 2
EQUAL = 1e-9  # nats: smaller differences between gains are ties


class Limits(NamedTuple):
    """Constraints on graphs."""

    allowed: BoolArray  # (n, n) whether u may be a parent of v
    required: BoolArray  # (n, n) whether u must be a parent of v
    most: IntArray  # (n,) maximum number of parents


class Graph(NamedTuple):
    """A graph, with the quantities that decide which moves are possible."""

    parents: BoolArray  # (n, n)
    above: BoolArray  # (n, n) whether u is an ancestor of v, at [v, u]
    room: BoolArray  # (n,) whether a variable may have one more parent


@kernel
def find_ancestors(parents: BoolArray) -> BoolArray:
    """Compute the ancestors of every variable: `above[v, u]` is true if u is an ancestor of v.

    Variables on a cycle, and their descendants, count as their own ancestors.
    """
    n = parents.shape[0]
    above = np.zeros((n, n), dtype=np.bool_)
    waits = np.zeros(n, dtype=np.int64)  # parents not yet processed
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
    """Recompute the ancestors, and which variables may have one more parent."""
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
    """Whether a move respects the limits and closes no cycle."""
    if kind == ADD:
        return limits.allowed[v, u] and graph.room[v] and not graph.above[u, v]
    possible = not limits.required[v, u]
    if kind == REVERSE:
        possible = possible and limits.allowed[u, v] and graph.room[u]
        for p in range(graph.parents.shape[0]):  # no other path from u to v
            possible = possible and not (p != u and graph.parents[v, p] and graph.above[p, u])
    return possible


@kernel
def find_best(parents: BoolArray, limits: Limits, gains: FloatArray) -> tuple[float, IntArray]:
    """Find the largest gain of a possible move, and all moves that share it: (k, 3) kind, u, v.

    `gains[v, u]` is the change of the score if u is added to the parents of v, or removed.
    """
    top, moves, _ = _list_moves(parents, limits, gains, True)
    return top, moves


@kernel
def every_move(parents: BoolArray, limits: Limits, gains: FloatArray) -> IntArray:
    """List all possible moves, (k, 3) kind, u, v, by decreasing gain."""
    _, moves, worth = _list_moves(parents, limits, gains, False)
    return moves[np.argsort(-worth)]


@kernel
def _list_moves(
    parents: BoolArray, limits: Limits, gains: FloatArray, only_best: bool
) -> tuple[float, IntArray, FloatArray]:
    """Return the largest gain, the possible moves (or the best only), and their gains."""
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
    """Apply a move, (kind, u, v)."""
    kind, u, v = move.tolist()
    after = parents.copy()
    after[v, u] = kind == ADD
    after[u, v] |= kind == REVERSE
    return after


# These found the best graphs most often on simulated networks of 4 to 37 variables.
NEIGHBOURS = 4  # variables that lose edges together
LOST = 0.7  # probability that each of their edges is removed
GAINED = 2  # edges that are tried in their place


@kernel
def scatter(graph: BoolArray, v: int, limits: Limits, rng: Any) -> None:
    """Remove most edges around a variable at random, and add a few random ones."""
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
    """Draw a connected set of variables around one, (n,)."""
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
    """Reverse covered edges u → v at random: v has u and the parents of u, and no other parents.

    The independences stay the same. As many edges are tried as the graph has.
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


# Graphs as lists of edges, for checkpoints


def edges_of_graph(parents: BoolArray) -> list[list[int]]:
    """List the edges of a graph as pairs (child, parent)."""
    return np.argwhere(parents).tolist()


def graph_of_edges(edges: Sequence[Sequence[int]], n: int) -> BoolArray:
    """Make the graph over n variables with these pairs (child, parent)."""
    parents = np.zeros((n, n), dtype=np.bool_)
    for child, parent in edges:
        parents[child, parent] = True
    return parents
