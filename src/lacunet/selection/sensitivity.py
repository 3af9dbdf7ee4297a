"""The evidence under every prior of a grid: its average, and how far the answer depends on it.

A walk over partitions measures all of them at once (`joint_evidence`). A candidate that is not
walked moves by as much as its variational bound, from its fit, without fitting again. Where nothing
is hidden that is exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp

from lacunet.evidence.partitions.cases import shown_rows
from lacunet.evidence.partitions.levels import Occupancy, guess_levels
from lacunet.fitting.diagnose import at_theta, vary
from lacunet.inference.classes import FAILURES, exchangeable
from lacunet.models.latent_class import classes_of
from lacunet.models.prior import PriorGrid, log_of
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.selection.average import Label, posterior
from lacunet.tabular import probability

if TYPE_CHECKING:
    from lacunet.selection.candidates import Candidate, Selection

TOLERANCE = 1e-2  # nats gained by a step, below which a bound is near enough
STEPS = 50  # at most
FACTORS = {0.25: "a quarter of", 0.5: "half", 2.0: "twice", 4.0: "four times"}
WHAT = {
    "strength": "the prior strength",
    "scale": "the variances that classes are expected to have",
}


@dataclass(frozen=True)
class Sensitivity:
    """The posterior over the candidates with another prior."""

    what: str  # "strength" of the prior, or "scale": variances that classes are expected to have
    factor: float
    probabilities: dict[Label, float]

    @property
    def choice(self) -> Label:
        """The most probable candidate."""
        return max(self.probabilities, key=lambda label: self.probabilities[label])


def shifts_by_bounds(
    selection: Selection, grid: PriorGrid, executor: Executor = SERIAL
) -> dict[Label, FloatArray]:
    """Nats by which each candidate's evidence moves with each prior, (S,); NaN: not known."""
    each = executor.silent().map(partial(_shifts, grid), selection.candidates)
    shifts = {c.label: shift for c, shift in zip(selection.candidates, each, strict=True)}
    return _with_empty_classes(selection, grid, shifts)


def _with_empty_classes(
    selection: Selection, grid: PriorGrid, shifts: dict[Label, FloatArray]
) -> dict[Label, FloatArray]:
    """Let what the evidence of k classes has of fewer used ones move as theirs does.

    A bound is that of one mode, with every class in use; a part of p(D|k) has some empty.
    """
    from lacunet.selection.joint_evidence import guesses  # it needs what this file is imported by

    scored = {k: v for k, v in guesses(selection).items() if math.isfinite(v)}
    known = sorted(k for k in scored if isinstance(k, int) and np.isfinite(shifts[k]).all())
    problems = [c.problem for c in selection.candidates]
    if len(known) < len(problems) or not all(map(exchangeable, problems)):
        return shifts
    largest, last = max(problems, key=lambda p: classes_of(p.network).number), known[-1]
    cases, root = float(shown_rows(largest)[1].sum()), classes_of(largest.network).root
    each = [
        Occupancy(tuple(known), float(largest.layout.table(a, root)[0]), cases, 1, last)
        for a in grid.of(largest.network, largest.alpha)
    ]
    all_used = [np.diag(one.of_every_number().log_factors()) for one in each]
    part = guess_levels(each[grid.base], {k: scored[k] for k in known}) + all_used[grid.base]
    values = [
        one.log_evidence(part + np.interp(one.blocks, known, moved) - used)
        for one, used, moved in zip(
            each, all_used, np.array([shifts[k] for k in known]).T, strict=True
        )
    ]
    return dict(zip(known, (np.array(values) - values[grid.base]).T, strict=True))


def _shifts(grid: PriorGrid, candidate: Candidate) -> FloatArray:
    problem, theta = candidate.problem, candidate.fit.for_scores.model.theta
    bounds = []
    try:
        for alpha in grid.of(problem.network, problem.alpha):
            start = at_theta(replace(problem, alpha=alpha), theta)
            bounds.append(vary(start, tolerance=TOLERANCE, max_steps=STEPS).bound)
    except FAILURES:
        return np.full(len(grid.variants), np.nan)
    return np.array(bounds) - bounds[grid.base]


def averaged(value: float, shift: FloatArray, weights: Sequence[float]) -> float:
    """Log of the average of exp(value + shift) by weights; the value where no shift is known."""
    found = float(logsumexp(value + shift + log_of(tuple(weights))))
    return found if math.isfinite(found) else value


def with_priors(selection: Selection, executor: Executor = SERIAL) -> Selection:
    """Average what is known under one prior over the grid, and say what other priors say."""
    grid = selection.grid
    if grid is None or selection.by_prior:
        return selection
    shifts, known = shifts_by_bounds(selection, grid, executor), selection.certainty
    values = dict(known.values)
    if grid.averages:
        values = {k: averaged(v, shifts[k], grid.weights) for k, v in values.items()}
    by_prior = {k: v + shifts[k] for k, v in known.values.items()}
    found = replace(known, values=values) if grid.averages else selection.found
    return replace(selection, found=found, by_prior=by_prior)


def sensitivities(
    by_prior: Mapping[Label, FloatArray], grid: PriorGrid, prior: Mapping[Label, float] | None
) -> tuple[Sensitivity, ...]:
    """Give the posterior over the candidates with each shift of the grid."""
    found = []
    for shift in grid.shifts:
        values = {k: float(logsumexp(v + log_of(shift.weights))) for k, v in by_prior.items()}
        if any(map(math.isfinite, values.values())):
            found.append(Sensitivity(shift.what, shift.factor, posterior(values, prior)))
    return tuple(found)


def sensitivity_sentences(selection: Selection, *, differ: bool) -> list[str]:
    """Say the answers with other priors: those that differ from the answer, or the others."""
    sentences = []
    for what, title in WHAT.items():
        own = [s for s in selection.sensitivity if s.what == what]
        if len(selection.candidates) < 2 or not own or selection.label is None:
            continue
        factors = " and ".join(FACTORS.get(s.factor, f"{s.factor:g} times") for s in own)
        answers = ", ".join(
            f"{s.choice} ({probability(s.probabilities[s.choice], exact=False)})" for s in own
        )
        if differ == any(s.choice != selection.label for s in own):
            depends = "the answer depends on the prior: " if differ else ""
            sentences.append(f"{depends}with {factors} {title}: {answers}")
    return sentences
