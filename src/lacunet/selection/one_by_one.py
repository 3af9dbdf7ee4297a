"""The evidence of candidates measured one by one, and what follows for all of them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lacunet.evidence.ais import UsedClasses
from lacunet.evidence.clock import Goal
from lacunet.evidence.consistency import between
from lacunet.evidence.estimate import Verdict
from lacunet.evidence.measure import measure
from lacunet.evidence.measurement import Measurement
from lacunet.evidence.prepare_sampling import prepare_sampling
from lacunet.flags import Kind
from lacunet.inference.plausible import FAILURES, failure
from lacunet.models.prior import same_whatever_the_number
from lacunet.runtime.checkpoint import FORGETFUL, Kept
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores import Evidence
from lacunet.selection.average import Label
from lacunet.selection.candidates import Candidate, Selection
from lacunet.selection.certainty import Certainty, How, about
from lacunet.selection.screening import guesses, known_exactly
from lacunet.selection.truth import TRUTH, as_evidence
from lacunet.selection.unsettled import SCORED, Told, together


def measure_each(
    selection: Selection,
    labels: Sequence[Label],
    *,
    goal: Goal,
    executor: Executor = SERIAL,
    kept: Kept = FORGETFUL,
) -> Selection:
    """Measure the evidence of some candidates by itself; each has the whole of the budget."""
    prepare_sampling(executor, *(c.problem.network for c in selection.candidates))
    shared = UsedClasses() if _shares(selection) else None
    done: dict[Label, Candidate] = {}
    for n, label in enumerate(labels):
        candidate = next(c for c in selection.candidates if c.label == label)
        part = executor.part(n / len(labels), (n + 1) / len(labels), candidate.title)
        seed = selection.options.seed
        try:
            measured = measure(
                candidate.problem, goal=goal, seed=seed, executor=part, shared=shared, kept=kept
            )
        except FAILURES as error:
            nothing = Evidence(TRUTH.name, {}, (failure(error),))
            done[label] = candidate.with_evidence(nothing)
            continue
        measured = between(measured, candidate.lower_bound)
        done[label] = replace(candidate, measured=measured).with_evidence(as_evidence(measured))
    candidates = tuple(done.get(c.label, c) for c in selection.candidates)
    return replace(selection, candidates=candidates)


def _shares(selection: Selection) -> bool:
    """Whether classes have the same prior in all candidates, so that parts can be shared."""
    alpha = selection.alpha
    return same_whatever_the_number(alpha)


def _told(measured: Measurement) -> Told:
    if measured.verdict is Verdict.LOWER_BOUND:
        return Told(measured.value, SCORED, bound=True)  # no surer than a score
    return Told(measured.value, measured.stderr or 0.0)


def by_measurements(selection: Selection) -> Selection:
    """Let the candidates that were measured one by one decide; the others stay at their score."""
    measured = {c.label: c.measured for c in selection.candidates if c.measured is not None}
    tried = {c.label for c in selection.candidates if TRUTH.name in c.scores}
    failed = [c.label for c in selection.candidates if c.label in tried - measured.keys()]
    values = guesses(selection) | {k: m.value for k, m in measured.items()}
    bounds = [k for k, m in measured.items() if m.verdict is Verdict.LOWER_BOUND]
    exact = all(k in measured and measured[k].verdict is Verdict.EXACT for k in values)
    errors = [measured[k].stderr or 0.0 if k in measured else 0.0 for k in values]
    doubts: dict[Label, float] = {}
    if bounds:
        told = {k: _told(m) for k, m in measured.items()}
        values, doubts = together(told, guesses(selection))
    found = Certainty(
        TRUTH.name,
        values,
        selection.prior,
        How.EXACT if exact else How.UNSETTLED if bounds else How.MEASURED,
        None if bounds else np.diag(np.square(errors)),
        frozenset(measured) | known_exactly(selection),
        (
            *about(Kind.BOUNDS_ONLY, bounds, selection.unit),
            *about(Kind.NOT_MEASURED, failed, selection.unit),
        ),
        doubts,
    )
    return replace(selection, found=found)
