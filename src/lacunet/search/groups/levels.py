"""Answers that are equal in all groups, in part, or free: each fitted, classes in one order."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from lacunet.describe.matching import matched_fit
from lacunet.executor import Executor
from lacunet.inference.problem import Problem, problem_of_codes
from lacunet.learn.also_from import climbed_from
from lacunet.learn.fit import Fit, Options, learn
from lacunet.model.conjugacy import mean
from lacunet.model.grouped import Grouped
from lacunet.model.latent_class import with_edges
from lacunet.model.more_parents import with_more_parents
from lacunet.model.network import Model
from lacunet.search.average import Label
from lacunet.search.effects.adding import (
    Edge,
    Trial,
    add_while_it_pays,
    kept_edges,
    price,
    trials_of,
)
from lacunet.search.effects.fitted import Fitted, Workshop
from lacunet.search.groups.alignment import Alignment, aligned


class Level(StrEnum):
    """How far answers are the same in all groups, in the words that the user reads."""

    EQUAL = "equal"
    PARTLY = "partly equal"
    FREE = "free"


@dataclass(frozen=True, eq=False)
class LevelFit:
    """One of the models."""

    level: Level
    grouped: Grouped
    fitted: Fitted


@dataclass(frozen=True, eq=False)
class Levels:
    """The models, and what was tried on the way to them."""

    fits: tuple[LevelFit, ...]  # the narrowest first
    trials: tuple[Trial, ...]  # answers that were set free, one at a time
    alignment: Alignment  # of the free model

    @property
    def prior(self) -> dict[Label, float] | None:
        """Weights of the models before the data; None, where all are the same.

        Items that were searched for are one set of many, and pay for that.
        """
        items, kept = len(self.fits[0].grouped.items), len(kept_edges(self.trials))
        paid = sum(price(there, items) for there in range(kept))
        if not kept:
            return None
        return {
            str(f.level): math.exp(-paid) if f.level is Level.PARTLY else 1.0 for f in self.fits
        }


def fit_levels(workshop: Workshop, grouped: Grouped, named: Sequence[str] | None) -> Levels:
    """Fit answers that are equal, partly equal and free.

    In part: those that are named are free; None: those by which the evidence grows.
    """
    executor, edges = workshop.executor, _edges(grouped)
    equal = replace(workshop, executor=executor.part(0.0, 0.3)).searched(grouped.network)
    one_by_one = replace(workshop, executor=executor.part(0.3, 0.6, "items"))
    if named is None:
        last, trials = add_while_it_pays(one_by_one, equal, partial(_not_free, edges), len(edges))
        some = kept_edges(trials)
    else:
        last, trials = equal, trials_of(one_by_one, equal, edges, len(edges))
        some = [edge for edge in edges if edge[1] in named]
    fits = [LevelFit(Level.EQUAL, grouped, equal)]
    executor.say(Level.PARTLY, 0.6)
    if 0 < len(some) < len(edges):
        network = with_edges(grouped.network, some)
        partly = workshop.searched(network, [equal, last] if last is not equal else [equal])
        like = _like(equal.fit, partly.fit.problem)
        partly = replace(partly, fit=matched_fit(partly.fit, like))
        fits.append(LevelFit(Level.PARTLY, Grouped(network, grouped.group), partly))
    executor.say(Level.FREE, 0.8)
    whole = Grouped(with_edges(grouped.network, edges), grouped.group)
    free = workshop.searched(whole.network, [f.fitted for f in fits], partial(_apart, whole))
    fit, alignment = aligned(free.fit, whole, _like(equal.fit, free.fit.problem))
    fits.append(LevelFit(Level.FREE, whole, replace(free, fit=fit)))
    executor.say("", 1.0)
    return Levels(tuple(fits), tuple(trials), alignment)


def _edges(grouped: Grouped) -> list[Edge]:
    variables = grouped.network.variables
    return [(grouped.variable.name, variables[i].name) for i in grouped.items]


def _not_free(edges: Sequence[Edge], now: Fitted) -> list[Edge]:
    """Edges that a network does not have."""
    network = now.network
    return [
        (one, other)
        for one, other in edges
        if network.index(one) not in network.parents[network.index(other)]
    ]


def _like(fit: Fit, problem: Problem) -> Model:
    """The parameters of a narrower model, as one with more edges has them."""
    theta = with_more_parents(fit.model.theta, fit.problem.layout, problem.layout)
    return Model(problem.network, theta, problem.alpha)


def _apart(grouped: Grouped, problem: Problem, options: Options, executor: Executor) -> Fit:
    """Fit every group by itself, and put what was found together: nothing is shared."""
    groups = range(len(grouped.variable.states))
    each = [
        learn(one_group(grouped, problem, g), options, executor=executor.silent()) for g in groups
    ]
    own = mean(problem.prior, problem.layout)  # of which the sizes of the groups are taken
    theta = grouped.joined([fit.model.theta for fit in each], own)
    return climbed_from(problem, options, theta, each, executor)


def one_group(grouped: Grouped, problem: Problem, g: int) -> Problem:
    """The cases of one group, and its latent class model with the prior that it has there."""
    column = problem.network.observed.index(grouped.group)
    own = problem.codes[:, column] == g
    others = [j for j in range(problem.codes.shape[1]) if j != column]
    codes = problem.codes[own][:, others]
    alpha = grouped.of_group(problem.alpha, g)
    return problem_of_codes(codes.copy(), problem.counts[own], grouped.alone, alpha)
