"""How far the answer depends on the prior's scale, which nobody knows well.

How wide classes of numbers are expected to be moves their evidence by nats, and with it their
number. Each candidate is asked again with variances expected to be smaller and larger, as far as
its bound (variational Bayes, from its fit) tells: fits are not made anew.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from lacunet.executor import Executor
from lacunet.inference.plausible import FAILURES
from lacunet.learn.variational import at_theta, vary
from lacunet.model import conjugacy
from lacunet.search.average import Label, posterior
from lacunet.tabular import Grid, probability

if TYPE_CHECKING:
    from lacunet.search.candidates import Candidate, Selection

FACTORS = (0.25, 4.0)  # of the variances that classes are expected to have
TOLERANCE = 1e-3  # nats gained by a step, below which a bound is near enough


@dataclass(frozen=True)
class Sensitivity:
    """The posterior over the candidates with another scale of the prior."""

    factor: float  # of the variances that classes are expected to have
    probabilities: dict[Label, float]

    @property
    def choice(self) -> Label:
        """The most probable candidate."""
        return max(self.probabilities, key=lambda label: self.probabilities[label])


def sensitivities(selection: Selection, executor: Executor) -> tuple[Sensitivity, ...]:
    """Ask with other scales of the prior; nothing, where there are no numbers to have one."""
    first = selection.candidates[0].problem
    if np.array_equal(conjugacy.widened(first.alpha, FACTORS[0], first.layout), first.alpha):
        return ()
    shifts = executor.silent().map(_shifts, selection.candidates)
    values = selection.certainty.values
    found = []
    for n, factor in enumerate(FACTORS):
        moved = {
            c.label: values[c.label] + shift[n]
            for c, shift in zip(selection.candidates, shifts, strict=True)
        }
        if any(map(math.isfinite, moved.values())):
            found.append(Sensitivity(factor, posterior(moved, selection.prior)))
    return tuple(found)


def _shifts(candidate: Candidate) -> list[float]:
    """Nats by which the bound of a candidate moves with each factor."""
    problem, theta = candidate.problem, candidate.fit.for_scores.model.theta
    bounds = []
    try:
        for factor in (1.0, *FACTORS):
            alpha = conjugacy.widened(problem.alpha, factor, problem.layout)
            start = at_theta(replace(problem, alpha=alpha), theta)
            bounds.append(vary(start, tolerance=TOLERANCE).bound)
    except FAILURES:
        return [math.nan] * len(FACTORS)
    return [bound - bounds[0] for bound in bounds[1:]]


def sensitivity_grid(found: Sequence[Sensitivity]) -> Grid:
    """Say what the answer would be."""
    rows = tuple(
        (f"{s.factor:g} ×", str(s.choice), probability(s.probabilities[s.choice], exact=False))
        for s in found
    )
    note = (
        "scale: variances that classes are expected to have, by --number-prior; answers by the "
        "bound of variational Bayes, without new fits."
    )
    header = ("scale", "answer", "probability")
    return Grid("The same question with another scale of the prior", header, rows, notes=(note,))
