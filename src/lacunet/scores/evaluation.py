"""Scores of several models of the same data: whatever two of them need is made once.

Which fits the scores need is found out first, and each different one is a task. All are fitted, and
learn from each other; then everything is taken there that some score needs. What rests on several
fits is put together at the end.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from lacunet.fitting.fit import Fit, Options, PackedFit, with_posterior
from lacunet.fitting.neighbours import learn_from_neighbours
from lacunet.inference.classes import FAILURES, failure, reason_of
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.checkpoint import FORGETFUL, Kept, Packing
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores.score import Evidence, Fitting, Score, ScoreInput

FITTED = 0.9  # of the likely time of a task; the rest is for the scores


@dataclass(frozen=True, eq=False)
class ScoreRequest:
    """A model, and the scores that it is to have."""

    fitting: Fitting
    scores: tuple[Score, ...]  # defined for it
    title: str = ""  # as progress calls it


@dataclass(frozen=True, eq=False)
class ScoredFit:
    """A fit, and its scores."""

    fit: Fit
    dimension: int  # d, as the scores used it
    evidence: Mapping[str, Evidence]  # by name of the score


@dataclass(frozen=True, eq=False)
class Unfitted:
    """A model that could not be fitted, and why."""

    title: str
    error: Exception

    @property
    def reason(self) -> str:
        """The error in words."""
        return reason_of(self.error)


Tasks = dict[Hashable, ScoreRequest]  # by what makes fits the same
Results = Mapping[Hashable, ScoredFit | Unfitted]


def score_fits(
    requests: Sequence[ScoreRequest], executor: Executor = SERIAL, kept: Kept = FORGETFUL
) -> list[ScoredFit | Unfitted]:
    """Fit every model and take its scores; a model that cannot be fitted ends no other."""
    tasks: Tasks = {}
    for request in requests:
        _add(tasks, request)
    for request in requests:
        _add_other_fits(tasks, request)
    results = _do_all(tasks, executor, kept)
    own = [results[request.fitting.key] for request in requests]
    parts = [
        (request, _parts(request, one.evidence, results))
        for request, one in zip(requests, own, strict=True)
        if isinstance(one, ScoredFit)
    ]
    whole = iter(executor.map(_combined, parts))
    return [
        replace(one, evidence=next(whole)) if isinstance(one, ScoredFit) else one for one in own
    ]


def score_at(at: ScoreInput, scores: Sequence[Score]) -> dict[str, Evidence]:
    """Take scores at given parameters; only what they need besides is fitted."""
    tasks: Tasks = {}
    fitting = Fitting(at.problem, at.options, at.effective_dimension is not None)
    own = ScoreRequest(fitting, tuple(scores))
    _add_other_fits(tasks, own)
    elsewhere = _do_all(tasks, at.executor.silent(), FORGETFUL)
    here = {score.name: score.here(at) for score in scores}
    return _combined((own, _parts(own, here, elsewhere)))


def _add(tasks: Tasks, request: ScoreRequest) -> None:
    """Add a task, or the scores to the task of the same fit."""
    key = request.fitting.key
    known = tasks.setdefault(key, request)
    tasks[key] = replace(known, scores=tuple(dict.fromkeys((*known.scores, *request.scores))))


def _add_other_fits(tasks: Tasks, request: ScoreRequest) -> None:
    for score in request.scores:
        for fitting in score.fits(request.fitting):
            _add(tasks, ScoreRequest(fitting, (score,), request.title))


def _do_all(tasks: Tasks, executor: Executor, kept: Kept) -> Results:
    # The largest first: what takes longest must not be what is left over at the end.
    steps = (task.fitting.problem.components.nanoseconds for task in tasks.values())
    executor = executor.if_worth(max(steps, default=0.0))
    keys = sorted(tasks, key=lambda key: -tasks[key].fitting.dimension)
    todo = [tasks[key] for key in keys]
    times = [(1.0 + task.fitting.dimension) ** 1.5 for task in todo]
    shown = executor.part(0.0, FITTED).beside([task.title for task in todo], times)
    fits = kept.map(_fit, list(zip(todo, shown, strict=True)), executor, packing=FITS)
    found: dict[Hashable, ScoredFit | Unfitted] = {
        key: fit for key, fit in zip(keys, fits, strict=True) if isinstance(fit, Unfitted)
    }
    fitted = [n for n, fit in enumerate(fits) if isinstance(fit, Fit)]
    own = [fit for fit in fits if isinstance(fit, Fit)]
    own = _learn_from_each_other([todo[n] for n in fitted], own, executor, kept)
    items = [(todo[n], fit) for n, fit in zip(fitted, own, strict=True)]
    scored = kept.map(partial(_score, executor.silent()), items, executor, packing=SCORES)
    executor.say("", 1.0)
    return found | dict(zip([keys[n] for n in fitted], scored, strict=True))


def _learn_from_each_other(
    todo: Sequence[ScoreRequest], fits: list[Fit], executor: Executor, kept: Kept
) -> list[Fit]:
    """Let the fits that were searched for in the same way learn from their neighbours."""
    alike: dict[Options, list[int]] = {}
    for place, task in enumerate(todo):
        alike.setdefault(task.fitting.options, []).append(place)
    for places in alike.values():
        try:
            own = [fits[place] for place in places]
            group = learn_from_neighbours(own, executor.silent(), kept)
        except FAILURES:  # what neighbours gave could not be climbed from: each keeps its own
            continue
        for place, fit in zip(places, group, strict=True):
            fits[place] = fit
    return fits


def _fit(task: tuple[ScoreRequest, Executor]) -> Fit | Unfitted:
    request, executor = task
    try:
        fit = request.fitting.fit(executor)
    except FAILURES as error:
        return Unfitted(request.title, error)
    executor.say("", 1.0)
    return fit


def _pack_fit(_: object, fit: Fit | Unfitted) -> PackedFit | None:
    return PackedFit.of(fit) if isinstance(fit, Fit) else None


def _unpack_fit(task: tuple[ScoreRequest, Executor], packed: PackedFit) -> Fit:
    return packed.unpack(task[0].fitting.sized)


FITS: Packing[tuple[ScoreRequest, Executor], Fit | Unfitted] = Packing(_pack_fit, _unpack_fit)


def _score(executor: Executor, task: tuple[ScoreRequest, Fit]) -> ScoredFit | Unfitted:
    """Take the scores, or their parts, at a fit."""
    request, fit = task
    try:
        at = request.fitting.input_at(fit, executor)
        found = {score.name: score.here(at) for score in request.scores}
        if not request.fitting.sizes:  # a candidate: the others have no posterior predictive
            fit = with_posterior(fit, at.at_estimate.softmax_climb.point)
    except FAILURES as error:
        return Unfitted(request.title, error)
    return ScoredFit(fit, at.dimension, found)


PackedScores = tuple[FloatArray | None, int, dict[str, Evidence]]


def _pack_scored(_: object, scored: ScoredFit | Unfitted) -> PackedScores | None:
    if isinstance(scored, Unfitted):
        return None
    return scored.fit.model.posterior, scored.dimension, dict(scored.evidence)


def _unpack_scored(task: tuple[ScoreRequest, Fit], packed: PackedScores) -> ScoredFit | Unfitted:
    (posterior, dimension, evidence), fit = packed, task[1]
    fit = replace(fit, model=replace(fit.model, posterior=posterior))
    return ScoredFit(fit, dimension, evidence)


SCORES = Packing(_pack_scored, _unpack_scored)


def _parts(
    request: ScoreRequest, here: Mapping[str, Evidence], elsewhere: Results
) -> dict[str, list[Evidence]]:
    """Gather the parts of each score: elsewhere, and at last here."""

    def part(there: ScoredFit | Unfitted, score: Score) -> Evidence:
        if isinstance(there, ScoredFit):
            return there.evidence[score.name]
        return Evidence(score.name, {}, (failure(there.error),))

    return {
        s.name: [*(part(elsewhere[f.key], s) for f in s.fits(request.fitting)), here[s.name]]
        for s in request.scores
    }


def _combined(task: tuple[ScoreRequest, Mapping[str, Sequence[Evidence]]]) -> dict[str, Evidence]:
    request, parts = task
    return {s.name: s.combine(request.fitting.problem, parts[s.name]) for s in request.scores}
