"""Learn models of several kinds from one table, and weigh them by what they say of other rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from lacunet.data.table import Table
from lacunet.flags import Flag
from lacunet.graphs.task import check_seen, few_rows
from lacunet.inference.queries.answers import row_log_lik
from lacunet.model.ensemble import Ensemble, Member
from lacunet.model.network import Model
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray
from lacunet.runtime.checkpoint import FORGETFUL, Kept
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.search.stacking.blocks import Blocks, cut
from lacunet.search.stacking.own_rows import HeldOutRows, places, rows_digest
from lacunet.search.stacking.recipes import Kind, Recipe, recipes_for
from lacunet.search.stacking.weights import stack_weights
from lacunet.tabular import Columns, Grid, Printable, number

FOLDS = 5
SHOWN = 0.01  # weight of a member that a person wants to see


@dataclass(frozen=True, eq=False, repr=False)
class Stack(Printable):
    """Models that speak together, and how well each knew rows that it had not seen."""

    ensemble: Ensemble
    held_out: FloatArray  # (members,) mean log p of held-out rows, nats per case
    together: float  # the same of all of them with their weights
    folds: int
    in_order: bool  # whether folds were rows that follow each other; else cases at random
    own: HeldOutRows  # rows of the data, by models that had not seen them
    flags: tuple[Flag, ...] = ()

    def tidy(self) -> Columns:
        """Give a row for each model."""
        return {**self.ensemble.tidy(), "nats_per_row": self.held_out.tolist()}

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        ranked = sorted(zip(self.ensemble.members, self.held_out, strict=True), key=_by_weight)
        rows = tuple(
            (member.name, f"{member.weight:.2f}", number(value))
            for member, value in ranked
            if member.weight >= SHOWN
        )
        best = float(self.held_out.max())
        held = "rows that follow each other" if self.in_order else "cases at random"
        notes = (
            f"Held out: {self.folds} times {held}. The best single model: {number(best)}.",
            "cases / 4: searched as if there were a quarter of the rows; tables: their prior.",
            f"{len(self.ensemble.members)} models in all; those with little weight are not shown.",
        )
        title = f"held-out rows: {number(self.together)} nats each"
        return (Grid(title, ("model", "weight", "nats per row"), rows, notes=notes),)


def _by_weight(one: tuple[Member, float]) -> float:
    return -one[0].weight


class Told(NamedTuple):
    """Models that were learned, and what they say of rows that were held out."""

    models: tuple[Model, ...]
    held: FloatArray  # (models, rows)


def learn_stack(
    table: Table,
    rows: CodeArray | None = None,
    *,
    own: CodeArray | None = None,
    folds: int = FOLDS,
    only: Kind | None = None,
    seed: int = 0,
    executor: Executor = SERIAL,
    kept: Kept = FORGETFUL,
) -> Stack:
    """Learn a stack; `rows` are those of the table in their order, if they have one.

    `own` are rows of the data to say afterwards how unusual they are; if there are none, and rows
    have no order, these are the distinct rows of the table.
    """
    check_seen(table)
    blocks = cut(table, rows, folds, np.random.default_rng(seed))
    recipes = recipes_for(table, only)
    tasks = [(recipe, block.rest, block.held.codes) for block in blocks.each for recipe in recipes]
    tasks += [(recipe, table, table.codes[:0]) for recipe in recipes]
    told = kept.map(partial(_told, seed), tasks, executor, name="model")
    by_block = [told[first : first + len(recipes)] for first in range(0, len(told), len(recipes))]
    *inside, whole = by_block
    held = np.hstack([np.vstack([one.held for one in block]) for block in inside])
    weights = stack_weights(held, blocks.counts)
    names = [name for recipe in recipes for name in recipe.names]
    models = [model for one in whole for model in one.models]
    ensembles = [
        _ensemble(names, weights, [m for one in block for m in one.models]) for block in inside
    ]
    held_blocks = tuple(block.held for block in blocks.each)
    log_lik = tuple(np.vstack([one.held for one in block]) for block in inside)
    share = blocks.counts / blocks.counts.sum()
    columns = [c.name for c in table.columns], [c.states for c in table.columns]
    return Stack(
        replace(_ensemble(names, weights, models), seen=rows_digest(*columns, table.codes)),
        held @ share,
        float(logsumexp(held + np.log(weights)[:, None], axis=0) @ share),
        len(blocks.each),
        blocks.in_order,
        HeldOutRows(tuple(ensembles), held_blocks, log_lik, _places(table, blocks, rows, own)),
        tuple(few_rows(table)),
    )


def _ensemble(names: Sequence[str], weights: FloatArray, models: Sequence[Model]) -> Ensemble:
    each = zip(names, weights.tolist(), models, strict=True)
    return Ensemble(tuple(Member(*one) for one in each))


def _places(
    table: Table, blocks: Blocks, rows: CodeArray | None, own: CodeArray | None
) -> IntArray:
    """Say which held case each row of the data is."""
    if blocks.in_order and rows is not None:
        return np.arange(len(rows))
    own = rows if rows is not None else own
    return np.arange(len(table.codes)) if own is None else places(table.codes, own)


def _told(seed: int, task: tuple[Recipe, Table, CodeArray]) -> Told:
    recipe, table, rows = task
    models = recipe.learn(table, seed)
    if not len(rows):
        return Told(models, np.zeros((len(models), 0)))
    return Told(models, np.stack([row_log_lik(model, rows) for model in models]))
