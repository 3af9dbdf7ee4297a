"""Graphs with hidden variables, fitted to the data as they are, and rows completed by a fit.

Without a start that tells the states of a hidden variable apart nothing ever would: all states are
alike. So a fit starts from completed rows, in which every hidden variable has a column.

One hidden variable behind a few columns: its states, and how many by a bound of the evidence.
A graph that somebody proposes.
Graphs with hidden variables in a journal: a search that was stopped has them again.
The hidden variables of a network as a table: how large their states are, and what they join.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from lacunet.data.table import Table
from lacunet.fitting.agglomerate import LabelledRows, agglomerated, count_families
from lacunet.fitting.diagnose import Variational, at_hyperparameters, at_theta, step, vary
from lacunet.inference.plans.decompose import distinct, totals
from lacunet.inference.problem import Problem, build_problem, problem_of_codes
from lacunet.models.latent_class import over_leaves
from lacunet.models.network import Model, Variable
from lacunet.models.prior import dirichlet
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray
from lacunet.structure.completing import Completer
from lacunet.structure.hidden.sketch import Sketch, all_labellings, numbers_of
from lacunet.structure.journal import FORGETFUL, Journal, edges_of_graph, graph_of_edges
from lacunet.structure.task import GraphTask
from lacunet.tabular import Grid

TOLERANCE = 0.05  # nats: a fit that is only compared ends where a step gains less
CLOSE = 1e-4  # the same of a fit that is the answer
MOST_STEPS = 300
LEFT = 30  # times what the last step gained, that is thought to be gained at most


@dataclass(frozen=True, eq=False)
class Fitted:
    """A graph with hidden variables, and the bound of its evidence."""

    sketch: Sketch
    posterior: Variational  # of parameters and of what is missing or hidden

    @property
    def value(self) -> float:
        """The variational bound, with all labellings of hidden states: what graphs go by."""
        return all_labellings(self.posterior)

    @cached_property
    def model(self) -> Model:
        """The graph with its expected parameters."""
        return self.posterior.model

    def brought_close(self) -> Fitted:
        """Fit it as an answer is."""
        return replace(self, posterior=vary(self.posterior, tolerance=CLOSE))


@dataclass(frozen=True, eq=False)
class Filled:
    """Rows without holes, a column for each hidden variable among them."""

    codes: CodeArray  # (rows, n + m)
    counts: FloatArray  # (rows,)

    def with_column(self, states: CodeArray) -> Filled:
        """Add a hidden variable, the last one."""
        return replace(self, codes=np.column_stack([self.codes, states]))

    def with_states(self, h: int, states: CodeArray) -> Filled:
        """Give the cells of a hidden variable other states."""
        codes = self.codes.copy()
        codes[:, h] = states
        return replace(self, codes=codes)

    def without(self, h: int) -> Filled:
        """Take a hidden variable away."""
        return replace(self, codes=np.delete(self.codes, h, axis=1))

    def in_groups(self, sketch: Sketch) -> Filled:
        """Give numbers by the groups that they are in; those that are missing stay so."""
        if not sketch.numbers:
            return self
        codes = self.codes.copy()
        for v, number in sketch.numbers.items():
            codes[:, v] = np.where(codes[:, v] >= 0, number.group[codes[:, v]], -1)
        return replace(self, codes=codes)

    def table(self, sketch: Sketch) -> Table:
        """Give them as a table."""
        return Table.from_codes(self.codes, sketch.all_columns, self.counts)


def fit(
    table: Table, alpha: float | str, sketch: Sketch, start: Filled, above: float = -math.inf
) -> Fitted:
    """Fit a graph from completed rows; one that will not come above a value is left half done."""
    problem, network = problem_of(table, alpha, sketch), sketch.network
    rows = LabelledRows(start.codes.astype(np.int64), start.counts)
    q = at_hyperparameters(problem, problem.alpha + count_families(network, rows))
    above -= sum(math.lgamma(k + 1) for k in sketch.sizes)  # of labellings, at most
    for _ in range(MOST_STEPS):
        before, q = q, step(q)
        gained = q.bound - before.bound
        if gained < TOLERANCE or q.bound + LEFT * gained < above:
            break
    return Fitted(sketch, q)


def problem_of(table: Table, alpha: float | str, sketch: Sketch) -> Problem:
    """Join a graph and the data as they are."""
    return build_problem(table, sketch.network, dirichlet(sketch.network, alpha))


def complete(table: Table, found: Fitted, rng: np.random.Generator) -> Filled:
    """Draw what is missing or hidden, a few times."""
    sketch = found.sketch
    unknown = np.full((len(table.codes), len(sketch.sizes)), -1, dtype=np.int32)
    codes = np.column_stack([table.codes.astype(np.int32), unknown])
    wider = replace(table, columns=sketch.all_columns, codes=codes)
    done = Completer(wider, rng)(found.model)
    return Filled(done.codes, done.counts)


CLASS_TOLERANCE = 1e-2  # nats gained by a step, where a fit ends
MOST_CLASS_STEPS = 200
RISE = 0.5  # nats that another number of states must be above
MOST_STATES = 32


@dataclass(frozen=True, eq=False)
class Part:
    """A few columns, equal rows merged."""

    codes: CodeArray  # (distinct rows, columns), −1 = missing
    counts: FloatArray  # (distinct rows,)
    variables: tuple[Variable, ...]  # of the columns
    index: IntArray  # (rows,) which distinct row each row is


@dataclass(frozen=True, eq=False)
class Classes:
    """A latent class model of a few columns."""

    part: Part
    states: int
    posterior: Variational

    @property
    def value(self) -> float:
        """The bound of the evidence, with all labellings."""
        return all_labellings(self.posterior)

    def draw(self, rng: np.random.Generator) -> CodeArray:
        """Draw the class of every row, (rows,)."""
        about = self.posterior.problem.about_hidden(self.posterior.model.theta)
        below = np.cumsum(about[0], axis=1)[self.part.index]
        drawn = (rng.random(len(below))[:, None] > below).sum(axis=1)
        found: CodeArray = np.minimum(drawn, self.states - 1).astype(np.int32)
        return found


def take_part(rows: Filled, variables: Sequence[Variable], columns: Sequence[int]) -> Part:
    """Take some columns of rows; `variables` are of all."""
    chosen, own = list(columns), tuple(variables[v] for v in columns)
    each = [rows.codes[:, v].astype(np.int64) + 1 for v in chosen]
    first, index = distinct(each, [len(v.states) + 1 for v in own], len(rows.codes))
    merged = np.ascontiguousarray(rows.codes[first][:, chosen])
    return Part(merged, totals(index, rows.counts, len(first)), own, index)


def fit_classes(part: Part, alpha: float | str, states: int) -> Classes:
    """Fit a number of classes, from rows that are merged into so many clusters."""
    network = over_leaves(part.variables, states)
    problem = problem_of_codes(part.codes, part.counts, network, dirichlet(network, alpha))
    start = at_theta(problem, agglomerated(problem, 0, 0))
    return Classes(part, states, vary(start, tolerance=CLASS_TOLERANCE, max_steps=MOST_CLASS_STEPS))


def best_classes(part: Part, alpha: float | str, near: int = 2) -> Classes:
    """Find the number of classes, two at least, that the bound is highest for: from one uphill."""
    most = max(2, min(MOST_STATES, len(part.counts)))  # a state for each different row
    best = fit_classes(part, alpha, min(max(2, near), most))
    for change in (1, -1):
        start = best.states
        while 2 <= best.states + change <= most:
            other = fit_classes(part, alpha, best.states + change)
            if other.value <= best.value + RISE:
                break
            best = other
        if best.states != start:
            break
    return best


@dataclass(frozen=True, eq=False)
class Proposal:
    """A graph to fit, and completed rows to start from."""

    sketch: Sketch
    start: Filled


@dataclass(frozen=True, eq=False)
class Keeping:
    """A journal, and the chance that every piece of work draws from, one after the other."""

    task: GraphTask
    rng: np.random.Generator
    journal: Journal = FORGETFUL

    @cached_property
    def columns(self) -> Sketch:
        """The columns, without edges."""
        n, task = len(self.task.variables), self.task
        numbers = numbers_of(task.table, task.variables)
        return Sketch(task.table.columns, (), np.zeros((n, n), dtype=bool), task.known, numbers)

    def once(self, piece: str, work: Callable[[], Sequence[Fitted]]) -> Sequence[Fitted]:
        """Do a piece of work, or take what it led to when it was done before."""
        if stand := self.journal.get(piece):
            self.rng.bit_generator.state = stand["rng"]
            return [self._read(graph) for graph in stand["graphs"]]
        found = work()
        state = self.rng.bit_generator.state
        self.journal.put(piece, rng=state, graphs=[_written(one) for one in found])
        return found

    def _read(self, graph: dict[str, Any]) -> Fitted:
        sizes = tuple(graph["sizes"])
        parents = graph_of_edges(graph["edges"], self.columns.n + len(sizes))
        sketch = replace(self.columns, sizes=sizes, parents=parents)
        problem = problem_of(self.task.table, self.task.alpha, sketch)
        return Fitted(sketch, Variational(problem, np.array(graph["counts"]), graph["bound"]))


def _written(found: Fitted) -> dict[str, Any]:
    return {
        "sizes": found.sketch.sizes,
        "edges": edges_of_graph(found.sketch.parents),
        "counts": found.posterior.N.tolist(),
        "bound": found.posterior.bound,
    }


MANY = 6  # shares that are written out


def hidden_grid(model: Model, title: str, notes: tuple[str, ...]) -> Grid:
    """Give a row for each hidden variable."""
    names = [v.name for v in model.network.variables]
    rows = []
    for h in model.network.hidden:
        parents = [names[p] for p in model.network.parents[h]]
        children = [name for name, pa in zip(names, model.network.parents, strict=True) if h in pa]
        around = (", ".join(who) or "–" for who in (parents, children))
        rows.append((names[h], str(len(shares(model, h))), _written_hidden_grid(model, h), *around))
    header = ("hidden", "states", "shares", "parents", "children")
    return Grid(title, header, tuple(rows), frozenset({0, 2, 3, 4}), notes)


def hidden_variables(number: int) -> str:
    """So many hidden variables, in words."""
    return f"{number} hidden variable{'s' * (number != 1)}"


def shares(model: Model, h: int) -> list[float]:
    """Share of the cases that each state of a hidden variable has."""
    layout = model.network.layout
    known = model.theta if model.posterior is None else model.posterior
    sizes = layout.table(known, h).reshape(-1, layout.cards[h]).sum(axis=0)
    found: list[float] = (sizes / sizes.sum()).tolist()
    return found


def by_size(model: Model) -> Model:
    """Number the states of hidden variables by size, the largest first."""
    for h in model.network.hidden:
        model = model.permuted(h, np.argsort(-np.array(shares(model, h)), kind="stable").tolist())
    return model


def _written_hidden_grid(model: Model, h: int) -> str:
    each = [f"{share:.2f}" for share in shares(model, h)]
    return " ".join([*each[:MANY], *(["…"] if len(each) > MANY else [])])
