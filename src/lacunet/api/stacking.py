"""Several models of one table that speak together, and how probable they find rows."""

from __future__ import annotations

from contextlib import closing
from typing import Any, Unpack

from lacunet import __version__
from lacunet.api.inputs import as_written, asked_speaker, check_ordered, one_of, rows_for
from lacunet.api.options import QueryOptions, ReadOptions, StackOptions, divide, with_options
from lacunet.data import Table
from lacunet.data.read import read_rows
from lacunet.fitting.prepare import prepare
from lacunet.inference.queries.answers import log_lik_of
from lacunet.models.holders import SpeakerLike
from lacunet.models.latent_class import latent_class
from lacunet.runtime.arrays import CodeArray, FloatArray
from lacunet.runtime.checkpoint import Kept, fingerprint
from lacunet.runtime.files import StrPath
from lacunet.runtime.processes import on_processes
from lacunet.runtime.progress import Listener, ignore
from lacunet.runtime.states import by_name
from lacunet.selection.ensembles import FOLDS, Stack, learn_stack
from lacunet.selection.recipes import StackKind
from lacunet.settings import DEFAULTS, Settings


@with_options
def stack(
    data: object,
    *,
    folds: int = FOLDS,
    only: str | None = None,
    rows: CodeArray | None = None,
    own: CodeArray | None = None,
    resume: StrPath | None = None,
    settings: Settings = DEFAULTS,
    listener: Listener = ignore,
    **options: Unpack[StackOptions],
) -> Stack:
    """Learn graphs and latent class models that together say best what other rows are like.

    Each kind is learned with one block of rows held out, for every block; the weights are those
    that make the held-out rows most probable. The answer is for predictions, for holes to be filled
    in and for rows to be judged: it says nothing of which graph is right. Rows of the data
    themselves are judged by `found.own`: each by models that had not seen it.

    Parameters
    ----------
    **data
    folds
        Blocks to hold out, one after the other: rows that follow each other, where the data have an
        order; cases at random, if they are a `Table`, or if each row has a weight.
    only
        'graphs' or 'classes': models of one kind alone.
    rows
        Codes of the rows in their order, if data are a `Table` and they have one.
    own
        Codes of the rows that `found.own` is about, if data are a `Table` and rows have no order.
    resume
        A file that keeps which models are learned. If it is there, the work goes on from it; it may
        be removed at the end.
    **options

    Examples
    --------
    >>> import lacunet
    >>> found = lacunet.stack(lacunet.load_dataset("carcinoma"), folds=2)
    >>> max(found.ensemble.members, key=lambda member: member.weight).name
    '4 classes, α = 0.25'
    """
    settings, reading = divide(settings, options)
    written = as_written(data, reading, numbers=True)
    table = written.in_work_order
    kind = None if only is None else one_of(StackKind, "only", only)
    order = by_name([c.name for c in written.columns])
    rows = rows_in_order(data, written, reading) if rows is None else rows
    if own is None:
        own = written.codes if isinstance(data, Table) else own_rows(data, written, reading)
    rows, own = None if rows is None else rows[:, order], own[:, order]
    about = _about(table, rows, folds, only, settings.seed) if resume else None
    how: dict[str, Any] = {"folds": folds, "only": kind, "seed": settings.seed}
    with (
        on_processes(settings.threads, listener) as executor,
        closing(Kept(resume, about)) as kept,
    ):
        prepare(executor, latent_class([(c.name, c.states) for c in table.columns], 2))
        return learn_stack(table, rows, own=own, executor=executor, kept=kept, **how)


def _about(
    table: Table, rows: CodeArray | None, folds: int, only: str | None, seed: int
) -> dict[str, Any]:
    """Say which work it is: no other may go on from its file."""
    about = {"data": table.fingerprint, "rows": fingerprint(rows), "version": __version__}
    return {**about, "folds": folds, "only": only, "seed": seed}


@with_options
def log_likelihoods(
    data: object,
    model: SpeakerLike,
    *,
    settings: Settings = DEFAULTS,
    **options: Unpack[QueryOptions],
) -> FloatArray:
    """Give log p(what it shows) of every row, in the order of the input, in nats.

    Parameters
    ----------
    data
        The path of a file, a dataframe or an array: what has an order of rows. Columns that it
        lacks are not observed.
    model
        A model, or a stack (its `ensemble`), or the path of its file.
    **options

    Examples
    --------
    >>> import lacunet
    >>> path = lacunet.dataset_path("carcinoma")
    >>> model = lacunet.fit(path, 2, weights="count", starts=4).model
    >>> lacunet.log_likelihoods(path, model)[:2].round(1)
    array([-1.6, -3.1])
    """
    settings, reading = divide(settings, options)
    given = asked_speaker(model, settings)
    check_ordered(data)
    return log_lik_of(*rows_for(data, given, reading))


def rows_in_order(data: object, table: Table, reading: ReadOptions) -> CodeArray | None:
    """Give the codes of the rows in their order, where that may mean something."""
    if isinstance(data, Table) or table.weights is not None:
        return None
    return own_rows(data, table, reading)


def own_rows(data: object, table: Table, reading: ReadOptions) -> CodeArray:
    """Give the codes of the rows that a table was read from, in their order."""
    states = {column.name: column.states for column in table.columns}
    missing = reading.get("missing", ())
    return read_rows(data, states, missing=missing, kinds=table.kinds).codes
