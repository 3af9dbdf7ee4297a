"""What families are worth, looked up where they were met before: for chains over graphs.

A chain over graphs: one pair of variables at a time, by Metropolis.
An edge turned round, with new parents for both its ends (Grzegorczyk & Husmeier 2008).
Which sets of parents reversals propose: small ones of variables that hang together.
"""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from lacunet.models.latent_class import LARGEST_TABLE
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.jit import kernel
from lacunet.structure.counting import Columns, Prior, child_of, cut_rows, log_bd
from lacunet.structure.moves import ADD, DELETE, REVERSE, Graph, Limits, find_ancestors, is_possible

SLOTS = 1 << 16  # families that are remembered; one that falls on another's place drives it out
MOST_CELLS = LARGEST_TABLE >> 4  # of a family's table: every chain holds those of its graph


class FamilyBook(NamedTuple):
    """A table without holes, a prior, and the scores of families that were asked for."""

    columns: Columns
    prior: Prior
    marks: IntArray  # (n, n) random numbers: a family's key is those of its members, xored
    keys: IntArray  # (slots,) of the families that are remembered; 0: none
    scores: FloatArray  # (slots,) log BD, and the log prior of the parents
    log_prior: FloatArray  # (n, n) of k parents of v, at [v, k]


def family_book(columns: Columns, prior: Prior, log_prior: FloatArray) -> FamilyBook:
    """Open an empty book."""
    n = len(columns.cards)
    marks = np.random.default_rng(0).integers(1, 2**63 - 1, (n, n))
    keys = np.zeros(SLOTS, dtype=np.int64)
    return FamilyBook(columns, prior, marks, keys, np.zeros(SLOTS), log_prior)


@kernel
def score_family(book: FamilyBook, child: int, parents: BoolArray) -> float:
    """Give log p(column of a child | columns of its parents), CH96 eq. 5, and log p(its parents).

    It is −inf beyond all room.
    """
    return look_up(book, child, parents, family_key(book, child, parents))


@kernel
def family_key(book: FamilyBook, child: int, parents: BoolArray) -> int:
    """Give the key of a family."""
    key = book.marks[child, child]
    for u in range(parents.shape[0]):
        if parents[u]:
            key ^= book.marks[child, u]
    return int(key)


@kernel
def look_up(book: FamilyBook, child: int, parents: BoolArray, key: int) -> float:
    """Give the score of a family whose key is known."""
    at = (key >> 20) & (book.keys.shape[0] - 1)
    if book.keys[at] != key:
        book.keys[at] = key
        own = _count_and_score(book.columns, book.prior, child, parents)
        book.scores[at] = own + book.log_prior[child, parents.sum()]
    return float(book.scores[at])


@kernel
def _count_and_score(columns: Columns, prior: Prior, v: int, parents: BoolArray) -> float:
    """Score a family that is not in the book."""
    chosen, cells = np.flatnonzero(parents), float(columns.cards[v])
    for u in chosen:
        cells *= columns.cards[u]
    if cells > MOST_CELLS:
        return -np.inf
    child = child_of(columns, v)
    j = np.empty(columns.counts.shape[0], dtype=np.int64)
    return log_bd(child, j, cut_rows(columns, chosen, -1, j), cells, prior)


@kernel
def forget(book: FamilyBook) -> None:
    """Close all entries: the table has changed."""
    book.keys[:] = 0


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


NEAR = 9  # variables that the sets of one variable are made of
TOGETHER = 3  # of them in one set


def propose_sets(joined: FloatArray, book: FamilyBook, limits: Limits) -> Choices:
    """List, for each variable, all small sets of the variables nearest to it.

    Nearest are those that graphs join it with most often, (n, n) in `joined`; then those that tell
    most of it by themselves.
    """
    n = len(joined)
    alone = np.tanh(gains_alone(book) / 1e6)  # below what any graph says
    sets = [
        _sets_of(v, np.argsort(-(joined[v] + alone[v]), kind="stable"), limits) for v in range(n)
    ]
    number = np.array([len(s) for s in sets])
    largest = max(int(rows.sum(axis=1).max()) for rows in sets)
    found = np.zeros((n, number.max(), n), dtype=np.bool_)
    members = np.full((n, number.max(), largest), -1)
    keys = np.zeros((n, number.max()), dtype=np.int64)
    for v, rows in enumerate(sets):
        for s, row in enumerate(rows):
            found[v, s] = row
            members[v, s, : row.sum()] = np.flatnonzero(row)
            keys[v, s] = family_key(book, v, row)
    return Choices(found, members, keys, number)


def _sets_of(v: int, nearest: IntArray, limits: Limits) -> BoolArray:
    required = limits.required[v]
    near = [int(u) for u in nearest if limits.allowed[v, u] and not required[u] and u != v][:NEAR]
    rows = []
    for size in range(min(TOGETHER, int(limits.most[v] - required.sum())) + 1):
        for chosen in combinations(near, size):
            row = required.copy()
            row[list(chosen)] = True
            rows.append(row)
    return np.array(rows)


@kernel
def gains_alone(book: FamilyBook) -> FloatArray:
    """What each variable gains by each other as its only parent, (n, n)."""
    n = book.marks.shape[0]
    gains, parents = np.zeros((n, n)), np.zeros(n, dtype=np.bool_)
    for v in range(n):
        nothing = score_family(book, v, parents)
        for u in range(n):
            if u != v:
                parents[u] = True
                gains[v, u] = score_family(book, v, parents) - nothing
                parents[u] = False
    return gains
