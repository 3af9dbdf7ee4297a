"""Scores at one mode.

BD, MLED and Cheeseman–Stutz: the closed-form evidence of complete data, observed or expected.
CSL: Cheeseman–Stutz, with the curvature of the data in place of that of complete data.
BIC (minus the minimum description length), Draper and ICL: penalised log-likelihoods.
Laplace's approximation: the posterior as a Gaussian around its mode. CH96 eq. 8.
Variational Bayes: the best bound with parameters and hidden values independent.
"""

import math
from dataclasses import replace

import numpy as np
from scipy.special import xlogy

from lacunet.fitting.diagnose import MAX_STEPS, at_theta
from lacunet.flags import Flag, Kind
from lacunet.inference.classes import missing_numbers
from lacunet.inference.hessian import negative_hessian
from lacunet.inference.plans.plan import free_coordinates
from lacunet.models import conjugacy
from lacunet.scores.score import Evidence, Score, ScoreInput
from lacunet.scores.softmax import factorise


def bd(at: ScoreInput) -> Evidence:
    """Exact evidence if only barren variables are hidden; these integrate to one. CH96 eq. 5."""
    problem = at.problem
    families = conjugacy.log_marginal(problem.seen, problem.alpha, problem.layout)
    names = [v.name for v in problem.network.variables]
    terms = {f"family {n}": float(x) for n, x in zip(names, families, strict=True)}
    if problem.log_base:  # 0 for categories
        terms["log h(D)"] = problem.log_base
    return Evidence("bd", terms)


def mled(at: ScoreInput) -> Evidence:
    """BD of the expected counts D′: a bound, but asymptotically biased. CH96 eq. 12.

    It is Cheeseman–Stutz less the entropy of the hidden values. Only the entropy of categories is
    left out, because that of missing numbers may be negative.
    """
    problem = at.problem
    families = conjugacy.log_marginal(at.complete_counts, problem.alpha, problem.layout)
    terms = {"log p(D′|S)": float(families.sum()) + problem.log_base}
    if lacking := missing_numbers(problem, at.theta):
        terms["H[missing numbers]"] = lacking
    return Evidence("mled", terms)


def cheeseman_stutz(at: ScoreInput) -> Evidence:
    """Log p(D′|S) − log p(D′|θ) + log p(D|θ): a lower bound on log p(D|S) at every θ.

    If the effective dimension d is not the number of parameters d′, the score adds
    (d′ − d)/2 log N (CH96 eq. 13). It is then not a bound.
    """
    problem = at.problem
    N = at.complete_counts
    terms = {
        "log p(D′|S)": float(conjugacy.log_marginal(N, problem.alpha, problem.layout).sum()),
        "−log p(D′|θ)": -conjugacy.log_density(N, at.theta, problem.layout),
        "log p(D|θ)": at.log_lik,
    }
    if at.dimension != at.parameters:
        terms["(d′−d)/2 log N"] = (at.parameters - at.dimension) / 2 * math.log(at.problem.cases)
    return Evidence("cs", terms)


BD = Score("bd", "BD (exact)", "CH96 eq. 5", bd, only_exact=True, lower=True)
MLED = Score("mled", "MLED", "CH96 eq. 12", mled, lower=True)
CS = Score("cs", "Cheeseman–Stutz", "CH96 eq. 13", cheeseman_stutz, column="CS", lower=True)


FAR_BELOW = 0.5  # nats below a bound on the evidence that raise a flag


def csl(at: ScoreInput) -> Evidence:
    """CS + ½ log|A′| − ½ log|A| at the mode of φ that is uphill from θ. Error O(1/N).

    The score climbs from θ to that mode. D′ and A leave barren variables out, so the score is exact
    if nothing else is hidden. If an exponent of the prior is below 1, a value below the variational
    bound is flagged.
    """
    problem, mode = at.problem, at.softmax
    if mode.log_det is None:
        return Evidence("csl", {}, mode.flags)
    point = mode.point
    terms = {
        "log p(D′|S)": float(conjugacy.log_marginal(point.N, problem.alpha, problem.layout).sum()),
        "−log p(D′|φ)": -conjugacy.log_density(point.N, point.theta, problem.layout),
        "log p(D|φ)": point.log_lik,
        "½ log|A′|": mode.log_det_complete / 2,
        "−½ log|A|": -mode.log_det / 2,
    }
    score = Evidence("csl", terms, mode.flags)
    if conjugacy.has_mode(problem.alpha, problem.layout):
        return score
    # Such priors favour empty states, so a mode without empty states may have little mass.
    short = at.variational.bound - score.value
    below = Flag(Kind.BELOW_BOUND, detail={"nats": short})
    return replace(score, flags=(*score.flags, below)) if short > FAR_BELOW else score


CSL = Score("csl", "CSL", "CH97", csl)


