"""Changes of a latent tree that completed rows propose: leaves, states, splits, mergers.

Around a hidden variable the completed rows show all its neighbours, so that it is one latent class
model by itself: what a change there gains is guessed by a local fit. Whether it gains anything the
data as they are decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from lacunet.structure.hidden.classes import RISE, fit_classes
from lacunet.structure.hidden.explaining import Explaining
from lacunet.structure.hidden.fitting import Filled
from lacunet.structure.hidden.proposal import Proposal
from lacunet.structure.hidden.sketch import Sketch
from lacunet.structure.hidden.trees import best_tree, homes_of, links_of, tree_graph

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
