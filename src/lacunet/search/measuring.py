"""The posterior over the candidates, measured as far as it matters.

Scores screen the candidates. Those that can matter are measured: numbers of classes all at once by
a walk over partitions, other networks one by one. What is large is not sampled, by rules on
numbers that are the same every time: there approximations are good, and sampling is dear.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.evidence.ais import UsedClasses
from lacunet.evidence.clock import Goal
from lacunet.evidence.estimate import Verdict
from lacunet.evidence.measure import measure
from lacunet.evidence.partitions.walk import Walk, WalkGoal
from lacunet.evidence.partitions.weighted import can_walk, walk_weighted, work_of_walks
from lacunet.executor import SERIAL, Executor
from lacunet.flags import Flag, Kind
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.draws import touched
from lacunet.model.prior import understand_alpha
from lacunet.scoring.score_input import Evidence
from lacunet.search.average import Label
from lacunet.search.candidates import Candidate, Selection
from lacunet.search.certainty import Certainty, How
from lacunet.search.screening import guesses, may_matter
from lacunet.search.truth import TRUTH, as_evidence

MOST_WALKED = 1e10  # numbers that a walk may touch: less than a minute
FEWEST_ROUNDS = 4  # of a walk, which must fit into that
OF_PROBABILITY = 0.2  # error of a probability, for each nat of that of a log evidence, about
MOST_MEASURED = 2e6  # numbers that one pass over the cases touches, times parameters, of a network


def measure_posterior(
    selection: Selection, *, goal: Goal, executor: Executor = SERIAL
) -> Selection:
    """Measure the posterior over the candidates, as far as it matters and is worth its price."""
    labels = may_matter(selection)
    problems = [c.problem for c in selection.candidates if c.label in labels]
    if len(problems) < 2 or selection.trusted.only_exact:
        return approximated(selection, how=How.CLEAR)
    numbers = [label for label in labels if isinstance(label, int)]
    if len(numbers) == len(labels) and can_walk(problems):
        rounds = _rounds(problems[-1], numbers)
        if rounds < FEWEST_ROUNDS:
            work = work_of_walks(problems[-1], numbers, WalkGoal(rounds=FEWEST_ROUNDS))
            return approximated(selection, _too_large(work, MOST_WALKED))
        walk_goal = WalkGoal(OF_PROBABILITY * goal.target, rounds)
        return by_walk(selection, numbers, goal=walk_goal, executor=executor)
    work = max(touched(problem)[1] * problem.network.dimension for problem in problems)
    if work > MOST_MEASURED:
        return approximated(selection, _too_large(work, MOST_MEASURED))
    return by_measurements(measure_each(selection, labels, goal=goal, executor=executor))


def approximated(selection: Selection, *notes: Flag, how: How = How.APPROXIMATED) -> Selection:
    """Leave the answer to the score to trust, and say why it is not measured."""
    found = selection.by_score(selection.trusted.name)
    if found.how is not How.EXACT:
        found = replace(found, how=how, notes=(*notes, *_unstable(selection)))
    return replace(selection, found=found)


def quick(selection: Selection) -> Selection:
    """Leave the answer to the score to trust, because that was asked for."""
    return approximated(selection, Flag(Kind.NOT_CALIBRATED), how=How.QUICK)


def _rounds(problem: Problem, numbers: Sequence[int]) -> int:
    """Rounds of a walk that are worth their price; below the fewest, there is no walk."""
    before, first = (work_of_walks(problem, numbers, WalkGoal(rounds=r)) for r in (0, 1))
    return min(WalkGoal.rounds, int((MOST_WALKED - before) // (first - before)))


def _too_large(work: float, most: float) -> Flag:
    return Flag(Kind.TOO_LARGE, detail={"work": work, "most": most})


def _unstable(selection: Selection) -> list[Flag]:
    """Say which searches found their best optimum once only: a score elsewhere may be far off."""
    unsure = [c.label for c in selection.candidates if not c.fit.stable]
    return _about(Kind.UNSTABLE_SEARCHES, [k for k in may_matter(selection) if k in unsure])


def _about(kind: Kind, labels: Sequence[Label]) -> list[Flag]:
    """Make a flag about some candidates, if there are any."""
    named = ", ".join(map(str, labels))
    number = f"{named} states" if all(isinstance(k, int) for k in labels) else named
    return [Flag(kind, detail={"candidates": number})] if labels else []


def measure_each(
    selection: Selection, labels: Sequence[Label], *, goal: Goal, executor: Executor = SERIAL
) -> Selection:
    """Measure the evidence of some candidates by itself; each has the whole of the budget."""
    shared = UsedClasses() if _shares(selection) else None
    done: dict[Label, Candidate] = {}
    for n, label in enumerate(labels):
        candidate = next(c for c in selection.candidates if c.label == label)
        part = executor.part(n / len(labels), (n + 1) / len(labels), candidate.title)
        seed = selection.options.seed
        measured = measure(candidate.problem, goal=goal, seed=seed, executor=part, shared=shared)
        done[label] = _with_evidence(replace(candidate, measured=measured), as_evidence(measured))
    candidates = tuple(done.get(c.label, c) for c in selection.candidates)
    return replace(selection, candidates=candidates)


def _shares(selection: Selection) -> bool:
    """Whether classes have the same prior in all candidates, so that parts can be shared."""
    alpha = selection.alpha
    return not isinstance(alpha, Mapping) and not understand_alpha(alpha)[1]


def by_measurements(selection: Selection) -> Selection:
    """Let the candidates that were measured one by one decide; the others stay at their score."""
    measured = {c.label: c.measured for c in selection.candidates if c.measured is not None}
    values = guesses(selection) | {k: m.value for k, m in measured.items()}
    bounds = [k for k, m in measured.items() if m.verdict is Verdict.LOWER_BOUND]
    exact = all(k in measured and measured[k].verdict is Verdict.EXACT for k in values)
    errors = [measured[k].stderr or 0.0 if k in measured else 0.0 for k in values]
    found = Certainty(
        TRUTH.name,
        values,
        selection.prior,
        How.EXACT if exact else How.MEASURED,
        None if bounds else np.diag(np.square(errors)),
        frozenset(measured),
        tuple(_about(Kind.BOUNDS_ONLY, bounds)),
    )
    return replace(selection, found=found)


def by_walk(
    selection: Selection, numbers: Sequence[int], *, goal: WalkGoal, executor: Executor = SERIAL
) -> Selection:
    """Measure numbers of classes all at once."""
    known = {c.label: c for c in selection.candidates if isinstance(c.label, int)}
    cheap = {k: v for k, v in guesses(selection).items() if math.isfinite(v)}
    walk = walk_weighted(
        known[max(numbers)].problem,
        numbers,
        fits={k: c.fit.model.theta for k, c in known.items()},
        guesses={k: cheap[k] for k in known if k in cheap},
        seed=selection.options.seed,
        executor=executor,
        goal=goal,
    )
    return _told_by(walk, selection)


def _told_by(walk: Walk, selection: Selection) -> Selection:
    """Write down what a walk found: in the answer, and as the evidence of each candidate."""
    labels = [c.label for c in selection.candidates]
    places = [labels.index(k) for k in walk.numbers]
    sure = walk.verdict is not Verdict.LOWER_BOUND
    covariance = np.zeros((len(labels), len(labels)))
    covariance[np.ix_(places, places)] = _covariance(walk.replicates)
    measured: dict[Label, float] = dict(zip(walk.numbers, walk.values.tolist(), strict=True))
    found = Certainty(
        TRUTH.name,
        guesses(selection) | measured,
        selection.prior,
        How.MEASURED,
        covariance if sure else None,
        frozenset(walk.numbers),
        walk.notes,
    )
    errors = dict(zip(labels, np.sqrt(np.diag(covariance)).tolist(), strict=True)) if sure else {}
    terms = {k: {"log p(D|k)": value} for k, value in measured.items()}
    candidates = tuple(
        _with_evidence(c, Evidence(TRUTH.name, terms[c.label], stderr=errors.get(c.label)))
        if c.label in measured
        else c
        for c in selection.candidates
    )
    return replace(selection, candidates=candidates, found=found)


def _covariance(replicates: FloatArray) -> FloatArray:
    """Covariance of values whose leave-one-out versions are given, (R, K) → (K, K)."""
    apart = replicates - replicates.mean(axis=0)
    return np.asarray((len(apart) - 1) / len(apart) * apart.T @ apart)


def _with_evidence(candidate: Candidate, evidence: Evidence) -> Candidate:
    return replace(candidate, scores={TRUTH.name: evidence, **candidate.scores})
