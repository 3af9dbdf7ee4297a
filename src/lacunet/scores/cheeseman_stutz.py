"""Cheeseman & Stutz: MLED, corrected by what completing the data added. CH96 eq. 13."""

from lacunet.model import conjugacy
from lacunet.scoring.score import Score
from lacunet.scoring.score_input import Evidence, ScoreInput


def cheeseman_stutz(at: ScoreInput) -> Evidence:
    """Give log p(D′|S) − log p(D′|θ) + log p(D|θ): a lower bound on log p(D|S), at every θ.

    Where the effective dimension d is not the number of parameters d′, (d′ − d)/2 log N is added as
    in eq. 13, and it is a bound no more.
    """
    problem = at.problem
    N = at.complete_counts
    terms = {
        "log p(D′|S)": float(conjugacy.log_marginal(N, problem.alpha, problem.layout).sum()),
        "−log p(D′|θ)": -conjugacy.log_density(N, at.theta, problem.layout),
        "log p(D|θ)": at.log_lik,
    }
    if at.dimension != at.parameters:
        terms["(d′−d)/2 log N"] = (at.parameters - at.dimension) / 2 * at.log_cases
    return Evidence("cs", terms)


CS = Score(
    "cs",
    "Cheeseman–Stutz",
    "CH96 eq. 13",
    cheeseman_stutz,
    column="CS",
    bound=True,
    lower=True,
)
