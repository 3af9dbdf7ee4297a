"""Markov chains over graphs: Metropolis on pairs of variables, and reversals with new parents.

A pair is joined, cut or turned. A reversal turns an edge and draws new parents for both its ends
(Grzegorczyk & Husmeier 2008), from small sets of variables that hang together.
"""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from lacunet.models.latent_class import LARGEST_TABLE
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.jit import kernel
from lacunet.structure.counting import Columns, Prior, draw_index, score_set, table_size
from lacunet.structure.moves import ADD, DELETE, REVERSE, Graph, Limits, is_possible, update

SLOTS = 1 << 16  # families that are remembered; one that falls on another's place drives it out
MOST_CELLS = LARGEST_TABLE >> 4  # of a family's table: every chain holds those of its graph
NEAR = 9  # variables that the sets of one variable are made of
TOGETHER = 3  # of them in one set


class FamilyCache(NamedTuple):
    """A table without missing values, a prior, and the scores of families that were asked for."""

    columns: Columns
    prior: Prior
    marks: IntArray  # (n, n) random numbers: a family's key is those of its members, xored
    keys: IntArray  # (slots,) of the families that are remembered; 0: none
    scores: FloatArray  # (slots,) log BD, and the log prior of the parents
    log_prior: FloatArray  # (n, n) of k parents of v, at [v, k]


def family_cache(columns: Columns, prior: Prior, log_prior: FloatArray) -> FamilyCache:
    """Make an empty cache."""
    n = len(columns.cards)
    marks = np.random.default_rng(0).integers(1, 2**63 - 1, (n, n))
    keys = np.zeros(SLOTS, dtype=np.int64)
    return FamilyCache(columns, prior, marks, keys, np.zeros(SLOTS), log_prior)


@kernel
def score_family(cache: FamilyCache, child: int, parents: BoolArray) -> float:
    """Give log p(column of a child | columns of its parents), CH96 eq. 5, and log p(its parents).

    It is −inf where the table would be too large.
    """
    return _look_up(cache, child, parents, _family_key(cache, child, parents))


@kernel
def _family_key(cache: FamilyCache, child: int, parents: BoolArray) -> int:
    key = cache.marks[child, child]
    for u in range(parents.shape[0]):
        if parents[u]:
            key ^= cache.marks[child, u]
    return int(key)


@kernel
def _look_up(cache: FamilyCache, child: int, parents: BoolArray, key: int) -> float:
    at = (key >> 20) & (cache.keys.shape[0] - 1)
    if cache.keys[at] != key:
        chosen, own = np.flatnonzero(parents), -np.inf
        if table_size(cache.columns, child, chosen) <= MOST_CELLS:
            own = score_set(cache.columns, child, chosen, cache.prior)
        cache.keys[at] = key
        cache.scores[at] = own + cache.log_prior[child, parents.sum()]
    return float(cache.scores[at])


class Walker(NamedTuple):
    """Where a chain is."""

    graph: Graph
    families: FloatArray  # (n,) scores of the families


@kernel
def rescore(walker: Walker, cache: FamilyCache) -> None:
    """Score all families of the graph."""
    for v in range(walker.families.shape[0]):
        walker.families[v] = score_family(cache, v, walker.graph.parents[v])


