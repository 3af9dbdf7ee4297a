"""An edge turned round, with new parents for both its ends (Grzegorczyk & Husmeier 2008).

Chains that change one pair at a time stay where several edges would have to turn at once. Here both
ends of an edge lose their parents; the one gets new ones, among them the other, and then the other
does, each by the exact weights of all its choices. What the choices sum to decides, together with
the same sums for the way back.
"""

from typing import Any, NamedTuple

import numpy as np

from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.jit import kernel
from lacunet.structure.edges.family_book import FamilyBook, family_key, look_up, score_family
from lacunet.structure.edges.walking import Walker, settle
from lacunet.structure.moves import Limits


class Choices(NamedTuple):
    """Sets of parents that are proposed; any other can be reached, but not in this way."""

    sets: BoolArray  # (n, most, n) for each variable, sets as rows
    members: IntArray  # (n, most, largest) the same as lists, behind which stand −1
    keys: IntArray  # (n, most) of the families, in the book
    number: IntArray  # (n,) how many each has


@kernel
def reverse_edges(
    walker: Walker, book: FamilyBook, limits: Limits, choices: Choices, moves: int, rng: Any
) -> int:
    """Propose so many reversals; give how many were accepted."""
    parents, accepted = walker.graph.parents, 0
    n = parents.shape[0]
    tails, heads = np.empty(n * n, dtype=np.int64), np.empty(n * n, dtype=np.int64)
    for _ in range(moves):
        edges = _list_edges(parents, limits.required, tails, heads)
        if edges == 0:
            return accepted
        at = int(rng.random() * edges)
        u, v = tails[at], heads[at]
        if _listed(choices, u, family_key(book, u, parents[u])) and _listed(
            choices, v, family_key(book, v, parents[v])
        ):
            accepted += _reverse(walker, book, limits, choices, (u, v, edges), rng)
    return accepted


@kernel
def _list_edges(parents: BoolArray, required: BoolArray, tails: IntArray, heads: IntArray) -> int:
    """List the edges that may turn; give their number."""
    found = 0
    for v in range(parents.shape[0]):
        for u in range(parents.shape[0]):
            if parents[v, u] and not required[v, u]:
                tails[found], heads[found] = u, v
                found += 1
    return found


@kernel
def _listed(choices: Choices, v: int, key: int) -> bool:
    """Whether a set of parents is among the choices."""
    found = False
    for s in range(choices.number[v]):
        found = found or choices.keys[v, s] == key
    return found


@kernel
def _reverse(
    walker: Walker,
    book: FamilyBook,
    limits: Limits,
    choices: Choices,
    edge: tuple[int, int, int],
    rng: Any,
) -> bool:
    """Turn u → v, one of so many edges that may turn, and accept that or go back."""
    u, v, edges = edge
    graph = walker.graph.parents
    old_u, old_v = graph[u].copy(), graph[v].copy()
    log_weights = np.empty(choices.sets.shape[1])
    graph[u], graph[v] = False, False
    below_u, below_v = _descendants(graph, u), _descendants(graph, v)
    # The way there: new parents of u, with v; then of v.
    log_there = _weigh(book, choices, (u, v), below_u, log_weights)
    if log_there == -np.inf:
        graph[u], graph[v] = old_u, old_v
        return False
    new_u = choices.sets[u, _drawn(log_weights[: choices.number[u]], rng)]
    graph[u] = new_u
    log_there += _weigh(book, choices, (v, -1), _descendants(graph, v), log_weights)
    new_v = choices.sets[v, _drawn(log_weights[: choices.number[v]], rng)]
    # The way back: the old parents of v, with u; then of u.
    log_back = _weigh(book, choices, (v, u), below_v, log_weights)
    graph[u], graph[v] = False, old_v
    log_back += _weigh(book, choices, (u, -1), _descendants(graph, u), log_weights)
    graph[u], graph[v] = new_u, new_v
    edges_after = graph.sum() - (graph & limits.required).sum()
    if np.log(rng.random()) < log_there - log_back + np.log(edges / edges_after):
        walker.families[u] = score_family(book, u, graph[u])
        walker.families[v] = score_family(book, v, graph[v])
        settle(walker.graph, limits)
        return True
    graph[u], graph[v] = old_u, old_v
    return False


@kernel
def _descendants(parents: BoolArray, start: int) -> BoolArray:
    """Whether each variable is below another: (n,)."""
    n = parents.shape[0]
    below, todo, waiting = np.zeros(n, dtype=np.bool_), np.empty(n, dtype=np.int64), 1
    todo[0] = start
    while waiting:
        waiting -= 1
        u = todo[waiting]
        for v in range(n):
            if parents[v, u] and not below[v]:
                below[v] = True
                todo[waiting] = v
                waiting += 1
    return below


@kernel
def _weigh(
    book: FamilyBook, choices: Choices, who: tuple[int, int], below: BoolArray, log: FloatArray
) -> float:
    """Log weights of the choices for v that close no cycle and have u (−1: any), and their sum.

    `below` are the descendants of v.
    """
    v, u = who
    top = -np.inf
    for s in range(choices.number[v]):
        fits = u < 0 or choices.sets[v, s, u]
        for p in choices.members[v, s]:
            fits = fits and (p < 0 or not below[p])
        log[s] = look_up(book, v, choices.sets[v, s], choices.keys[v, s]) if fits else -np.inf
        top = max(top, log[s])
    if top == -np.inf:
        return top
    total = 0.0
    for s in range(choices.number[v]):
        total += np.exp(log[s] - top)
    return float(top + np.log(total))


@kernel
def _drawn(log_weights: FloatArray, rng: Any) -> int:
    """Draw one of several by their log weights."""
    weights = np.exp(log_weights - log_weights.max())
    level = rng.random() * weights.sum()
    k = 0
    while k < weights.shape[0] - 1 and level >= weights[k]:
        level -= weights[k]
        k += 1
    return k
