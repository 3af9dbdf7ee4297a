"""Draper's version of BIC, which keeps the 2π of Laplace's integral. CH96 eq. 10."""

import math

from lacunet.scoring.score import Score
from lacunet.scoring.score_input import Evidence, ScoreInput


def draper(at: ScoreInput) -> Evidence:
    """BIC plus d/2 log 2π. Error O(1), usually a smaller one."""
    d = at.dimension
    return Evidence(
        "draper",
        {
            "log p(D|θ)": at.log_lik,
            "−d/2 log N": -d / 2 * at.log_cases,
            "d/2 log 2π": d / 2 * math.log(2 * math.pi),
        },
    )


DRAPER = Score("draper", "Draper", "CH96 eq. 10", draper)
