"""Scores of several models of the same data, with shared fits.

Scores list the fits that they need, and each distinct fit is a task. All models are fitted, and
warm-started from their neighbours. Then scores are evaluated at the fits, and those that need
several fits are combined.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from lacunet.fitting.fit import Fit, Options, PackedFit, with_posterior
from lacunet.fitting.neighbours import learn_from_neighbours
from lacunet.inference.classes import FAILURES, failure, reason_of
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.checkpoint import NULL_CHECKPOINT, Checkpoint, Packing
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores.score import Evidence, Fitting, Score, ScoreInput

FITTED = 0.9  # share of fitting in the progress of a task; the rest is for the scores


@dataclass(frozen=True, eq=False)
class ScoreRequest:
    """A model with the scores to evaluate."""

    fitting: Fitting
    scores: tuple[Score, ...]  # defined for the model
    title: str = ""  # in the progress display


@dataclass(frozen=True, eq=False)
class ScoredFit:
    """A fit with its scores."""

    fit: Fit
    dimension: int  # d, as used by the scores
    evidence: Mapping[str, Evidence]  # by name of the score


@dataclass(frozen=True, eq=False)
class Unfitted:
    """A model that could not be fitted, with the error."""

    title: str
    error: Exception

    @property
    def reason(self) -> str:
        """The error as text."""
        return reason_of(self.error)


Tasks = dict[Hashable, ScoreRequest]  # by `Fitting.key`
Results = Mapping[Hashable, ScoredFit | Unfitted]


def score_fits(
    requests: Sequence[ScoreRequest],
    executor: Executor = SERIAL,
    checkpoint: Checkpoint = NULL_CHECKPOINT,
) -> list[ScoredFit | Unfitted]:
    """Fit every model and evaluate its scores; failures of single models are returned."""
    tasks: Tasks = {}
    for request in requests:
        _add(tasks, request)
    for request in requests:
        _add_other_fits(tasks, request)
    results = _do_all(tasks, executor, checkpoint)
    fits = [results[request.fitting.key] for request in requests]
    parts = [
        (request, _parts(request, fit.evidence, results))
        for request, fit in zip(requests, fits, strict=True)
        if isinstance(fit, ScoredFit)
    ]
    whole = iter(executor.map(_combined, parts))
    return [
        replace(fit, evidence=next(whole)) if isinstance(fit, ScoredFit) else fit for fit in fits
    ]


def score_at(at: ScoreInput, scores: Sequence[Score]) -> dict[str, Evidence]:
    """Evaluate scores at given parameters; only other models that they need are fitted."""
    tasks: Tasks = {}
    fitting = Fitting(at.problem, at.options, at.effective_dimension is not None)
    request = ScoreRequest(fitting, tuple(scores))
    _add_other_fits(tasks, request)
    others = _do_all(tasks, at.executor.silent(), NULL_CHECKPOINT)
    at_model = {score.name: score.evaluated(at) for score in scores}
    return _combined((request, _parts(request, at_model, others)))


def _add(tasks: Tasks, request: ScoreRequest) -> None:
    """Add a task, or add the scores to the task of the same fit."""
    key = request.fitting.key
    known = tasks.setdefault(key, request)
    tasks[key] = replace(known, scores=tuple(dict.fromkeys((*known.scores, *request.scores))))


def _add_other_fits(tasks: Tasks, request: ScoreRequest) -> None:
    for score in request.scores:
        for fitting in score.fits(request.fitting):
            _add(tasks, ScoreRequest(fitting, (score,), request.title))


def _do_all(tasks: Tasks, executor: Executor, checkpoint: Checkpoint) -> Results:
    # The largest models start first, so that they do not run alone at the end.
    steps = (task.fitting.problem.components.nanoseconds for task in tasks.values())
    executor = executor.if_worth(max(steps, default=0.0))
    keys = sorted(tasks, key=lambda key: -tasks[key].fitting.dimension)
    todo = [tasks[key] for key in keys]
    times = [(1.0 + task.fitting.dimension) ** 1.5 for task in todo]
    shown = executor.part(0.0, FITTED).beside([task.title for task in todo], times)
    fits = checkpoint.map(_fit, list(zip(todo, shown, strict=True)), executor, packing=FITS)
    failed: dict[Hashable, ScoredFit | Unfitted] = {
        key: fit for key, fit in zip(keys, fits, strict=True) if isinstance(fit, Unfitted)
    }
    fitted = [n for n, fit in enumerate(fits) if isinstance(fit, Fit)]
    each = [fit for fit in fits if isinstance(fit, Fit)]
    each = _warm_started([todo[n] for n in fitted], each, executor, checkpoint)
    items = [(todo[n], fit) for n, fit in zip(fitted, each, strict=True)]
    scored = checkpoint.map(partial(_score, executor.silent()), items, executor, packing=SCORES)
    executor.report("", 1.0)
    return failed | dict(zip([keys[n] for n in fitted], scored, strict=True))


def _warm_started(
    todo: Sequence[ScoreRequest], fits: list[Fit], executor: Executor, checkpoint: Checkpoint
) -> list[Fit]:
    """Refit from neighbours, among fits with the same options."""
    alike: dict[Options, list[int]] = {}
    for place, task in enumerate(todo):
        alike.setdefault(task.fitting.options, []).append(place)
    for places in alike.values():
        try:
            group = [fits[place] for place in places]
            group = learn_from_neighbours(group, executor.silent(), checkpoint)
        except FAILURES:  # starts from neighbours failed: keep the fits
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
    executor.report("", 1.0)
    return fit


def _pack_fit(_: object, fit: Fit | Unfitted) -> PackedFit | None:
    return PackedFit.of(fit) if isinstance(fit, Fit) else None


def _unpack_fit(task: tuple[ScoreRequest, Executor], packed: PackedFit) -> Fit:
    return packed.unpack(task[0].fitting.sized)


FITS: Packing[tuple[ScoreRequest, Executor], Fit | Unfitted] = Packing(_pack_fit, _unpack_fit)


def _score(executor: Executor, task: tuple[ScoreRequest, Fit]) -> ScoredFit | Unfitted:
    """Evaluate the scores, or their parts, at a fit."""
    request, fit = task
    try:
        at = request.fitting.input_at(fit, executor)
        evidence = {score.name: score.evaluated(at) for score in request.scores}
        if not request.fitting.sizes:  # only candidates need a posterior predictive
            fit = with_posterior(fit, at.at_estimate.softmax_climb.point)
    except FAILURES as error:
        return Unfitted(request.title, error)
    return ScoredFit(fit, at.dimension, evidence)


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
    request: ScoreRequest, at_model: Mapping[str, Evidence], others: Results
) -> dict[str, list[Evidence]]:
    """The parts of each score at other fits, and, last, at the model's fit."""

    def part(other: ScoredFit | Unfitted, score: Score) -> Evidence:
        if isinstance(other, ScoredFit):
            return other.evidence[score.name]
        return Evidence(score.name, {}, (failure(other.error),))

    return {
        s.name: [*(part(others[f.key], s) for f in s.fits(request.fitting)), at_model[s.name]]
        for s in request.scores
    }


def _combined(task: tuple[ScoreRequest, Mapping[str, Sequence[Evidence]]]) -> dict[str, Evidence]:
    request, parts = task
    return {s.name: s.combine(request.fitting.problem, parts[s.name]) for s in request.scores}
