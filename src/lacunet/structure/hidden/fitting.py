"""Graphs with hidden variables, fitted to the data as they are, and rows completed by a fit.

From a symmetric start all states of a hidden variable would stay alike. So a fit starts from
completed rows, in which every hidden variable has a column.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lacunet.data.table import Table
from lacunet.fitting.agglomerate import LabelledRows, count_families
from lacunet.fitting.diagnose import Variational, at_hyperparameters, step, vary
from lacunet.inference.problem import Problem, build_problem
from lacunet.models.network import Model
from lacunet.models.prior import dirichlet
from lacunet.runtime.arrays import CodeArray, FloatArray
from lacunet.structure.completing import Completer
from lacunet.structure.hidden.latent_graph import LatentGraph, all_labellings
from lacunet.tabular import Grid

TOLERANCE = 0.05  # nats: a fit that is only compared ends where a step gains less
CLOSE = 1e-4  # the same of a fit that is the answer
MOST_STEPS = 300
LEFT = 30  # times what the last step gained, that is thought to be gained at most
RISE = 0.5  # nats that another graph, or number of states, must be above: less is not worth a fit
MANY = 6  # shares that are written out


@dataclass(frozen=True, eq=False)
class LatentGraphFit:
    """A graph with hidden variables, and the bound of its evidence."""

    graph: LatentGraph
    posterior: Variational  # of parameters and of what is missing or hidden

    @property
    def value(self) -> float:
        """The variational bound, with all labellings of hidden states: what graphs go by."""
        return all_labellings(self.posterior)

    @cached_property
    def model(self) -> Model:
        """The graph with its expected parameters."""
        return self.posterior.model

    def brought_close(self) -> LatentGraphFit:
        """Fit it as an answer is."""
        return replace(self, posterior=vary(self.posterior, tolerance=CLOSE))


@dataclass(frozen=True, eq=False)
class CompletedRows:
    """Rows without missing categories, a column for each hidden variable among them."""

    codes: CodeArray  # (rows, n + m)
    counts: FloatArray  # (rows,)

    def with_column(self, states: CodeArray) -> CompletedRows:
        """Add a hidden variable, the last one."""
        return replace(self, codes=np.column_stack([self.codes, states]))

    def with_states(self, h: int, states: CodeArray) -> CompletedRows:
        """Give the cells of a hidden variable other states."""
        codes = self.codes.copy()
        codes[:, h] = states
        return replace(self, codes=codes)

    def without(self, h: int) -> CompletedRows:
        """Take a hidden variable away."""
        return replace(self, codes=np.delete(self.codes, h, axis=1))

    def table(self, graph: LatentGraph) -> Table:
        """Give them as a table."""
        return Table.from_codes(self.codes, graph.all_columns, self.counts)


@dataclass(frozen=True, eq=False)
class GraphProposal:
    """A graph to fit, and completed rows to start from."""

    graph: LatentGraph
    start: CompletedRows


def fit(
    table: Table,
    alpha: float | str,
    graph: LatentGraph,
    start: CompletedRows,
    above: float = -math.inf,
) -> LatentGraphFit:
    """Fit a graph from completed rows; one that will not come above a value is left half done."""
    problem = problem_of(table, alpha, graph)
    rows = LabelledRows(start.codes.astype(np.int64), start.counts)
    q = at_hyperparameters(problem, problem.alpha + count_families(graph.network, rows))
    above -= sum(math.lgamma(k + 1) for k in graph.sizes)  # of labellings, at most
    for _ in range(MOST_STEPS):
        before, q = q, step(q)
        gained = q.bound - before.bound
        if gained < TOLERANCE or q.bound + LEFT * gained < above:
            break
    return LatentGraphFit(graph, q)


def problem_of(table: Table, alpha: float | str, graph: LatentGraph) -> Problem:
    """Join a graph and the data as they are."""
    return build_problem(table, graph.network, dirichlet(graph.network, alpha))


def complete(table: Table, found: LatentGraphFit, rng: np.random.Generator) -> CompletedRows:
    """Draw what is missing or hidden, a few times."""
    graph = found.graph
    unknown = np.full((len(table.codes), len(graph.sizes)), -1, dtype=np.int32)
    codes = np.column_stack([table.codes.astype(np.int32), unknown])
    wider = replace(table, columns=graph.all_columns, codes=codes)
    done = Completer(wider, rng)(found.model)
    return CompletedRows(done.codes, done.counts)


def hidden_grid(model: Model, title: str, notes: tuple[str, ...]) -> Grid:
    """Give a row for each hidden variable."""
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
    """So many hidden variables, in words."""
    return f"{number} hidden variable{'s' * (number != 1)}"


def _shares(model: Model, h: int) -> FloatArray:
    """Share of the cases that each state of a hidden variable has."""
    layout = model.network.layout
    known = model.theta if model.posterior is None else model.posterior
    sizes = layout.table(known, h).reshape(-1, layout.cards[h]).sum(axis=0)
    return np.asarray(sizes / sizes.sum())


def by_size(model: Model) -> Model:
    """Number the states of hidden variables by size, the largest first."""
    for h in model.network.hidden:
        model = model.permuted(h, np.argsort(-_shares(model, h), kind="stable").tolist())
    return model
