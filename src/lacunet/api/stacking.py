"""Ensembles of models, weighted by held-out log-likelihood of rows, cells, or a column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from enum import StrEnum
from functools import partial
from typing import Any

import numpy as np

from lacunet import __version__
from lacunet.api.inputs import as_written, one_of
from lacunet.api.options import PARALLEL, READ, ReadSettings, SettingsLike, divide, with_options
from lacunet.data.read import read_rows
from lacunet.data.reading import Rows
from lacunet.data.table import Table
from lacunet.deprecation import warn_renamed
from lacunet.errors import OptionError
from lacunet.fitting.prepare import prepare
from lacunet.inference.leaves import all_with_values
from lacunet.inference.queries.answers import posterior_of
from lacunet.models.latent_class import latent_class
from lacunet.runtime.arrays import CodeArray, FloatArray
from lacunet.runtime.checkpoint import Checkpoint, fingerprint
from lacunet.runtime.files import StrPath
from lacunet.runtime.processes import on_processes
from lacunet.runtime.progress import Listener, ignore
from lacunet.runtime.states import by_name
from lacunet.selection.ensembles import (
    FOLDS,
    HIDDEN_CELLS,
    CellStack,
    Stack,
    learn_cell_stack,
    learn_stack,
)
from lacunet.selection.held_out import HeldOut, hide_column
from lacunet.selection.recipes import ImputerKind, Recipe, StackKind, classifiers
from lacunet.settings import DEFAULTS, Settings


@with_options(*READ, *PARALLEL, "kinds")
def stack(
    data: object,
    *,
    folds: int = FOLDS,
    only: str | None = None,
    rows: CodeArray | None = None,
    scored_rows: CodeArray | None = None,
    resume: StrPath | None = None,
    settings: SettingsLike = DEFAULTS,
    listener: Listener = ignore,
    **options: Any,
) -> Stack:
    """Stack graphs and latent class models: the weights maximise held-out log-likelihood.

    Use a stack for predictions, imputation and anomalies, not to estimate the graph.
    `found.held_out_rows` scores each row of the data by models learned without it.

    Parameters
    ----------
    data
        A table, or anything that `read_table` reads.
    folds
        Number of blocks to hold out. They are consecutive rows if the data have an order; a
        `Table`, or weighted rows, give random cases.
    only
        'graphs' or 'classes': models of one kind alone.
    rows, scored_rows
        With a `Table`: codes of its ordered rows, if any, and of the rows to score.
    resume
        Checkpoint file of the learned models. If it exists, the run resumes from it.
    settings, listener, **options
        By name, as seed, threads, weights, kinds, or as `ReadSettings`; see `select`.

    Examples
    --------
    >>> import lacunet
    >>> found = lacunet.stack(lacunet.load_dataset("carcinoma"), folds=2)
    >>> max(found.ensemble.members, key=lambda member: member.weight).name
    '4 classes, α = 0.25'
    """
    if "own" in options:
        warn_renamed("`own`", "`scored_rows`")
        scored_rows = options.pop("own")
    settings, reading = divide(settings, options)
    written = as_written(data, reading, numbers=True)
    table, order = written.in_canonical_order, by_name([c.name for c in written.columns])
    rows = rows_in_order(data, written, reading) if rows is None else rows
    scored_rows = rows_to_score(data, written, reading) if scored_rows is None else scored_rows
    rows, scored_rows = None if rows is None else rows[:, order], scored_rows[:, order]
    kind = only and one_of(StackKind, "only", only)
    kwargs: dict[str, Any] = {"folds": folds, "only": kind, "seed": settings.seed}
    about = {**kwargs, "only": only, "version": __version__}
    if resume:
        about |= {"data": table.fingerprint, "rows": fingerprint(rows)}
    workers, opened = on_processes(settings.threads, listener), closing(Checkpoint(resume, about))
    with workers as executor, opened as checkpoint:
        prepare(executor, latent_class([(c.name, c.states) for c in table.columns], 2))
        return learn_stack(
            table, rows, scored_rows=scored_rows, executor=executor, checkpoint=checkpoint, **kwargs
        )


def rows_in_order(data: object, table: Table, reading: ReadSettings) -> CodeArray | None:
    """Give the codes of the rows in their order; None if the order is meaningless."""
    if isinstance(data, Table) or table.weights is not None:
        return None
    return rows_to_score(data, table, reading)


def rows_to_score(data: object, table: Table, reading: ReadSettings) -> CodeArray:
    """Code the rows that a table was read from, in their order; of a table, its distinct rows."""
    if isinstance(data, Table):
        return data.codes
    states = {column.name: column.states for column in table.columns}
    return read_rows(data, states, missing=reading.missing, kinds=table.kinds).codes


# Cells of distinct rows below which starting processes costs more than learning.
ALONE = 2_000


class ModelChoice(StrEnum):
    """Model kinds of an ensemble: all of them, or one."""

    AUTO = "auto"
    CLASSES = ImputerKind.CLASSES.value
    NETWORK = ImputerKind.NETWORK.value
    TREE = ImputerKind.TREE.value


def learn_chosen(
    table: Table,
    model: str,
    recipes_of: Callable[[ImputerKind | None], Mapping[ImputerKind, Sequence[Recipe]]],
    held_out: Sequence[HeldOut],
    settings: Settings,
    listener: Listener,
    what: str = HIDDEN_CELLS,
) -> CellStack:
    """Learn the chosen kinds of models, and weight them by held-out log-likelihood."""
    choice = one_of(ModelChoice, "model", model)
    recipes = recipes_of(None if choice is ModelChoice.AUTO else ImputerKind(choice))
    if not recipes:
        raise OptionError("a latent tree joins three columns or more. Choose another model.")
    workers = 1 if table.codes.size < ALONE else settings.threads
    with on_processes(workers, listener) as executor:
        prepare(executor, latent_class([(c.name, c.states) for c in table.columns], 2))
        return learn_cell_stack(
            table, recipes, held_out, seed=settings.seed, executor=executor, what=what
        )


COLUMN_FOLDS = 4  # of rows, each held out once


def learn_class(
    table: Table, target: str, model: str, settings: Settings, listener: Listener = ignore
) -> CellStack:
    """Learn an ensemble that predicts a column from the others."""
    place = [column.name for column in table.columns].index(target)
    held_out = hide_column(table, place, COLUMN_FOLDS, np.random.default_rng(settings.seed))
    recipes_of = partial(classifiers, table, target)
    return learn_chosen(table, model, recipes_of, held_out, settings, listener, "held-out labels")


def class_probabilities(cell_stack: CellStack, rows: Rows, place: int) -> FloatArray:
    """p(class | observed cells), (rows, classes); `place` of the class among the columns."""
    codes: CodeArray = np.insert(rows.codes, place, -1, axis=1)
    predictive = all_with_values(cell_stack.ensemble, rows.columns)
    (p,) = posterior_of(predictive, codes, [(predictive.network.observed[place],)])
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def with_prior(p: FloatArray, old: FloatArray, new: FloatArray) -> FloatArray:
    """Shift class probabilities (rows, classes) from the class prior `old` to `new`.

    The likelihoods p(row | class) stay the same.

    >>> with_prior(np.array([[0.5, 0.5]]), np.array([0.8, 0.2]), np.array([0.5, 0.5])).tolist()
    [[0.2, 0.8]]
    """
    shifted = p * np.divide(new, old, out=np.zeros_like(new), where=old > 0)
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
