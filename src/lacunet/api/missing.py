"""Holes as answers: reading tables so, and comparing the two readings."""

from __future__ import annotations

from typing import Any

from lacunet.api.engine import at_work
from lacunet.api.inputs import Hidden, as_table, as_written, table_for
from lacunet.api.options import LEARN, READ, ReadSettings, SettingsLike, divide, with_options
from lacunet.api.structure import table_and_structure
from lacunet.data.table import Table
from lacunet.data.transform import has_missing_state, with_missing_states
from lacunet.data.transform import missing_as_state as as_state
from lacunet.fitting.prepare import prepare
from lacunet.models.ensemble import NetworkLike
from lacunet.models.network import Network
from lacunet.models.surgery import with_observed_states
from lacunet.runtime.progress import Listener, ignore
from lacunet.scores import HEADLINE
from lacunet.selection.hole_readings import MissingComparison, compare_readings
from lacunet.settings import Settings

ONE_SCORE = Settings(scores=HEADLINE.name)  # many candidates, and one question


@with_options(*READ)
def missing_as_state(data: object, **options: Any) -> Table:
    """Give a table in which a hole is a state of its own, '(missing)', of every column with holes.

    Its evidence cannot be compared with that of the table with holes: it is about more data, for
    it says which cells are missing. `compare_missing` compares the two.

    Parameters
    ----------
    data
        Anything that `read_table` reads, or a table.
    **options
        As for `read_table`.

    Examples
    --------
    >>> import numpy as np
    >>> table = missing_as_state(np.array([[0.0, 1.0], [1.0, np.nan], [np.nan, 0.0]]))
    >>> [column.states for column in table.columns]
    [(0, 1, '(missing)'), (0, 1, '(missing)')]
    """
    return as_state(as_written(data, ReadSettings(**options), numbers=isinstance(data, Table)))


@with_options(*LEARN, "scores")
def compare_missing(
    data: object,
    states: int | None = None,
    *,
    network: NetworkLike | None = None,
    hidden: Hidden = (),
    both_ways: bool = False,
    settings: SettingsLike = ONE_SCORE,
    listener: Listener = ignore,
    **options: Any,
) -> MissingComparison:
    """Missing at random, or missing as an answer? The Bayes factor, overall and by column.

    Both readings are models of the values *and* of which cells are missing: at random, a cell of a
    column is missing with the same probability in every class; as an answer, with one for each.

    Parameters
    ----------
    data
        A table with holes, or anything that `read_table` reads.
    states
        Number of classes of a latent class model, at least 2.
    network, hidden
        Instead: a network with one hidden variable.
    both_ways
        Also compare, for each column, whether its holes go with the classes when all others do.
    settings, listener, **options
        Settings by name, as alpha, starts, seed, threads, scores, or as objects of `ReadSettings`,
        `SearchSettings` and `ComputeSettings`; see `select`.
    """
    settings, reading = divide(settings, options)
    table, structure = table_and_structure(data, states, network, hidden, reading)
    with at_work(settings, listener) as engine:
        executor = engine.executor
        prepare(executor, structure)
        return compare_readings(
            table,
            structure,
            scores=settings.chosen_scores,
            options=settings.options,
            alpha=settings.alpha,
            both_ways=both_ways,
            executor=executor,
        )


def with_answers(table: Table, *networks: Network) -> tuple[Table, list[Network]]:
    """Make holes states, in a table and in the networks that are to be fitted to it."""
    answered = as_state(table)
    states = {c.name: c.states for c in answered.columns}
    return answered, [with_observed_states(network, states) for network in networks]


def table_with_model(
    data: object,
    network: Network,
    settings: Settings,
    reading: ReadSettings,
    *,
    numbers: bool = False,
) -> Table:
    """Read a table for a fitted network; holes are what they were when it was fitted."""
    if not settings.missing_as_state:
        return table_for(data, network, reading, numbers=numbers)
    if isinstance(data, Table):
        table = as_table(data, reading)
        known = any(has_missing_state(column) for column in table.columns)
        return with_missing_states(table) if known else as_state(table)
    return with_missing_states(table_for(data, network, reading))
