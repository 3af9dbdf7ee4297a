"""Joint evidence over k by one walk over partitions, and its shifts under other priors.

Scores screen the candidates first. A recommended score is a lower bound (VB) plus an estimate. The
error of the estimate is at most its size, plus the possible loss of an unstable search, plus a few
nats. A candidate whose probability remains negligible under such an error keeps its score.

A walk measures every prior of a grid. The evidence of other candidates shifts as their variational
bound does, without a new fit; the shift is exact if nothing is hidden.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np
from scipy.special import logsumexp

from lacunet.evidence.consistency import ERRORS
from lacunet.evidence.estimate import Verdict, jackknife_covariance
from lacunet.evidence.partitions.cases import shown_rows
from lacunet.evidence.partitions.levels import Occupancy, WalkedPriors, guess_levels
from lacunet.evidence.partitions.walk import Walk, WalkGoal, walk_numbers
from lacunet.fitting.diagnose import at_theta, vary
from lacunet.flags import Flag, Kind
from lacunet.inference.classes import FAILURES, exchangeable
from lacunet.models.latent_class import classes_of
from lacunet.models.prior import PriorGrid, log_of
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.checkpoint import NULL_CHECKPOINT, Checkpoint
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores import RECOMMENDED, VB, Evidence
from lacunet.selection.average import Label, log_weight_of
from lacunet.selection.candidates import Candidate
from lacunet.selection.certainty import (
    TRUTH,
    Certainty,
    CertaintyBasis,
    SampledValue,
    combine_with_scores,
    unconverged_error,
)
from lacunet.selection.result import Selection

NEGLIGIBLE = 7.0  # nats behind the best: about one in a thousand
NOTHING: Mapping[Label, float] = {}
SMALL = 5.0  # nats: error of a score that adds nothing to the bound
SURVEYED = 5.0  # nats: least error of a number of classes that was only surveyed
TOLERANCE = 1e-2  # nats gained by a step, below which a bound has converged
STEPS = 50  # at most


def guesses(selection: Selection) -> dict[Label, float]:
    """Log evidence of each candidate by the trusted score, over all labellings; NaN if none."""
    score = selection.trusted
    return {
        c.label: c.scores[score.name].value + (0.0 if score.every_labelling else c.log_labellings)
        for c in selection.candidates
    }


def known_exactly(selection: Selection) -> frozenset[Label]:
    """The candidates under which nothing is hidden, so that their scores are exact."""
    return frozenset(c.label for c in selection.candidates if c.problem.exact)


def _errors(candidate: Candidate, guess: float) -> tuple[float, float]:
    """Errors of a score in nats: how far too low, and how far off in all; infinite if unknown.

    Overlapping labellings may also make it too high.
    """
    bound = candidate.scores.get(VB.name)
    known = bound is not None and math.isfinite(bound.value + guess)
    added = guess - bound.value if known and bound is not None else math.inf
    unsure = SMALL + candidate.fit.for_scores.margin
    too_low = unsure + abs(added - candidate.log_labellings)
    return too_low, max(unsure + added, too_low)


def may_matter(selection: Selection, measured: Mapping[Label, float] = NOTHING) -> list[Label]:
    """The candidates to measure, in the order given: all that may have a relevant probability.

    Measured candidates are among them, and the others are compared with the best of these.
    """
    known, prior = guesses(selection), selection.prior
    if selection.trusted not in RECOMMENDED:
        known = dict.fromkeys(known, 0.0)  # such a score screens no candidate
    weights = {k: log_weight_of(prior, k) for k in known}
    weighed = [v + weights[k] for k, v in (measured or known).items()]
    least = max((v for v in weighed if math.isfinite(v)), default=0.0) - NEGLIGIBLE

    def hopeless(c: Candidate) -> bool:
        guess = known[c.label]
        return weights[c.label] + guess + _errors(c, guess)[0] < least

    possible = [c for c in selection.candidates if weights[c.label] > -math.inf]
    return [c.label for c in possible if c.label in measured or not hopeless(c)]


def by_walk(
    selection: Selection,
    numbers: Sequence[int],
    *,
    goal: WalkGoal,
    executor: Executor = SERIAL,
    checkpoint: Checkpoint = NULL_CHECKPOINT,
) -> Selection:
    """Measure numbers of classes jointly, under every prior of the grid."""
    known = {c.label: c for c in selection.candidates if isinstance(c.label, int)}
    scored, problem, grid = guesses(selection), known[max(numbers)].problem, selection.grid
    priors = None
    if grid is not None:
        alphas = grid.of(problem.network, problem.alpha)
        priors = WalkedPriors(alphas, np.array(grid.weights), grid.base)
    walk = walk_numbers(
        problem,
        numbers,
        fits={k: c.fit.for_scores.model.theta for k, c in known.items()},
        guesses={k: scored[k] for k in known if math.isfinite(scored[k])},
        seed=selection.options.seed,
        executor=executor,
        goal=goal,
        checkpoint=checkpoint,
        several=priors,
    )
    return record_walk(walk, selection)


def record_walk(walk: Walk, selection: Selection) -> Selection:
    """Record the values of a walk in the posterior, and as the evidence of each candidate."""
    labels = [c.label for c in selection.candidates]
    places = [labels.index(k) for k in walk.numbers]
    scores, by_prior = _scores_by_prior(walk, selection)
    exactly = known_exactly(selection) if walk.anchored_by_bridge else frozenset()
    terms, replicates, flags = _terms(walk, selection, scores)
    values: dict[Label, float] = {
        k: math.fsum(terms[k].values()) for k in walk.numbers if k not in exactly
    }
    covariance = np.zeros((len(labels), len(labels)))
    covariance[np.ix_(places, places)] = jackknife_covariance(replicates)
    for k in values.keys() - walk.measured:
        place = labels.index(k)
        covariance[place, place] += max(SURVEYED, abs(values[k] - scores[k])) ** 2
    below = _below_bounds(walk, values, covariance, selection) if walk.anchored_by_bridge else {}
    flags |= below
    sure = walk.verdict is not Verdict.LOWER_BOUND and not below
    errors = dict(zip(labels, np.sqrt(np.diag(covariance)).tolist(), strict=True))
    unconverged: dict[Label, float] = {}
    if sure:
        values = scores | values
    else:
        sampled = {k: SampledValue(v, unconverged_error(errors[k])) for k, v in values.items()}
        sampled |= {k: SampledValue(scores[k], 0.0) for k in exactly}
        values, unconverged = combine_with_scores(sampled, scores)
    basis = CertaintyBasis.MEASURED if sure else CertaintyBasis.UNRELIABLE
    known = covariance if sure else None
    measured = walk.measured | exactly
    prior, notes = selection.prior, walk.notes
    posterior = Certainty(TRUTH.name, values, prior, basis, known, measured, notes, unconverged)
    if walk.by_prior is not None:
        moved = walk.by_prior - walk.values[:, None]
        by_prior |= {k: values[k] + moved[n] for n, k in enumerate(walk.numbers)}

    def recorded(c: Candidate) -> Candidate:
        used = walk.used_of.get(c.label) if isinstance(c.label, int) else None
        if c.label in walk.measured:
            flagged, error = flags.get(c.label, ()), errors[c.label] if sure else None
            c = c.with_evidence(Evidence(TRUTH.name, terms[c.label], flagged, error))
        return replace(c, walked=used)

    candidates = tuple(map(recorded, selection.candidates))
    return replace(selection, candidates=candidates, overall=posterior, by_prior=by_prior)


Flags: TypeAlias = dict[Label, tuple[Flag, ...]]


def _terms(
    walk: Walk, selection: Selection, scores: Mapping[Label, float]
) -> tuple[dict[Label, dict[str, float]], FloatArray, Flags]:
    """Terms of each value, replicates of the values, and flags of the level.

    A walk that did not reach one class measures differences only. Its values are then anchored at
    the most accurate score, and their common error is left out.
    """
    if walk.anchored_by_bridge:
        values = zip(walk.numbers, walk.values.tolist(), strict=True)
        return {k: {"log p(D|k)": v} for k, v in values}, walk.replicates, {}
    title, scored = selection.trusted.title, guesses(selection)
    errors = {c.label: _errors(c, scored[c.label])[1] for c in selection.candidates}
    surest = min(walk.measured or walk.numbers, key=lambda k: errors[k])
    place, name = walk.numbers.index(surest), f"{title} of {surest}"
    apart = zip(walk.numbers, (walk.values - walk.values[place]).tolist(), strict=True)
    level = Flag(Kind.LEVEL_NOT_MEASURED, detail={"score": title})
    return (
        {k: {name: scores[surest], "walk": v} for k, v in apart},
        walk.replicates - walk.replicates[:, [place]],
        {surest: (level,)},
    )


def _below_bounds(
    walk: Walk, values: Mapping[Label, float], covariance: FloatArray, selection: Selection
) -> dict[Label, tuple[Flag, ...]]:
    """Flag candidates that are further below a lower bound than their error allows.

    Bounds hold under the prior of the fits.
    """
    measured = walk.values
    if walk.by_prior is not None and selection.grid is not None:
        measured = walk.by_prior[:, selection.grid.base]
    by_label: dict[Label, float] = dict(zip(walk.numbers, measured.tolist(), strict=True))
    flags: Flags = {}
    for place, c in enumerate(selection.candidates):
        slack = ERRORS * math.sqrt(covariance[place, place])
        if c.label in values and by_label[c.label] < c.lower_bound - slack:
            flags[c.label] = (Flag(Kind.UNDER_LOWER_BOUND, detail={"value": c.lower_bound}),)
    return flags


def _scores_by_prior(
    walk: Walk, selection: Selection
) -> tuple[dict[Label, float], dict[Label, FloatArray]]:
    """Scores averaged over the priors, as the walk is, and under each prior."""
    scored, grid = guesses(selection), selection.grid
    if grid is None or walk.by_prior is None:
        return scored, {}
    shifts = shifts_by_bounds(selection, grid)
    return (
        {k: _averaged(v, shifts[k], grid) for k, v in scored.items()},
        {k: v + shifts[k] for k, v in scored.items()},
    )


def with_priors(selection: Selection, executor: Executor = SERIAL) -> Selection:
    """Shift the log evidence to every prior of the grid, and average it if the grid does."""
    grid = selection.grid
    if grid is None or selection.by_prior:
        return selection
    shifts, known = shifts_by_bounds(selection, grid, executor), selection.certainty
    by_prior = {k: v + shifts[k] for k, v in known.values.items()}
    posterior = selection.overall
    if grid.averages:
        values = {k: _averaged(v, shifts[k], grid) for k, v in known.values.items()}
        posterior = replace(known, values=values)
    return replace(selection, overall=posterior, by_prior=by_prior)


def _averaged(value: float, shift: FloatArray, grid: PriorGrid) -> float:
    """Log of the weighted average of exp(value + shift); the value if no shift is known."""
    mean = float(logsumexp(value + shift + log_of(grid.weights)))
    return mean if math.isfinite(mean) else value


def shifts_by_bounds(
    selection: Selection, grid: PriorGrid, executor: Executor = SERIAL
) -> dict[Label, FloatArray]:
    """Shift of the log evidence of each candidate under each prior, (S,); NaN if unknown.

    A bound covers one mode with all classes occupied, but a part of p(D|k) has empty classes. That
    part shifts as the evidence of fewer classes does.
    """
    each = executor.silent().map(partial(_shifts, grid), selection.candidates)
    shifts = {c.label: shift for c, shift in zip(selection.candidates, each, strict=True)}
    scored = {k: v for k, v in guesses(selection).items() if math.isfinite(v)}
    known = sorted(k for k in scored if isinstance(k, int) and np.isfinite(shifts[k]).all())
    problems = [c.problem for c in selection.candidates]
    if len(known) < len(problems) or not all(map(exchangeable, problems)):
        return shifts
    largest, last = max(problems, key=lambda p: classes_of(p.network).number), known[-1]
    cases, root = float(shown_rows(largest)[1].sum()), classes_of(largest.network).root
    occupancies = [
        Occupancy(tuple(known), float(largest.layout.table(a, root)[0]), cases, 1, last)
        for a in grid.of(largest.network, largest.alpha)
    ]
    all_used = [np.diag(one.of_every_number().log_factors()) for one in occupancies]
    levels = guess_levels(occupancies[grid.base], {k: scored[k] for k in known})
    part = levels + all_used[grid.base]
    values = [
        one.log_evidence(part + np.interp(one.blocks, known, moved) - used)
        for one, used, moved in zip(
            occupancies, all_used, np.array([shifts[k] for k in known]).T, strict=True
        )
    ]
    return dict(zip(known, (np.array(values) - values[grid.base]).T, strict=True))


def _shifts(grid: PriorGrid, candidate: Candidate) -> FloatArray:
    """Shift of the variational bound of a candidate under each prior, (S,); NaN if unknown."""
    problem, theta = candidate.problem, candidate.fit.for_scores.model.theta
    try:
        alphas = grid.of(problem.network, problem.alpha)
        starts = (at_theta(replace(problem, alpha=a), theta) for a in alphas)
        bounds = [vary(start, tolerance=TOLERANCE, max_steps=STEPS).bound for start in starts]
    except FAILURES:
        return np.full(len(grid.variants), np.nan)
    return np.array(bounds) - bounds[grid.base]
