"""BIC, which is also minus the minimum description length. CH96 eq. 9."""

from lacunet.scoring.score import Score
from lacunet.scoring.score_input import Evidence, ScoreInput


def bic(at: ScoreInput) -> Evidence:
    """Log-likelihood less half the dimension times log N. Error O(1)."""
    at = at.at_estimate
    terms = {"log p(D|θ)": at.log_lik, "−d/2 log N": -at.dimension / 2 * at.log_cases}
    return Evidence("bic", terms)


BIC = Score("bic", "BIC/MDL", "CH96 eq. 9", bic)
