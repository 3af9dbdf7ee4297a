"""ICL: BIC of the completed data, as users of mixtures know it (Biernacki, Celeux & Govaert 2000).

It asks for classes that are well apart rather than for the evidence: the less sure a row's hidden
values are, the lower it gets.
"""

from lacunet.scoring.score import Score
from lacunet.scoring.score_input import Evidence, ScoreInput


def icl(at: ScoreInput) -> Evidence:
    """BIC less the entropy of the hidden values given the data."""
    at = at.at_estimate
    terms = {
        "log p(D|θ)": at.log_lik,
        "−d/2 log N": -at.dimension / 2 * at.log_cases,
        "−H(hidden|D,θ)": -at.entropy,
    }
    return Evidence("icl", terms)


ICL = Score("icl", "ICL", "Biernacki et al. (2000)", icl, usual=False)