def bic(at: ScoreInput) -> Evidence:
    """Log p(D|θ) − d/2 log N. Error O(1). CH96 eq. 9."""
    return Evidence("bic", _terms(at))


def draper(at: ScoreInput) -> Evidence:
    """BIC plus d/2 log 2π. Error O(1), usually a smaller one. CH96 eq. 10."""
    constant = at.at_estimate.dimension / 2 * math.log(2 * math.pi)
    return Evidence("draper", {**_terms(at), "d/2 log 2π": constant})


def icl(at: ScoreInput) -> Evidence:
    """BIC less the entropy of the hidden values: it favours well separated classes."""
    return Evidence("icl", {**_terms(at), "−H(hidden|D,θ)": -_entropy(at.at_estimate)})


def _entropy(at: ScoreInput) -> float:
    """Entropy of the hidden categories given the data and θ, barren variables left out."""
    problem = at.problem
    if problem.case_by_case:
        of_numbers = 0.0 if problem.layout.tabular else problem.log_base
        return (
            at.log_lik
            - of_numbers
            - conjugacy.log_density(at.expectation.N, at.theta, problem.layout)
        )
    # Expected statistics would also fill in missing numbers, so this sums over rows with values.
    shown = np.any(problem.codes >= 0, axis=1)
    posteriors, zero = problem.about_hidden(at.theta), np.zeros(len(problem.counts))
    each = sum((xlogy(p, p).sum(axis=1) for p in posteriors), zero)
    return -float(problem.counts[shown] @ each[shown])


def _terms(at: ScoreInput) -> dict[str, float]:
    at = at.at_estimate
    return {"log p(D|θ)": at.log_lik, "−d/2 log N": -at.dimension / 2 * math.log(at.problem.cases)}


BIC = Score("bic", "BIC/MDL", "CH96 eq. 9", bic)
DRAPER = Score("draper", "Draper", "CH96 eq. 10", draper)
ICL = Score("icl", "ICL", "Biernacki et al. (2000)", icl, usual=False)


NOT_A_MAXIMUM = 1e-3  # scaled gradient, in cases, above which θ is not a mode of the posterior


def laplace(at: ScoreInput) -> Evidence:
    """Integrate the quadratic around θ̃. Error O(1/N) at a mode in the interior.

    The dimension is always the number of parameters, the size of A.
    """
    problem, theta, d = at.problem, at.theta, at.parameters
    if not conjugacy.has_mode(problem.alpha, problem.layout):
        lowest = {"alpha": problem.lowest_alpha}
        return Evidence("laplace", {}, (Flag(Kind.NO_MODE, detail=lowest),))
    if conjugacy.on_boundary(theta, problem.layout):
        return Evidence("laplace", {}, (Flag(Kind.ON_BOUNDARY),))
    factor = factorise(negative_hessian(problem, theta, free_coordinates(problem.layout, theta)))
    if factor is None:
        return Evidence("laplace", {}, (Flag(Kind.NOT_POSITIVE_DEFINITE, detail={"point": "θ"}),))
    flags = []
    N = at.expectation.N + conjugacy.in_theta(problem.alpha, problem.layout)
    steepest = np.abs(conjugacy.pull_back(theta, N, problem.layout))
    if steepest.max() > NOT_A_MAXIMUM:
        flags.append(Flag(Kind.NOT_AT_MAXIMUM, detail={"gradient": float(steepest.max())}))
    wide = int(np.sum(math.sqrt(2 * math.pi) > factor.pivots))
    if wide:
        # The integral is a product of √2π/L_ii over pivots; each parameter is between 0 and 1.
        flags.append(Flag(Kind.WIDE_GAUSSIAN, detail={"number": wide, "total": d}))
    terms = {
        "log p(D|θ)": at.log_lik,
        "log p(θ)": at.log_prior,
        "d/2 log 2π": d / 2 * math.log(2 * math.pi),
        "−½ log|A|": -factor.log_det / 2,
    }
    return Evidence("laplace", terms, (*flags, *factor.flags))


LAPLACE = Score("laplace", "Laplace", "CH96 eq. 8", laplace)


def variational_bayes(at: ScoreInput) -> Evidence:
    """The variational bound raised from the posterior at θ: CS ≤ VB ≤ log p(D|S)."""
    start, end = at_theta(at.problem, at.theta), at.variational
    stopped = Flag(Kind.STILL_RISING, detail={"steps": MAX_STEPS})
    terms = {"bound at p(hidden|D,θ)": start.bound, "raised by": end.bound - start.bound}
    return Evidence("vb", terms, (stopped,) if end.steps >= MAX_STEPS else ())


VB = Score(
    "vb", "Variational Bayes", "Attias (1999); Beal (2003)", variational_bayes, "VB", lower=True
)
