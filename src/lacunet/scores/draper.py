"""Draper's version of BIC, which keeps the 2π of Laplace's integral. CH96 eq. 10."""

import math

from lacunet.scoring.score import Score
from lacunet.scoring.score_input import Evidence, ScoreInput


def draper(at: ScoreInput) -> Evidence:
    """BIC plus d/2 log 2π. Error O(1), usually a smaller one."""
    at = at.at_estimate
    terms = {
        "log p(D|θ)": at.log_lik,
        "−d/2 log N": -at.dimension / 2 * at.log_cases,
        "d/2 log 2π": at.dimension / 2 * math.log(2 * math.pi),
    }
    return Evidence("draper", terms)


DRAPER = Score("draper", "Draper", "CH96 eq. 10", draper)
