"""Graphs with hidden variables, fitted to the data as they are, and rows completed by a fit.

Without a start that tells the states of a hidden variable apart nothing ever would: all states are
alike. So a fit starts from completed rows, in which every hidden variable has a column.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lacunet.data.table import Table
from lacunet.fitting.row_counts import Rows, count_families
from lacunet.fitting.variational import Variational, at_hyperparameters, step, vary
from lacunet.inference.problem import Problem, build_problem
from lacunet.models.network import Model
from lacunet.models.prior import dirichlet
from lacunet.runtime.arrays import CodeArray, FloatArray
from lacunet.structure.completing import Completer
from lacunet.structure.hidden.labellings import all_labellings
from lacunet.structure.hidden.sketch import Sketch

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
    rows = Rows(start.codes.astype(np.int64), start.counts)
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
