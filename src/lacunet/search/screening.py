"""Which candidates can matter, by their scores: the others need not be measured.

A recommended score is VB, which is a true lower bound of the evidence, and what the score adds to
it. That addition is a guess, and a guess is taken to be wrong by no more than its own size, by what
an unstable search may have missed, and by a few nats besides. Whoever is so far behind that even
such an error cannot bring it to a probability worth naming is left at its score.
"""

import math
from collections.abc import Mapping

from lacunet.scores import RECOMMENDED
from lacunet.scores.vb import VB
from lacunet.search.average import Label
from lacunet.search.candidates import Candidate, Selection

NEGLIGIBLE = 7.0  # nats behind the best: about one in a thousand
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
    bound = candidate.scores.get(VB.name)
    if bound is None or not math.isfinite(bound.value + guess):
        return math.inf
    added = abs(guess - bound.value - candidate.log_labellings)
    return SMALL + added + candidate.fit.doubt


def may_matter(selection: Selection) -> list[Label]:
    """The candidates to measure, in the order given: all but those that are hopelessly behind."""
    known, prior = guesses(selection), selection.prior
    if selection.trusted not in RECOMMENDED:
        known = dict.fromkeys(known, 0.0)  # a score that screens nobody
    weighed = {k: v + _log_weight(prior, k) for k, v in known.items()}
    top = max((v for v in weighed.values() if math.isfinite(v)), default=0.0)
    return [
        c.label
        for c in selection.candidates
        if _log_weight(prior, c.label) > -math.inf
        and not weighed[c.label] + generous_error(c, known[c.label]) < top - NEGLIGIBLE
    ]


def _log_weight(prior: Mapping[Label, float] | None, label: Label) -> float:
    if prior is None:
        return 0.0
    return math.log(prior[label]) if prior[label] > 0 else -math.inf
