"""A graph over the columns of a table and over hidden variables: what a search changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count

import numpy as np

from lacunet.data.table import Column, Table
from lacunet.inference.leaves import leaves_apart
from lacunet.models.network import Network, Variable
from lacunet.models.number_prior import NumberPrior
from lacunet.runtime.arrays import BoolArray
from lacunet.structure.hidden.number_groups import Number, group_column, numbers_of
from lacunet.structure.journal import graph_of_edges
from lacunet.structure.knowledge import Knowledge
from lacunet.structure.task import NOTHING, USUAL, network_of

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
