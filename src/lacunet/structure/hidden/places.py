"""Where a hidden variable may stand: columns that hang together more than a few edges can say.

Take a hidden parent away, and its children all depend on each other: a graph without it has a
near-clique in its place (Elidan, Lotner, Friedman & Koller 2001). With few rows it has fewer edges,
so small groups of columns that depend on each other are candidates, too.

Are some columns explained by one hidden variable, or better by two? Local fits say so.
Columns that one hidden variable explains: groups that are grown until it no longer does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lacunet.data.table import Table
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.structure.counting import Columns, prior_of
from lacunet.structure.hidden.fitting import (
    Classes,
    Filled,
    Part,
    best_classes,
    fit,
    fit_classes,
    take_part,
)
from lacunet.structure.hidden.sketch import Sketch, reached, strongest_tree
from lacunet.structure.scoring import available_gains

FEWEST_IN_CLIQUE = (
    3  # children of a hidden variable: of two, it says no more than an edge between them
)
MOST = 12  # members of a group that is proposed
LARGEST = 5  # members of a group that is proposed because they depend on each other
PAIRS = 200  # of columns that such groups grow from
BEAM = 20  # such groups of each size: of six columns that is all


def groups_of(touching: BoolArray) -> list[tuple[int, ...]]:
    """Give near-cliques, neighbourhoods and parts of a graph, each once; (n, n), symmetric."""
    found = [*near_cliques(touching), *neighbourhoods(touching)]
    return sorted({tuple(sorted(g)) for g in found if FEWEST_IN_CLIQUE <= len(g) <= MOST})


def near_cliques(touching: BoolArray) -> Iterator[set[int]]:
    """Grow a group from every edge, for as long as each touches at least half of the others."""
    for u, v in np.argwhere(np.triu(touching)).tolist():
        group = {u, v}
        while True:
            ties = touching[:, sorted(group)].sum(axis=1)
            others = [w for w in np.argsort(-ties, kind="stable").tolist() if w not in group]
            wider = next((w for w in others if is_near_clique(touching, group | {w})), None)
            if wider is None:
                break
            group.add(wider)
        yield group


def is_near_clique(touching: BoolArray, group: set[int]) -> bool:
    """Whether each member touches at least half of the others."""
    members = sorted(group)
    inside = touching[np.ix_(members, members)].sum(axis=1)
    return bool((2 * inside >= len(members) - 1).all())


def neighbourhoods(touching: BoolArray) -> Iterator[set[int]]:
    """Every variable with its neighbours, and all that hang together."""
    links = [(int(u), int(v)) for u, v in np.argwhere(touching)]
    for v, row in enumerate(touching):
        around = {v, *np.flatnonzero(row).tolist()}
        yield around
        yield reached(v, links)


def dependent_groups(near: FloatArray) -> list[tuple[int, ...]]:
    """Give small groups whose least dependent pair is the most dependent, by a beam search.

    `near`, (n, n), says how dependent each pair is.
    """
    n = len(near)
    beam: list[tuple[int, ...]] = [(v,) for v in range(n)]
    found: list[tuple[int, ...]] = []
    for size in range(2, min(LARGEST, n) + 1):
        wider = {tuple(sorted((*group, v))) for group in beam for v in range(n) if v not in group}
        width = BEAM if size >= FEWEST_IN_CLIQUE else PAIRS
        beam = sorted(wider, key=lambda group: (-_weakest(near, group), group))[:width]
        found += beam if size >= FEWEST_IN_CLIQUE else []
    return found


def _weakest(near: FloatArray, group: tuple[int, ...]) -> float:
    """The least dependence of a pair in a group."""
    inside = near[np.ix_(group, group)]
    return float(inside[np.triu_indices(len(group), 1)].min())


FEWEST = 4  # columns that two hidden variables may explain better than one


@dataclass(frozen=True, eq=False)
class Two:
    """Two hidden variables, joined, each behind a group of columns."""

    groups: tuple[list[int], list[int]]
    classes: tuple[Classes, Classes]  # of each group by itself
    value: float  # a bound of the evidence of all their columns


@dataclass(frozen=True, eq=False)
class Explaining:
    """Rows, some columns of which are to be explained; hidden variables may be among them."""

    sketch: Sketch  # what the columns are
    rows: Filled  # −1 = missing
    alpha: float | str
    rng: np.random.Generator

    @cached_property
    def grouped(self) -> Columns:
        """The rows with numbers in groups: what associations are counted in."""
        codes = np.ascontiguousarray(self.rows.in_groups(self.sketch).codes.T)
        cards = [len(c.states) for c in self.sketch.in_groups.all_columns]
        return Columns(codes, self.rows.counts, np.array(cards))

    @cached_property
    def near(self) -> FloatArray:
        """Log Bayes factors for the dependence of each pair, (n, n)."""
        return association(self.grouped, self.alpha)

    def part(self, members: Sequence[int]) -> Part:
        """Take some columns."""
        return take_part(self.rows, self.sketch.variables, members)

    def one(self, members: Sequence[int], near: int = 2) -> Classes:
        """Explain some columns by one hidden variable, with about so many states."""
        return best_classes(self.part(members), self.alpha, near)

    def exactly(self, members: Sequence[int], states: int) -> Classes:
        """Explain some columns by one hidden variable with so many states."""
        return fit_classes(self.part(members), self.alpha, states)

    def both(self, groups: Sequence[list[int]]) -> Two:
        """Explain two groups by a hidden variable each, the first a parent of the second."""
        first, second = groups
        members = [*first, *second]
        each = self.one(first), self.one(second)
        states = np.column_stack([classes.draw(self.rng) for classes in each])
        codes = np.column_stack([self.rows.codes[:, members], states])
        n = len(members)
        parents = np.zeros((n + 2, n + 2), dtype=bool)
        parents[: len(first), n] = parents[len(first) : n, n + 1] = parents[n + 1, n] = True
        sketch = self.sketch.of(members, [classes.states for classes in each], parents)
        table = Table.from_codes(codes[:, :n], sketch.columns, self.rows.counts)
        found = fit(table, self.alpha, sketch, Filled(codes, self.rows.counts))
        return Two((first, second), each, found.value)

    def split(self, members: Sequence[int], one: Classes) -> Two | None:
        """Find two groups that two hidden variables explain better than one does, if any."""
        if len(members) < FEWEST:
            return None
        state = one.draw(self.rng)
        for apart in (self._still_dependent(members, state), self._weakly_joined(members)):
            groups = [[v for i, v in enumerate(members) if (i in apart) == side] for side in (0, 1)]
            if apart:
                two = self.both(groups)
                if two.value > one.value:
                    return two
        return None

    def splits(self, sketch: Sketch) -> Iterator[tuple[int, Classes, Two]]:
        """Find hidden variables of a graph whose neighbours two explain better than it does."""
        for h in sketch.hidden:
            around = sketch.neighbours(h)
            one = self.one(around, sketch.sizes[h - sketch.n])
            two = self.split(around, one)
            if two is not None:
                yield h, one, two

    def _still_dependent(self, members: Sequence[int], state: CodeArray) -> set[int]:
        """Members that go with each other even where one variable has the same state."""
        own = list(members)
        codes = np.vstack([self.grouped.codes[own], state])
        cards = np.array([*self.grouped.cards[own], int(state.max()) + 1])
        columns = Columns(codes, self.rows.counts, cards)
        return most_dependent(association(columns, self.alpha, [len(members)])[:-1, :-1])

    def _weakly_joined(self, members: Sequence[int]) -> set[int]:
        return weakest_link(self.near[np.ix_(members, members)])


def association(columns: Columns, alpha: float | str, given: Sequence[int] = ()) -> FloatArray:
    """Log Bayes factors for the dependence of each pair, on the rows that show all: (n, n)."""
    prior, parents = prior_of(alpha), np.array(given, dtype=np.int64)
    gains = np.zeros((len(columns.cards),) * 2)
    for v in range(len(gains)):
        if v not in given:
            gains[v] = available_gains(columns, v, parents, prior)
    gains = (gains + gains.T) / 2
    np.fill_diagonal(gains, -np.inf)
    return gains


def most_dependent(gains: FloatArray) -> set[int]:
    """The most dependent pair, and who goes with both of them; two others at least stay behind."""
    a, b = (int(v) for v in np.unravel_index(int(gains.argmax()), gains.shape))
    if gains[a, b] <= 0:
        return set()
    found, with_both = {a, b}, gains[a] + gains[b]
    for v in np.argsort(-with_both).tolist():
        if v not in found and with_both[v] > 0 and len(found) < len(gains) - 2:
            found.add(v)
    return found


def weakest_link(near: FloatArray) -> set[int]:
    """Cut the tree of the strongest associations at its weakest link; two stay on either side."""
    links = strongest_tree(near)
    for cut in sorted(range(len(links)), key=lambda i: near[links[i]]):
        side = reached(0, [link for i, link in enumerate(links) if i != cut])
        if 2 <= len(side) <= len(near) - 2:
            return side
    return set()


@dataclass(frozen=True, eq=False)
class Island:
    """Columns with one hidden variable behind them."""

    members: list[int]
    classes: Classes


def find_islands(explaining: Explaining, executor: Executor = SERIAL) -> list[Island]:
    """Put columns into islands, one after the other; a column or two may be left over."""
    columns = range(explaining.sketch.n)
    left, found = set(columns), list[Island]()
    while len(left) >= min(3, len(columns)):
        island = _grow(explaining, left)
        found.append(island)
        left -= {*island.members}
        executor.say(f"{len(found)} groups of columns", 1.0 - len(left) / len(columns))
    return found


def _grow(explaining: Explaining, left: set[int]) -> Island:
    """Grow an island from the nearest pair."""
    near, rest = explaining.near, sorted(left)
    pairs = near[np.ix_(rest, rest)]
    own = [rest[v] for v in np.unravel_index(int(pairs.argmax()), pairs.shape)]
    classes = explaining.one(own)
    while len(own) < len(left):
        others = sorted(left - {*own})
        nearest = others[int(near[np.ix_(others, own)].max(axis=1).argmax())]
        wider = [*own, nearest]
        one = explaining.one(wider, classes.states)
        two = explaining.split(wider, one)
        if two is not None:
            place = next(i for i, group in enumerate(two.groups) if nearest not in group)
            return Island(two.groups[place], two.classes[place])
        own, classes = wider, one
    return Island(own, classes)
