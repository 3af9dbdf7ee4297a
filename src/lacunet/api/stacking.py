"""Several models of one table that speak together, and how probable they find rows."""

from __future__ import annotations

from typing import Unpack

from lacunet.api.inputs import SpeakerLike, as_table, asked_speaker, check_ordered, one_of, rows_for
from lacunet.api.options import QueryOptions, ReadOptions, StackOptions, divide, with_options
from lacunet.arrays import CodeArray, FloatArray
from lacunet.data import Table
from lacunet.data.read import read_rows
from lacunet.inference.asking.ensemble import log_lik_of
from lacunet.learn.prepare import prepare
from lacunet.model.latent_class import latent_class
from lacunet.processes import on_processes
from lacunet.progress import Listener, ignore
from lacunet.search.stacking.recipes import Kind
from lacunet.search.stacking.stack import FOLDS, Stack, learn_stack
from lacunet.settings import DEFAULTS, Settings


@with_options
def stack(
    data: object,
    *,
    folds: int = FOLDS,
    only: str | None = None,
    rows: CodeArray | None = None,
    settings: Settings = DEFAULTS,
    listener: Listener = ignore,
    **options: Unpack[StackOptions],
) -> Stack:
    """Learn graphs and latent class models that together say best what other rows are like.

    Each kind is learned with one block of rows held out, for every block; the weights are those
    that make the held-out rows most probable. The answer is for predictions, for holes to be filled
    in and for rows to be judged: it says nothing of which graph is right.

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
    **options

    Examples
    --------
    >>> import lacunet
    >>> found = lacunet.stack(lacunet.load_dataset("carcinoma"), folds=2)
    >>> max(found.ensemble.members, key=lambda member: member.weight).name
    '4 classes, α = 0.25'
    """
    settings, reading = divide(settings, options)
    table = as_table(data, reading, numbers=True)
    kind = None if only is None else one_of(Kind, "only", only)
    ordered = rows_in_order(data, table, reading) if rows is None else rows
    with on_processes(settings.threads, listener) as executor:
        prepare(executor, latent_class([(c.name, c.states) for c in table.columns], 2))
        return learn_stack(
            table, ordered, folds=folds, only=kind, seed=settings.seed, executor=executor
        )


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
    states = {column.name: column.states for column in table.columns}
    missing = reading.get("missing", ())
    return read_rows(data, states, missing=missing, kinds=table.kinds).codes
