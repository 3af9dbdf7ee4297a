"""One hidden variable behind a few columns: its states, and how many by a bound of the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lacunet.fitting.agglomerate import agglomerated
from lacunet.fitting.variational import Variational, at_theta, vary
from lacunet.inference.plans.decompose import distinct, totals
from lacunet.inference.problem import problem_of_codes
from lacunet.models.latent_class import over_leaves
from lacunet.models.network import Variable
from lacunet.models.prior import dirichlet
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray
from lacunet.structure.hidden.fitting import Filled
from lacunet.structure.hidden.labellings import all_labellings

TOLERANCE = 1e-2  # nats gained by a step, where a fit ends
MOST_STEPS = 200
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
    return Classes(part, states, vary(start, tolerance=TOLERANCE, max_steps=MOST_STEPS))


def best_classes(part: Part, alpha: float | str, near: int = 2) -> Classes:
    """Find the number of classes, two at least, that the bound is highest for: from one uphill."""
    most = max(2, min(MOST_STATES, len(part.counts)))  # a state for each different row
    best = fit_classes(part, alpha, min(max(2, near), most))
    for step in (1, -1):
        start = best.states
        while 2 <= best.states + step <= most:
            other = fit_classes(part, alpha, best.states + step)
            if other.value <= best.value + RISE:
                break
            best = other
        if best.states != start:
            break
    return best
