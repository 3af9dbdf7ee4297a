"""Latent trees: every column is a leaf, whatever joins the columns is hidden.

Changes of a latent tree that completed rows propose: leaves, states, splits, mergers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from lacunet.data.table import Table
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.structure.families import CompleteCounts, Statistics
from lacunet.structure.hidden.fitting import RISE, Filled, Proposal, fit_classes
from lacunet.structure.hidden.places import Explaining
from lacunet.structure.hidden.sketch import Sketch, strongest_tree
from lacunet.structure.scoring import AvailableCases, statistics_of


def tree_graph(n: int, m: int, homes: Sequence[int], links: Sequence[tuple[int, int]]) -> BoolArray:
    """Give the edges of a tree or a forest: (n + m, n + m), parents of v at [v].

    `homes[v]` is the hidden variable of column v (−1: none), `links` join hidden ones, by number.
    """
    parents = np.zeros((n + m, n + m), dtype=bool)
    for v, home in enumerate(homes):
        if home >= 0:
            parents[v, home] = True
    left = set(range(n, n + m))
    while left:  # edges point away from the first hidden variable of each part
        todo = [min(left)]
        left -= {*todo}
        while todo:
            u = todo.pop()
            for v in sorted(left & {a + b - u for a, b in links if u in (a, b)}):
                parents[v, u] = True
                left.remove(v)
                todo.append(v)
    return parents


def homes_of(sketch: Sketch) -> list[int]:
    """Give the hidden variable behind each column; −1 where there is none."""
    return [int(row.argmax()) if row.any() else -1 for row in sketch.parents[: sketch.n]]


def links_of(sketch: Sketch) -> list[tuple[int, int]]:
    """Give the edges between hidden variables."""
    n = sketch.n
    return [(int(u) + n, int(v) + n) for v, u in np.argwhere(sketch.parents[n:, n:])]


def dependence(filled: Filled, sketch: Sketch, alpha: float | str) -> FloatArray:
    """Log Bayes factors for each variable to depend on each hidden one: (n + m, n + m)."""
    table, none = filled.table(sketch), np.zeros(len(sketch.parents), dtype=bool)

    def of_categories(seen: Table) -> Statistics:
        return (CompleteCounts if seen.complete else AvailableCases)(seen, alpha)

    statistics = statistics_of(table, sketch.variables, alpha, of_categories)
    scores = np.array([statistics(v, none) for v in range(len(none))])
    return scores - np.diag(scores)[:, None]


def best_tree(filled: Filled, sketch: Sketch, alpha: float | str, *, apart: bool) -> Sketch:
    """Give the tree of the strongest dependences in completed rows; a forest if it may fall apart.

    Hidden variables that nothing hangs on are left as they are: they have no effect.
    """
    gains, n, m = dependence(filled, sketch, alpha), sketch.n, len(sketch.sizes)
    homes = []
    for v in range(n):
        home = n + int(gains[v, n:].argmax())
        homes.append(-1 if apart and gains[v, home] <= 0 else home)
    between = gains[n:, n:]
    strength = (between + between.T) / 2
    links = [(n + a, n + b) for a, b in strongest_tree(strength) if not apart or strength[a, b] > 0]
    return sketch.with_graph(tree_graph(n, m, homes, links))


SINGLES = 3  # changes that are tried by themselves where all together do not help


@dataclass(frozen=True, eq=False)
class Situation:
    """A tree, and rows completed by it."""

    sketch: Sketch
    filled: Filled
    alpha: float | str
    apart: bool  # whether it may be a forest
    rng: np.random.Generator

    @property
    def explaining(self) -> Explaining:
        """The completed rows as what is to be explained."""
        return Explaining(self.sketch, self.filled, self.alpha, self.rng)


Moves: TypeAlias = Callable[[Situation], Iterator[Proposal]]


def cleared(proposal: Proposal) -> Proposal:
    """Take hidden variables away that join nothing."""
    sketch, start = proposal.sketch, proposal.start
    for h in reversed(sketch.hidden):
        if len(sketch.neighbours(h)) < 2:
            return cleared(Proposal(sketch.without(h), start.without(h)))
    return proposal


def grafts(now: Situation) -> Iterator[Proposal]:
    """Hang every column, and every hidden variable, where completed rows would have it."""
    sketch, filled = now.sketch, now.filled
    if not sketch.sizes:  # a forest without hidden variables: there is nothing to hang columns on
        return
    best = best_tree(filled, sketch, now.alpha, apart=now.apart)
    homes, others = homes_of(sketch), homes_of(best)
    moved = [v for v in range(sketch.n) if homes[v] != others[v]]
    relinked = sorted(links_of(best)) != sorted(links_of(sketch))
    if not moved and not relinked:
        return
    yield Proposal(best, filled)
    n, m = sketch.n, len(sketch.sizes)
    if moved and relinked:
        yield Proposal(sketch.with_graph(tree_graph(n, m, homes, links_of(best))), filled)
    if (moved and relinked) or len(moved) > 1:
        for v in moved[:SINGLES]:
            own = [*homes[:v], others[v], *homes[v + 1 :]]
            yield Proposal(sketch.with_graph(tree_graph(n, m, own, links_of(sketch))), filled)


def numbers_of_states(now: Situation) -> Iterator[Proposal]:
    """Give hidden variables a state more or less: all that gain by it, then the best of them."""
    explaining, found = now.explaining, []
    for h in now.sketch.hidden:
        part = explaining.part(now.sketch.neighbours(h))
        states = now.sketch.sizes[h - now.sketch.n]
        own = fit_classes(part, now.alpha, states).value
        others = [fit_classes(part, now.alpha, k) for k in (states + 1, states - 1) if k >= 2]
        better = max(others, key=lambda classes: classes.value)
        if better.value > own + RISE:
            found.append((better.value - own, h, better.states, better.draw(now.rng)))
    found.sort(key=lambda one: -one[0])
    for chosen in (found, *([one] for one in found[:SINGLES] if len(found) > 1)):
        sketch, start = now.sketch, now.filled
        for _, h, states, drawn in chosen:
            sketch, start = sketch.with_size(h, states), start.with_states(h, drawn)
        if chosen:
            yield Proposal(sketch, start)


def splits(now: Situation) -> Iterator[Proposal]:
    """Put two hidden variables in the place of one whose neighbours it does not explain."""
    found = [(two.value - one.value, h, two) for h, one, two in now.explaining.splits(now.sketch)]
    for _, h, two in sorted(found, key=lambda one: -one[0])[:SINGLES]:
        first, second = two.classes
        sketch = now.sketch.with_hidden(second.states, [], []).with_size(h, first.states)
        start = now.filled.with_states(h, first.draw(now.rng)).with_column(second.draw(now.rng))
        new = sketch.hidden[-1]
        links = [(h, new), *(_moved(link, h, new, two.groups[1]) for link in links_of(now.sketch))]
        homes = [new if v in two.groups[1] else home for v, home in enumerate(homes_of(now.sketch))]
        graph = tree_graph(sketch.n, len(sketch.sizes), homes, links)
        yield Proposal(sketch.with_graph(graph), start)


def _moved(link: tuple[int, int], old: int, new: int, who: Sequence[int]) -> tuple[int, int]:
    """Let a link that leads from a hidden variable to some others lead there from another."""
    a, b = link
    other = a + b - old
    return (new, other) if old in link and other in who else link


def mergers(now: Situation) -> Iterator[Proposal]:
    """Put one hidden variable in the place of two that are joined."""
    explaining, found = now.explaining, []
    for a, b in links_of(now.sketch):
        groups = [[v for v in now.sketch.neighbours(h) if v not in (a, b)] for h in (a, b)]
        together = [*groups[0], *groups[1]]
        one = explaining.one(together, max(now.sketch.sizes[h - now.sketch.n] for h in (a, b)))
        gain = one.value - explaining.both(groups).value if all(groups) else 0.0
        if gain >= 0:
            found.append((gain, a, b, one))
    for _, a, b, one in sorted(found, key=lambda one: -one[0])[:SINGLES]:
        sketch = now.sketch.with_size(a, one.states)
        homes = [a if home == b else home for home in homes_of(sketch)]
        links = [_merged(link, a, b) for link in links_of(sketch) if {*link} != {a, b}]
        graph = tree_graph(sketch.n, len(sketch.sizes), homes, links)
        start = now.filled.with_states(a, one.draw(now.rng))
        yield Proposal(sketch.with_graph(graph).without(b), start.without(b))


def _merged(link: tuple[int, int], a: int, b: int) -> tuple[int, int]:
    one, other = (a if v == b else v for v in link)
    return one, other


MOVES: tuple[Moves, ...] = (grafts, numbers_of_states, splits, mergers)
