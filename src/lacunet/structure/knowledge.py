"""Constraints on a graph from prior knowledge, given as a value, a file or options."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from lacunet.errors import OptionError, did_you_mean
from lacunet.models.equivalence import EquivalenceClass, equivalence_class
from lacunet.models.known_tables import KnownTables
from lacunet.models.network import Network
from lacunet.runtime.arrays import BoolArray
from lacunet.runtime.files import StrPath
from lacunet.structure.moves import Limits

Edge: TypeAlias = tuple[str, str]  # parent, child


@dataclass(frozen=True)
class Knowledge:
    """Constraints on every graph of a search, and the graph to start from.

    >>> Knowledge(require=[("age", "income")], tiers=[["age", "sex"], ["income"]]).max_parents
    """

    require: Sequence[Edge] = ()  # required edges, as (parent, child)
    forbid: Sequence[Edge] = ()  # forbidden edges
    tiers: Sequence[Sequence[str]] = ()  # no edge goes from a later tier to an earlier one
    start: Sequence[Edge] = ()  # the graph to start from, besides required edges
    max_parents: int | None = None  # maximum number of parents of a variable
    fixed: Sequence[Mapping[str, Any]] = ()  # known tables: child, parents, table
    tied: Sequence[Sequence[str]] = ()  # children that share a table, with the required parents
    zeros: Sequence[Mapping[str, Any]] = ()  # impossible states: child, state, given parents

    def __post_init__(self) -> None:
        for name in ("require", "forbid", "tiers", "start", "tied"):  # lists, as in a file
            object.__setattr__(self, name, tuple(tuple(entry) for entry in getattr(self, name)))
        for name in ("fixed", "zeros"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in ("require", "forbid", "start"):
            _check_edges(name, getattr(self, name))
        if self.max_parents is not None and self.max_parents < 0:
            raise OptionError(f"max_parents {self.max_parents} is not allowed: give 0 or more.")
        tiered = [name for tier in self.tiers for name in tier]
        for name in tiered:
            if tiered.count(name) > 1:
                raise OptionError(f"tiers: '{name}' occurs twice. Put it in one tier.")
        for word, edges in (("require", self.needed), ("start", self.start)):
            for u, v in edges:
                if why := self._against(u, v):
                    raise OptionError(f"{word}: the edge {u} → {v} is {why}. Give one of the two.")
        _check_cycles("required edges", self.needed)
        _check_cycles("edges to start from and required ones", (*self.start, *self.needed))
        for child, needed in self._first_parents().items():
            if self.max_parents is not None and len(needed) > self.max_parents:
                raise OptionError(
                    f"'{child}' is given the parents {', '.join(sorted(needed))}, more than the "
                    f"{self.max_parents} of max_parents. Raise it, or take edges away."
                )

    @cached_property
    def tables(self) -> KnownTables:
        """Constraints on tables."""
        return KnownTables(self.fixed, self.tied, self.zeros)

    @cached_property
    def needed(self) -> tuple[Edge, ...]:
        """Edges that are required, directly or by a known table."""
        by_tables = [(u, f["child"]) for f in self.fixed for u in f.get("parents", ())]
        by_tables += [(u, z["child"]) for z in self.zeros for u in z.get("given", {})]
        return tuple(dict.fromkeys((*self.require, *by_tables)))

    @cached_property
    def ordered_parents(self) -> dict[str, list[str]]:
        """All parents, in order, of each child with a fixed or tied table.

        A fixed table lists its parents; the parents of a tied table are the required ones.
        """
        tied = (name for group in self.tied for name in group)
        parents = {name: [u for u, v in self.needed if v == name] for name in tied}
        return parents | {f["child"]: list(f.get("parents", ())) for f in self.fixed}

    def _against(self, u: str, v: str) -> str:
        """Explain why a search does not allow an edge; empty if it does."""
        if u not in self.ordered_parents.get(v, [u]):
            return f"none of the table of '{v}', which is fixed or tied with other parents"
        return self._forbidden(u, v)

    def _forbidden(self, u: str, v: str) -> str:
        """Explain why no network may have an edge; empty if it may."""
        tier = {name: k for k, names in enumerate(self.tiers, 1) for name in names}
        if (u, v) in self.forbid:
            return "also forbidden"
        if u in tier and v in tier and tier[u] > tier[v]:
            return f"against the tiers: '{u}' is in tier {tier[u]}, '{v}' in tier {tier[v]}"
        return ""

    def _first_parents(self) -> dict[str, set[str]]:
        """Collect the parents of each child in the graph to start from."""
        parents: dict[str, set[str]] = {}
        for u, v in (*self.needed, *self.start):
            parents.setdefault(v, set()).add(u)
        return parents

    def check_names(self, columns: Sequence[str]) -> None:
        """Refuse names that are not columns."""
        groups = (*self.require, *self.forbid, *self.start, *self.tiers)
        for name in (*(name for group in groups for name in group), *self.tables.names):
            if name not in columns:
                hint = did_you_mean(name, columns) or f" There are {', '.join(columns)}."
                raise OptionError(f"the constraints name '{name}', which is not a column.{hint}")

    def limits(self, columns: Sequence[str]) -> Limits:
        """Convert the constraints to matrices over columns."""
        self.check_names(columns)
        n = len(columns)
        may = [[u != v and not self._against(u, v) for u in columns] for v in columns]
        most = n if self.max_parents is None else self.max_parents
        return Limits(np.array(may), _matrix(self.needed, columns), np.full(n, most))

    def first_graph(self, columns: Sequence[str]) -> BoolArray:
        """Make the graph to start from: (n, n), whether u is a parent of v at [v, u]."""
        return _matrix((*self.start, *self.needed), columns)

    @property
    def orients(self) -> bool:
        """Whether the constraints can orient edges."""
        return bool(self.needed or self.forbid or self.tiers or self.ordered_parents)

    def equivalence_class(self, network: Network) -> EquivalenceClass:
        """Find all graphs with the independences of a network that satisfy the constraints.

        An edge is oriented if it is required, if its reverse is not allowed, or if orientation
        rules imply it. `max_parents` limits a search and does not orient edges.
        """
        self._check_edges_of(network)
        names = [v.name for v in network.variables]
        allowed, required, _ = self.limits(names)
        return equivalence_class(network, allowed & ~required.T)

    def of(self, network: Network) -> Network:
        """Add the known tables to a network; refuse one that violates the other constraints."""
        self._check_edges_of(network)
        return self.tables.of(network)

    def _check_edges_of(self, network: Network) -> None:
        """Refuse a network that violates required or forbidden edges, or tiers."""
        edges = edges_of(network)
        for u, v in self.require:
            if (u, v) not in edges:
                raise OptionError(f"the network has no edge {u} → {v}, which is required.")
        for u, v in edges:
            if why := self._forbidden(u, v):
                raise OptionError(f"the network has the edge {u} → {v}, which is {why}.")

    def and_also(self, other: Knowledge) -> Knowledge:
        """Join two; `other` overrides the maximum number of parents, tiers and the start."""
        return Knowledge(
            (*self.require, *other.require),
            (*self.forbid, *other.forbid),
            other.tiers or self.tiers,
            other.start or self.start,
            self.max_parents if other.max_parents is None else other.max_parents,
            (*self.fixed, *other.fixed),
            (*self.tied, *other.tied),
            (*self.zeros, *other.zeros),
        )


def edges_of(network: Network) -> list[Edge]:
    """List the edges of a network by name."""
    names = [v.name for v in network.variables]
    return [(names[u], name) for name, pa in zip(names, network.parents, strict=True) for u in pa]


def _matrix(edges: Sequence[Edge], columns: Sequence[str]) -> BoolArray:
    """Convert edges by name to a matrix over columns."""
    parents = np.zeros((len(columns), len(columns)), dtype=bool)
    for u, v in edges:
        parents[columns.index(v), columns.index(u)] = True
    return parents


def _check_edges(name: str, edges: Sequence[Edge]) -> None:
    for edge in edges:
        if len(edge) != 2:
            raise OptionError(
                f"{name}: {list(edge)} is not an edge. Give the names of its parent and its child."
            )
        if edge[0] == edge[1]:
            raise OptionError(f"{name}: '{edge[0]}' cannot be its own parent. Name two variables.")


def _check_cycles(what: str, edges: Sequence[Edge]) -> None:
    parents: dict[str, list[str]] = {}
    for u, v in edges:
        parents.setdefault(v, []).append(u)
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        cycle = " → ".join(f"'{name}'" for name in error.args[1])
        raise OptionError(f"{what} form a cycle: {cycle}. Take one of them away.") from None


FIELDS = [field.name for field in fields(Knowledge)]


def read_knowledge(path: StrPath) -> Knowledge:
    """Read constraints from a JSON file; errors name the entry at fault."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:  # RecursionError: nested too deep
        raise OptionError(f"{path} is not JSON: {error}.") from None
    if not isinstance(document, dict):
        raise OptionError(f"{path}: give an object with some of {', '.join(FIELDS)}.")
    try:
        for name, value in document.items():
            _check_entry(name, value)
        return Knowledge(**document)
    except OptionError as error:
        raise OptionError(f"{path}: {error}") from None


