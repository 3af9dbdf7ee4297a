"""MLED: the marginal likelihood of the expected data. CH96 eq. 12."""

from __future__ import annotations

from lacunet.model.counts import log_bd
from lacunet.scoring.score import Score
from lacunet.scoring.score_input import Evidence, ScoreInput


def mled(at: ScoreInput) -> Evidence:
    """BD on the expected counts, as if D′ had been seen: a bound, not asymptotically right."""
    problem = at.problem
    families = log_bd(at.complete_counts, problem.alpha, problem.layout)
    return Evidence("mled", {"log p(D′|S)": float(families.sum())})


MLED = Score("mled", "MLED", "CH96 eq. 12", mled)
