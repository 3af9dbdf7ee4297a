"""Scores of several models of the same data: whatever two of them need is made once.

Which fits the scores need is found out first, and each different one is a task. All are fitted, and
learn from each other; then everything is taken there that anybody wants to know. What rests on
several fits is put together at the end.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from lacunet.arrays import FloatArray
from lacunet.executor import SERIAL, Executor
from lacunet.kept import FORGETFUL, Kept, Packing
from lacunet.learn.fit import Fit, Options
from lacunet.learn.neighbours import learn_from_neighbours
from lacunet.learn.packed_fit import PackedFit
from lacunet.learn.predictive import with_posterior
from lacunet.scoring.fitting import Fitting
from lacunet.scoring.score import Score
from lacunet.scoring.score_input import Evidence, ScoreInput

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


Tasks = dict[Hashable, Asked]  # by what makes fits the same


def score_fits(
    asked: Sequence[Asked], executor: Executor = SERIAL, kept: Kept = FORGETFUL
) -> list[Scored]:
    """Fit every model and take its scores."""
    tasks: Tasks = {}
    for a in asked:
        _add(tasks, a)
    for a in asked:
        _add_others(tasks, a)
    scored = _do_all(tasks, executor, kept)
    own = [scored[a.fitting.key] for a in asked]
    parts = [_parts(a, o.evidence, scored) for a, o in zip(asked, own, strict=True)]
    whole = executor.map(_together, list(zip(asked, parts, strict=True)))
    return [replace(o, evidence=evidence) for o, evidence in zip(own, whole, strict=True)]


def score_at(at: ScoreInput, scores: Sequence[Score]) -> dict[str, Evidence]:
    """Take scores at given parameters; only what they need besides is fitted."""
    tasks: Tasks = {}
    own = Asked(Fitting(at.problem, at.options, at.effective_dimension is not None), tuple(scores))
    _add_others(tasks, own)
    elsewhere = _do_all(tasks, at.executor.silent(), FORGETFUL)
    here = {score.name: score.here(at) for score in scores}
    return _together((own, _parts(own, here, elsewhere)))


def _add(tasks: Tasks, asked: Asked) -> None:
    """Add a task, or what is wanted there to the one that there is."""
    key = asked.fitting.key
    known = tasks.setdefault(key, asked)
    tasks[key] = replace(known, scores=tuple(dict.fromkeys((*known.scores, *asked.scores))))


def _add_others(tasks: Tasks, asked: Asked) -> None:
    for score in asked.scores:
        for fitting in score.fits(asked.fitting):
            _add(tasks, Asked(fitting, (score,), asked.title))


def _do_all(tasks: Tasks, executor: Executor, kept: Kept) -> dict[Hashable, Scored]:
    # The largest first: what takes longest must not be what is left over at the end.
    steps = (task.fitting.problem.components.nanoseconds for task in tasks.values())
    executor = executor.if_worth(max(steps, default=0.0))
    keys = sorted(tasks, key=lambda key: -tasks[key].fitting.dimension)
    todo = [tasks[key] for key in keys]
    times = [(1.0 + task.fitting.dimension) ** 1.5 for task in todo]
    shown = executor.part(0.0, FITTED).beside([task.title for task in todo], times)
    fits = kept.map(_fit, list(zip(todo, shown, strict=True)), executor, packing=FITS)
    learnt = _learn_together(todo, fits, executor, kept)
    score = partial(_score, executor.silent())
    scored = kept.map(score, list(zip(todo, learnt, strict=True)), executor, packing=SCORES)
    executor.say("", 1.0)
    return dict(zip(keys, scored, strict=True))


def _learn_together(
    todo: Sequence[Asked], fits: Sequence[Fit], executor: Executor, kept: Kept
) -> Sequence[Fit]:
    """Let the fits that were searched for in the same way learn from their neighbours."""
    alike: dict[Options, list[int]] = {}
    for place, task in enumerate(todo):
        alike.setdefault(task.fitting.options, []).append(place)
    found = list(fits)
    for places in alike.values():
        group = learn_from_neighbours([fits[place] for place in places], executor.silent(), kept)
        for place, fit in zip(places, group, strict=True):
            found[place] = fit
    return found


def _fit(task: tuple[Asked, Executor]) -> Fit:
    asked, executor = task
    fit = asked.fitting.fit(executor)
    executor.say("", 1.0)
    return fit


def _unpack_fit(task: tuple[Asked, Executor], told: PackedFit) -> Fit:
    return told.unpack(task[0].fitting.sized)


FITS = Packing(lambda _, fit: PackedFit.of(fit), _unpack_fit)


def _score(executor: Executor, task: tuple[Asked, Fit]) -> Scored:
    """Take the scores, or their parts, at a fit."""
    asked, fit = task
    at = asked.fitting.input_at(fit, executor)
    found = {score.name: score.here(at) for score in asked.scores}
    if not asked.fitting.sizes:  # a candidate: the others are never asked about rows
        fit = with_posterior(fit, at.softmax_climb.point)
    return Scored(fit, at.dimension, found)


def _pack_scored(_: object, scored: Scored) -> tuple[FloatArray | None, int, dict[str, Evidence]]:
    return scored.fit.model.posterior, scored.dimension, dict(scored.evidence)


def _unpack_scored(
    task: tuple[Asked, Fit], told: tuple[FloatArray | None, int, dict[str, Evidence]]
) -> Scored:
    posterior, dimension, evidence = told
    fit = task[1]
    fit = replace(fit, model=replace(fit.model, posterior=posterior))
    return Scored(fit, dimension, evidence)


SCORES = Packing(_pack_scored, _unpack_scored)


def _parts(
    asked: Asked, here: Mapping[str, Evidence], elsewhere: Mapping[Hashable, Scored]
) -> dict[str, list[Evidence]]:
    """Gather the parts of each score: elsewhere, and at last here."""
    return {
        s.name: [*(elsewhere[f.key].evidence[s.name] for f in s.fits(asked.fitting)), here[s.name]]
        for s in asked.scores
    }


def _together(task: tuple[Asked, Mapping[str, Sequence[Evidence]]]) -> dict[str, Evidence]:
    asked, parts = task
    return {s.name: s.together(asked.fitting.problem, parts[s.name]) for s in asked.scores}