@kernel
def walk(
    walker: Walker, cache: FamilyCache, limits: Limits, heat: float, proposals: int, rng: Any
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
        if possible and _change(walker, cache, kind, (u, v), np.log(rng.random()) / heat):
            update(graph, limits)


@kernel
def _change(
    walker: Walker, cache: FamilyCache, kind: int, pair: tuple[int, int], least: float
) -> bool:
    """Cut v → u, or join u → v, or both; go back if that gains less than it has to."""
    u, v = pair
    parents, joined = walker.graph.parents, kind != ADD
    parents[u, v] = False
    parents[v, u] = kind != DELETE
    new_u = score_family(cache, u, parents[u])
    new_v = score_family(cache, v, parents[v])
    if least < new_u + new_v - walker.families[u] - walker.families[v]:
        walker.families[u], walker.families[v] = new_u, new_v
        return True
    parents[u, v] = joined
    parents[v, u] = False
    return False


class ParentSets(NamedTuple):
    """Sets of parents that reversals propose; any other can be reached by changes of pairs."""

    sets: BoolArray  # (n, most, n) for each variable, sets as rows
    members: IntArray  # (n, most, largest) the same as lists, behind which stand −1
    keys: IntArray  # (n, most) of the families, in the cache
    number: IntArray  # (n,) how many each has


@kernel
def reverse_edges(
    walker: Walker, cache: FamilyCache, limits: Limits, choices: ParentSets, moves: int, rng: Any
) -> int:
    """Propose so many reversals; give how many were accepted."""
    parents, accepted = walker.graph.parents, 0
    for _ in range(moves):
        heads, tails = np.nonzero(parents & ~limits.required)  # edges that may turn
        edges = heads.shape[0]
        if edges == 0:
            return accepted
        at = int(rng.random() * edges)
        u, v = tails[at], heads[at]
        if _is_listed(choices, cache, u, parents[u]) and _is_listed(choices, cache, v, parents[v]):
            accepted += _reverse(walker, cache, limits, choices, (u, v, edges), rng)
    return accepted


@kernel
def _is_listed(choices: ParentSets, cache: FamilyCache, v: int, parents: BoolArray) -> bool:
    key, found = _family_key(cache, v, parents), False
    for s in range(choices.number[v]):
        found = found or choices.keys[v, s] == key
    return found


@kernel
def _reverse(
    walker: Walker,
    cache: FamilyCache,
    limits: Limits,
    choices: ParentSets,
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
    # Forward: new parents of u, with v; then of v.
    log_forward = _weigh(cache, choices, (u, v), below_u, log_weights)
    if log_forward == -np.inf:
        graph[u], graph[v] = old_u, old_v
        return False
    new_u = choices.sets[u, _drawn(log_weights[: choices.number[u]], rng)]
    graph[u] = new_u
    log_forward += _weigh(cache, choices, (v, -1), _descendants(graph, v), log_weights)
    new_v = choices.sets[v, _drawn(log_weights[: choices.number[v]], rng)]
    # Back: the old parents of v, with u; then of u.
    log_back = _weigh(cache, choices, (v, u), below_v, log_weights)
    graph[u], graph[v] = False, old_v
    log_back += _weigh(cache, choices, (u, -1), _descendants(graph, u), log_weights)
    graph[u], graph[v] = new_u, new_v
    edges_after = graph.sum() - (graph & limits.required).sum()
    if np.log(rng.random()) < log_forward - log_back + np.log(edges / edges_after):
        walker.families[u] = score_family(cache, u, graph[u])
        walker.families[v] = score_family(cache, v, graph[v])
        update(walker.graph, limits)
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
    cache: FamilyCache,
    choices: ParentSets,
    pair: tuple[int, int],
    below: BoolArray,
    log: FloatArray,
) -> float:
    """Log weights of the choices for v that close no cycle and have u (−1: any), and their sum.

    `pair` is (v, u), `below` are the descendants of v.
    """
    v, u = pair
    top = -np.inf
    for s in range(choices.number[v]):
        fits = u < 0 or choices.sets[v, s, u]
        for p in choices.members[v, s]:
            fits = fits and (p < 0 or not below[p])
        log[s] = _look_up(cache, v, choices.sets[v, s], choices.keys[v, s]) if fits else -np.inf
        top = max(top, log[s])
    if top == -np.inf:
        return top
    total = 0.0
    for s in range(choices.number[v]):
        total += np.exp(log[s] - top)
    return float(top + np.log(total))


@kernel
def _drawn(log_weights: FloatArray, rng: Any) -> int:
    return draw_index(np.exp(log_weights - log_weights.max()), rng)


def propose_sets(joined: FloatArray, cache: FamilyCache, limits: Limits) -> ParentSets:
    """List, for each variable, all small sets of the variables nearest to it.

    Nearest are those that graphs join it with most often, (n, n) in `joined`; then those that tell
    most of it by themselves.
    """
    n = len(joined)
    alone = np.tanh(_gains_alone(cache) / 1e6)  # below what any graph says
    listed: list[list[BoolArray]] = []
    for v, required in enumerate(limits.required):
        nearest = np.argsort(-(joined[v] + alone[v]), kind="stable").tolist()
        near = [u for u in nearest if limits.allowed[v, u] and not required[u] and u != v][:NEAR]
        rows = []
        for size in range(min(TOGETHER, int(limits.most[v] - required.sum())) + 1):
            for chosen in combinations(near, size):
                row = required.copy()
                row[list(chosen)] = True
                rows.append(row)
        listed.append(rows)
    number = np.array([len(rows) for rows in listed])
    largest = max(int(row.sum()) for rows in listed for row in rows)
    sets = np.zeros((n, number.max(), n), dtype=np.bool_)
    members = np.full((n, number.max(), largest), -1)
    keys = np.zeros((n, number.max()), dtype=np.int64)
    for v, rows in enumerate(listed):
        for s, row in enumerate(rows):
            sets[v, s] = row
            members[v, s, : row.sum()] = np.flatnonzero(row)
            keys[v, s] = _family_key(cache, v, row)
    return ParentSets(sets, members, keys, number)


@kernel
def _gains_alone(cache: FamilyCache) -> FloatArray:
    """What each variable gains by each other as its only parent, (n, n)."""
    n = cache.marks.shape[0]
    gains, parents = np.zeros((n, n)), np.zeros(n, dtype=np.bool_)
    for v in range(n):
        nothing = score_family(cache, v, parents)
        for u in range(n):
            if u != v:
                parents[u] = True
                gains[v, u] = score_family(cache, v, parents) - nothing
                parents[u] = False
    return gains
