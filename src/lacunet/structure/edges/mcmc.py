"""Markov chains over graphs: Metropolis moves of one edge, and edge reversals with new parents.

A Metropolis move adds, deletes or reverses an edge. An edge reversal also draws new parents for
both ends (Grzegorczyk & Husmeier 2008), from small sets of associated variables.
"""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from lacunet.models.latent_class import LARGEST_TABLE
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.jit import kernel
from lacunet.structure.counting import Columns, Prior, draw_index, score_set, table_size
from lacunet.structure.moves import ADD, DELETE, REVERSE, Graph, Limits, is_possible, update

SLOTS = 1 << 16  # of the cache; a family replaces another in its slot
MOST_CELLS = LARGEST_TABLE >> 4  # of a family's table: every chain holds the tables of its graph
NEAR = 9  # candidate parents in the proposed sets of a variable
TOGETHER = 3  # most of them in one set


class FamilyCache(NamedTuple):
    """A table without missing values, a prior, and a cache of family scores."""

    columns: Columns
    prior: Prior
    marks: IntArray  # (n, n) random numbers: the key of a family is the xor over its members
    keys: IntArray  # (slots,) of the cached families; 0: none
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
    """Compute log p(child | parents), CH96 eq. 5, plus the log prior of the parents.

    It is −inf if the table is too large.
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
        chosen, score = np.flatnonzero(parents), -np.inf
        if table_size(cache.columns, child, chosen) <= MOST_CELLS:
            score = score_set(cache.columns, child, chosen, cache.prior)
        cache.keys[at] = key
        cache.scores[at] = score + cache.log_prior[child, parents.sum()]
    return float(cache.scores[at])


class Walker(NamedTuple):
    """The state of a chain."""

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
    """Make Metropolis moves; `heat` below 1 flattens the posterior."""
    graph, n = walker.graph, walker.families.shape[0]
    for _ in range(proposals if n > 1 else 0):
        u = int(rng.random() * n)
        v = int(rng.random() * (n - 1))
        v += v >= u
        if graph.parents[v, u]:
            u, v = v, u
        # No edge: propose u → v. An edge v → u: reverse or delete it.
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
    """Delete v → u, add u → v, or both; undo it if the gain is not above `least`."""
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
    """The parent sets that reversals propose; single-edge moves reach all others."""

    sets: BoolArray  # (n, most, n) sets of each variable as rows
    members: IntArray  # (n, most, largest) the same as lists, padded with −1
    keys: IntArray  # (n, most) of the families in the cache
    number: IntArray  # (n,) number of sets


@kernel
def reverse_edges(
    walker: Walker, cache: FamilyCache, limits: Limits, choices: ParentSets, moves: int, rng: Any
) -> int:
    """Propose edge reversals; return the number accepted."""
    parents, accepted = walker.graph.parents, 0
    for _ in range(moves):
        heads, tails = np.nonzero(parents & ~limits.required)  # edges that may be reversed
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
    key, listed = _family_key(cache, v, parents), False
    for s in range(choices.number[v]):
        listed = listed or choices.keys[v, s] == key
    return listed


@kernel
def _reverse(
    walker: Walker,
    cache: FamilyCache,
    limits: Limits,
    choices: ParentSets,
    edge: tuple[int, int, int],
    rng: Any,
) -> bool:
    """Propose to reverse u → v, one of `edges` reversible edges, and accept or undo it."""
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
    """Mark the descendants of a variable: (n,)."""
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
    """Log weights of the parent sets of v without cycles that contain u (−1: any), and their sum.

    `pair` is (v, u); `below` marks the descendants of v.
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
    """List for each variable all small sets of the variables most associated with it.

    They are ranked by the share of graphs with the edge, (n, n) in `joined`; then by the gain as
    the only parent.
    """
    n = len(joined)
    alone = np.tanh(_gains_alone(cache) / 1e6)  # smaller than a difference of one graph
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
    """Compute the gain of each variable from each other as its only parent, (n, n)."""
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
