"""Numbers in groups of neighbours: what associations are counted in.

Who goes with whom, and who hangs where, is proposed by counts of categories. What a proposal is
worth, the numbers themselves decide.

A graph over the columns of a table and over hidden variables: what a search changes.
Trees of the strongest links between some things.
The bound of a fit with hidden variables, with every numbering of their states.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count

import numpy as np

from lacunet.data.table import Column, Table
from lacunet.fitting.diagnose import Variational
from lacunet.inference.leaves import leaves_apart
from lacunet.models import conjugacy
from lacunet.models.layout import Layout
from lacunet.models.network import Network, Variable
from lacunet.models.number_prior import NumberPrior
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.structure.journal import graph_of_edges
from lacunet.structure.knowledge import Knowledge
from lacunet.structure.task import NOTHING, USUAL, network_of

MOST = 6  # groups of a column: as many as tell a few classes apart
MEMBERS = 20  # cases in each group, about, at least; two groups there are in any case


@dataclass(frozen=True, eq=False)
class Number:
    """A column of numbers: its variable, and its values in groups of about as many cases."""

    variable: Variable
    group: IntArray  # (values,) of each value, in their order


def numbers_of(table: Table, variables: Sequence[Variable]) -> dict[int, Number]:
    """Give the columns of numbers of a table, by their places; `variables` are of all columns."""
    places = [j for j, column in enumerate(table.columns) if column.kind.number]
    return {j: Number(variables[j], _groups(_cases(table, j))) for j in places}


def group_column(column: Column, number: Number) -> Column:
    """Give a column of groups, with their numbers for states."""
    return Column(column.name, tuple(range(int(number.group.max(initial=0)) + 1)))


def _cases(table: Table, j: int) -> FloatArray:
    """How often each value of a column occurs, (values,)."""
    seen = table.codes[:, j] >= 0
    return np.bincount(
        table.codes[seen, j], table.counts[seen], len(table.columns[j].states)
    ).astype(np.float64)


def _groups(cases: FloatArray) -> IntArray:
    """Cut values, which are in order, where about as many cases are on either side.

    A value that many cases have is not cut: groups that it would fill are left out.
    """
    many = int(np.clip(cases.sum() // MEMBERS, 2, MOST))
    middle = (np.cumsum(cases) - cases / 2) / cases.sum()
    found = np.unique(np.floor(middle * many), return_inverse=True)[1]
    return np.asarray(found, dtype=np.int64)


PREFIX = "H"  # of the names of hidden variables


@dataclass(frozen=True, eq=False)
class Sketch:
    """Columns first, hidden variables behind them."""

    columns: tuple[Column, ...]  # n of them
    sizes: tuple[int, ...]  # states of each of the m hidden variables
    parents: BoolArray  # (n + m, n + m) whether u is a parent of v, at [v, u]
    known: Knowledge = NOTHING  # of the tables of columns
    numbers: Mapping[int, Number] = field(default_factory=dict)  # columns that are no categories

    @property
    def n(self) -> int:
        """How many columns there are; hidden variables have the numbers from here up."""
        return len(self.columns)

    @property
    def hidden(self) -> range:
        """The numbers of the hidden variables."""
        return range(self.n, self.n + len(self.sizes))

    @cached_property
    def all_columns(self) -> tuple[Column, ...]:
        """Columns for everything, as if nothing were hidden."""
        names = hidden_names([c.name for c in self.columns], len(self.sizes))
        states = [tuple(range(1, k + 1)) for k in self.sizes]
        return (*self.columns, *map(Column, names, states))

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """Variables for everything, as if nothing were hidden."""
        return tuple(
            self.numbers[v].variable
            if v in self.numbers
            else Variable(c.name, c.states, bins=c.bins, place=c.place)
            for v, c in enumerate(self.all_columns)
        )

    @cached_property
    def network(self) -> Network:
        """The graph as a network."""
        variables = [replace(v, hidden=i >= self.n) for i, v in enumerate(self.variables)]
        return network_of(variables, self.parents, self.known)

    @cached_property
    def in_groups(self) -> Sketch:
        """The same of columns whose numbers are in groups."""
        columns = (
            group_column(c, self.numbers[v]) if v in self.numbers else c
            for v, c in enumerate(self.columns)
        )
        return replace(self, columns=tuple(columns), numbers={})

    def of(self, members: Sequence[int], sizes: Sequence[int], parents: BoolArray) -> Sketch:
        """Give another graph, over some variables, all of them seen, and over new hidden ones."""
        columns = tuple(self.all_columns[v] for v in members)
        numbers = {i: self.numbers[v] for i, v in enumerate(members) if v in self.numbers}
        return Sketch(columns, tuple(sizes), parents, numbers=numbers)

    def neighbours(self, v: int) -> list[int]:
        """Parents and children of a variable."""
        return np.flatnonzero(self.parents[v] | self.parents[:, v]).tolist()

    def with_graph(self, parents: BoolArray) -> Sketch:
        """Give it other edges."""
        return replace(self, parents=parents)

    def with_size(self, h: int, states: int) -> Sketch:
        """Give a hidden variable another number of states."""
        place = h - self.n
        return replace(self, sizes=(*self.sizes[:place], states, *self.sizes[place + 1 :]))

    def with_hidden(self, states: int, parents: Sequence[int], children: Sequence[int]) -> Sketch:
        """Add a hidden variable, the last one, between others; edges among those stay."""
        wider = np.zeros((len(self.parents) + 1,) * 2, dtype=bool)
        wider[:-1, :-1] = self.parents
        wider[-1, parents] = True
        wider[children, -1] = True
        return replace(self, sizes=(*self.sizes, states), parents=wider)

    def without(self, h: int) -> Sketch:
        """Take a hidden variable away, with its edges."""
        left = np.delete(np.delete(self.parents, h, axis=0), h, axis=1)
        place = h - self.n
        return replace(self, sizes=self.sizes[:place] + self.sizes[place + 1 :], parents=left)


def empty_sketch(table: Table, sizes: Sequence[int] = (), prior: NumberPrior = USUAL) -> Sketch:
    """Give the graph without edges."""
    n, numbers = len(table.columns) + len(sizes), numbers_of(table, leaves_apart(table, prior))
    return Sketch(table.columns, tuple(sizes), np.zeros((n, n), dtype=bool), numbers=numbers)


def hidden_names(taken: Sequence[str], number: int) -> list[str]:
    """Name hidden variables H1, H2, …, as far as no column is called so."""
    free = (name for name in (f"{PREFIX}{i}" for i in count(1)) if name not in taken)
    return [next(free) for _ in range(number)]


def edge_matrix(network: Network) -> BoolArray:
    """Give the parents of each variable as a matrix, (n, n)."""
    edges = [(v, p) for v, pa in enumerate(network.parents) for p in pa]
    return graph_of_edges(edges, len(network.parents))


def strongest_tree(strength: FloatArray) -> list[tuple[int, int]]:
    """Join all by the links that are strongest together (Prim), each from what was joined before.

    `strength` is (n, n); what stands on its diagonal does not matter.
    """
    left = list(range(1, len(strength)))
    nearest = np.zeros(len(strength), dtype=np.int64)
    links = []
    while left:
        v = max(left, key=lambda u: (strength[u, nearest[u]], -u))
        left.remove(v)
        links.append((int(nearest[v]), v))
        for u in left:
            if strength[u, v] > strength[u, nearest[u]]:
                nearest[u] = v
    return links


def reached(first: int, links: Iterable[tuple[int, int]]) -> set[int]:
    """Give all that links lead to from one."""
    found, todo, links = {first}, [first], list(links)
    while todo:
        v = todo.pop()
        for a, b in links:
            if v in (a, b) and (u := a + b - v) not in found:
                found.add(u)
                todo.append(u)
    return found


def all_labellings(q: Variational) -> float:
    """The bound, with every numbering of the states of hidden variables that makes a difference.

    To exchange states that are alike makes none, and so does exchanging two that nobody has.
    """
    return q.bound + sum(log_numberings(told_apart(q, h)) for h in q.problem.network.hidden)


def told_apart(q: Variational, h: int) -> BoolArray:
    """Which states of a hidden variable differ, (states, states): by counts, or by numbers."""
    counts = counts_by_state(q.problem.layout, q.N, h)
    return more_than_chance(counts) | numbers_apart(q, h)


def more_than_chance(counts: FloatArray) -> BoolArray:
    """Which states differ anywhere by more than chance would make them; (states, places)."""
    one, other = counts[:, None], counts[None, :]
    return np.asarray((np.abs(one - other) > np.sqrt(one + other + 1.0)).any(axis=2))


def log_numberings(apart: BoolArray) -> float:
    """Log of the number of ways to number states, of which some are alike, (states, states)."""
    left, total = set(range(len(apart))), math.lgamma(len(apart) + 1)
    pairs = [(int(a), int(b)) for a, b in np.argwhere(~apart) if a < b]
    while left:
        alike = reached(min(left), pairs)
        total -= math.lgamma(len(alike) + 1)
        left -= alike
    return total


def counts_by_state(layout: Layout, N: FloatArray, h: int) -> FloatArray:
    """Counts of all families of categories with a variable, for each state: (states, places)."""
    tables = [
        np.moveaxis(layout.table(N, i), family.index(h), 0).reshape(layout.cards[h], -1)
        for i, family in enumerate(layout.families)
        if h in family and layout.kinds[i].tabular
    ]
    return np.hstack(tables)


def numbers_apart(q: Variational, h: int) -> BoolArray:
    """Between which states of a variable some number differs, (states, states).

    It does if its values are more probable with two distributions than with one.
    """
    layout, prior = q.problem.layout, q.problem.alpha
    apart = np.zeros((layout.cards[h],) * 2, dtype=bool)
    below = [
        i for i, family in enumerate(layout.families) if h in family and not layout.kinds[i].tabular
    ]
    if below:
        two = conjugacy.log_marginal(q.N, prior, layout)[below]
        for a, b in itertools.combinations(range(layout.cards[h]), 2):
            one = conjugacy.log_marginal(_merged(layout, q.N, (h, a, b)), prior, layout)[below]
            apart[a, b] = apart[b, a] = bool((two > one).any())
    return apart


def _merged(layout: Layout, N: FloatArray, states: tuple[int, int, int]) -> FloatArray:
    """Give statistics with two states of a variable as one; the other has no cases then."""
    h, a, b = states
    tables = []
    for i, family in enumerate(layout.families):
        table = layout.table(N, i).copy()
        if h in family and not layout.kinds[i].tabular:
            by_state = np.moveaxis(table, family.index(h), 0)
            by_state[a] += by_state[b]
            by_state[b] = 0.0
        tables.append(table)
    return layout.flat(tables)
