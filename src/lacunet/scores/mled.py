"""MLED: the marginal likelihood of the expected data. CH96 eq. 12."""

from lacunet.inference.expectation import missing_numbers
from lacunet.model.conjugacy import log_marginal
from lacunet.scoring.score import Score
from lacunet.scoring.score_input import Evidence, ScoreInput


def mled(at: ScoreInput) -> Evidence:
    """BD on the expected counts, as if D′ had been seen: a bound, not asymptotically right.

    It is Cheeseman–Stutz less the entropy of what is hidden. Only categories have an entropy that
    cannot be negative, so only theirs is left out: that of numbers that rows lack stays.
    """
    problem = at.problem
    families = log_marginal(at.complete_counts, problem.alpha, problem.layout)
    terms = {"log p(D′|S)": float(families.sum()) + problem.log_base}
    if lacking := missing_numbers(problem, at.theta):
        terms["H[missing numbers]"] = lacking
    return Evidence("mled", terms)


MLED = Score("mled", "MLED", "CH96 eq. 12", mled, bound=True, lower=True)
