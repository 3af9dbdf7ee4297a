"""The evidence of candidates measured one by one, and what follows for all of them.

The posterior over the candidates, measured as far as it matters.
What measuring the evidence would take, by the rules that decide whether it is done.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lacunet.evidence.ais import UsedClasses
from lacunet.evidence.annealing import Goal
from lacunet.evidence.consistency import between
from lacunet.evidence.estimate import Measurement, Verdict
from lacunet.evidence.measure import measure
from lacunet.evidence.partitions.walk import WalkGoal, can_walk, work_of_walks
from lacunet.evidence.smc import prepare_sampling
from lacunet.flags import Flag, Kind
from lacunet.inference.classes import FAILURES, failure
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.particles import touched_by_cases
from lacunet.models.prior import same_whatever_the_number
from lacunet.runtime.checkpoint import FORGETFUL, Kept
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores import Evidence
from lacunet.selection.average import Label
from lacunet.selection.candidates import Candidate, Selection
from lacunet.selection.certainty import (
    SCORED,
    TRUTH,
    Certainty,
    How,
    Told,
    about,
    as_evidence,
    together,
)
from lacunet.selection.joint_evidence import by_walk, guesses, known_exactly, may_matter
from lacunet.settings import OF_PROBABILITY


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


MOST_WALKED = 1e10  # numbers that a walk may touch: less than a minute;
MOST_DOUBTED = 4e10  # and one whose chains do not agree: they walk on
FEWEST_ROUNDS = 4  # of a walk, which must fit into that
MOST_MEASURED = 1e6  # numbers that one pass over the cases touches, times parameters, of a network


def measure_posterior(
    selection: Selection, *, goal: Goal, executor: Executor = SERIAL, kept: Kept = FORGETFUL
) -> Selection:
    """Measure the posterior over the candidates, as far as it matters and is worth its price.

    A score can be far too high, and then hides candidates that matter. So the others are looked at
    again when the best ones are measured.
    """
    labels = may_matter(selection)
    while True:
        found = _measured(selection, labels, goal, executor, kept)
        values = found.certainty.values
        known = {k: values[k] for k in found.certainty.measured if math.isfinite(values[k])}
        again = may_matter(selection, known)
        sampled = found.certainty.how in {How.MEASURED, How.UNSETTLED}
        if not sampled or {*again} <= {*labels}:
            return found
        labels = [c.label for c in selection.candidates if c.label in {*labels, *again}]


def _measured(
    selection: Selection, labels: Sequence[Label], goal: Goal, executor: Executor, kept: Kept
) -> Selection:
    """Measure some candidates, if they are several, and not too large."""
    problems = [c.problem for c in selection.candidates if c.label in labels]
    if len(problems) < 2 or selection.trusted.only_exact:
        return approximated(selection, how=How.CLEAR)
    numbers = [label for label in labels if isinstance(label, int)]
    if len(numbers) == len(labels) and can_walk(problems):
        rounds = rounds_worth(problems[-1], numbers, MOST_WALKED)
        if rounds < FEWEST_ROUNDS:
            work = work_of_walks(problems[-1], numbers, WalkGoal(rounds=FEWEST_ROUNDS))
            return approximated(selection, _too_large(work, MOST_WALKED))
        doubted = rounds_worth(problems[-1], numbers, MOST_DOUBTED)
        most = min(rounds, WalkGoal.rounds), min(doubted, WalkGoal.doubted)
        walk_goal = WalkGoal(OF_PROBABILITY * goal.target, *most)
        try:
            return by_walk(selection, numbers, goal=walk_goal, executor=executor, kept=kept)
        except FAILURES:
            failed = about(Kind.NOT_MEASURED, numbers, selection.unit)
            return approximated(selection, *failed)
    work = max(map(work_of_network, problems))
    if work > MOST_MEASURED:
        return approximated(selection, _too_large(work, MOST_MEASURED))
    return by_measurements(measure_each(selection, labels, goal=goal, executor=executor, kept=kept))


def work_of_network(problem: Problem) -> float:
    """What tells how dear it is to measure a network."""
    return touched_by_cases(problem) * problem.network.dimension


def approximated(selection: Selection, *notes: Flag, how: How = How.APPROXIMATED) -> Selection:
    """Leave the answer to the score to trust, and say why it is not measured."""
    found = selection.by_score(selection.trusted.name)
    if found.how is not How.EXACT:
        found = replace(found, how=how, notes=(*notes, *_unstable(selection)))
    return replace(selection, found=found)


def quick(selection: Selection) -> Selection:
    """Leave the answer to the score to trust, because that was asked for."""
    return approximated(selection, Flag(Kind.NOT_CALIBRATED), how=How.QUICK)


def rounds_worth(problem: Problem, numbers: Sequence[int], most: float | None = None) -> int:
    """Rounds of a walk that are worth a price (default: the usual one); below the fewest, none."""
    most = MOST_WALKED if most is None else most
    before, first = (work_of_walks(problem, numbers, WalkGoal(rounds=r)) for r in (0, 1))
    return int((most - before) // (first - before))


def _too_large(work: float, most: float) -> Flag:
    return Flag(Kind.TOO_LARGE, detail={"work": work, "most": most})


def _unstable(selection: Selection) -> list[Flag]:
    """Say which searches found their best optimum once only: a score elsewhere may be far off."""
    unsure = [c.label for c in selection.candidates if not c.fit.for_scores.stable]
    matter = [k for k in may_matter(selection) if k in unsure]
    return about(Kind.UNSTABLE_SEARCHES, matter, selection.unit)


# Numbers a second of the work that a walk may be, on one core: three walks of 300 to 1,000 rows did
# 1.2 to 3.9 · 10⁹, for most end before their last round.
PACE = 1e9


@dataclass(frozen=True)
class Measuring:
    """What is measured when fits and scores are there."""

    what: str  # in words
    seconds: float  # at most


def forecast_measuring(
    problems: Sequence[Problem],
    labels: Sequence[Label],
    *,
    each: bool,
    budget: float,
    workers: int,
) -> Measuring:
    """Say what is measured of candidates: each by itself if that is asked for, else by the rules.

    Which of them can matter is known when they have scores: these are the most.
    """
    hidden = [problem for problem in problems if not problem.exact]
    if each or len(problems) == 1:
        return Measuring("the evidence of each, for its budget", budget * len(hidden))
    numbers = [label for label in labels if isinstance(label, int)]
    if any(problem.held is not None for problem in problems):
        return Measuring("nothing: rows that are held in parts are not sampled", 0.0)
    if len(numbers) == len(labels) and can_walk(problems):
        rounds = rounds_worth(problems[-1], numbers)
        if rounds < FEWEST_ROUNDS:
            return Measuring("nothing: the table is so large that scores decide", 0.0)
        goal = WalkGoal(rounds=min(rounds, WalkGoal.rounds))  # more only where chains disagree
        work = work_of_walks(problems[-1], numbers, goal)
        return Measuring("a walk over partitions, all numbers at once", work / PACE / workers)
    if max(map(work_of_network, problems)) > MOST_MEASURED:
        return Measuring("nothing: the networks are so large that scores decide", 0.0)
    return Measuring("the evidence of those that can matter, for its budget", budget * len(hidden))
