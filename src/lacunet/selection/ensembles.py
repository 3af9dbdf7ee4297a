"""Stacks and cell stacks: models whose weights maximise the log-likelihood of held-out data.

A stack predicts whole rows, and rows are held out. A cell stack imputes missing values, and cells
are hidden: each model predicts them from the rest of the row. A model that memorises rows predicts
seen rows well and hidden cells badly, so the weights of a cell stack do not depend on the row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from lacunet.data.table import Table
from lacunet.deprecation import renamed
from lacunet.evidence.roundings import nearest_whole
from lacunet.flags import Flag
from lacunet.inference.problem import build_problem
from lacunet.inference.queries.answers import row_log_lik
from lacunet.inference.sampling.particles import Draws
from lacunet.models import conjugacy
from lacunet.models.ensemble import Ensemble, Member
from lacunet.models.network import Model
from lacunet.runtime.arrays import CodeArray, FloatArray
from lacunet.runtime.checkpoint import NULL_CHECKPOINT, Checkpoint
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.selection.held_out import HeldOut, HeldOutRows, hold_out_rows, places, rows_digest
from lacunet.selection.recipes import ImputerKind, Recipe, StackKind, stacked
from lacunet.structure.task import check_seen, few_rows
from lacunet.tabular import Columns, Grid, Printable, described, number

FOLDS = 5
HIDDEN_CELLS = "hidden cells"


@dataclass(frozen=True)
class Weighing:
    """Settings of the weights of an ensemble."""

    # Pseudo-cases, shared evenly: a rare row may be possible only under a model of little weight.
    prior: float = 1.0
    steps: int = 2_000  # of EM, which is slow only if models are alike and weights hardly matter
    small: float = 1e-7  # nats per case that the last step gains at most
    least: float = 0.02  # weight in a cell stack from which a model is learned from the whole table
    resampled: float = (
        0.3  # of the weight of a graph in a cell stack, shared by its bootstrap graphs
    )
    sweeps: int = 30  # burn-in of a chain of parameters: missing values are weakly coupled
    shown: float = 0.01  # least weight of a member in the printed table


WEIGHING = Weighing()


def stack_weights(log_lik: FloatArray, counts: FloatArray) -> FloatArray:
    """Maximise the held-out log-likelihood over the weights, (members,), by EM.

    `log_lik` is (members, cases), `counts` (cases,): Σ_n counts_n log Σ_m w_m p_mn is concave in w.

    >>> stack_weights(np.log([[0.9, 0.9], [0.1, 0.1]]), np.array([50.0, 50.0])).round(2)
    array([0.99, 0.01])
    """
    share = WEIGHING.prior / len(log_lik)
    weights, before = np.full(len(log_lik), 1.0 / len(log_lik)), -np.inf
    for _ in range(WEIGHING.steps):
        joint = log_lik + np.log(weights)[:, None]
        rows = logsumexp(joint, axis=0)
        value = float(counts @ rows + share * np.log(weights).sum())
        if value - before < WEIGHING.small * counts.sum():
            break
        before = value
        members = np.exp(joint - rows) @ counts
        weights = (members + share) / (counts.sum() + WEIGHING.prior)
    return np.asarray(weights)


class LearnedRecipe(NamedTuple):
    """Models of a recipe, learned from one table."""

    models: tuple[Model, ...]
    log_p: FloatArray  # (models, cases) log p(held out | shown)
    resampled: tuple[tuple[Model, ...], ...] = ()  # of the Bayesian bootstrap, for each model


def _learn(seed: int, task: tuple[Recipe, Table | HeldOut]) -> LearnedRecipe:
    """Learn a recipe from a table, or from a training part and score its held-out part."""
    recipe, given = task
    if isinstance(given, Table):
        models = recipe.learn(given, seed)
        return LearnedRecipe(models, np.zeros((len(models), 0)), recipe.resampled(given, seed))
    models = recipe.learn(given.table, seed)
    log_p = np.stack([row_log_lik(model, given.whole) for model in models])
    if given.shown is not None:
        log_p = log_p - np.stack([row_log_lik(model, given.shown) for model in models])
    return LearnedRecipe(models, log_p)


def _learn_all(
    recipes: Sequence[Recipe],
    given: Sequence[Table | HeldOut],
    seed: int,
    executor: Executor,
    checkpoint: Checkpoint = NULL_CHECKPOINT,
) -> list[list[LearnedRecipe]]:
    """Learn every recipe from each of the tables, one list for each table."""
    tasks = [(recipe, one) for one in given for recipe in recipes]
    learned = checkpoint.map(partial(_learn, seed), tasks, executor, name="model")
    return [learned[i : i + len(recipes)] for i in range(0, len(tasks), len(recipes))]


def _held_out(
    folds: Sequence[Sequence[LearnedRecipe]], held_out: Sequence[HeldOut]
) -> tuple[FloatArray, FloatArray]:
    """Log p of each held-out case by each model, (models, cases), and the weights of cases."""
    log_p = [np.vstack([one.log_p for one in fold]) for fold in folds]
    return np.hstack(log_p), np.concatenate([one.counts for one in held_out])


def _log_mixture(log_p: FloatArray, weights: FloatArray) -> FloatArray:
    """Log p of each case under the mixture of all models, (cases,)."""
    with np.errstate(divide="ignore"):
        return np.asarray(logsumexp(log_p + np.log(weights)[:, None], axis=0))


# Stacks: rows are held out


@dataclass(frozen=True, eq=False, repr=False)
class Stack(Printable):
    """Models that predict rows together, and the held-out log-likelihood of each."""

    KEYS = "folds in_order flags held_out_log_likelihood=together"

    ensemble: Ensemble
    held_out: FloatArray  # (members,) mean log p of held-out rows, nats per case
    together: float  # the same of their mixture
    folds: int
    in_order: bool  # whether folds were blocks of rows; else random cases
    held_out_rows: HeldOutRows  # rows of the data, by models that were learned without them
    flags: tuple[Flag, ...] = ()

    own = renamed("own", "held_out_rows")

    def tidy(self) -> Columns:
        """Return a row for each model."""
        return {**self.ensemble.tidy(), "nats_per_row": self.held_out.tolist()}

    def to_dict(self) -> dict[str, Any]:
        """Give the document of `--json`, with the weight of each model."""
        each = zip(self.ensemble.members, self.held_out.tolist(), strict=True)
        members = [
            {"name": m.name, "weight": m.weight, "held_out_log_likelihood": x} for m, x in each
        ]
        return described(self, self.KEYS, members=members)

    def grids(self) -> Sequence[Grid]:
        each = zip(self.ensemble.members, self.held_out, strict=True)
        ranked = sorted(each, key=lambda one: -one[0].weight)
        rows = tuple(
            (member.name, f"{member.weight:.2f}", number(value))
            for member, value in ranked
            if member.weight >= WEIGHING.shown
        )
        held_out = "rows that follow each other" if self.in_order else "cases at random"
        best = number(float(self.held_out.max()))
        notes = (
            f"Held out: {self.folds} times {held_out}. The best single model: {best}.",
            "cases / 4: searched as if there were a quarter of the rows; tables: their prior.",
            f"{len(self.ensemble.members)} models in all; those with little weight are not shown.",
        )
        title = f"held-out rows: {number(self.together)} nats each"
        return (Grid(title, ("model", "weight", "nats per row"), rows, notes=notes),)


def learn_stack(
    table: Table,
    rows: CodeArray | None = None,
    *,
    scored_rows: CodeArray | None = None,
    folds: int = FOLDS,
    only: StackKind | None = None,
    seed: int = 0,
    executor: Executor = SERIAL,
    checkpoint: Checkpoint = NULL_CHECKPOINT,
) -> Stack:
    """Learn a stack; `rows` are those of the table in their order, if they have one.

    `scored_rows` are scored by models that were learned without them, if rows have no order; by
    default they are the distinct rows of the table.
    """
    check_seen(table)
    held_out, in_order = hold_out_rows(table, rows, folds, np.random.default_rng(seed))
    recipes = stacked(table, only)
    names = [name for recipe in recipes for name in recipe.names]
    each = _learn_all(recipes, [*held_out, table], seed, executor, checkpoint)
    log_p, counts = _held_out(each[:-1], held_out)
    weights = stack_weights(log_p, counts)
    *inside, whole = (
        Ensemble(tuple(map(Member, names, weights.tolist(), [m for r in part for m in r.models])))
        for part in each
    )
    if in_order and rows is not None:
        place = np.arange(len(rows))
    elif (scored := scored_rows if rows is None else rows) is None:
        place = np.arange(len(table.codes))
    else:
        place = places(table.codes, scored)
    by_fold = np.split(log_p, np.cumsum([len(one.counts) for one in held_out])[:-1], axis=1)
    share = counts / counts.sum()
    columns = [c.name for c in table.columns], [c.states for c in table.columns]
    return Stack(
        replace(whole, seen=rows_digest(*columns, table.codes)),
        log_p @ share,
        float(share @ _log_mixture(log_p, weights)),
        len(held_out),
        in_order,
        HeldOutRows(tuple(inside), tuple(held_out), tuple(by_fold), place),
        tuple(few_rows(table)),
    )


# Cell stacks: cells are hidden


@dataclass(frozen=True, eq=False, repr=False)
class CellStack(Printable):
    """Models that impute cells together, and the score of each kind on hidden cells."""

    ensemble: Ensemble
    kinds: tuple[ImputerKind, ...]  # of each member
    scores: Mapping[ImputerKind, float]  # mean log p of a hidden cell, by a kind's models; nats
    together: float  # the same by their mixture
    hidden: float  # number of hidden cells
    what: str = HIDDEN_CELLS

    @property
    def weights(self) -> dict[ImputerKind, float]:
        """The weight of each kind; they sum to 1."""
        weights, kinds = self.ensemble.weights, np.array(self.kinds)
        return {kind: float(weights[kinds == kind].sum()) for kind in self.scores}

    @property
    def chosen(self) -> ImputerKind:
        """The kind of largest weight."""
        return max(self.weights, key=self.weights.__getitem__)

    def brief(self) -> str:
        each = ", ".join(f"{kind} {weight:.2f}" for kind, weight in self.weights.items())
        return f"{len(self.kinds)} models ({each}), {number(self.together, 3)} nats each"

    def tidy(self) -> Columns:
        """Return a row for each model."""
        return {**self.ensemble.tidy(), "kind": [kind.value for kind in self.kinds]}

    @property
    def by_kind(self) -> Grid:
        """The score and the weight of each kind."""
        rows = tuple(
            (kind.value, f"{self.weights[kind]:.2f}", number(value, 3))
            for kind, value in self.scores.items()
        )
        title = f"{self.what}: {number(self.together, 3)} nats each"
        note = f"Judged by {self.hidden:,.0f} {self.what}; higher is better."
        return Grid(title, ("models", "weight", "nats each, alone"), rows, notes=(note,))

    def grids(self) -> Sequence[Grid]:
        shares: dict[str, float] = {}  # bootstrap graphs share the line of their graph
        for member in self.ensemble.members:
            shares[member.name] = shares.get(member.name, 0.0) + member.weight
        ranked = sorted(shares.items(), key=lambda one: -one[1])
        members = tuple((name, f"{weight:.2f}") for name, weight in ranked)
        return self.by_kind, Grid("", ("model", "weight"), members)


def learn_cell_stack(
    table: Table,
    recipes: Mapping[ImputerKind, Sequence[Recipe]],
    held_out: Sequence[HeldOut],
    *,
    seed: int = 0,
    executor: Executor = SERIAL,
    what: str = HIDDEN_CELLS,
) -> CellStack:
    """Learn every recipe with cells hidden, and those of enough weight from the whole table."""
    every = [(kind, recipe) for kind, group in recipes.items() for recipe in group]
    models = [(r, n) for r, (_, recipe) in enumerate(every) for n in range(len(recipe.names))]
    folds = _learn_all([recipe for _, recipe in every], held_out, seed, executor)
    hidden = sum(one.hidden for one in held_out)
    log_p, counts = np.zeros((len(models), 0)), np.zeros(0)
    if held_out:
        log_p, counts = _held_out(folds, held_out)

    def mean(which: Sequence[int], weights: FloatArray) -> float:
        total = float(counts @ _log_mixture(log_p[which], weights))
        return total / hidden if hidden else float("nan")

    indices = list(range(len(models)))
    weights = stack_weights(log_p, counts)
    weights = np.where(weights >= min(WEIGHING.least, float(weights.max())), weights, 0.0)
    weights /= weights.sum()
    wanted = sorted({models[m][0] for m in np.flatnonzero(weights).tolist()})
    (last,) = _learn_all([every[r][1] for r in wanted], [table], seed, executor)
    whole = dict(zip(wanted, last, strict=True))
    members = [
        (every[r][0], member)
        for (r, n), weight in zip(models, weights.tolist(), strict=True)
        if weight
        for member in _members(every[r][1].names[n], weight, whole[r], n)
    ]
    kinds, each = zip(*members, strict=True)
    kind_of = [every[r][0] for r, _ in models]
    alone = {k: [m for m in indices if kind_of[m] is k] for k in dict.fromkeys(kind_of)}
    return CellStack(
        Ensemble(each, fixed=True),
        kinds,
        {kind: mean(which, stack_weights(log_p[which], counts)) for kind, which in alone.items()},
        mean(indices, weights),
        hidden,
        what,
    )


def _members(name: str, weight: float, learned: LearnedRecipe, n: int) -> Iterator[Member]:
    """Split the weight of a model between it and the models of its Bayesian bootstrap."""
    others = learned.resampled[n] if learned.resampled else ()
    share = WEIGHING.resampled * weight if others else 0.0
    yield Member(name, weight - share, learned.models[n])
    for other in others:
        yield Member(f"{name}; rows weighed anew", share / len(others), other)


def draw_parameters(
    ensemble: Ensemble, table: Table, number: int, rng: np.random.Generator
) -> tuple[Ensemble, ...]:
    """Draw the parameters of the members from their posterior given the table.

    Data augmentation alternates draws of the missing values and of the parameters. Every chain
    starts at the posterior means, and gives one draw.
    """
    drawn = [_drawn(member.model, table, number, rng) for member in ensemble.members]
    return tuple(
        replace(ensemble, members=tuple(map(_with_parameters, ensemble.members, thetas)))
        for thetas in zip(*drawn, strict=True)
    )


def _with_parameters(member: Member, theta: FloatArray) -> Member:
    return replace(member, model=Model(member.model.network, theta, member.model.alpha))


def _drawn(model: Model, table: Table, chains: int, rng: np.random.Generator) -> list[FloatArray]:
    """θ of each chain, (size,) each."""
    problem = nearest_whole(build_problem(table, model.network, model.alpha))
    draws = Draws(problem, rng)
    natural = np.tile(conjugacy.natural(model.theta, problem.layout), (chains, 1))
    for _ in range(1 if problem.exact else WEIGHING.sweeps):
        natural = draws.natural(problem.prior + draws.hidden(natural))
    return [conjugacy.parameters(one, problem.layout) for one in natural]
