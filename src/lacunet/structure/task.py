"""The input of structure learning, checked once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lacunet.data.table import Table
from lacunet.errors import DataError, OptionError
from lacunet.flags import Flag, Kind
from lacunet.inference.leaves import leaves_apart
from lacunet.inference.problem import check_possible
from lacunet.models.latent_class import check_table_sizes
from lacunet.models.network import Network, Variable
from lacunet.models.number_prior import OF_GRAPHS, NumberPrior
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.structure.families import log_prior_over
from lacunet.structure.knowledge import Knowledge
from lacunet.structure.moves import Limits
from lacunet.structure.searching import GraphSearch, check_size

NOTHING, USUAL = Knowledge(), OF_GRAPHS


@dataclass(frozen=True, eq=False)
class GraphTask:
    """A table, a prior, and constraints on the graph."""

    table: Table
    variables: tuple[Variable, ...]  # of the columns
    alpha: float | str
    options: GraphSearch
    limits: Limits
    start: BoolArray  # (n, n) the graph to start from: whether u is a parent of v, at [v, u]
    known: Knowledge = NOTHING  # constraints on graphs and tables

    @cached_property
    def numbers(self) -> BoolArray:
        """Which columns hold numbers, (n,)."""
        return are_numbers(self.table)

    @cached_property
    def log_prior(self) -> FloatArray:
        """Log prior of a set of k parents of each variable, at [v, k], (n, n), up to a constant."""
        return log_prior_over(self.table, self.options.prior)

    def log_priors(self, parents: BoolArray) -> FloatArray:
        """Log prior of the parents of each variable in a graph, (n,), up to a constant."""
        priors: FloatArray = self.log_prior[np.arange(len(parents)), parents.sum(axis=1)]
        return priors

    @property
    def complete(self) -> bool:
        """Whether no category is missing; numbers may be, because they have no children."""
        return not (self.table.missing[~self.numbers] > 0).any()

    def network(self, parents: BoolArray) -> Network:
        """Make a network of a graph, with the known tables."""
        return network_of(self.variables, parents, self.known)

    def fingerprint(self) -> dict[str, Any]:
        """Identify the search, as JSON: a checkpoint file resumes only the same search."""
        data, known = hashlib.sha256(), hashlib.sha256()
        data.update(repr([(c.name, c.states) for c in self.table.columns]).encode())
        data.update(repr([(v.family, v.unit, v.prior) for v in self.variables if v.prior]).encode())
        data.update(self.table.codes.astype(np.int64).tobytes())
        data.update(self.table.counts.tobytes())
        for array in (*self.limits, self.start):
            known.update(array.tobytes())
        known.update(repr(self.known.tables).encode())
        settings = {**asdict(self.options), "alpha": self.alpha}
        return {"data": data.hexdigest(), "knowledge": known.hexdigest(), "settings": settings}


def are_numbers(table: Table) -> BoolArray:
    """Which columns hold numbers, (n,)."""
    return np.array([column.kind.number for column in table.columns])


def network_of(variables: Sequence[Variable], parents: BoolArray, known: Knowledge) -> Network:
    """Make a network of a graph, with the known tables."""
    names, lists = [v.name for v in variables], parent_lists(parents)
    for (
        child,
        ordered,
    ) in known.ordered_parents.items():  # tied tables need the same order of parents
        lists[names.index(child)] = [names.index(u) for u in ordered]
    return known.tables.of(Network.build(variables, lists))


def graph_task(
    table: Table,
    alpha: float | str,
    options: GraphSearch,
    knowledge: Knowledge,
    prior: NumberPrior = USUAL,
) -> GraphTask:
    """Check the constraints against the table, the sizes of tables, and that columns have data."""
    names = [column.name for column in table.columns]
    limits, start = knowledge.limits(names), knowledge.first_graph(names)
    numbers = are_numbers(table)
    wrong = np.argwhere(start & numbers[None, :])
    if len(wrong):
        child, parent = (names[i] for i in wrong[0])
        raise OptionError(
            f"the edge {parent} → {child} cannot be: '{parent}' is a number, and only categories "
            "can be parents. Turn it round, or put the numbers into a few bins."
        )
    if options.exact and numbers.any():
        name = names[int(numbers.argmax())]
        raise OptionError(
            f"an exact search takes categories alone, and '{name}' holds numbers. Leave --exact "
            "out."
        )
    check_seen(table)
    variables = tuple(leaves_apart(table, prior))
    cards = [v.family.width(v.states) for v in variables]
    check_table_sizes(names, cards, parent_lists(start))
    if options.exact:
        check_size(len(names))
    # An edge with a column of one state does not change any score.
    constant = np.array(cards) == 1
    empty = constant[:, None] | constant[None, :]
    limits = limits._replace(allowed=limits.allowed & ~(empty & ~start) & ~numbers[None, :])
    task = GraphTask(table, variables, alpha, options, limits, start, knowledge)
    check_possible(task.network(start), table.codes)
    return task


def check_seen(table: Table) -> None:
    """Refuse columns without any value."""
    for column, missing in zip(table.columns, table.missing, strict=True):
        if missing == 1.0:
            raise DataError(
                f"column '{column.name}' is all missing: it has no place in a graph that is "
                f"learned from the data. Leave it out with --exclude {column.name}."
            )


def few_rows(table: Table) -> Iterator[Flag]:
    """Flag a table with fewer rows than variables."""
    rows, variables = table.rows, len(table.columns)
    if rows < variables:
        yield Flag(Kind.FEW_ROWS, detail={"rows": rows, "variables": variables})


def parent_lists(parents: BoolArray) -> list[Sequence[int]]:
    """List the parents of each variable."""
    return [np.flatnonzero(row).tolist() for row in parents]
