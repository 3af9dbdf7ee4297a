"""Latent classes in groups, with item probabilities equal in all groups, partly equal, or free.

Each model is fitted, and its classes are numbered so that those of all groups match.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, partial

import numpy as np

from lacunet.fitting.fit import Fit, Options, learn
from lacunet.fitting.maxima import BOTH
from lacunet.fitting.neighbours import climbed_from
from lacunet.flags import Flag, Kind
from lacunet.inference.problem import Problem, problem_of_codes
from lacunet.models.conjugacy import mean
from lacunet.models.known import Relabelling
from lacunet.models.latent_class import Grouped, with_edges
from lacunet.models.layout import with_more_parents
from lacunet.models.network import Model
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import Executor
from lacunet.selection.average import Label, log_weight
from lacunet.selection.candidates import Candidate
from lacunet.selection.effects import (
    Edge,
    NestedFitter,
    Trial,
    stepwise_edges,
    trials_of,
)
from lacunet.summaries.matching import (
    cheapest_order,
    matched_fit,
    profile_distances,
    relabelled_fit,
)

CLEAR = 0.5  # of the distance to the next class, above which a match is doubtful


@dataclass(frozen=True, eq=False)
class Alignment:
    """Distances of the classes of each group from those of the reference, after matching.

    A distance is 0 for equal answer probabilities, and 1 if no answer occurs in both classes.
    """

    group: str  # name of the column
    groups: tuple[str, ...]
    reference: int  # the group with which the others are compared
    distances: FloatArray  # (groups, K, K) of a class of the reference (rows) and one of the group

    @property
    def matched(self) -> FloatArray:
        """(groups, K) distance of each class from that of the same number in the reference."""
        return self.distances.diagonal(axis1=1, axis2=2)

    @property
    def convincing(self) -> bool:
        """Whether every class has a clear match in every group."""
        return not any(self.flags())

    def flags(self) -> Iterator[Flag]:
        """Flag the classes without a clear match in the reference."""
        K = self.distances.shape[1]
        for g, group in enumerate(self.groups):
            for k in range(K if g != self.reference and K > 1 else 0):
                near = float(self.matched[g, k])
                others = np.where(np.arange(K) == k, np.inf, self.distances[g, :, k])
                other = int(np.argmin(others))
                if near > CLEAR * others[other]:
                    detail: dict[str, str | float] = {
                        "group": group,
                        "reference": self.groups[self.reference],
                        "number": k + 1,
                        "other": other + 1,
                        "near": near,
                        "next": float(others[other]),
                    }
                    yield Flag(Kind.NO_CLEAR_MATCH, detail=detail)


def aligned(fit: Fit, grouped: Grouped, like: Model) -> tuple[Fit, Alignment]:
    """Match the classes of every group to those of the largest group, and these to a model.

    `fit` has free items, so that each group can be relabelled; `like` has the same network.
    """
    layout, groups = fit.problem.layout, grouped.variable.labels
    reference = int(np.argmax(layout.table(fit.point.N, grouped.group)))

    def alone(model: Model, g: int) -> Model:
        """The latent class model of one group."""
        parts = grouped.of_group(model.theta, g), grouped.of_group(model.alpha, g)
        return Model(grouped.alone, *parts)

    def distances(g: int) -> FloatArray:
        return profile_distances(target, alone(fit.model, g), grouped.alone.hidden[0])

    target = alone(like, reference)
    for g in (reference, *(g for g in range(len(groups)) if g != reference)):
        orders = {grouped.root: cheapest_order(distances(g).T)}
        fit = relabelled_fit(fit, Relabelling(layout, orders=orders, within={grouped.group: g}))
        target = alone(fit.model, reference)
    each = np.array([distances(g) for g in range(len(groups))])
    return fit, Alignment(grouped.variable.name, groups, reference, each)


class Level(StrEnum):
    """Level of measurement invariance, as shown to the user."""

    EQUAL = "equal"
    PARTLY = "partly equal"
    FREE = "free"


@dataclass(frozen=True, eq=False)
class LevelFit:
    """The fit of one level."""

    level: Level
    grouped: Grouped
    fitted: Candidate


@dataclass(frozen=True, eq=False)
class LevelFits:
    """The fits of all levels, and of the other sets of free items that a search visited."""

    fits: tuple[LevelFit, ...]  # the narrowest first
    sets: Mapping[tuple[str, ...], Candidate]  # every set of free items that was fitted
    trials: tuple[Trial, ...]  # items that were set free, one at a time
    alignment: Alignment  # of the free model
    named: bool  # whether the user named the free items of the partly equal model

    @property
    def partly(self) -> LevelFit | None:
        """The partly equal model that is shown; None for a single item."""
        return next((f for f in self.fits if f.level is Level.PARTLY), None)

    @property
    def others(self) -> list[tuple[str, ...]]:
        """Sets of free items that were fitted besides those of `fits`."""
        shown = {f.grouped.free for f in self.fits}
        return [names for names in self.sets if names not in shown]

    @property
    def prior(self) -> dict[Label, float] | None:
        """Prior weights of the models; None if they are equal.

        A set of free items that was searched for shares its weight with other sets; a named set
        does not.
        """
        if self.named or self.partly is None:
            return None
        weight = self._weight(self.partly.grouped.free)
        return {str(f.level): weight if f.level is Level.PARTLY else 1.0 for f in self.fits}

    @cached_property
    def set_weights(self) -> dict[tuple[str, ...], float]:
        """Prior times evidence of each fitted partly equal model, relative to that shown."""
        if self.partly is None:
            return {}
        shown, names = self.partly.fitted, self.partly.grouped.free
        weights = {names: 1.0 if self.named else self._weight(names)}
        for other in self.others:
            factor = self.sets[other].approximation - shown.approximation
            if math.isfinite(factor):
                weights[other] = math.exp(factor + log_weight(len(other), self._items))
        return weights

    def names(self, fitted: Candidate) -> tuple[str, ...]:
        """Return the free items of a fit, in the order of the table."""
        return _free(self.fits[0].grouped, fitted)

    def _weight(self, names: tuple[str, ...]) -> float:
        return math.exp(log_weight(len(names), self._items))

    @property
    def _items(self) -> int:
        return len(self.fits[0].grouped.items)


def fit_levels(fitter: NestedFitter, grouped: Grouped, named: Sequence[str] | None) -> LevelFits:
    """Fit models with equal, partly equal and free items.

    The free items of the second are `named`; None: the most probable set of a search.
    """
    executor, network = fitter.executor, grouped.network
    edges = [(grouped.variable.name, network.variables[i].name) for i in grouped.items]
    equal = replace(fitter, executor=executor.part(0.0, 0.3)).searched(network)
    stepwise = replace(fitter, executor=executor.part(0.3, 0.6, "items"))
    if named is None:
        _, trials = stepwise_edges(stepwise, equal, partial(_not_free, edges), len(edges))
    else:
        trials = trials_of(stepwise, equal, edges, len(edges))
    sets = _best_by_set(grouped, trials)
    fits = [LevelFit(Level.EQUAL, grouped, equal)]
    shown = _most_probable(sets, len(edges)) if named is None else named
    executor.report(Level.PARTLY, 0.6)
    if 0 < len(shown) < len(edges):
        some = Grouped(with_edges(network, [e for e in edges if e[1] in shown]), grouped.group)
        known = [sets[some.free]] if some.free in sets else []
        partly = fitter.searched(some.network, [equal, *known])
        fit = matched_fit(partly.fit, _widened(equal.fit, partly.fit.problem))
        fits.append(LevelFit(Level.PARTLY, some, replace(partly, fit=fit)))
    executor.report(Level.FREE, 0.8)
    whole = Grouped(with_edges(network, edges), grouped.group)
    free = fitter.searched(whole.network, [f.fitted for f in fits], partial(_fit_each_group, whole))
    fit, alignment = aligned(free.fit, whole, _widened(equal.fit, free.fit.problem))
    fits.append(LevelFit(Level.FREE, whole, replace(free, fit=fit)))
    executor.report("", 1.0)
    sets |= {f.grouped.free: f.fitted for f in fits}
    same = [  # tables show one fit of each model, which may be that of another trial
        replace(t, before=sets[_free(grouped, t.before)], after=sets[_free(grouped, t.after)])
        for t in trials
    ]
    return LevelFits(tuple(fits), sets, tuple(same), alignment, named is not None)


def _free(grouped: Grouped, fitted: Candidate) -> tuple[str, ...]:
    return Grouped(fitted.network, grouped.group).free


def _best_by_set(grouped: Grouped, trials: Sequence[Trial]) -> dict[tuple[str, ...], Candidate]:
    """Return the best fit of every set of free items that was tried."""
    best: dict[tuple[str, ...], Candidate] = {}
    for fitted in (f for trial in trials for f in (trial.before, trial.after)):
        names = _free(grouped, fitted)
        if names not in best or fitted.approximation > best[names].approximation:
            best[names] = fitted
    return best


def _most_probable(sets: Mapping[tuple[str, ...], Candidate], items: int) -> tuple[str, ...]:
    """Return the most probable proper subset of items; empty if none was tried."""
    some = {
        names: fitted.approximation + log_weight(len(names), items)
        for names, fitted in sets.items()
        if 0 < len(names) < items and math.isfinite(fitted.approximation)
    }
    return max(some, key=lambda names: some[names], default=())


def _not_free(edges: Sequence[Edge], now: Candidate) -> list[Edge]:
    """Edges that are missing in a network."""
    network = now.network
    return [e for e in edges if network.index(e[0]) not in network.parents[network.index(e[1])]]


def _widened(fit: Fit, problem: Problem) -> Model:
    """The parameters of a narrower model, in a network with more edges."""
    theta = with_more_parents(fit.model.theta, fit.problem.layout, problem.layout)
    return Model(problem.network, theta, problem.alpha)


def _fit_each_group(
    grouped: Grouped, problem: Problem, options: Options, executor: Executor
) -> Fit:
    """Fit every group by itself and join the parameters, because nothing is shared."""
    silent = executor.silent()
    each = [
        learn(_one_group(grouped, problem, g), options, executor=silent, ranks=BOTH)
        for g in range(len(grouped.variable.states))
    ]
    sizes = mean(problem.prior, problem.layout)  # the sizes of the groups are taken from these

    def joined(fits: Sequence[Fit]) -> Fit:
        theta = grouped.joined([fit.model.theta for fit in fits], sizes)
        return climbed_from(problem, options, theta, fits, executor)

    modes = joined([fit.for_scores for fit in each])
    return replace(joined(each), largest_mass=modes)


def _one_group(grouped: Grouped, problem: Problem, g: int) -> Problem:
    """The problem of one group: its cases, and its latent class model with its prior."""
    column = problem.network.observed.index(grouped.group)
    in_group = problem.codes[:, column] == g
    codes = np.delete(problem.codes[in_group], column, axis=1)
    alpha = grouped.of_group(problem.alpha, g)
    return problem_of_codes(codes, problem.counts[in_group], grouped.alone, alpha)
