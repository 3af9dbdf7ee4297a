"""Scores of several models of the same data: whatever two of them need is made once.

Which fits the scores need is found out first, and each different one is a task. All are fitted, and
learn from each other; then everything is taken there that anybody wants to know. What rests on
several fits is put together at the end.
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
class Asked:
    """A model, and the scores that it is to have."""

    fitting: Fitting
    scores: tuple[Score, ...]  # defined for it
    title: str = ""  # as progress calls it


@dataclass(frozen=True, eq=False)
class Scored:
    """A fit, and what scores say there."""

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


Tasks = dict[Hashable, Asked]  # by what makes fits the same


def score_fits(
    asked: Sequence[Asked], executor: Executor = SERIAL, kept: Kept = FORGETFUL
) -> list[Scored | Unfitted]:
    """Fit every model and take its scores; a model that cannot be fitted ends no other."""
    tasks: Tasks = {}
    for a in asked:
        _add(tasks, a)
    for a in asked:
        _add_others(tasks, a)
    scored = _do_all(tasks, executor, kept)
    own = [scored[a.fitting.key] for a in asked]
    fitted = [(a, o) for a, o in zip(asked, own, strict=True) if isinstance(o, Scored)]
    parts = [(a, _parts(a, o.evidence, scored)) for a, o in fitted]
    whole = iter(executor.map(_combined, parts))
    return [replace(o, evidence=next(whole)) if isinstance(o, Scored) else o for o in own]


def score_at(at: ScoreInput, scores: Sequence[Score]) -> dict[str, Evidence]:
    """Take scores at given parameters; only what they need besides is fitted."""
    tasks: Tasks = {}
    own = Asked(Fitting(at.problem, at.options, at.effective_dimension is not None), tuple(scores))
    _add_others(tasks, own)
    elsewhere = _do_all(tasks, at.executor.silent(), FORGETFUL)
    here = {score.name: score.here(at) for score in scores}
    return _combined((own, _parts(own, here, elsewhere)))


def _add(tasks: Tasks, asked: Asked) -> None:
    """Add a task, or what is wanted there to the one that there is."""
    key = asked.fitting.key
    known = tasks.setdefault(key, asked)
    tasks[key] = replace(known, scores=tuple(dict.fromkeys((*known.scores, *asked.scores))))


def _add_others(tasks: Tasks, asked: Asked) -> None:
    for score in asked.scores:
        for fitting in score.fits(asked.fitting):
            _add(tasks, Asked(fitting, (score,), asked.title))


def _do_all(tasks: Tasks, executor: Executor, kept: Kept) -> dict[Hashable, Scored | Unfitted]:
    # The largest first: what takes longest must not be what is left over at the end.
    steps = (task.fitting.problem.components.nanoseconds for task in tasks.values())
    executor = executor.if_worth(max(steps, default=0.0))
    keys = sorted(tasks, key=lambda key: -tasks[key].fitting.dimension)
    todo = [tasks[key] for key in keys]
    times = [(1.0 + task.fitting.dimension) ** 1.5 for task in todo]
    shown = executor.part(0.0, FITTED).beside([task.title for task in todo], times)
    fits = kept.map(_fit, list(zip(todo, shown, strict=True)), executor, packing=FITS)
    fitted = [n for n, fit in enumerate(fits) if isinstance(fit, Fit)]
    learnt = _learn_combined(
        [todo[n] for n in fitted],
        [fit for fit in fits if isinstance(fit, Fit)],
        executor,
        kept,
    )
    items = [(todo[n], fit) for n, fit in zip(fitted, learnt, strict=True)]
    scored = kept.map(partial(_score, executor.silent()), items, executor, packing=SCORES)
    executor.say("", 1.0)
    found: dict[Hashable, Scored | Unfitted] = {
        key: fit for key, fit in zip(keys, fits, strict=True) if isinstance(fit, Unfitted)
    }
    return found | dict(zip([keys[n] for n in fitted], scored, strict=True))


def _learn_combined(
    todo: Sequence[Asked], fits: Sequence[Fit], executor: Executor, kept: Kept
) -> Sequence[Fit]:
    """Let the fits that were searched for in the same way learn from their neighbours."""
    alike: dict[Options, list[int]] = {}
    for place, task in enumerate(todo):
        alike.setdefault(task.fitting.options, []).append(place)
    found = list(fits)
    for places in alike.values():
        own = [fits[place] for place in places]
        try:
            group = learn_from_neighbours(own, executor.silent(), kept)
        except FAILURES:  # what neighbours gave could not be climbed from: each keeps its own
            group = own
        for place, fit in zip(places, group, strict=True):
            found[place] = fit
    return found


def _fit(task: tuple[Asked, Executor]) -> Fit | Unfitted:
    asked, executor = task
    try:
        fit = asked.fitting.fit(executor)
    except FAILURES as error:
        return Unfitted(asked.title, error)
    executor.say("", 1.0)
    return fit


def _pack_fit(_: object, fit: Fit | Unfitted) -> PackedFit | None:
    return PackedFit.of(fit) if isinstance(fit, Fit) else None


def _unpack_fit(task: tuple[Asked, Executor], told: PackedFit) -> Fit:
    return told.unpack(task[0].fitting.sized)


FITS: Packing[tuple[Asked, Executor], Fit | Unfitted] = Packing(_pack_fit, _unpack_fit)


def _score(executor: Executor, task: tuple[Asked, Fit]) -> Scored | Unfitted:
    """Take the scores, or their parts, at a fit."""
    asked, fit = task
    try:
        at = asked.fitting.input_at(fit, executor)
        found = {score.name: score.here(at) for score in asked.scores}
        if not asked.fitting.sizes:  # a candidate: the others are never asked about rows
            fit = with_posterior(fit, at.at_estimate.softmax_climb.point)
    except FAILURES as error:
        return Unfitted(asked.title, error)
    return Scored(fit, at.dimension, found)


def _pack_scored(
    _: object, scored: Scored | Unfitted
) -> tuple[FloatArray | None, int, dict[str, Evidence]] | None:
    if isinstance(scored, Unfitted):
        return None
    return scored.fit.model.posterior, scored.dimension, dict(scored.evidence)


def _unpack_scored(
    task: tuple[Asked, Fit], told: tuple[FloatArray | None, int, dict[str, Evidence]]
) -> Scored | Unfitted:
    posterior, dimension, evidence = told
    fit = task[1]
    fit = replace(fit, model=replace(fit.model, posterior=posterior))
    return Scored(fit, dimension, evidence)


SCORES = Packing(_pack_scored, _unpack_scored)


def _parts(
    asked: Asked, here: Mapping[str, Evidence], elsewhere: Mapping[Hashable, Scored | Unfitted]
) -> dict[str, list[Evidence]]:
    """Gather the parts of each score: elsewhere, and at last here."""
    return {
        s.name: [*(_part(elsewhere[f.key], s) for f in s.fits(asked.fitting)), here[s.name]]
        for s in asked.scores
    }


def _part(there: Scored | Unfitted, score: Score) -> Evidence:
    """What a score is at another fit; where there is none, the reason."""
    if isinstance(there, Scored):
        return there.evidence[score.name]
    return Evidence(score.name, {}, (failure(there.error),))


def _combined(task: tuple[Asked, Mapping[str, Sequence[Evidence]]]) -> dict[str, Evidence]:
    asked, parts = task
    return {s.name: s.combine(asked.fitting.problem, parts[s.name]) for s in asked.scores}
