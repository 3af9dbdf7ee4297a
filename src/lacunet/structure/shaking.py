"""A graph shaken in one place: another place to climb from."""

from typing import Any

import numpy as np

from lacunet.runtime.arrays import BoolArray
from lacunet.runtime.jit import kernel
from lacunet.structure.moves import Limits, find_ancestors

# On simulated networks of 4 to 37 variables these met the best graphs most.
NEIGHBOURS = 4  # variables that lose edges together
LOST = 0.7  # chance of each of their edges to go
GAINED = 2  # edges that one of them gets, where there may be one


@kernel
def shaken(parents: BoolArray, v: int, limits: Limits, rng: Any) -> BoolArray:
    """Turn edges where that changes no independence, then make and unmake edges around a variable.

    What is required stays, and nothing is made that is not allowed.
    """
    graph = parents.copy()
    turn_covered(graph, limits, rng)
    scatter(graph, v, limits, rng)
    return graph


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
