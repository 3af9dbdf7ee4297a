"""Fill in the holes of a table: models that know hidden cells best are learned, and asked."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Unpack

import numpy as np

from lacunet.api.assigning import assignment_of
from lacunet.api.filling import Holes, filled
from lacunet.api.imputed import Imputation
from lacunet.api.inputs import as_table, check_ordered
from lacunet.api.options import StackOptions, divide, with_options
from lacunet.api.pooled import Asked, learn_asked
from lacunet.api.results import Assignment
from lacunet.data import Table
from lacunet.data.frames import in_memory
from lacunet.data.read import read_rows
from lacunet.data.write import column_names, whole_frame
from lacunet.errors import OptionError
from lacunet.runtime.progress import Listener, ignore
from lacunet.selection.ensembles import Pool, draw_parameters
from lacunet.selection.held_out import hide_cells
from lacunet.selection.recipes import imputers
from lacunet.settings import DEFAULTS, Settings

HIDING, DRAWING = 0, 1  # streams of random numbers


@with_options
def impute(
    data: object,
    *,
    model: str = Asked.AUTO.value,
    draw: bool = False,
    imputations: int | None = None,
    settings: Settings = DEFAULTS,
    listener: Listener = ignore,
    **options: Unpack[StackOptions],
) -> Imputation:
    """Fill in the holes of a table, by models that are learned from it.

    Latent class models, networks and latent trees are learned with some cells hidden from them;
    their weights are those that make the hidden cells most probable.

    Parameters
    ----------
    data
        The path of a file, a dataframe or an array: what has an order of rows. Columns that are
        not used (`exclude`, `weights`) stay as they are.
    model
        'auto', or models of one kind alone: 'classes', 'network' or 'tree'.
    draw
        Fill in a draw from what is possible, all of a row together, not what is most probable or
        expected. A number that is drawn is replaced by the value next to it that its column shows;
        one that is expected is rounded to the decimals of the column.
    imputations
        How many completed tables to draw, for multiple imputation. Each has its own draw of the
        parameters from their posterior.
    **options

    Examples
    --------
    >>> import lacunet, polars
    >>> rows = polars.DataFrame({"a": [1, 1, 2, 2] * 9, "b": ["x", "x", "y", None] * 9})
    >>> lacunet.impute(rows, threads=1).filled["b"][:4].to_list()
    ['x', 'x', 'y', 'y']
    """
    settings, reading = divide(settings, options)
    check_ordered(data)
    number = check_imputations(imputations)
    table = as_table(data, reading, numbers=True)
    pool = learn_filling(table, model, settings, listener)
    states = {column.name: column.states for column in table.columns}
    rows = read_rows(data, states, missing=reading.get("missing", ()), kinds=table.kinds)
    X = whole_frame(data) if isinstance(data, str | os.PathLike) else in_memory(data)
    names = column_names(data)
    places = [names.index(column.name) for column in rows.columns]
    holes = Holes(rows, pool.ensemble, places, pool.ensemble.network)
    if number is None and not draw:
        frames: tuple[Any, ...] = (filled(X, holes.most_probable()),)
    else:
        frames = drawn_tables(X, holes, pool, table, number or 1, settings.seed)
    return Imputation(frames, cells_of(holes), pool)


def learn_filling(
    table: Table, model: str, settings: Settings, listener: Listener = ignore
) -> Pool:
    """Learn who fills in the holes of a table."""
    held = hide_cells(table, np.random.default_rng([settings.seed, HIDING]))
    return learn_asked(table, model, partial(imputers, table), held, settings, listener)


def drawn_tables(
    X: Any, holes: Holes, pool: Pool, table: Table, number: int, seed: int
) -> tuple[Any, ...]:
    """Draw completed tables, each with its own draw of the parameters given the table learned."""
    rng = np.random.default_rng([seed, DRAWING])
    told = draw_parameters(pool.ensemble, table, number, rng)
    return tuple(filled(X, holes._replace(speaker=own).drawn(rng)) for own in told)


def cells_of(holes: Holes) -> Assignment:
    """Give what is known of every column with holes."""
    asked = holes.asked
    open_ = {v for j, v in enumerate(asked.network.observed) if holes.open[:, j].any()}
    wanted = [v for v in asked.network.shown if v in open_]
    return assignment_of(asked, holes.rows.codes, wanted)


def check_imputations(number: int | None) -> int | None:
    """Refuse to draw no table at all."""
    if number is not None and number < 1:
        raise OptionError(f"{number} imputations: there must be at least 1.")
    return number
