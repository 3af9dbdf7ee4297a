"""Which candidates can matter, by their scores: the others need not be measured.

A recommended score is VB, which is a true lower bound of the evidence, and what the score adds to
it. That addition is a guess, and a guess is taken to be wrong by no more than its own size, by what
an unstable search may have missed, and by a few nats besides. Whoever is so far behind that even
such an error cannot bring it to a probability worth naming is left at its score.

All numbers of classes measured at once, by a walk over partitions.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from lacunet.evidence.consistency import ERRORS
from lacunet.evidence.estimate import Verdict, jackknife_covariance
from lacunet.evidence.partitions.levels import WalkedPriors
from lacunet.evidence.partitions.walk import Walk, WalkGoal, walk_numbers
from lacunet.flags import Flag, Kind
from lacunet.inference.problem import Problem
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.checkpoint import FORGETFUL, Kept
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores import RECOMMENDED, VB, Evidence
from lacunet.selection.average import Label
from lacunet.selection.candidates import Candidate, Selection
from lacunet.selection.certainty import TRUTH, Certainty, How, Told, doubted, together
from lacunet.selection.sensitivity import averaged, shifts_by_bounds

NEGLIGIBLE = 7.0  # nats behind the best: about one in a thousand
NOTHING: Mapping[Label, float] = {}
SMALL = 5.0  # nats by which a score may be wrong though it adds nothing to the bound


def guesses(selection: Selection) -> dict[Label, float]:
    """Log evidence of each candidate by the score to trust, with all labellings; NaN if none."""
    score = selection.trusted
    return {
        c.label: c.scores[score.name].value + (0.0 if score.every_labelling else c.log_labellings)
        for c in selection.candidates
    }


def known_exactly(selection: Selection) -> frozenset[Label]:
    """The candidates under which nothing is hidden: their scores need no measuring."""
    return frozenset(c.label for c in selection.candidates if c.problem.exact)


def generous_error(candidate: Candidate, guess: float) -> float:
    """Nats by which a guess may be too low; infinite where nothing tells."""
    doubt = candidate.fit.for_scores.doubt
    return SMALL + abs(_added(candidate, guess) - candidate.log_labellings) + doubt


def error_either_way(candidate: Candidate, guess: float) -> float:
    """Nats by which a guess may be wrong: too high also by labellings that are hardly apart."""
    too_high = SMALL + _added(candidate, guess) + candidate.fit.for_scores.doubt
    return max(too_high, generous_error(candidate, guess))


def _added(candidate: Candidate, guess: float) -> float:
    """Nats that a guess adds to the bound of one labelling."""
    bound = candidate.scores.get(VB.name)
    known = bound is not None and math.isfinite(bound.value + guess)
    return guess - bound.value if known and bound is not None else math.inf


def may_matter(selection: Selection, measured: Mapping[Label, float] = NOTHING) -> list[Label]:
    """The candidates to measure, in the order given: all but those that are hopelessly behind.

    Whose evidence is measured already matters, and the others are held against the best of these.
    """
    known, prior = guesses(selection), selection.prior
    if selection.trusted not in RECOMMENDED:
        known = dict.fromkeys(known, 0.0)  # a score that screens nobody
    weighed = {k: v + _log_weight(prior, k) for k, v in (measured or known).items()}
    top = max((v for v in weighed.values() if math.isfinite(v)), default=0.0)
    return [
        c.label
        for c in selection.candidates
        for weight in [_log_weight(prior, c.label)]
        if weight > -math.inf
        and (
            c.label in measured
            or not weight + known[c.label] + generous_error(c, known[c.label]) < top - NEGLIGIBLE
        )
    ]


def _log_weight(prior: Mapping[Label, float] | None, label: Label) -> float:
    if prior is None:
        return 0.0
    return math.log(prior[label]) if prior[label] > 0 else -math.inf


SURVEYED = 5.0  # nats: least error of a number of classes that was not worth more than a survey


def by_walk(
    selection: Selection,
    numbers: Sequence[int],
    *,
    goal: WalkGoal,
    executor: Executor = SERIAL,
    kept: Kept = FORGETFUL,
) -> Selection:
    """Measure numbers of classes all at once."""
    known = {c.label: c for c in selection.candidates if isinstance(c.label, int)}
    cheap = {k: v for k, v in guesses(selection).items() if math.isfinite(v)}
    problem = known[max(numbers)].problem
    walk = walk_numbers(
        problem,
        numbers,
        fits={k: c.fit.for_scores.model.theta for k, c in known.items()},
        guesses={k: cheap[k] for k in known if k in cheap},
        seed=selection.options.seed,
        executor=executor,
        goal=goal,
        kept=kept,
        several=_several(selection, problem),
    )
    return told_by(walk, selection)


def _several(selection: Selection, problem: Problem) -> WalkedPriors | None:
    """The priors that chains move among."""
    grid = selection.grid
    if grid is None:
        return None
    alphas = grid.of(problem.network, problem.alpha)
    return WalkedPriors(alphas, np.array(grid.weights), grid.base)


def told_by(walk: Walk, selection: Selection) -> Selection:
    """Write down what a walk found: in the answer, and as the evidence of each candidate."""
    labels = [c.label for c in selection.candidates]
    places = [labels.index(k) for k in walk.numbers]
    cheap, by_prior = _by_prior(walk, selection)
    level = _Level.of(walk, selection, cheap)
    exactly = known_exactly(selection) if level.anchor is None else frozenset()
    terms = {k: level.terms(v) for k, v in zip(walk.numbers, walk.values.tolist(), strict=True)}
    values: dict[Label, float] = {
        k: math.fsum(addends.values()) for k, addends in terms.items() if k not in exactly
    }
    covariance = np.zeros((len(labels), len(labels)))
    covariance[np.ix_(places, places)] = jackknife_covariance(level.without(walk.replicates))
    for k in values.keys() - walk.measured:
        place = labels.index(k)
        covariance[place, place] += max(SURVEYED, abs(values[k] - cheap[k])) ** 2
    own = {k: v for k, v in _under_alpha(walk, selection).items() if k in values}
    below = _below_bounds(own, covariance, selection) if level.anchor is None else {}
    sure = walk.verdict is not Verdict.LOWER_BOUND and not below
    errors = dict(zip(labels, np.sqrt(np.diag(covariance)).tolist(), strict=True)) if sure else {}
    evidence: dict[Label, Evidence] = {
        k: Evidence(TRUTH.name, terms[k], (*level.flags(k), *below.get(k, ())), errors.get(k))
        for k in walk.measured
    }
    told_values: dict[Label, float] = cheap | values
    doubts: dict[Label, float] = {}
    if not sure:
        told = {
            k: _told(v, covariance[labels.index(k), labels.index(k)]) for k, v in values.items()
        }
        told |= {k: Told(cheap[k], 0.0) for k in exactly}
        told_values, doubts = together(told, cheap)
    found = Certainty(
        TRUTH.name,
        told_values,
        selection.prior,
        How.MEASURED if sure else How.UNSETTLED,
        covariance if sure else None,
        walk.measured | exactly,
        walk.notes,
        doubts,
    )
    used: dict[Label, dict[int, float] | None]
    used = {label: walk.used_of.get(label) for label in labels if isinstance(label, int)}
    candidates = tuple(
        replace(
            c.with_evidence(evidence[c.label]) if c.label in evidence else c,
            walked=used.get(c.label),
        )
        for c in selection.candidates
    )
    if walk.by_prior is not None:
        apart = walk.by_prior - walk.values[:, None]
        by_prior |= {k: told_values[k] + apart[n] for n, k in enumerate(walk.numbers)}
    return replace(selection, candidates=candidates, found=found, by_prior=by_prior)


def _by_prior(
    walk: Walk, selection: Selection
) -> tuple[dict[Label, float], dict[Label, FloatArray]]:
    """Scores, averaged over the priors as the walk is; and under each prior by itself."""
    cheap, grid = guesses(selection), selection.grid
    if grid is None or walk.by_prior is None:
        return cheap, {}
    shifts = shifts_by_bounds(selection, grid)
    return (
        {k: averaged(v, shifts[k], grid.weights) for k, v in cheap.items()},
        {k: v + shifts[k] for k, v in cheap.items()},
    )


def _under_alpha(walk: Walk, selection: Selection) -> dict[Label, float]:
    """What the walk found under the prior that bounds are for."""
    if walk.by_prior is None or selection.grid is None:
        return dict(zip(walk.numbers, walk.values.tolist(), strict=True))
    return dict(zip(walk.numbers, walk.by_prior[:, selection.grid.base].tolist(), strict=True))


def _below_bounds(
    values: Mapping[Label, float], covariance: FloatArray, selection: Selection
) -> dict[Label, tuple[Flag, ...]]:
    """Candidates whose value is further below a lower bound of theirs than its error allows."""
    found: dict[Label, tuple[Flag, ...]] = {}
    for place, c in enumerate(selection.candidates):
        slack = ERRORS * math.sqrt(covariance[place, place])
        if c.label in values and values[c.label] < c.lower_bound - slack:
            found[c.label] = (Flag(Kind.UNDER_LOWER_BOUND, detail={"value": c.lower_bound}),)
    return found


def _told(value: float, variance: float) -> Told:
    return Told(value, doubted(math.sqrt(variance)))


@dataclass(frozen=True)
class _Level:
    """Where values of a walk stand: by themselves, or beside the score that is surest."""

    anchor: int | None  # the number of classes whose score gives the level; None: it is measured
    place: int  # of the anchor in the walk
    walked: float  # the anchor's value in the walk
    guess: float  # its score
    title: str  # what that score is called

    @classmethod
    def of(cls, walk: Walk, selection: Selection, known: Mapping[Label, float]) -> Self:
        """A walk that did not come down to one class measures differences only."""
        score, scored = selection.trusted, guesses(selection)
        each = {c.label: error_either_way(c, scored[c.label]) for c in selection.candidates}
        surest = min(walk.measured or walk.numbers, key=lambda k: each[k])
        place = walk.numbers.index(surest)
        anchor = None if walk.anchored else surest
        return cls(anchor, place, float(walk.values[place]), known[surest], score.title)

    def without(self, replicates: FloatArray) -> FloatArray:
        """Take from values, (R, K), what they have in common, where the level is not measured."""
        return replicates if self.anchor is None else replicates - replicates[:, [self.place]]

    def terms(self, value: float) -> dict[str, float]:
        """Write a value of the walk as addends."""
        if self.anchor is None:
            return {"log p(D|k)": value}
        return {f"{self.title} of {self.anchor}": self.guess, "walk": value - self.walked}

    def flags(self, number: int) -> tuple[Flag, ...]:
        """Say once, of the anchor, that the level is not measured."""
        level = Flag(Kind.LEVEL_NOT_MEASURED, detail={"score": self.title})
        return (level,) if number == self.anchor else ()
