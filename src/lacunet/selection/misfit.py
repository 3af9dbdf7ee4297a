"""Alternatives to latent classes: other models of the same table, compared by evidence.

A latent class model fits dependent answers, tails, skewness, covariances or a continuum by more
classes. The chosen number of classes is therefore compared with models that allow for one of these
with fewer classes, or none. All have proper priors and one scale. Under a class model, a Bayes
factor above 20 n has probability at most 1 / (20 n), so one of n models exceeds it in at most 1 of
20 tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from lacunet.data.table import Table
from lacunet.evidence.shaped_classes import merged, shaped_problem
from lacunet.evidence.trait import trait_of
from lacunet.fitting.fit import Fit, learn
from lacunet.fitting.neighbours import climbed_from, start_with_edges
from lacunet.inference.classes import FAILURES
from lacunet.inference.leaves import leaves_of, widest_block
from lacunet.inference.problem import at_equal_distances, build_problem
from lacunet.models.latent_class import find_classes, has_classes, over_leaves, with_edges
from lacunet.models.network import Network
from lacunet.models.number_prior import Covariance, NumberPrior
from lacunet.models.prior import Alpha, dirichlet
from lacunet.runtime.executor import Executor
from lacunet.runtime.rows import rows_at
from lacunet.selection.average import log_weight
from lacunet.selection.candidates import approximate_log_evidence
from lacunet.summaries.predictive_checks import Check, failed, predictive_checks
from lacunet.summaries.residuals import bivariate_residuals, few_pairs, ordered_edge, possible_pairs
from lacunet.tabular import Grid, probability
from lacunet.wording import residual_words, worded

if TYPE_CHECKING:
    from lacunet.selection.result import Selection

Edge: TypeAlias = tuple[str, str]  # names of parent and child
CLEAR = math.log(20.0)  # nats of advantage from which another model is reported
MOST_ROWS = 10_000  # distinct rows that are used; of more, a sample of this size
MOST_EDGES = 12  # direct effects that are added to a number of classes
HOPELESS = 2.0  # ratio of a gap to the gain that residuals promise, above which no edge is tried
NEAR = 6.0  # nats that a pair may lack and still be tried
MOST_CLASSES = 6  # of other models
STARTS = 6  # of classes with covariances, for each number of them
WIDEST = 20  # columns of a covariance matrix at most
BENT, HEAVY = 0.15, 0.85  # |ε| and δ of a shape beyond which its column is named


class Departure(StrEnum):
    """A departure from the latent class model that more classes may absorb."""

    EDGES = "direct dependence"
    COVARIANCE = "covariance within classes"
    SHAPE = "skewness or heavy tails"
    TRAIT = "continuous trait"


@dataclass(frozen=True)
class Alternative:
    """Another model of the table, and its log Bayes factor against the chosen one."""

    departure: Departure
    classes: int | None  # None: it has none
    log_bayes_factor: float  # against the chosen number of classes
    edges: tuple[str, ...] = ()  # direct effects, as --edge takes them
    skewed: tuple[str, ...] = ()  # columns
    heavy: tuple[str, ...] = ()
    slopes: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # on a trait, by column

    @property
    def probability(self) -> float:
        """Posterior probability against the chosen number of classes, with equal prior weights."""
        return 1.0 / (1.0 + math.exp(-max(-700.0, min(700.0, self.log_bayes_factor))))

    @property
    def title(self) -> str:
        """Description of the model."""
        if self.classes is None:
            return "one continuous trait"
        if self.departure is Departure.EDGES:
            return f"{self._classes} with direct effects {', '.join(self.edges)}"
        if self.departure is Departure.COVARIANCE:
            return f"{self._classes} with covariances"
        shape = [f"skewed ({', '.join(self.skewed)})"] if self.skewed else []
        shape += [f"heavy-tailed ({', '.join(self.heavy)})"] if self.heavy else []
        return f"{self._classes} of numbers that are {' or '.join(shape) or 'not normal'}"

    @property
    def _classes(self) -> str:
        return f"{self.classes} class{'' if self.classes == 1 else 'es'}"

    def sentence(self, chosen: str) -> str:
        """Describe the alternative to the chosen classes, its probability, and an action."""
        chances = probability(self.probability, exact=False)
        against = f"probability {chances} against {chosen}"
        if self.classes is None:
            return (
                f"{chosen} may be slices of a continuum: {self.title} has {against}. Read them as "
                "low to high, or use a factor or item response model"
            )
        what, advice = {
            Departure.EDGES: (
                "direct dependence between answers",
                f"Try {residual_words()} with {self._classes}",
            ),
            Departure.COVARIANCE: (
                "numbers that vary together within classes",
                worded("Try --covariance full"),
            ),
            Departure.SHAPE: (
                "skewness or heavy tails within classes",
                worded("Try another kind of column (--kinds NAME=lognormal), or logarithms"),
            ),
        }[self.departure]
        return f"{chosen} may stand for {what}. {self.title}: {against}. {advice}"


@dataclass(frozen=True)
class Misfit:
    """Alternatives to the chosen classes, best first, and predictive checks."""

    chosen: int  # number of classes with which they are compared
    alternatives: tuple[Alternative, ...]
    checks: tuple[Check, ...] = ()  # posterior predictive ones of the chosen model

    @property
    def clear(self) -> tuple[Alternative, ...]:
        """Alternatives worth a warning: Bayes factors above 20 times their number."""
        least = CLEAR + math.log(max(len(self.alternatives), 1))
        return tuple(a for a in self.alternatives if a.log_bayes_factor > least)

    @property
    def failed(self) -> tuple[Check, ...]:
        """Checks of the chosen model that fail, the worst first."""
        return failed(self.checks)

    def warning(self, chosen: str) -> str:
        """Describe possible misfit of the chosen classes; empty if there is none."""
        if self.clear:
            return self.clear[0].sentence(chosen)
        if not self.failed:
            return ""
        worst = self.failed[0]
        return f"{chosen} do not explain all: {worst.sentence}. {worst.advice}"

    def document(self, chosen: str) -> dict[str, Any]:
        """Describe it for JSON; `chosen` names the chosen classes."""
        models = [
            {
                **asdict(a),
                "title": a.title,
                "probability": a.probability,
                "clear": a in self.clear,
                "sentence": a.sentence(chosen),
            }
            for a in self.alternatives
        ]
        shown = ("name", "columns", "p_value", "draws")
        checks = [
            {**{name: getattr(c, name) for name in shown}, "failed": c in self.failed}
            for c in self.checks
        ]
        warning = self.warning(chosen)
        return {"warning": warning, "chosen": self.chosen, "models": models, "checks": checks}

    def grid(self, chosen: str) -> Grid:
        """Table of the alternatives to the classes."""
        rows = tuple(
            (a.title, f"{a.log_bayes_factor:.1f}", probability(a.probability, exact=False))
            for a in self.alternatives
        )
        meaning = (
            f"log BF: log Bayes factor against {chosen}, in nats, approximated; p: probability of "
            "the model if it and the classes are alike before the data."
        )
        notes = [meaning]
        if self.checks:
            each = ", ".join(f"{c.name} {c.p_value:.2g}" for c in self.checks)
            notes.append(f"p-values of {chosen} by tables drawn from the model: {each}.")
        return Grid("In place of classes", ("model", "log BF", "p"), rows, notes=tuple(notes))


@dataclass(frozen=True, eq=False)
class ClassModels:
    """The latent class models of a table with which others are compared."""

    table: Table
    alpha: Alpha
    fits: Mapping[int, Fit]  # by number of classes, none above the chosen one
    chosen: int
    to_beat: float  # evidence of the chosen number of classes
    numbers: NumberPrior

    @property
    def few(self) -> list[int]:
        """Numbers of classes of other models."""
        return [k for k in self.fits if k <= MOST_CLASSES]


def misfit_of(selection: Selection, numbers: NumberPrior, executor: Executor) -> Misfit | None:
    """Compare the chosen classes with other models; None if the network has no classes."""
    chosen = selection.label
    if not isinstance(chosen, int) or not has_classes(selection.best.proposal.network):
        return None
    checks = predictive_checks(selection.best.fit)
    try:
        models = _class_models(selection, chosen, numbers)
    except FAILURES:
        models = None
    if models is None:
        return Misfit(chosen, (), checks)
    best = executor.silent().map(partial(_best, models), list(ALTERNATIVES))
    alternatives = [a for a in best if a is not None and math.isfinite(a.log_bayes_factor)]
    ordered = sorted(alternatives, key=lambda a: -a.log_bayes_factor)
    return Misfit(chosen, tuple(ordered), checks)


def _class_models(selection: Selection, chosen: int, numbers: NumberPrior) -> ClassModels | None:
    if find_classes(selection.best.proposal.network) is None:
        return None
    few = [c for c in selection.candidates if isinstance(c.label, int) and c.label <= chosen]
    fits = {c.label: c.fit.for_scores for c in few if isinstance(c.label, int)}
    if not all(fit.problem.network.plain for fit in fits.values()):
        return None
    table, alpha = selection.table, selection.alpha
    to_beat = selection.under_alpha.get(chosen, math.nan)
    if len(table.codes) > MOST_ROWS:  # a systematic sample of the rows
        taken, times = at_equal_distances(table.counts, MOST_ROWS)
        codes, counts = rows_at(table.codes, taken), np.asarray(times, dtype=np.float64)
        table = replace(table, codes=codes, counts=counts, design=None, holder=None)
        fits = {k: _climbed(table, alpha, fit.problem.network, fit) for k, fit in fits.items()}
        to_beat = approximate_log_evidence(fits[chosen])
    if not math.isfinite(to_beat):
        return None
    return ClassModels(table, alpha, fits, chosen, to_beat, numbers)


def _climbed(table: Table, alpha: Alpha, network: Network, near: Fit) -> Fit:
    """Fit a network, which may have more edges, from the parameters of a fit."""
    problem = build_problem(table, network, dirichlet(network, alpha))
    return climbed_from(problem, near.options, start_with_edges(near, problem), [near])


def _best(models: ClassModels, departure: Departure) -> Alternative | None:
    """The most probable model of a departure; None if there is none, or it cannot be fitted."""
    best: Alternative | None = None
    try:
        for model in ALTERNATIVES[departure](models):
            if best is None or model.log_bayes_factor > best.log_bayes_factor:
                best = model
    except FAILURES:
        pass
    return best


def _trait(models: ClassModels) -> Iterator[Alternative]:
    trait = trait_of(models.fits[min(models.fits)].problem, models.to_beat)
    if trait is not None:
        slopes = {name: tuple(b.tolist()) for name, b in trait.slopes.items()}
        factor = trait.log_evidence - models.to_beat
        yield Alternative(Departure.TRAIT, None, factor, slopes=slopes)


def _with_effects(models: ClassModels) -> Iterator[Alternative]:
    """Add direct effects to each number of classes, the pair with the worst residual first."""
    problem = models.fits[models.chosen].problem
    possible = possible_pairs(problem.network)
    if possible < 3 or not few_pairs(problem, latent_class=False):
        return
    for k in models.few:
        fit, edges = models.fits[k], list[Edge]()
        base, value = fit.problem.network, approximate_log_evidence(fit)
        for _ in range(min(MOST_EDGES, possible)):
            worth = _worth(fit, k, models.table.weight, edges)
            promised = sum(max(gain, 0.0) for gain, _ in worth)
            near = max((gain for gain, _ in worth), default=-math.inf)
            if near < -NEAR or models.to_beat - value > HOPELESS * promised + NEAR:
                break
            edges.append(max(worth)[1])
            fit = _climbed(models.table, models.alpha, with_edges(base, edges), fit)
            grown = approximate_log_evidence(fit) + log_weight(len(edges), possible)
            if not grown > value:
                break
            value, named = grown, tuple(":".join(edge) for edge in edges)
            yield Alternative(Departure.EDGES, k, value - models.to_beat, edges=named)


def _worth(fit: Fit, k: int, cases: float, present: list[Edge]) -> list[tuple[float, Edge]]:
    """Approximate gain of an edge between each pair of items: half of X² minus its BIC penalty."""
    network = fit.problem.network
    pairs = bivariate_residuals(fit.model, fit.problem.codes, fit.problem.counts)
    price = 0.5 * k * math.log(max(cases, 2.0))
    gains = [
        (0.5 * pair.x2 - price * pair.df, ordered_edge(network, pair)) for pair in pairs if pair.df
    ]
    return [(gain, e) for gain, e in gains if e not in present and math.isfinite(gain)]


def _with_covariance(models: ClassModels) -> Iterator[Alternative]:
    """Let all numbers vary together within few classes."""
    if models.numbers.covariance != Covariance():
        return
    blocks = widest_block(models.table)
    if not blocks or len(blocks[0]) > WIDEST:
        return
    best, numbers = -math.inf, replace(models.numbers, covariance=Covariance(named=blocks))
    leaves = leaves_of(models.table, numbers)
    for k in models.few:
        network = over_leaves(leaves, k)
        problem = build_problem(models.table, network, dirichlet(network, models.alpha))
        options = replace(models.fits[k].options, starts=STARTS)
        value = approximate_log_evidence(learn(problem, options))
        yield Alternative(Departure.COVARIANCE, k, value - models.to_beat)
        if value < best:
            return
        best = max(best, value)


def _with_shape(models: ClassModels) -> Iterator[Alternative]:
    """Let numbers be skewed and have heavy tails within few classes."""
    numbers = any(column.kind.number for column in models.table.columns)
    problem = shaped_problem(models.fits[min(models.fits)].problem) if numbers else None
    if problem is None:
        return
    chosen = models.fits[models.chosen]
    (shares,) = chosen.problem.about_hidden(chosen.model.theta)
    coarser = {R.shape[1]: R for R in merged(shares, problem, 1)}
    best = -math.inf
    for k in models.few:
        fit = models.fits[k]
        (R,) = fit.problem.about_hidden(fit.model.theta)
        shaped = problem.fitted([R, coarser[k]] if k < models.chosen else [R])
        if shaped is None or shaped.log_evidence < best:
            return
        best = shaped.log_evidence
        skewed = tuple(name for name, e in shaped.skewness.items() if abs(e) > BENT)
        heavy = tuple(name for name, d in shaped.tails.items() if d < HEAVY)
        factor = shaped.log_evidence - models.to_beat
        yield Alternative(Departure.SHAPE, k, factor, skewed=skewed, heavy=heavy)


ALTERNATIVES: dict[Departure, Callable[[ClassModels], Iterator[Alternative]]] = {
    Departure.EDGES: _with_effects,
    Departure.COVARIANCE: _with_covariance,
    Departure.SHAPE: _with_shape,
    Departure.TRAIT: _trait,
}
