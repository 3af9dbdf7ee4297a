"""Which candidates can matter, by their scores: the others need not be measured.

A recommended score is VB, which is a true lower bound of the evidence, and what the score adds to
it. That addition is a guess, and a guess is taken to be wrong by no more than its own size, by what
an unstable search may have missed, and by a few nats besides. Whoever is so far behind that even
such an error cannot bring it to a probability worth naming is left at its score.
"""

import math
from collections.abc import Mapping

from lacunet.scores import RECOMMENDED, VB
from lacunet.selection.average import Label
from lacunet.selection.candidates import Candidate, Selection

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