def _check_entry(name: str, value: Any) -> None:
    def lists(kind: type) -> bool:
        return isinstance(value, list) and all(isinstance(entry, kind) for entry in value)

    if name not in FIELDS:
        hint = did_you_mean(name, FIELDS) or f" There are {', '.join(FIELDS)}."
        raise OptionError(f"'{name}' is not known.{hint}")
    if name == "max_parents":
        if not (value is None or type(value) is int):
            raise OptionError(f"max_parents {value!r} is not a whole number.")
    elif name in ("fixed", "zeros"):
        if not lists(dict):
            raise OptionError(f"'{name}' must be a list of objects.")
    elif not (lists(list) and all(isinstance(text, str) for entry in value for text in entry)):
        raise OptionError(f"'{name}' must be a list of lists of names.")


def parse_edges(option: str, texts: Sequence[str]) -> list[Edge]:
    """Parse edges given as PARENT>CHILD.

    >>> parse_edges("--require", ["age>income", "sex -> income"])
    [('age', 'income'), ('sex', 'income')]
    """
    edges = []
    for text in texts:
        u, arrow, v = (part.strip() for part in text.replace("->", ">", 1).partition(">"))
        if not (u and arrow and v):
            raise OptionError(f"{option} '{text}' is not an edge. Give PARENT>CHILD.")
        edges.append((u, v))
    return edges


def parse_tiers(text: str) -> list[list[str]]:
    """Parse tiers separated by semicolons, with names separated by commas.

    >>> parse_tiers("age, sex; income")
    [['age', 'sex'], ['income']]
    """
    tiers = [[name.strip() for name in tier.split(",")] for tier in text.split(";")]
    if not all(name for tier in tiers for name in tier):
        raise OptionError(f"--tiers '{text}' is not understood. Give for example 'age,sex;income'.")
    return tiers
