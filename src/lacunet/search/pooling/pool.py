"""Learn models of several kinds, and weigh them by what they say of cells hidden from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from lacunet.data.table import Table
from lacunet.inference.queries.answers import row_log_lik
from lacunet.model.ensemble import Ensemble, Member
from lacunet.model.network import Model
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.search.pooling.candidates import Kind
from lacunet.search.pooling.trials import Trial
from lacunet.search.stacking.recipes import Recipe
from lacunet.search.stacking.weights import stack_weights
from lacunet.tabular import Columns, Grid, Printable, number

HIDDEN_CELLS = "hidden cells"
DOUBTED = 0.3  # of the weight of a graph: shared by graphs of rows that are weighed anew
LEAST = 0.02  # weight of a model that is worth being learned from the whole table


@dataclass(frozen=True, eq=False, repr=False)
class Pool(Printable):
    """Models that answer together, and how well each kind knew what was hidden from it."""

    ensemble: Ensemble
    kinds: tuple[Kind, ...]  # of each member
    scores: Mapping[Kind, float]  # mean log p of a hidden cell, by the models of a kind; nats
    together: float  # the same by all
    hidden: float  # cells that were hidden
    what: str = HIDDEN_CELLS

    @property
    def weights(self) -> dict[Kind, float]:
        """How much say each kind has; they sum to 1."""
        own = self.ensemble.weights
        told = np.array(self.kinds)
        return {kind: float(own[told == kind].sum()) for kind in self.scores}

    @property
    def chosen(self) -> Kind:
        """The kind with most say."""
        return max(self.weights, key=self.weights.__getitem__)

    def brief(self) -> str:
        """Say who has how much say."""
        told = ", ".join(f"{kind} {weight:.2f}" for kind, weight in self.weights.items())
        return f"{len(self.kinds)} models ({told}), {number(self.together, 3)} nats each"

    def tidy(self) -> Columns:
        """Give a row for each model."""
        return {**self.ensemble.tidy(), "kind": [kind.value for kind in self.kinds]}

    @property
    def by_kind(self) -> Grid:
        """How well each kind did, and how much say it has."""
        rows = tuple(
            (kind.value, f"{self.weights[kind]:.2f}", number(value, 3))
            for kind, value in self.scores.items()
        )
        title = f"{self.what}: {number(self.together, 3)} nats each"
        note = f"Judged by {self.hidden:,.0f} {self.what}; higher is better."
        return Grid(title, ("models", "weight", "nats each, alone"), rows, notes=(note,))

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        shares: dict[str, float] = {}  # graphs of rows weighed anew stand in one line
        for member in self.ensemble.members:
            shares[member.name] = shares.get(member.name, 0.0) + member.weight
        ranked = sorted(shares.items(), key=lambda one: -one[1])
        members = tuple((name, f"{weight:.2f}") for name, weight in ranked)
        return self.by_kind, Grid("", ("model", "weight"), members)


@dataclass(frozen=True, eq=False)
class _Held:
    """What each model of some recipes says of what was hidden in all trials."""

    names: tuple[str, ...]
    recipes: tuple[int, ...]  # which recipe each is of
    log_p: FloatArray  # (models, rows) log p(what was hidden | what was shown)
    counts: FloatArray  # (rows,)
    hidden: float  # cells

    def weights(self, own: Sequence[int]) -> FloatArray:
        """Weights of some of the models, which sum to 1."""
        return stack_weights(self.log_p[own], self.counts)

    def score(self, own: Sequence[int], weights: FloatArray) -> float:
        """Mean log p of a hidden cell by some of the models; NaN if none was hidden."""
        with np.errstate(divide="ignore"):
            found = logsumexp(self.log_p[own] + np.log(weights)[:, None], axis=0)
        return float(self.counts @ found / self.hidden) if self.hidden else float("nan")


def learn_pool(
    table: Table,
    recipes: Mapping[Kind, Sequence[Recipe]],
    trials: Sequence[Trial],
    *,
    seed: int = 0,
    executor: Executor = SERIAL,
    what: str = "hidden cells",
) -> Pool:
    """Learn every recipe from what trials show, and those that are worth it from the table."""
    every = [(kind, recipe) for kind, own in recipes.items() for recipe in own]
    held = _held([recipe for _, recipe in every], trials, seed, executor)
    kinds = [every[r][0] for r in held.recipes]
    alone = {
        kind: [m for m, own in enumerate(kinds) if own is kind] for kind in dict.fromkeys(kinds)
    }
    scores = {kind: held.score(own, held.weights(own)) for kind, own in alone.items()}
    everyone = list(range(len(kinds)))
    weights = _sparse(held.weights(everyone))
    members = _whole(table, every, held, weights, seed, executor)
    return Pool(
        Ensemble(tuple(member for _, member in members), fixed=True),
        tuple(kind for kind, _ in members),
        scores,
        held.score(everyone, weights),
        held.hidden,
        what,
    )


def _sparse(weights: FloatArray) -> FloatArray:
    """Take the say from those that have little of it; the largest keeps it in any case."""
    kept = np.where(weights >= min(LEAST, float(weights.max())), weights, 0.0)
    return np.asarray(kept / kept.sum())


def _held(
    recipes: Sequence[Recipe], trials: Sequence[Trial], seed: int, executor: Executor
) -> _Held:
    tasks = [(recipe, trial) for trial in trials for recipe in recipes]
    told = executor.count(partial(_told, seed), tasks, "model", first=0, total=len(tasks))
    by_trial = [
        np.vstack(told[first : first + len(recipes)]) for first in range(0, len(told), len(recipes))
    ]
    names = tuple(name for recipe in recipes for name in recipe.names)
    of = tuple(r for r, recipe in enumerate(recipes) for _ in recipe.names)
    nothing = np.zeros((len(names), 0))
    return _Held(
        names,
        of,
        np.hstack([nothing, *by_trial]),
        np.concatenate([np.zeros(0), *(trial.counts for trial in trials)]),
        sum(trial.hidden for trial in trials),
    )


def _told(seed: int, task: tuple[Recipe, Trial]) -> FloatArray:
    """Log p(what was hidden | what was shown) of each row, by each model of a recipe."""
    recipe, trial = task
    return np.stack([_conditional(model, trial) for model in recipe.learn(trial.table, seed)])


def _conditional(model: Model, trial: Trial) -> FloatArray:
    return row_log_lik(model, trial.whole) - row_log_lik(model, trial.shown)


def _whole(
    table: Table,
    every: Sequence[tuple[Kind, Recipe]],
    held: _Held,
    weights: FloatArray,
    seed: int,
    executor: Executor,
) -> list[tuple[Kind, Member]]:
    """Learn what has weight from the whole table."""
    wanted = sorted({held.recipes[m] for m in np.flatnonzero(weights).tolist()})
    tasks = [(every[r][1], table) for r in wanted]
    learned = executor.count(partial(_learned, seed), tasks, "model", first=0, total=len(tasks))
    models = dict(zip(wanted, learned, strict=True))
    return list(_members(every, held, weights, models))


class _Learned(NamedTuple):
    """Models of a recipe, learned from the whole table."""

    models: tuple[Model, ...]
    doubt: tuple[tuple[Model, ...], ...]  # what else each might be; or nothing


def _members(
    every: Sequence[tuple[Kind, Recipe]],
    held: _Held,
    weights: FloatArray,
    learned: Mapping[int, _Learned],
) -> Iterator[tuple[Kind, Member]]:
    """Give each model its weight, and some of that to what it might be if the rows were others."""
    for m in np.flatnonzero(weights).tolist():
        r, weight = held.recipes[m], float(weights[m])
        kind, which = every[r][0], m - held.recipes.index(r)
        others = learned[r].doubt[which] if learned[r].doubt else ()
        share = DOUBTED * weight if others else 0.0
        yield kind, Member(held.names[m], weight - share, learned[r].models[which])
        for other in others:
            yield kind, Member(f"{held.names[m]}; rows weighed anew", share / len(others), other)


def _learned(seed: int, task: tuple[Recipe, Table]) -> _Learned:
    recipe, table = task
    return _Learned(recipe.learn(table, seed), recipe.doubt(table, seed))
