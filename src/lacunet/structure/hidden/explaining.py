"""Are some columns explained by one hidden variable, or better by two? Local fits say so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lacunet.data.table import Table
from lacunet.runtime.arrays import CodeArray, FloatArray
from lacunet.structure.available import available_gains
from lacunet.structure.counting import Columns, prior_of
from lacunet.structure.hidden.classes import Classes, Part, best_classes, fit_classes, take_part
from lacunet.structure.hidden.fitting import Filled, fit
from lacunet.structure.hidden.sketch import Sketch
from lacunet.structure.hidden.spanning import reached, strongest_tree

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
