"""The posterior over candidates, measured where it matters and at an acceptable cost.

Candidates are measured one by one, or numbers of classes jointly. A forecast of the cost follows
the same rules.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from lacunet.evidence.ais import UsedClasses
from lacunet.evidence.annealing import Goal
from lacunet.evidence.consistency import within_bounds
from lacunet.evidence.estimate import Verdict
from lacunet.evidence.measure import measure
from lacunet.evidence.partitions.walk import WalkGoal, can_walk, work_of_walks
from lacunet.evidence.smc import prepare_sampling
from lacunet.flags import Flag, Kind
from lacunet.inference.classes import FAILURES, failure
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.particles import touched_by_cases
from lacunet.models.prior import same_whatever_the_number
from lacunet.runtime.checkpoint import NULL_CHECKPOINT, Checkpoint
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores import Evidence
from lacunet.selection.average import Label
from lacunet.selection.candidates import Candidate
from lacunet.selection.certainty import (
    SCORED,
    TRUTH,
    Certainty,
    CertaintyBasis,
    SampledValue,
    about,
    as_evidence,
    combine_with_scores,
)
from lacunet.selection.joint_evidence import by_walk, guesses, known_exactly, may_matter
from lacunet.selection.result import Selection
from lacunet.settings import OF_PROBABILITY, Settings

BEST_FEW = 3  # candidates whose evidence is measured to calibrate the scores
MOST_WALKED = 1e10  # numbers that a walk may touch: less than a minute;
MOST_DOUBTED = 4e10  # and one whose chains disagree, which continues
FEWEST_ROUNDS = 4  # of a walk, which must fit into that
MOST_MEASURED = 1e6  # numbers that one pass over the cases touches, times parameters, of a network
# Numbers per second of the largest work of a walk, on one core. Three walks of 300 to 1,000 rows
# reached 1.2 to 3.9 · 10⁹, because most end before their last round.
PACE = 1e9


def measured(
    selection: Selection,
    settings: Settings,
    executor: Executor = SERIAL,
    checkpoint: Checkpoint = NULL_CHECKPOINT,
) -> Selection:
    """Measure the evidence of the candidates as far as the settings demand."""
    labels = [c.label for c in selection.candidates]
    run = settings.goal, executor, checkpoint
    if settings.evidence:
        return by_measurements(measure_each(selection, labels, *run))
    selection = quick(selection) if settings.quick else measure_posterior(selection, *run)
    if not settings.calibrate:
        return selection
    open_ = [c.label for c in selection.candidates if c.measured is None]
    few = [label for label in best_few(selection) if label in open_]
    selection = measure_each(selection, few, *run)
    return by_measurements(selection) if len(few) == len(labels) else selection


def measure_each(
    selection: Selection,
    labels: Sequence[Label],
    goal: Goal,
    executor: Executor = SERIAL,
    checkpoint: Checkpoint = NULL_CHECKPOINT,
) -> Selection:
    """Measure the evidence of some candidates one by one; each has the whole budget."""
    prepare_sampling(executor, *(c.problem.network for c in selection.candidates))
    # If classes have the same prior in all candidates, these share parts of the evidence.
    shared = UsedClasses() if same_whatever_the_number(selection.alpha) else None
    seed, done = selection.options.seed, dict[Label, Candidate]()
    for n, label in enumerate(labels):
        candidate = next(c for c in selection.candidates if c.label == label)
        part = executor.part(n / len(labels), (n + 1) / len(labels), candidate.title)
        try:
            measured = measure(
                candidate.problem,
                goal=goal,
                seed=seed,
                executor=part,
                shared=shared,
                checkpoint=checkpoint,
            )
        except FAILURES as error:
            nothing = Evidence(TRUTH.name, {}, (failure(error),))
            done[label] = candidate.with_evidence(nothing)
            continue
        measured = within_bounds(measured, candidate.lower_bound)
        done[label] = replace(candidate, measured=measured).with_evidence(as_evidence(measured))
    candidates = tuple(done.get(c.label, c) for c in selection.candidates)
    return replace(selection, candidates=candidates)


def by_measurements(selection: Selection) -> Selection:
    """Base the posterior on candidates that were measured one by one; others keep their score."""
    measured = {c.label: c.measured for c in selection.candidates if c.measured is not None}
    tried = {c.label for c in selection.candidates if TRUTH.name in c.scores}
    failed = [c.label for c in selection.candidates if c.label in tried - measured.keys()]
    scores = guesses(selection)
    bounds = [k for k, m in measured.items() if m.verdict is Verdict.LOWER_BOUND]
    notes = (
        *about(Kind.BOUNDS_ONLY, bounds, selection.unit),
        *about(Kind.NOT_MEASURED, failed, selection.unit),
    )
    if bounds:  # no more accurate than a score
        sampled = {
            k: SampledValue(m.value, SCORED, bound=True)
            if k in bounds
            else SampledValue(m.value, m.stderr or 0.0)
            for k, m in measured.items()
        }
        values, unconverged = combine_with_scores(sampled, scores)
        basis, covariance = CertaintyBasis.UNRELIABLE, None
    else:
        values, unconverged = scores | {k: m.value for k, m in measured.items()}, {}
        exact = all(k in measured and measured[k].verdict is Verdict.EXACT for k in values)
        basis = CertaintyBasis.EXACT if exact else CertaintyBasis.MEASURED
        errors = [measured[k].stderr or 0.0 if k in measured else 0.0 for k in values]
        covariance = np.diag(np.square(errors))
    known = frozenset(measured) | known_exactly(selection)
    prior = selection.prior
    posterior = Certainty(TRUTH.name, values, prior, basis, covariance, known, notes, unconverged)
    return replace(selection, overall=posterior)


def measure_posterior(
    selection: Selection,
    goal: Goal,
    executor: Executor = SERIAL,
    checkpoint: Checkpoint = NULL_CHECKPOINT,
) -> Selection:
    """Measure the posterior over the candidates, where it matters and at an acceptable cost.

    A score that is far too high hides candidates that matter. So the others are screened again when
    the best ones are measured.
    """
    labels = may_matter(selection)
    while True:
        measured = _measured(selection, labels, goal, executor, checkpoint)
        values = measured.certainty.values
        known = {k: values[k] for k in measured.certainty.measured if math.isfinite(values[k])}
        again = may_matter(selection, known)
        sampled = measured.certainty.basis in {CertaintyBasis.MEASURED, CertaintyBasis.UNRELIABLE}
        if not sampled or {*again} <= {*labels}:
            return measured
        labels = [c.label for c in selection.candidates if c.label in {*labels, *again}]


def _measured(
    selection: Selection,
    labels: Sequence[Label],
    goal: Goal,
    executor: Executor,
    checkpoint: Checkpoint,
) -> Selection:
    """Measure some candidates, if there are several and they are not too large."""
    problems = [c.problem for c in selection.candidates if c.label in labels]
    if len(problems) < 2 or selection.trusted.only_exact:
        return approximated(selection, basis=CertaintyBasis.CLEAR)
    way, work, rounds = way_to_measure(problems, labels)
    if way in {Way.LARGE_TABLE, Way.LARGE_NETWORKS}:
        most = MOST_WALKED if way is Way.LARGE_TABLE else MOST_MEASURED
        return approximated(selection, Flag(Kind.TOO_LARGE, detail={"work": work, "most": most}))
    if way is Way.PER_MODEL:
        return by_measurements(measure_each(selection, labels, goal, executor, checkpoint))
    numbers = [label for label in labels if isinstance(label, int)]
    more_rounds = rounds_worth(problems[-1], numbers, MOST_DOUBTED)
    bounds = min(rounds, WalkGoal.rounds), min(more_rounds, WalkGoal.more_rounds)
    walk_goal = WalkGoal(OF_PROBABILITY * goal.target, *bounds)
    try:
        return by_walk(selection, numbers, goal=walk_goal, executor=executor, checkpoint=checkpoint)
    except FAILURES:
        return approximated(selection, *about(Kind.NOT_MEASURED, numbers, selection.unit))


class Way(StrEnum):
    """How the evidence of several candidates is measured."""

    WALK = "a walk over partitions, all numbers at once"
    PER_MODEL = "the evidence of those that can matter, for its budget"
    LARGE_TABLE = "nothing: the table is so large that scores decide"
    LARGE_NETWORKS = "nothing: the networks are so large that scores decide"


def way_to_measure(problems: Sequence[Problem], labels: Sequence[Label]) -> tuple[Way, float, int]:
    """Choose how candidates are measured; also the work, and the rounds that a walk can afford."""
    numbers = [label for label in labels if isinstance(label, int)]
    if len(numbers) == len(labels) and can_walk(problems):
        rounds = rounds_worth(problems[-1], numbers, MOST_WALKED)
        goal = WalkGoal(rounds=max(FEWEST_ROUNDS, min(rounds, WalkGoal.rounds)))
        way = Way.LARGE_TABLE if rounds < FEWEST_ROUNDS else Way.WALK
        return way, work_of_walks(problems[-1], numbers, goal), rounds
    work = max(map(work_of_network, problems))
    return (Way.LARGE_NETWORKS if work > MOST_MEASURED else Way.PER_MODEL), work, 0


def work_of_network(problem: Problem) -> float:
    """Work of measuring a network, up to a factor."""
    return touched_by_cases(problem) * problem.network.dimension


def rounds_worth(problem: Problem, numbers: Sequence[int], most: float) -> int:
    """Rounds of a walk that fit into an amount of work."""
    before, first = (work_of_walks(problem, numbers, WalkGoal(rounds=r)) for r in (0, 1))
    return int((most - before) // (first - before))


def approximated(
    selection: Selection, *notes: Flag, basis: CertaintyBasis = CertaintyBasis.APPROXIMATED
) -> Selection:
    """Base the answer on the trusted score, with notes why nothing was measured.

    Searches that reached their best optimum only once are flagged: a better optimum may exist.
    """
    certainty = selection.by_score(selection.trusted.name)
    if certainty.basis is not CertaintyBasis.EXACT:
        unsure = [c.label for c in selection.candidates if not c.fit.for_scores.stable]
        matter = [k for k in may_matter(selection) if k in unsure]
        unstable = about(Kind.UNSTABLE_SEARCHES, matter, selection.unit)
        certainty = replace(certainty, basis=basis, notes=(*notes, *unstable))
    return replace(selection, overall=certainty)


def quick(selection: Selection) -> Selection:
    """Base the answer on the trusted score, as requested."""
    return approximated(selection, Flag(Kind.NOT_CALIBRATED), basis=CertaintyBasis.QUICK)


def best_few(selection: Selection) -> list[Label]:
    """The most probable candidates by the headline, in the order of the selection."""
    p = {k: p if math.isfinite(p) else -1.0 for k, p in selection.posterior().items()}
    best = sorted(p, key=lambda label: -p[label])[:BEST_FEW]
    return [c.label for c in selection.candidates if c.label in best]


@dataclass(frozen=True)
class MeasuringForecast:
    """The measurement that would follow fits and scores."""

    what: str  # in words
    seconds: float  # at most


def forecast_measuring(
    problems: Sequence[Problem], labels: Sequence[Label], settings: Settings, workers: int
) -> MeasuringForecast | None:
    """Forecast the measurement of candidates, if the settings demand one.

    Scores may still exclude candidates, so this is an upper bound.
    """
    if settings.quick:
        return None
    per_model = settings.goal.budget * sum(not problem.exact for problem in problems)
    if settings.evidence or settings.calibrate or len(problems) == 1:
        return MeasuringForecast("the evidence of each, for its budget", per_model)
    if any(problem.place.holder is not None for problem in problems):
        return MeasuringForecast("nothing: rows that are held in parts are not sampled", 0.0)
    way, work, _ = way_to_measure(problems, labels)  # more rounds only where chains disagree
    seconds = {Way.WALK: work / PACE / workers, Way.PER_MODEL: per_model}
    return MeasuringForecast(way.value, seconds.get(way, 0.0))
