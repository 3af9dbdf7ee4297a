"""Empty classes: the occupancy identity, which a score at one mode needs to see all of a model.

Let a be the exponent of each class weight and N the cases. With E_m the part of p(D|m classes) in
which all m are used, exactly (docs/explanation/labels.md, "Empty classes"),

    p(D|k) = Σ_{m ≤ k} C(k, m) ρ(k, m) E_m,    ρ(k, m) = Γ(ka) Γ(ma + N) / (Γ(ka + N) Γ(ma)).

A score at one mode sees one of the m! equal labellings of E_m, and nothing of the other terms.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln, logsumexp, xlog1py

from lacunet.arrays import FloatArray
from lacunet.flags import Flag, Kind, Sizes
from lacunet.inference.classes import with_classes
from lacunet.inference.problem import Problem
from lacunet.inference.symmetry import log_orders
from lacunet.model import conjugacy
from lacunet.model.families.categorical import log_rising
from lacunet.model.latent_class import classes_of
from lacunet.scoring.fitting import Fitting
from lacunet.scoring.score import EXCHANGEABLE, Fewer, Score
from lacunet.scoring.score_input import Evidence, ScoreInput


def log_occupancy(classes: int, a: float, cases: float) -> FloatArray:
    """Log of C(k, m) ρ(k, m) for m = 1..k, (k,).

    One case cannot use two classes: E_2 = 0, and p(D|2) = E_1.

    >>> np.exp(log_occupancy(2, 1.0, 1.0)).tolist()
    [1.0, 1.0]
    """
    k, m = classes, np.arange(1.0, classes + 1.0)
    log_choices = gammaln(k + 1) - gammaln(m + 1) - gammaln(k - m + 1)
    return log_choices - log_rising(k * a, cases) + log_rising(m * a, cases)


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
    classes = classes_of(problem.network)
    log_empty = np.zeros(classes.number)
    sizes = problem.network.cells.block(classes.root)
    cells = problem.network.to_cells(log_weights)
    for plan in problem.components.plans:
        _, r = plan.posterior(cells, sizes.start, sizes.stop)
        log_empty += xlog1py(plan.counts[:, None], -np.minimum(r, 1.0)).sum(axis=0)
    with np.errstate(divide="ignore"):
        return float(np.sum(np.log(-np.expm1(log_empty))))


def at_theta(at: ScoreInput) -> FloatArray:
    """The usual weights of hidden values: the posterior given θ."""
    return conjugacy.natural(at.theta, at.problem.layout)


def at_softmax_mode(at: ScoreInput) -> FloatArray:
    """The weights of scores that are taken at the softmax mode."""
    return conjugacy.natural(at.softmax.point.theta, at.problem.layout)


def variational_weights(at: ScoreInput) -> FloatArray:
    """The weights of the best independent posterior."""
    return at.variational.log_weights


def every_label(_: ScoreInput) -> float:
    """Take the labellings to be far apart."""
    return 0.0


def own_labels(at: ScoreInput) -> float:
    """Log of the part of the Gaussian at the softmax mode that has its own labels."""
    return at.softmax.log_own


@dataclass(frozen=True)
class Occupied:
    """Puts a score into the identity, for every number of used classes."""

    score: Score
    log_weights: Callable[[ScoreInput], FloatArray]
    log_own: Callable[[ScoreInput], float]

    @property
    def name(self) -> str:
        """As on the command line."""
        return f"{self.score.name}-occupied"

    def fits(self, own: Fitting) -> list[Fitting]:
        """Fit fewer classes as candidates are; one class needs no fit."""
        numbers = range(2, classes_of(own.problem.network).number)
        return [replace(own, classes=m) for m in numbers]

    def all_used(self, at: ScoreInput) -> Evidence:
        """Log E_m: the score, its labellings, and how far they are apart and in use.

        The probability that no class is empty is under the weights of hidden values that the score
        itself uses: a fit with an empty class is one with fewer classes, and would count twice.
        Where the score knows the posterior of the parameters, it tells how much of that has the
        labels of its own mode: modes that overlap would count the rest again and again.
        """
        m = classes_of(at.problem.network).number
        if m == 1:  # needs no approximation
            return Evidence(self.name, {"log p(D|1 class)": at.problem.log_seen})
        one = self.score.here(at)
        terms = {
            f"{self.score.name}, {m} classes": one.value,
            f"log {m}!": log_orders(m),
            "log p(no class empty)": log_all_used(at.problem, self.log_weights(at)),
        }
        if (overlap := self.log_own(at)) < 0.0:
            terms["log p(own labels)"] = overlap
        # A bound of all that the model says has fewer used classes in it, which are added later.
        flags = tuple(flag for flag in one.flags if flag.kind is not Kind.BELOW_BOUND)
        return Evidence(self.name, terms, flags)

    def together(self, problem: Problem, used: Sequence[Evidence]) -> Evidence:
        """Sum over the numbers of used classes, given log E_m for m = 2..k."""
        parts = log_factors(problem)
        parts[0] += with_classes(problem, 1).log_seen
        if len(parts) == 1:
            return Evidence(self.name, {"log p(D|1 class)": float(parts[0])})
        parts[1:] += [part.value for part in used]
        flags = _gathered([part.flags for part in used])
        if np.isnan(parts).any():  # what is not known may be nearly all of it
            return Evidence(self.name, {}, flags)
        whole = float(logsumexp(parts))
        if parts[-1] == -np.inf:  # some class is surely empty
            return Evidence(self.name, {"fewer used classes": whole}, flags)
        terms = {**used[-1].terms, "fewer used classes": whole - parts[-1]}
        return Evidence(self.name, terms, flags)


def occupied(
    score: Score,
    log_weights: Callable[[ScoreInput], FloatArray] = at_theta,
    log_own: Callable[[ScoreInput], float] = every_label,
    *,
    usual: bool = False,
) -> Score:
    """Make a score that puts another one into the identity; of the functions, see `all_used`."""
    rule = Occupied(score, log_weights, log_own)
    return Score(
        rule.name,
        f"{score.title}, occupancy",
        f"{score.source}; occupancy identity",
        rule.all_used,
        column=f"{score.column or score.title} occ.",
        domain=EXCHANGEABLE,
        usual=usual,
        fewer=Fewer(rule.fits, rule.together),
        every_labelling=True,
    )


def _gathered(flags: Iterable[Sequence[Flag]]) -> tuple[Flag, ...]:
    """Say each flag once, with the numbers of classes, from 2 up, that have it."""
    alike: dict[str, tuple[Flag, list[int]]] = {}  # what reads the same is the same to a person
    for m, mine in enumerate(flags, start=2):
        for flag in mine:
            alike.setdefault(str(flag), (flag, []))[1].append(m)
    return tuple(replace(flag, fits=Sizes(tuple(m), "classes")) for flag, m in alike.values())
