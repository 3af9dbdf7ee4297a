"""A chain over graphs: one pair of variables at a time, by Metropolis.

A pair is apart, or joined one way or the other. Either of the two other states is proposed with the
same probability, so that proposals are symmetric, and graphs are visited by their scores alone.
"""

from typing import Any, NamedTuple

import numpy as np

from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.jit import kernel
from lacunet.structure.edges.family_book import FamilyBook, score_family
from lacunet.structure.moves import ADD, DELETE, REVERSE, Graph, Limits, find_ancestors, is_possible


class Walker(NamedTuple):
    """Where a chain is."""

    graph: Graph
    families: FloatArray  # (n,) scores of the families


def first_walker(limits: Limits) -> Walker:
    """Start with the edges that there must be, and nothing scored."""
    n = len(limits.most)
    room = np.zeros(n, dtype=np.bool_)
    return Walker(Graph(limits.required.copy(), np.zeros((n, n), np.bool_), room), np.zeros(n))


@kernel
def settle(graph: Graph, limits: Limits) -> None:
    """Find anew who is above whom, and who may have one more parent."""
    graph.above[:] = find_ancestors(graph.parents)
    for v in range(graph.room.shape[0]):
        graph.room[v] = graph.parents[v].sum() < limits.most[v]


@kernel
def rescore(walker: Walker, book: FamilyBook) -> None:
    """Score all families of the graph."""
    for v in range(walker.families.shape[0]):
        walker.families[v] = score_family(book, v, walker.graph.parents[v])


@kernel
def walk(
    walker: Walker, book: FamilyBook, limits: Limits, heat: float, proposals: int, rng: Any
) -> None:
    """Propose so many changes of a pair; `heat` below 1 flattens the posterior."""
    graph, n = walker.graph, walker.families.shape[0]
    for _ in range(proposals if n > 1 else 0):
        u = int(rng.random() * n)
        v = int(rng.random() * (n - 1))
        v += v >= u
        if graph.parents[v, u]:
            u, v = v, u
        # Apart: one of two edges, as the order of drawing has it. Joined, v → u: turned or cut.
        if not graph.parents[u, v]:
            possible, kind = is_possible(graph, limits, ADD, u, v), ADD
        else:
            kind = REVERSE if rng.random() < 0.5 else DELETE
            possible = is_possible(graph, limits, kind, v, u)
        if possible and _change(walker, book, kind, (u, v), np.log(rng.random()) / heat):
            settle(graph, limits)


@kernel
def _change(
    walker: Walker, book: FamilyBook, kind: int, pair: tuple[int, int], least: float
) -> bool:
    """Cut v → u, or join u → v, or both; go back if that gains less than it has to."""
    u, v = pair
    parents, joined = walker.graph.parents, kind != ADD
    parents[u, v] = False
    parents[v, u] = kind != DELETE
    new_u = score_family(book, u, parents[u])
    new_v = score_family(book, v, parents[v])
    if least < new_u + new_v - walker.families[u] - walker.families[v]:
        walker.families[u], walker.families[v] = new_u, new_v
        return True
    parents[u, v] = joined
    parents[v, u] = False
    return False
