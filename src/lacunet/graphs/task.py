"""What a search for a graph works on, checked once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lacunet.arrays import BoolArray, IntArray
from lacunet.data.table import Table
from lacunet.errors import DataError
from lacunet.flags import Flag, Kind
from lacunet.graphs.exact import check_size
from lacunet.graphs.knowledge import Knowledge
from lacunet.graphs.moves import Limits
from lacunet.graphs.searching import GraphSearch
from lacunet.inference.possible import check_possible
from lacunet.model.network import Network, Variable
from lacunet.model.table_sizes import check_table_sizes

NOTHING = Knowledge()


@dataclass(frozen=True, eq=False)
class GraphTask:
    """A table, a prior, and what its graph may look like."""

    table: Table
    alpha: float | str
    how: GraphSearch
    limits: Limits
    start: BoolArray  # (n, n) the graph to start from: whether u is a parent of v, at [v, u]
    known: Knowledge = NOTHING  # what graphs keep to, and tables

    def network(self, parents: BoolArray) -> Network:
        """Give a graph its variables, and the tables that are known."""
        return network_of(
            [Variable(c.name, c.states) for c in self.table.columns], parents, self.known
        )

    def fingerprint(self) -> dict[str, Any]:
        """Say, in what JSON can hold, which search it is: no other one may go on from its file."""
        data, known = hashlib.sha256(), hashlib.sha256()
        data.update(repr([(c.name, c.states) for c in self.table.columns]).encode())
        data.update(self.table.codes.astype(np.int64).tobytes())
        data.update(self.table.counts.tobytes())
        for array in (*self.limits, self.start):
            known.update(array.tobytes())
        known.update(repr(self.known.tables).encode())
        settings = {**asdict(self.how), "alpha": self.alpha}
        return {"data": data.hexdigest(), "knowledge": known.hexdigest(), "settings": settings}


def network_of(variables: Sequence[Variable], parents: BoolArray, known: Knowledge) -> Network:
    """Give a graph its variables, and the tables that are known."""
    names, lists = [v.name for v in variables], parent_lists(parents)
    for child, own in known.settled.items():  # tied tables are alike in this order
        lists[names.index(child)] = [names.index(u) for u in own]
    return known.tables.of(Network.build(variables, lists))


def graph_task(
    table: Table, alpha: float | str, how: GraphSearch, knowledge: Knowledge
) -> GraphTask:
    """Check that what is known fits the table, that it fits into memory, that there are data."""
    names = [column.name for column in table.columns]
    limits, start = knowledge.limits(names), knowledge.first_graph(names)
    cards = [len(column.states) for column in table.columns]
    check_table_sizes(names, cards, parent_lists(start))
    if how.exact:
        check_size(len(names))
    check_seen(table)
    limits = without_constants(limits, np.array(cards), start)
    task = GraphTask(table, alpha, how, limits, start, knowledge)
    check_possible(task.network(start), table.codes)
    return task


def without_constants(limits: Limits, cards: IntArray, start: BoolArray) -> Limits:
    """Allow no edge with a column that has one state, unless it was asked for.

    Such an edge says nothing, so that no score speaks for it or against it.
    """
    constant = cards == 1
    empty = constant[:, None] | constant[None, :]
    return limits._replace(allowed=limits.allowed & ~(empty & ~start))


def check_seen(table: Table) -> None:
    """Refuse columns of which nothing was seen."""
    for column, missing in zip(table.columns, table.missing, strict=True):
        if missing == 1.0:
            raise DataError(
                f"column '{column.name}' is all missing: it has no place in a graph that is "
                f"learned from the data. Leave it out with --exclude {column.name}."
            )


def few_rows(table: Table) -> Iterator[Flag]:
    """Say so where there are fewer rows than variables."""
    rows, variables = table.rows, len(table.columns)
    if rows < variables:
        yield Flag(Kind.FEW_ROWS, detail={"rows": rows, "variables": variables})


def parent_lists(parents: BoolArray) -> list[Sequence[int]]:
    """Give the parents of each variable."""
    return [np.flatnonzero(row).tolist() for row in parents]
