"""Whether classes stand for something else: other models of the same table, weighed by evidence.

A latent class model explains what it does not allow for, dependent answers, tails, skewness,
covariances or a continuum, by more classes, and the more of them the better it fits. So a chosen
number of classes is held against models that allow for one of these and need fewer classes, or
none. All have proper priors and are weighed on one scale. Under a class model a Bayes factor above
20 n has a chance of at most 1 in 20 n, so that one of n models passes it in 1 of 20 tables at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from lacunet.data.table import Table
from lacunet.evidence.shaped_classes import merged, shaped_problem
from lacunet.evidence.trait import trait_of
from lacunet.fitting.fit import Fit, learn
from lacunet.fitting.neighbours import climbed_from
from lacunet.inference.classes import FAILURES
from lacunet.inference.leaves import leaves_of, widest_block
from lacunet.inference.problem import at_equal_distances, build_problem
from lacunet.inference.symmetry import symmetries_of
from lacunet.models.latent_class import find_classes, has_classes, over_leaves, with_edges
from lacunet.models.network import Network
from lacunet.models.number_prior import Covariance, NumberPrior
from lacunet.models.prior import Alpha, dirichlet
from lacunet.runtime.executor import Executor
from lacunet.runtime.rows import rows_at
from lacunet.scores import HEADLINE, ScoreInput
from lacunet.selection.effects import Edge, log_weight, start_with_edges
from lacunet.selection.misfit import Alternative, Departure, Misfit
from lacunet.summaries.predictive_checks import predictive_checks
from lacunet.summaries.residuals import PairResidual, bivariate_residuals
from lacunet.summaries.statistics import few_pairs

if TYPE_CHECKING:
    from lacunet.selection.candidates import Selection

MOST_ROWS = 10_000  # distinct rows that are looked at; of more, so many stand for all
MOST_EDGES = 12  # direct effects that are added to a number of classes
HOPELESS = 2.0  # times what residuals promise, from which a gap is not worth the work
NEAR = 6.0  # nats that a pair may seem not to be worth, and be tried all the same
MOST_CLASSES = 6  # of other models
STARTS = 6  # of classes with covariances, for each number of them
WIDEST = 20  # numbers that may have a covariance matrix in this check
BENT, HEAVY = 0.15, 0.85  # |ε| and δ of a shape from which its column is named


@dataclass(frozen=True, eq=False)
class Ground:
    """The table that models are weighed on, and the latent class models of it."""

    table: Table
    alpha: Alpha
    fits: Mapping[int, Fit]  # by number of classes, none above the chosen one
    values: Mapping[int, float]  # their evidence
    chosen: int
    numbers: NumberPrior

    @property
    def to_beat(self) -> float:
        """The evidence of the chosen number of classes."""
        return self.values[self.chosen]


def misfit_of(selection: Selection, numbers: NumberPrior, executor: Executor) -> Misfit | None:
    """Hold the chosen number of classes against other models; None where they are no classes."""
    chosen = selection.label
    if not isinstance(chosen, int) or not has_classes(selection.best.proposal.network):
        return None
    checks = predictive_checks(selection.best.fit)
    try:
        ground = _ground(selection, chosen, numbers)
    except FAILURES:
        ground = None
    if ground is None:
        return Misfit(chosen, (), checks)
    found = executor.silent().map(partial(_best, ground), list(TRIED))
    alternatives = [a for a in found if a is not None and math.isfinite(a.log_bayes_factor)]
    ordered = sorted(alternatives, key=lambda a: -a.log_bayes_factor)
    return Misfit(chosen, tuple(ordered), checks)


def _ground(selection: Selection, chosen: int, numbers: NumberPrior) -> Ground | None:
    if find_classes(selection.best.proposal.network) is None:
        return None
    few = [c for c in selection.candidates if isinstance(c.label, int) and c.label <= chosen]
    fits = {c.label: c.fit.for_scores for c in few if isinstance(c.label, int)}
    if not all(fit.problem.network.plain for fit in fits.values()):
        return None
    certainty, table = selection.under_alpha, selection.table
    values = {k: certainty.get(k, math.nan) for k in fits}
    if len(table.codes) > MOST_ROWS:
        table = _thinned(table)
        fits = {
            k: _climbed(table, selection.alpha, fit.problem.network, fit) for k, fit in fits.items()
        }
        values = {k: _evidence(fit) for k, fit in fits.items()}
    if not math.isfinite(values[chosen]):
        return None
    return Ground(table, selection.alpha, fits, values, chosen, numbers)


def _thinned(table: Table) -> Table:
    """Rows at equal distances, as if there were no others."""
    taken, times = at_equal_distances(table.counts, MOST_ROWS)
    codes, counts = rows_at(table.codes, taken), np.asarray(times, dtype=np.float64)
    return replace(table, codes=codes, counts=counts, design=None, holder=None)


def _climbed(table: Table, alpha: Alpha, network: Network, near: Fit) -> Fit:
    """Climb over a table from the parameters of a fit, with edges more or none."""
    problem = build_problem(table, network, dirichlet(network, alpha))
    return climbed_from(problem, near.options, start_with_edges(near, problem), [near])


def _evidence(fit: Fit) -> float:
    """Log evidence of a model, over all labellings."""
    at = ScoreInput(fit.problem, fit.model.theta, options=fit.options)
    return HEADLINE.here(at).value + symmetries_of(fit.problem).log_count


def _best(ground: Ground, departure: Departure) -> Alternative | None:
    """The most probable model of a kind; None where there is none, or it cannot be fitted."""
    best: Alternative | None = None
    try:
        for found in TRIED[departure](ground):
            if best is None or found.log_bayes_factor > best.log_bayes_factor:
                best = found
    except FAILURES:
        pass
    return best


def _trait(ground: Ground) -> Iterator[Alternative]:
    found = trait_of(ground.fits[min(ground.fits)].problem, ground.to_beat)
    if found is not None:
        slopes = {name: tuple(b.tolist()) for name, b in found.slopes.items()}
        yield Alternative(Departure.TRAIT, None, found.log_evidence - ground.to_beat, slopes=slopes)


def _with_effects(ground: Ground) -> Iterator[Alternative]:
    """Add direct effects to each number of classes, the pair with the worst residual first."""
    problem = ground.fits[ground.chosen].problem
    tabular = sum(problem.network.variables[i].family.tabular for i in problem.network.observed)
    if tabular < 3 or not few_pairs(problem, latent_class=False):
        return
    possible = tabular * (tabular - 1) // 2
    for k, fit in ground.fits.items():
        if k <= MOST_CLASSES:
            yield from _grown(ground, k, fit, possible)


def _grown(ground: Ground, k: int, fit: Fit, possible: int) -> Iterator[Alternative]:
    base, edges, value = fit.problem.network, list[Edge](), _evidence(fit)
    for _ in range(min(MOST_EDGES, possible)):
        worth = _worth(fit, k, ground.table.weight, edges)
        promised = sum(max(gain, 0.0) for gain, _ in worth)
        near = max((gain for gain, _ in worth), default=-math.inf)
        if near < -NEAR or ground.to_beat - value > HOPELESS * promised + NEAR:
            return
        edges.append(max(worth)[1])
        fit = _climbed(ground.table, ground.alpha, with_edges(base, edges), fit)
        grown = _evidence(fit) + log_weight(len(edges), possible)
        if not grown > value:
            return
        value, named = grown, tuple(":".join(edge) for edge in edges)
        yield Alternative(Departure.EDGES, k, value - ground.to_beat, edges=named)


def _worth(fit: Fit, k: int, cases: float, there: list[Edge]) -> list[tuple[float, Edge]]:
    """What each pair of answers would gain by an edge, about: half of X², less its price by BIC."""
    network = fit.problem.network
    names = [network.variables[i].name for i in network.shown]

    def edge(pair: PairResidual) -> Edge:
        one, other = sorted((pair.first, pair.second), key=names.index)
        return one, other

    pairs = bivariate_residuals(fit.model, fit.problem.codes, fit.problem.counts)
    price = 0.5 * k * math.log(max(cases, 2.0))
    found = [(0.5 * pair.x2 - price * pair.df, edge(pair)) for pair in pairs if pair.df]
    return [(gain, e) for gain, e in found if e not in there and math.isfinite(gain)]


def _with_covariance(ground: Ground) -> Iterator[Alternative]:
    """Let all numbers vary together within few classes."""
    if ground.numbers.covariance != Covariance():
        return
    blocks = widest_block(ground.table)
    if not blocks or len(blocks[0]) > WIDEST:
        return
    best, numbers = -math.inf, replace(ground.numbers, covariance=Covariance(named=blocks))
    leaves = leaves_of(ground.table, numbers)
    for k in [k for k in ground.fits if k <= MOST_CLASSES]:
        network = over_leaves(leaves, k)
        problem = build_problem(ground.table, network, dirichlet(network, ground.alpha))
        options = replace(ground.fits[k].options, starts=STARTS)
        value = _evidence(learn(problem, options))
        yield Alternative(Departure.COVARIANCE, k, value - ground.to_beat)
        if value < best:
            return
        best = max(best, value)


def _with_shape(ground: Ground) -> Iterator[Alternative]:
    """Let numbers be skewed and have heavy tails within few classes."""
    problem = shaped_problem(ground.fits[min(ground.fits)].problem)
    if problem is None:
        return
    chosen = ground.fits[ground.chosen]
    (shares,) = chosen.problem.about_hidden(chosen.model.theta)
    coarser = {R.shape[1]: R for R in merged(shares, problem, 1)}
    best = -math.inf
    for k in [k for k in ground.fits if k <= MOST_CLASSES]:
        own = ground.fits[k]
        (R,) = own.problem.about_hidden(own.model.theta)
        found = problem.fitted([R, coarser[k]] if k < ground.chosen else [R])
        if found is None or found.log_evidence < best:
            return
        best = found.log_evidence
        skewed = tuple(name for name, e in found.skewness.items() if abs(e) > BENT)
        heavy = tuple(name for name, d in found.tails.items() if d < HEAVY)
        factor = found.log_evidence - ground.to_beat
        yield Alternative(Departure.SHAPE, k, factor, skewed=skewed, heavy=heavy)


TRIED: dict[Departure, Callable[[Ground], Iterator[Alternative]]] = {
    Departure.EDGES: _with_effects,
    Departure.COVARIANCE: _with_covariance,
    Departure.SHAPE: _with_shape,
    Departure.TRAIT: _trait,
}
