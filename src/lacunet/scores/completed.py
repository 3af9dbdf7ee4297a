"""BD, MLED and Cheeseman–Stutz: the closed-form evidence of complete data, seen or expected."""

from lacunet.inference.expectation import missing_numbers
from lacunet.models import conjugacy
from lacunet.scores.score import Evidence, Score, ScoreInput


def bd(at: ScoreInput) -> Evidence:
    """Exact evidence where only barren variables are hidden; these integrate to one. CH96 eq. 5."""
    problem = at.problem
    families = conjugacy.log_marginal(problem.seen, problem.alpha, problem.layout)
    names = [v.name for v in problem.network.variables]
    terms = {f"family {n}": float(x) for n, x in zip(names, families, strict=True)}
    if problem.log_base:  # categories have none
        terms["log h(D)"] = problem.log_base
    return Evidence("bd", terms)


def mled(at: ScoreInput) -> Evidence:
    """BD of the expected counts D′: a bound, not asymptotically right. CH96 eq. 12.

    It is Cheeseman–Stutz less the entropy of what is hidden. Only categories have an entropy that
    cannot be negative, so only theirs is left out: that of missing numbers stays.
    """
    problem = at.problem
    families = conjugacy.log_marginal(at.complete_counts, problem.alpha, problem.layout)
    terms = {"log p(D′|S)": float(families.sum()) + problem.log_base}
    if lacking := missing_numbers(problem, at.theta):
        terms["H[missing numbers]"] = lacking
    return Evidence("mled", terms)


def cheeseman_stutz(at: ScoreInput) -> Evidence:
    """Give log p(D′|S) − log p(D′|θ) + log p(D|θ): a lower bound on log p(D|S) at every θ.

    Where the effective dimension d is not the number of parameters d′, (d′ − d)/2 log N is added as
    in CH96 eq. 13, and it is not a bound.
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


BD = Score("bd", "BD (exact)", "CH96 eq. 5", bd, only_exact=True, lower=True)
MLED = Score("mled", "MLED", "CH96 eq. 12", mled, lower=True)
CS = Score("cs", "Cheeseman–Stutz", "CH96 eq. 13", cheeseman_stutz, column="CS", lower=True)
