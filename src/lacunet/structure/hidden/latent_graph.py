"""Graphs over the columns of a table and hidden variables, fitted by variational Bayes.

From a symmetric start all states of a hidden variable would stay equal. So a fit starts from
completed rows, in which every hidden variable has a column. The bound of a fit counts all distinct
labellings of hidden states. Numbers are binned only to compute associations; bounds use the values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, count

import numpy as np
from scipy.sparse.csgraph import connected_components

from lacunet.data.table import Column, Table
from lacunet.fitting.agglomerate import LabelledRows, count_families
from lacunet.fitting.diagnose import Variational, at_hyperparameters, step, vary
from lacunet.inference.leaves import leaves_apart
from lacunet.inference.problem import Problem, build_problem
from lacunet.models import conjugacy
from lacunet.models.network import Model, Network, Variable
from lacunet.models.number_prior import NumberPrior
from lacunet.models.prior import dirichlet
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IntArray
from lacunet.structure.completing import Completer
from lacunet.structure.knowledge import Knowledge
from lacunet.structure.moves import graph_of_edges
from lacunet.structure.task import NOTHING, USUAL, network_of
from lacunet.tabular import Grid

MOST = 6  # most bins of a column: enough to separate a few classes
MEMBERS = 20  # least cases per bin, about; there are two bins in any case
PREFIX = "H"  # of the names of hidden variables
TOLERANCE = 0.05  # nats gained by a step below which a fit for comparison ends
CLOSE = 1e-4  # the same for a final fit
MOST_STEPS = 300
LEFT = 30  # assumed limit of the remaining gain, in gains of the last step
RISE = 0.5  # least gain of another graph or number of states, in nats
MANY = 6  # most shares printed


@dataclass(frozen=True, eq=False)
class BinnedNumber:
    """A column of numbers: its variable, and its values in bins of about equal size."""

    variable: Variable
    group: IntArray  # (values,) the bin of each value, in increasing order

    @property
    def bins(self) -> tuple[int, ...]:
        """The states of the column in bins."""
        return tuple(range(int(self.group.max(initial=0)) + 1))


def numbers_of(table: Table, variables: Sequence[Variable]) -> dict[int, BinnedNumber]:
    """Bin the columns of numbers of a table, by index; `variables` are those of all columns.

    A frequent value stays in one bin, so there may be fewer bins.
    """
    binned = {}
    for j, column in enumerate(table.columns):
        if column.kind.number:
            seen = table.codes[:, j] >= 0
            cases = np.bincount(table.codes[seen, j], table.counts[seen], len(column.states))
            many = int(np.clip(cases.sum() // MEMBERS, 2, MOST))
            middle = (np.cumsum(cases) - cases / 2) / cases.sum()
            group = np.unique(np.floor(middle * many), return_inverse=True)[1]
            binned[j] = BinnedNumber(variables[j], np.asarray(group, dtype=np.int64))
    return binned


@dataclass(frozen=True, eq=False)
class LatentGraph:
    """A graph over columns and hidden variables, the columns first."""

    columns: tuple[Column, ...]  # n of them
    sizes: tuple[int, ...]  # states of each of the m hidden variables
    parents: BoolArray  # (n + m, n + m) whether u is a parent of v, at [v, u]
    known: Knowledge = NOTHING  # constraints on the tables of columns
    numbers: Mapping[int, BinnedNumber] = field(default_factory=dict)  # columns of numbers

    @property
    def n(self) -> int:
        """The number of columns, and the index of the first hidden variable."""
        return len(self.columns)

    @property
    def hidden(self) -> range:
        """The indices of the hidden variables."""
        return range(self.n, self.n + len(self.sizes))

    @cached_property
    def all_columns(self) -> tuple[Column, ...]:
        """Columns for all variables, as if none were hidden."""
        names = hidden_names([c.name for c in self.columns], len(self.sizes))
        states = [tuple(range(1, k + 1)) for k in self.sizes]
        return (*self.columns, *map(Column, names, states))

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """All variables, as if none were hidden."""
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

    def neighbours(self, v: int) -> list[int]:
        """List the parents and children of a variable."""
        return np.flatnonzero(self.parents[v] | self.parents[:, v]).tolist()

    def states(self, h: int) -> int:
        """Return the number of states of a hidden variable."""
        return self.sizes[h - self.n]

    def with_graph(self, parents: BoolArray) -> LatentGraph:
        """Replace the edges."""
        return replace(self, parents=parents)

    def with_size(self, h: int, states: int) -> LatentGraph:
        """Replace the number of states of a hidden variable."""
        place = h - self.n
        return replace(self, sizes=(*self.sizes[:place], states, *self.sizes[place + 1 :]))

    def with_hidden(
        self, states: int, parents: Sequence[int], children: Sequence[int]
    ) -> LatentGraph:
        """Append a hidden variable with parents and children; all other edges stay."""
        wider = np.zeros((len(self.parents) + 1,) * 2, dtype=bool)
        wider[:-1, :-1] = self.parents
        wider[-1, parents] = True
        wider[children, -1] = True
        return replace(self, sizes=(*self.sizes, states), parents=wider)

    def without(self, h: int) -> LatentGraph:
        """Remove a hidden variable, with its edges."""
        left = np.delete(np.delete(self.parents, h, axis=0), h, axis=1)
        place = h - self.n
        return replace(self, sizes=self.sizes[:place] + self.sizes[place + 1 :], parents=left)


def empty_graph(table: Table, sizes: Sequence[int] = (), prior: NumberPrior = USUAL) -> LatentGraph:
    """Make the graph without edges."""
    n, numbers = len(table.columns) + len(sizes), numbers_of(table, leaves_apart(table, prior))
    return LatentGraph(table.columns, tuple(sizes), np.zeros((n, n), dtype=bool), numbers=numbers)


def hidden_names(taken: Sequence[str], number: int) -> list[str]:
    """Name hidden variables H1, H2, …, without names of columns."""
    free = (name for name in (f"{PREFIX}{i}" for i in count(1)) if name not in taken)
    return [next(free) for _ in range(number)]


def edge_matrix(network: Network) -> BoolArray:
    """Convert the parents of each variable to a matrix, (n, n)."""
    edges = [(v, p) for v, pa in enumerate(network.parents) for p in pa]
    return graph_of_edges(edges, len(network.parents))


@dataclass(frozen=True, eq=False)
class LatentGraphFit:
    """A graph with hidden variables, and its variational posterior."""

    graph: LatentGraph
    posterior: Variational  # of parameters, missing values and hidden variables

    @property
    def value(self) -> float:
        """The variational bound with all labellings of hidden states: the criterion for graphs."""
        return all_labellings(self.posterior)

    @cached_property
    def model(self) -> Model:
        """The graph with expected parameters."""
        return self.posterior.model

    def brought_close(self) -> LatentGraphFit:
        """Fit to the tolerance of a final fit."""
        return replace(self, posterior=vary(self.posterior, tolerance=CLOSE))


@dataclass(frozen=True, eq=False)
class CompletedGraph:
    """A graph, and completed rows with a column for each hidden variable."""

    graph: LatentGraph
    codes: CodeArray  # (rows, n + m)
    counts: FloatArray  # (rows,)

    def with_graph(self, parents: BoolArray) -> CompletedGraph:
        """Replace the edges of the graph."""
        return replace(self, graph=self.graph.with_graph(parents))

    def with_hidden(self, graph: LatentGraph, drawn: CodeArray) -> CompletedGraph:
        """Add the last hidden variable of a graph, with its drawn states."""
        return replace(self, graph=graph, codes=np.column_stack([self.codes, drawn]))

    def with_states(self, h: int, states: int, drawn: CodeArray) -> CompletedGraph:
        """Replace the number of states of a hidden variable, and its drawn states."""
        codes = self.codes.copy()
        codes[:, h] = drawn
        return replace(self, graph=self.graph.with_size(h, states), codes=codes)

    def without(self, h: int) -> CompletedGraph:
        """Remove a hidden variable."""
        return replace(self, graph=self.graph.without(h), codes=np.delete(self.codes, h, axis=1))

    def table(self) -> Table:
        """Return the rows as a table."""
        return Table.from_codes(self.codes, self.graph.all_columns, self.counts)


def fit(
    table: Table, alpha: float | str, start: CompletedGraph, above: float = -math.inf
) -> LatentGraphFit:
    """Fit a graph from completed rows; stop early if its value will not exceed `above`."""
    graph = start.graph
    problem = problem_of(table, alpha, graph)
    rows = LabelledRows(start.codes.astype(np.int64), start.counts)
    q = at_hyperparameters(problem, problem.alpha + count_families(graph.network, rows))
    above -= sum(math.lgamma(k + 1) for k in graph.sizes)  # at most the gain by labellings
    for _ in range(MOST_STEPS):
        before, q = q, step(q)
        gained = q.bound - before.bound
        if gained < TOLERANCE or q.bound + LEFT * gained < above:
            break
    return LatentGraphFit(graph, q)


def problem_of(table: Table, alpha: float | str, graph: LatentGraph) -> Problem:
    """Make the inference problem of a graph and a table with missing values."""
    return build_problem(table, graph.network, dirichlet(graph.network, alpha))


def complete(table: Table, fitted: LatentGraphFit, rng: np.random.Generator) -> CompletedGraph:
    """Impute missing and hidden values, a few times."""
    graph = fitted.graph
    unknown = np.full((len(table.codes), len(graph.sizes)), -1, dtype=np.int32)
    codes = np.column_stack([table.codes.astype(np.int32), unknown])
    wider = replace(table, columns=graph.all_columns, codes=codes)
    done = Completer(wider, rng)(fitted.model)
    return CompletedGraph(graph, done.codes, done.counts)


def hidden_grid(model: Model, title: str, notes: tuple[str, ...]) -> Grid:
    """Make a table with a row for each hidden variable."""
    names = [v.name for v in model.network.variables]
    rows = []
    for h in model.network.hidden:
        shares = [f"{share:.2f}" for share in _shares(model, h)]
        written = " ".join([*shares[:MANY], *(["…"] if len(shares) > MANY else [])])
        parents = [names[p] for p in model.network.parents[h]]
        children = [name for name, pa in zip(names, model.network.parents, strict=True) if h in pa]
        around = (", ".join(some) or "–" for some in (parents, children))
        rows.append((names[h], str(len(shares)), written, *around))
    header = ("hidden", "states", "shares", "parents", "children")
    return Grid(title, header, tuple(rows), frozenset({0, 2, 3, 4}), notes)


def hidden_variables(number: int) -> str:
    """Format a number of hidden variables."""
    return f"{number} hidden variable{'s' * (number != 1)}"


def _shares(model: Model, h: int) -> FloatArray:
    """Compute the share of cases in each state of a hidden variable."""
    layout = model.network.layout
    known = model.theta if model.posterior is None else model.posterior
    sizes = layout.table(known, h).reshape(-1, layout.cards[h]).sum(axis=0)
    return np.asarray(sizes / sizes.sum())


def by_size(model: Model) -> Model:
    """Number the states of hidden variables by size, the largest first."""
    for h in model.network.hidden:
        model = model.permuted(h, np.argsort(-_shares(model, h), kind="stable").tolist())
    return model


def all_labellings(q: Variational) -> float:
    """Compute the bound plus the log number of distinct labellings of hidden states.

    Exchanging two equal states, or two states without cases, is not a distinct labelling.
    """
    layout, total = q.problem.layout, 0.0
    for h in q.problem.network.hidden:
        tables = [
            np.moveaxis(layout.table(q.N, i), family.index(h), 0).reshape(layout.cards[h], -1)
            for i, family in enumerate(layout.families)
            if h in family and layout.kinds[i].tabular
        ]
        total += log_numberings(more_than_chance(np.hstack(tables)) | numbers_apart(q, h))
    return q.bound + total


def more_than_chance(counts: FloatArray) -> BoolArray:
    """Which states differ significantly in some cell; counts are (states, cells)."""
    one, other = counts[:, None], counts[None, :]
    return np.asarray((np.abs(one - other) > np.sqrt(one + other + 1.0)).any(axis=2))


def log_numberings(apart: BoolArray) -> float:
    """Log of the number of distinct labellings, given which states differ, (states, states)."""
    _, alike = connected_components(~apart, directed=False)
    total = math.lgamma(len(apart) + 1)
    for number in np.bincount(alike).tolist():
        total -= math.lgamma(number + 1)
    return total


def numbers_apart(q: Variational, h: int) -> BoolArray:
    """Between which states of a variable the distribution of some number differs, (states, states).

    It differs if the marginal likelihood with two distributions exceeds that with one.
    """
    layout, prior = q.problem.layout, q.problem.alpha
    apart = np.zeros((layout.cards[h],) * 2, dtype=bool)
    below = [
        i for i, family in enumerate(layout.families) if h in family and not layout.kinds[i].tabular
    ]
    if not below:
        return apart
    two = conjugacy.log_marginal(q.N, prior, layout)[below]
    for a, b in combinations(range(layout.cards[h]), 2):
        tables = [layout.table(q.N, i) for i in range(len(layout.families))]
        for i in below:  # merge the statistics of both states
            tables[i] = tables[i].copy()
            by_state = np.moveaxis(tables[i], layout.families[i].index(h), 0)
            by_state[a] += by_state[b]
            by_state[b] = 0.0
        one = conjugacy.log_marginal(layout.flat(tables), prior, layout)[below]
        apart[a, b] = apart[b, a] = bool((two > one).any())
    return apart
