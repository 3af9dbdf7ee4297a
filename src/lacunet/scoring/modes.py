"""A sum over the distinct modes that a search found: one of them need not hold nearly all.

Each mode adds what a score says there, with all its labellings. Where Gaussians around two modes
overlap, their parameters are counted at the nearer mode only (`overlap.py`).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from lacunet.scoring.score import Score
from lacunet.scoring.score_input import Evidence, ScoreInput


@dataclass(frozen=True)
class SumOverModes:
    """Adds what a score says at each mode."""

    score: Score
    name: str

    def __call__(self, at: ScoreInput) -> Evidence:
        """Evaluate it at every mode that was found."""
        each = [self.score.here(mode) for mode in at.modes]
        known = [one for one in each if one.terms]
        if not known:
            return replace(each[0], name=self.name)
        values = np.array([one.value for one in known])
        best = known[int(values.argmax())]
        terms = dict(best.terms)
        if len(known) > 1 and np.isfinite(best.value):
            terms["log of other modes"] = float(logsumexp(values)) - best.value
        return replace(best, name=self.name, terms=terms)


def over_modes(score: Score, name: str) -> Score:
    """Make a score that is the sum of another one over the modes that were found."""
    return replace(
        score,
        name=name,
        title=f"{score.title}, all modes",
        evaluate=SumOverModes(score, name),
        column=f"{score.column or score.title} modes",
        usual=False,
    )
