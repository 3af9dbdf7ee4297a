"""Greedy search for the best graph over complete data: add, delete or reverse one edge at a time.

CH96 §5 compares hidden-root models with what this finds. Families are scored once and kept; a move
rescores only the families it changes; descendants are kept as bit masks, so that a move which would
close a cycle is never even looked at.
"""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from lacunet.data.table import Table
from lacunet.errors import OptionError
from lacunet.executor import SERIAL, Executor
from lacunet.model.network import Network, Variable
from lacunet.search.families import CompleteCounts, FamilyScores
from lacunet.tabular import Grid, Printable, number

EQUAL = 1e-9  # nats: gains this near to each other are a tie
SHAKES = 8  # random moves before a restart climbs again


@dataclass(frozen=True)
class GreedySearch:
    """How to search."""

    max_parents: int | None = None
    restarts: int = 0  # climbs from a shaken best graph, after the first from the empty one
    tabu: int = 0  # moves that may not be undone; with it the search also walks downhill
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and value < 0:
                raise OptionError(f"{name} {value} is not allowed: give 0 or more.")


@dataclass(frozen=True)
class Move:
    """A change of one edge u → v."""

    kind: str  # "add", "delete" or "reverse"
    u: int
    v: int


@dataclass(frozen=True, eq=False)
class Learned(Printable):
    """The best graph that was found."""

    network: Network
    log_bd: float  # log p(D|S), exact
    families: tuple[float, ...]  # its addends, by variable
    steps: int  # moves made, over all climbs
    scored: int  # different families scored

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        names = [v.name for v in self.network.variables]
        rows = tuple(
            (names[i], ", ".join(names[p] for p in parents) or "–", number(self.families[i]))
            for i, parents in enumerate(self.network.parents)
        )
        edges = sum(len(p) for p in self.network.parents)
        title = f"log p(D|S) = {self.log_bd:.4f} (BD, exact); {edges} edges"
        notes = (f"{self.steps} moves, {self.scored:,} families scored.",)
        return [Grid(title, ("variable", "parents", "log BD"), rows, frozenset({0, 1}), notes)]


class Graph:
    """A directed graph without cycles; sets of variables are bit masks."""

    def __init__(self, n: int) -> None:
        self.parents = [0] * n
        self.below = [0] * n  # descendants

    def apply(self, move: Move) -> None:
        """Make a move."""
        if move.kind != "add":
            self.parents[move.v] &= ~(1 << move.u)
            self._redo()
        if move.kind != "delete":
            u, v = (move.u, move.v) if move.kind == "add" else (move.v, move.u)
            self.parents[v] |= 1 << u
            gained = self.below[v] | 1 << v
            for w in range(len(self.below)):
                if w == u or self.below[w] >> u & 1:
                    self.below[w] |= gained

    def _redo(self) -> None:
        """Find all descendants anew, children before parents."""
        n = len(self.parents)
        left = set(range(n))
        children = [[v for v in range(n) if self.parents[v] >> u & 1] for u in range(n)]
        while left:
            ready = [u for u in left if not any(c in left for c in children[u])]
            for u in ready:
                self.below[u] = 0
                for c in children[u]:
                    self.below[u] |= self.below[c] | 1 << c
            left.difference_update(ready)

    def moves(self, max_parents: int) -> Iterator[Move]:
        """Every move that keeps the graph free of cycles."""
        n = len(self.parents)
        for v in range(n):
            room = self.parents[v].bit_count() < max_parents
            for u in range(n):
                if u == v:
                    continue
                if self.parents[v] >> u & 1:
                    yield Move("delete", u, v)
                    if self.parents[u].bit_count() < max_parents and not self._detour(u, v):
                        yield Move("reverse", u, v)
                elif room and not self.below[v] >> u & 1:
                    yield Move("add", u, v)

    def _detour(self, u: int, v: int) -> bool:
        """Whether v can be reached from u by another way than the edge itself."""
        return any(
            self.below[w] >> v & 1
            for w in range(len(self.parents))
            if w != v and self.parents[w] >> u & 1
        )


class _Climb:
    """Greedy moves from one graph, with or without a tabu list."""

    def __init__(self, score: FamilyScores, search: GreedySearch, rng: np.random.Generator) -> None:
        self.score, self.search, self.rng = score, search, rng
        n = len(score.cards)
        self.max_parents = n if search.max_parents is None else search.max_parents
        self.steps = 0

    def gain(self, graph: Graph, move: Move) -> float:
        """What a move would add to log p(D|S)."""
        u, v, pa = move.u, move.v, graph.parents
        change = self.score(v, pa[v] ^ (1 << u)) - self.score(v, pa[v])
        if move.kind == "reverse":
            change += self.score(u, pa[u] | 1 << v) - self.score(u, pa[u])
        return change

    def run(self, graph: Graph) -> tuple[Graph, float]:
        """Climb until no move helps; with a tabu list, until it has not helped for a while."""
        total = sum(self.score(v, p) for v, p in enumerate(graph.parents))
        best, best_total = deepcopy(graph), total
        forbidden: list[set[int]] = []  # ends of the edges that the last moves changed
        idle = 0
        while True:
            move, gain = self._best(graph, forbidden)
            if move is None or (gain <= EQUAL and not self.search.tabu):
                return best, best_total
            graph.apply(move)
            self.steps += 1
            total += gain
            forbidden = [*forbidden, {move.u, move.v}]
            forbidden = forbidden[len(forbidden) - self.search.tabu :]
            idle += 1
            if total > best_total + EQUAL:
                best, best_total, idle = deepcopy(graph), total, 0
            if idle > max(self.search.tabu, 0):
                return best, best_total

    def _best(self, graph: Graph, forbidden: Sequence[set[int]]) -> tuple[Move | None, float]:
        """Give the best move; ties are broken at random."""
        top, tied = -np.inf, []
        for move in graph.moves(self.max_parents):
            if forbidden and {move.u, move.v} in forbidden:
                continue
            gain = self.gain(graph, move)
            if gain > top + EQUAL:
                top, tied = gain, [move]
            elif gain >= top - EQUAL:
                tied.append(move)
        return (tied[int(self.rng.integers(len(tied)))], top) if tied else (None, top)


def learn_structure(
    table: Table,
    alpha: float | str = 1.0,
    search: GreedySearch | None = None,
    executor: Executor = SERIAL,
) -> Learned:
    """Search for the graph with the largest exact evidence, from the empty graph."""
    search = search or GreedySearch()
    rng = np.random.default_rng(search.seed)
    score = FamilyScores(CompleteCounts(table), alpha)
    climb = _Climb(score, search, rng)
    best, total = climb.run(Graph(len(table.columns)))
    for k in range(search.restarts):
        executor.say(f"restart {k + 1}", k / search.restarts)
        shaken = deepcopy(best)
        for _ in range(SHAKES):
            if moves := list(shaken.moves(climb.max_parents)):
                shaken.apply(moves[int(rng.integers(len(moves)))])
        graph, reached = climb.run(shaken)
        if reached > total + EQUAL:
            best, total = graph, reached
    parents = [tuple(u for u in range(len(best.parents)) if p >> u & 1) for p in best.parents]
    network = Network.build([Variable(c.name, c.states) for c in table.columns], parents)
    families = tuple(score(v, p) for v, p in enumerate(best.parents))
    return Learned(network, sum(families), families, climb.steps, len(score.known))
