"""What is known of a graph before the data are looked at: one value, checked when it is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from graphlib import CycleError, TopologicalSorter
from typing import TypeAlias

import numpy as np

from lacunet.arrays import BoolArray
from lacunet.errors import OptionError, did_you_mean
from lacunet.graphs.moves import Limits

Edge: TypeAlias = tuple[str, str]  # parent, child


@dataclass(frozen=True)
class Knowledge:
    """What every graph of a search keeps to, and where the search starts.

    >>> Knowledge(require=[("age", "income")], tiers=[["age", "sex"], ["income"]]).max_parents
    """

    require: Sequence[Edge] = ()  # edges that there must be, as (parent, child)
    forbid: Sequence[Edge] = ()  # edges that there may not be
    tiers: Sequence[Sequence[str]] = ()  # no edge goes from a later tier to an earlier one
    start: Sequence[Edge] = ()  # the graph to start from, besides what is required
    max_parents: int | None = None  # most parents of a variable

    def __post_init__(self) -> None:
        for field in fields(self)[:4]:  # lists, as in a file, become values
            value = tuple(tuple(entry) for entry in getattr(self, field.name))
            object.__setattr__(self, field.name, value)
        for name in ("require", "forbid", "start"):
            _check_edges(name, getattr(self, name))
        if self.max_parents is not None and self.max_parents < 0:
            raise OptionError(f"max_parents {self.max_parents} is not allowed: give 0 or more.")
        _check_tiers(self.tiers)
        for name in ("require", "start"):
            for u, v in getattr(self, name):
                if why := self._against(u, v):
                    raise OptionError(f"{name}: the edge {u} → {v} is {why}. Give one of the two.")
        _check_cycles("required edges", self.require)
        _check_cycles("edges to start from and required ones", (*self.start, *self.require))
        self._check_numbers()

    def _against(self, u: str, v: str) -> str:
        """Say what speaks against an edge; nothing where it is allowed."""
        tier = {name: k for k, names in enumerate(self.tiers, 1) for name in names}
        if (u, v) in self.forbid:
            return "also forbidden"
        if u in tier and v in tier and tier[u] > tier[v]:
            return f"against the tiers: '{u}' is in tier {tier[u]}, '{v}' in tier {tier[v]}"
        return ""

    def _check_numbers(self) -> None:
        edges = {*self.require, *self.start}
        for child in {v for _, v in edges}:
            needed = sorted(u for u, v in edges if v == child)
            if self.max_parents is not None and len(needed) > self.max_parents:
                raise OptionError(
                    f"'{child}' is given the parents {', '.join(needed)}, more than the "
                    f"{self.max_parents} of max_parents. Raise it, or take edges away."
                )

    @property
    def names(self) -> Iterator[str]:
        """Every variable that is spoken of."""
        yield from (name for edge in (*self.require, *self.forbid, *self.start) for name in edge)
        yield from (name for tier in self.tiers for name in tier)

    def check_names(self, columns: Sequence[str]) -> None:
        """Refuse names that no column has."""
        for name in self.names:
            if name not in columns:
                hint = did_you_mean(name, columns) or f" There are {', '.join(columns)}."
                raise OptionError(f"what is known of the graph names '{name}', no column.{hint}")

    def limits(self, columns: Sequence[str]) -> Limits:
        """Say the same of numbered columns."""
        self.check_names(columns)
        n = len(columns)
        may = [[u != v and not self._against(u, v) for u in columns] for v in columns]
        most = n if self.max_parents is None else self.max_parents
        return Limits(np.array(may), _matrix(self.require, columns), np.full(n, most))

    def first_graph(self, columns: Sequence[str]) -> BoolArray:
        """Give the graph to start from: (n, n), whether u is a parent of v at [v, u]."""
        return _matrix((*self.start, *self.require), columns)

    def and_also(self, other: Knowledge) -> Knowledge:
        """Join two; the number of parents, tiers and the start are the other's if it has them."""
        return Knowledge(
            (*self.require, *other.require),
            (*self.forbid, *other.forbid),
            other.tiers or self.tiers,
            other.start or self.start,
            self.max_parents if other.max_parents is None else other.max_parents,
        )


def _matrix(edges: Sequence[Edge], columns: Sequence[str]) -> BoolArray:
    """Give the edges of numbered columns."""
    parents = np.zeros((len(columns), len(columns)), dtype=bool)
    for u, v in edges:
        parents[columns.index(v), columns.index(u)] = True
    return parents


def _check_edges(name: str, edges: Sequence[Edge]) -> None:
    for edge in edges:
        if len(edge) != 2:
            raise OptionError(
                f"{name}: {list(edge)} is no edge. Give the names of its parent and its child."
            )
        if edge[0] == edge[1]:
            raise OptionError(f"{name}: '{edge[0]}' cannot be its own parent. Name two variables.")


def _check_tiers(tiers: Sequence[Sequence[str]]) -> None:
    names = [name for tier in tiers for name in tier]
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"tiers: '{name}' stands twice. Put it in one tier.")


def _check_cycles(what: str, edges: Sequence[Edge]) -> None:
    parents: dict[str, list[str]] = {}
    for u, v in edges:
        parents.setdefault(v, []).append(u)
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        cycle = " → ".join(f"'{name}'" for name in error.args[1])
        raise OptionError(f"{what} form a cycle: {cycle}. Take one of them away.") from None
