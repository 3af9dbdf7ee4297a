"""BIC (minus the minimum description length), Draper and ICL: log-likelihood less a penalty."""

import math

from lacunet.scores.score import Evidence, Score, ScoreInput


def bic(at: ScoreInput) -> Evidence:
    """Give log p(D|θ) − d/2 log N. Error O(1). CH96 eq. 9."""
    return Evidence("bic", _terms(at))


def draper(at: ScoreInput) -> Evidence:
    """BIC plus d/2 log 2π. Error O(1), usually a smaller one. CH96 eq. 10."""
    constant = at.at_estimate.dimension / 2 * math.log(2 * math.pi)
    return Evidence("draper", {**_terms(at), "d/2 log 2π": constant})


def icl(at: ScoreInput) -> Evidence:
    """BIC less the entropy of the hidden values: it asks for classes that are well apart."""
    return Evidence("icl", {**_terms(at), "−H(hidden|D,θ)": -at.at_estimate.entropy})


def _terms(at: ScoreInput) -> dict[str, float]:
    at = at.at_estimate
    return {"log p(D|θ)": at.log_lik, "−d/2 log N": -at.dimension / 2 * at.log_cases}


BIC = Score("bic", "BIC/MDL", "CH96 eq. 9", bic)
DRAPER = Score("draper", "Draper", "CH96 eq. 10", draper)
ICL = Score("icl", "ICL", "Biernacki et al. (2000)", icl, usual=False)
