"""Empty classes: the occupancy identity, which a score at one mode needs to see all of a model.

Let a be the exponent of each class weight and N the cases. With E_m the part of p(D|m classes) in
which all m are used, exactly (docs/explanation/labels.md, "Empty classes"),

    p(D|k) = Σ_{m ≤ k} C(k, m) ρ(k, m) E_m,    ρ(k, m) = Γ(ka) Γ(ma + N) / (Γ(ka + N) Γ(ma)).

A score at one mode sees one of the m! equal labellings of E_m, and nothing of the other terms.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import gammaln, logsumexp, xlog1py

from lacunet.arrays import FloatArray
from lacunet.flags import Flag, Sizes
from lacunet.inference.classes import with_classes
from lacunet.inference.expectation import pattern_posteriors, safe_log
from lacunet.inference.problem import Problem
from lacunet.inference.symmetry import log_orders
from lacunet.model.latent_class import classes_of
from lacunet.scoring.score import EXCHANGEABLE, Score
from lacunet.scoring.score_input import Evidence, ScoreInput


def log_occupancy(classes: int, a: float, cases: float) -> FloatArray:
    """Log of C(k, m) ρ(k, m) for m = 1..k, (k,).

    One case cannot use two classes: E_2 = 0, and p(D|2) = E_1.

    >>> np.exp(log_occupancy(2, 1.0, 1.0)).tolist()
    [1.0, 1.0]
    """
    k, m = classes, np.arange(1, classes + 1)
    choices = gammaln(k + 1) - gammaln(m + 1) - gammaln(k - m + 1)
    found: FloatArray = (
        choices
        + (gammaln(k * a) - gammaln(k * a + cases))
        + (gammaln(m * a + cases) - gammaln(m * a))
    )
    return found


def log_factors(problem: Problem) -> FloatArray:
    """The same for the classes, the prior and the cases of a latent class model, (k,).

    A case that shows nothing says nothing of its class: such cases are not counted.
    """
    told = float(problem.counts[(problem.codes >= 0).any(axis=1)].sum())
    classes = classes_of(problem.network)
    a = float(problem.layout.table(problem.alpha, classes.root)[0])
    return log_occupancy(classes.number, a, told)


def log_all_used(problem: Problem, log_weights: FloatArray) -> float:
    """Log probability that no class is empty, with hidden values drawn row by row.

    Each has its posterior under the weights. Classes are taken as if independent: they are not
    quite, but where the product is far from 1, one or two of them are nearly sure to be empty.
    """
    log_empty = np.zeros(classes_of(problem.network).number)
    for plan in problem.components.patterns:
        r = pattern_posteriors(plan, log_weights)[:, : plan.cells]
        log_empty += xlog1py(plan.counts[:, None], -np.minimum(r, 1.0)).sum(axis=0)
    with np.errstate(divide="ignore"):
        return float(np.sum(np.log(-np.expm1(log_empty))))


def log_weights_at_theta(at: ScoreInput) -> FloatArray:
    """The usual weights of hidden values: the posterior given θ."""
    return safe_log(at.theta)


def _every_label_its_own(_: ScoreInput) -> float:
    return 0.0


def occupied(
    score: Score,
    log_weights: Callable[[ScoreInput], FloatArray] = log_weights_at_theta,
    log_own: Callable[[ScoreInput], float] = _every_label_its_own,
    *,
    usual: bool = False,
) -> Score:
    """Make a score that puts another one into the identity, for every number of used classes.

    Models with fewer classes are fitted as candidates are. Of the functions, see `_all_used`.
    """
    name = f"{score.name}-occupied"

    def evaluate(at: ScoreInput) -> Evidence:
        k = classes_of(at.problem.network).number
        parts = log_factors(at.problem)
        parts[0] += with_classes(at.problem, 1).log_seen  # one class needs no approximation
        if k == 1:
            return Evidence(name, {"log p(D|1 class)": float(parts[0])})
        found = [_all_used(at.smaller(m), score, log_weights, log_own) for m in range(2, k + 1)]
        parts[1:] += [used.value for used in found]
        flags = _gathered([used.flags for used in found])
        if np.isnan(parts).any():  # what is not known may be nearly all of it
            return Evidence(name, {}, flags)
        whole = float(logsumexp(parts))
        if parts[-1] == -np.inf:  # some class is surely empty
            return Evidence(name, {"fewer used classes": whole}, flags)
        return Evidence(name, {**found[-1].terms, "fewer used classes": whole - parts[-1]}, flags)

    return Score(
        name,
        f"{score.title}, occupancy",
        f"{score.source}; occupancy identity",
        evaluate,
        column=f"{score.column or score.title} occ.",
        domain=EXCHANGEABLE,
        usual=usual,
        fits_fewer=True,
        every_labelling=True,
    )


def _all_used(
    at: ScoreInput,
    score: Score,
    log_weights: Callable[[ScoreInput], FloatArray],
    log_own: Callable[[ScoreInput], float],
) -> Evidence:
    """Log E_m: the score, its labellings, and how far they are apart and in use.

    The probability that no class is empty is under the weights of hidden values that the score
    itself uses: a fit with an empty class is one with fewer classes, and would count twice. Where
    the score knows the posterior of the parameters, it tells how much of that has the labels of its
    own mode: modes that overlap would count the rest again and again.
    """
    found, m = at.evidence(score), classes_of(at.problem.network).number
    terms = {
        f"{score.name}, {m} classes": found.value,
        f"log {m}!": log_orders(m),
        "log p(no class empty)": log_all_used(at.problem, log_weights(at)),
    }
    if (overlap := log_own(at)) < 0.0:
        terms["log p(own labels)"] = overlap
    return Evidence(score.name, terms, found.flags)


def _gathered(flags: Iterable[Sequence[Flag]]) -> tuple[Flag, ...]:
    """Say each flag once, with the numbers of classes, from 2 up, that have it."""
    first: dict[str, Flag] = {}  # flags that read the same are the same to a person
    where: dict[str, list[int]] = defaultdict(list)
    for m, mine in enumerate(flags, start=2):
        for flag in mine:
            first.setdefault(str(flag), flag)
            where[str(flag)].append(m)
    return tuple(
        replace(flag, fits=Sizes(tuple(where[words]), "classes")) for words, flag in first.items()
    )
