"""CSL with covariates: Cheeseman–Stutz for items, Laplace for coefficients, and A of both.

All in (β, φ) at its mode. Where no class is hidden, items are exact; what is left is the error of
Laplace's approximation of a multinomial logit, O(1/N). Every order of the classes is counted: the
prior of coefficients knows no reference class (`inference.regression`). Where classes are hardly
told apart, Gaussians of several orders overlap; so only the part with its own order is counted.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaln

from lacunet.evidence.regression.orders import OwnOrder
from lacunet.fitting.ascent import Outcome
from lacunet.fitting.objective import Estimate
from lacunet.fitting.regression.fit import ClassFit, climb_on
from lacunet.flags import Flag, Kind
from lacunet.inference.expectation import dot
from lacunet.models import conjugacy
from lacunet.models.latent_class import classes_of
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.scores import Evidence
from lacunet.scores.softmax import Factor, factorise

NAME = "csl"
DRAWS = 400  # from the Gaussian: how much of it has the order of its mode


@dataclass(frozen=True, eq=False)
class ClassMode:
    """The mode of the density of (β, φ), and how sharp it is there."""

    fit: ClassFit  # with the softmax estimate
    free: IntArray  # positions of items that vary
    A: FloatArray  # (d, d) negative Hessian
    complete: FloatArray  # (d, d) A′, as if classes had been seen

    @cached_property
    def factor(self) -> Factor | None:
        """Cholesky's factor of A; None where it is no maximum."""
        return factorise(np.array(self.A, order="F"))

    @property
    def log_labellings(self) -> float:
        """Log K!: orders of the classes, all of them alike."""
        return float(gammaln(self.fit.given.states + 1.0))

    @property
    def flags(self) -> tuple[Flag, ...]:
        """What to know of the mode."""
        if self.factor is None:
            return (Flag(Kind.NOT_POSITIVE_DEFINITE, detail={"point": "φ"}),)
        outcome = self.fit.outcome
        stopped = (Flag(Kind.NOT_CONVERGED, detail={"outcome": outcome}),)
        return (*(stopped if outcome is not Outcome.CONVERGED else ()), *self.factor.flags)


def mode_of(fit: ClassFit) -> ClassMode:
    """Climb from a fit to the mode of (β, φ) that is uphill."""
    found = climb_on(fit.given, fit.point, Estimate.SOFTMAX)
    objective, point = found.objective, found.point
    free = objective.free(point.theta)
    complete = objective.complete(point, free)
    return ClassMode(found, free, objective.negative_hessian(point, free), complete)


def csl_of(mode: ClassMode) -> Evidence:
    """Approximate log p(items | covariates), over all orders of the classes."""
    if mode.factor is None:
        return Evidence(NAME, {}, mode.flags)
    given, objective, point = mode.fit.given, mode.fit.objective, mode.fit.point
    layout, items, free = given.layout, given.of_items, given.free
    leaves = list(classes_of(given.plain.network).leaves)
    marginals = conjugacy.log_marginal(point.N, given.problem.alpha, layout)[leaves]
    natural = conjugacy.natural(point.theta, layout)
    quadratic = float(point.beta @ objective.precision @ point.beta)
    of_beta, of_all = _log_det(mode.complete[:free, :free]), _log_det(mode.complete)
    terms = {
        "log p(items of D′|S)": float(marginals.sum()),
        "−log p(items of D′|φ)": -dot(np.where(items, point.N, 0.0), natural),
        "log p(D|β, φ)": point.log_lik,
        "log p(β)": (_log_det(objective.precision) - free * math.log(2 * math.pi) - quadratic) / 2,
        "dβ/2 log 2π": free / 2 * math.log(2 * math.pi),
        "½ log|A′ of items|": (of_all - of_beta) / 2,
        "−½ log|A|": -mode.factor.log_det / 2,
        "log K!": mode.log_labellings,
        "log of the part with its own order": _log_own(mode),
    }
    return Evidence(NAME, terms, mode.flags)


def _log_own(mode: ClassMode) -> float:
    """Log of the part of the Gaussian in which classes have the order of the mode, by draws."""
    assert mode.factor is not None
    fit, d = mode.fit, len(mode.A)
    order, rng = OwnOrder.at(fit), np.random.default_rng(d)
    u = rng.standard_normal((DRAWS, d))
    moves: FloatArray = solve_triangular(np.tril(mode.factor.L), u.T, trans="T", lower=True)
    own = 0
    for move in moves.T:
        along = np.zeros(fit.given.layout.size)
        along[mode.free] = move[fit.given.free :]
        own += order(conjugacy.moved(fit.point.theta, along, fit.given.layout))
    return math.log(max(own, 1) / DRAWS)


def _log_det(A: FloatArray) -> float:
    return float(np.linalg.slogdet(A)[1]) if len(A) else 0.0
