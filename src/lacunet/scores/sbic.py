"""The singular BIC of Drton & Plummer (2017, JRSS B 79, 323–380), for latent class models.

BIC charges ½ log N for every parameter, as if each were identified. Where data have only j of the k
classes, the evidence of the larger model falls off as N^−λ_kj with a smaller *learning coefficient*
λ_kj. Which j is true is not known, so the models 1..k are weighed by their own evidence, which
makes one quadratic equation for each.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import logsumexp

from lacunet.flags import Flag, Kind
from lacunet.inference.problem import Problem
from lacunet.learn.objective import Estimate
from lacunet.model.latent_class import classes_of
from lacunet.runtime.arrays import FloatArray
from lacunet.scoring.fitting import Fitting
from lacunet.scoring.score import LATENT_CLASSES, Fewer, Score
from lacunet.scoring.score_input import Evidence, ScoreInput


def learning_coefficient(i: int, j: int, leaf: int, a: float, saturated: float) -> float:
    """Bound λ_ij of i classes where j are true; `leaf` parameters each, exponents a on weights.

    The i − j classes too many are either empty, which costs a/2 each, or they repeat others, which
    costs all their own parameters but no weights (Drton & Plummer, eq. 6.19). Nor is it ever more
    than half the dimension of all distributions of the data.
    """
    empty = j * leaf + (j - 1) + (i - j) * a
    repeated = i * leaf + (j - 1)
    return min(empty, repeated, saturated) / 2.0


def singular_bic(
    log_liks: Sequence[float], coefficients: Sequence[Sequence[float]], log_cases: float
) -> FloatArray:
    """Solve for log L_i, i = 1..k: L_i Σ_{j≤i} L_j = Σ_{j≤i} L′_ij L_j, all models as likely.

    log L′_ij = log p(D|θ̂_i) − λ_ij log N; `coefficients[i]` are λ_ij for j = 1..i. With b and c
    from the smaller models, that is L_i² + b L_i − c = 0; its positive root is taken.
    """
    log_L = np.empty(len(log_liks))
    for i, (log_lik, row) in enumerate(zip(log_liks, coefficients, strict=True)):
        primes = log_lik - np.asarray(row) * log_cases
        top = max(primes[i], log_L[:i].max(initial=-np.inf))
        b = float(np.exp(log_L[:i] - top).sum()) - math.exp(primes[i] - top)
        log_c = float(logsumexp(primes[:i] + log_L[:i])) - top if i else -np.inf
        root = math.sqrt(b * b + 4.0 * math.exp(log_c - top))
        # Of two ways to write the root, the one that does not cancel.
        if b > 0:
            log_L[i] = math.log(2.0) + log_c - math.log(b + root)
        else:
            log_L[i] = top + math.log((root - b) / 2.0)
    return log_L


def largest_likelihoods(own: Fitting) -> list[Fitting]:
    """Fit 1..k classes by maximum likelihood.

    It does not look at the prior: with the same one for all, candidates can share these fits.
    """
    flat = replace(own.problem, alpha=np.ones(own.problem.layout.size))
    options = replace(own.options, estimate=Estimate.ML)
    classes = classes_of(flat.network)
    numbers = range(1, classes.number + 1)
    return [Fitting(flat, options, sizes=((classes.root, m),)) for m in numbers]


def log_likelihood(at: ScoreInput) -> Evidence:
    """Give what sBIC wants to know of a fit."""
    return Evidence("sbic", {"log p(D|θ̂)": at.log_lik})


def sbic(problem: Problem, parts: Sequence[Evidence]) -> Evidence:
    """Solve for the model's number of classes, given log-likelihoods of 1..k, and at last its own.

    The exponent of the class weights is that of the prior.
    """
    classes = classes_of(problem.network)
    cards = [problem.layout.cards[i] for i in classes.leaves]
    leaf = sum(cards) - len(cards)
    saturated = math.prod(map(float, cards)) - 1.0
    a = float(problem.layout.table(problem.alpha, classes.root).mean())
    log_liks, flags = _rising([part.value for part in parts[:-1]])
    coefficients = [
        [learning_coefficient(i, j, leaf, a, saturated) for j in range(1, i + 1)]
        for i in range(1, classes.number + 1)
    ]
    log_cases = float(np.log(problem.cases))
    value = float(singular_bic(log_liks, coefficients, log_cases)[-1])
    terms = {"log p(D|θ̂)": log_liks[-1], "−λ log N": value - log_liks[-1]}
    return Evidence("sbic", terms, flags)


def _rising(log_liks: Sequence[float]) -> tuple[list[float], tuple[Flag, ...]]:
    """Maximum log-likelihoods of 1..k classes can only rise, whatever EM finds."""
    rising: list[float] = []
    flags: list[Flag] = []
    for m, log_lik in enumerate(log_liks, start=1):
        before = rising[-1] if rising else -math.inf
        if log_lik < before:
            flags.append(Flag(Kind.MORE_CLASSES_FIT_WORSE, detail={"fewer": m - 1, "more": m}))
        rising.append(max(log_lik, before))
    return rising, tuple(flags)


SBIC = Score(
    "sbic",
    "sBIC",
    "Drton & Plummer (2017)",
    log_likelihood,
    domain=LATENT_CLASSES,
    usual=False,
    fewer=Fewer(largest_likelihoods, sbic),
    every_labelling=True,
)
