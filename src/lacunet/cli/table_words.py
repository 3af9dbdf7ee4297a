"""What several commands say of the table that they have read."""

from __future__ import annotations

import shlex
from pathlib import Path

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import say
from lacunet.data import Table, read_table
from lacunet.data.audit import COUNTS, holes, sizes
from lacunet.data.missing_state import has_missing_state
from lacunet.errors import OptionError
from lacunet.model.network import Network


def read(
    data: Path,
    network: Network | None,
    missing: list[str] | None,
    weights: str | None,
    columns: list[str] | None,
    exclude: list[str] | None,
) -> Table:
    """Read the table, for a network if there is one, and say what was read."""
    if network is None:
        table = read_table(data, **o.reading(data, missing, weights, columns, exclude))
    else:
        if columns or exclude:
            raise OptionError(
                "--columns and --exclude have no meaning with a network: it says which columns are "
                "used. Leave them out."
            )
        table = api.table_for(data, network, missing=o.split(missing), weights=weights)
    audit(table)
    return table


def answers(table: Table, missing_as_state: bool) -> None:
    """Say what reading holes as answers means for this table."""
    if not missing_as_state:
        return
    if table.complete:
        say("note: no cell is missing, so --missing-as-state changes nothing.")
        return
    say(
        f"note: a missing cell counts as an answer, in {int((table.missing > 0).sum())} columns. "
        "Log-likelihood and evidence are then about other data, and cannot be compared with those "
        "of a run without --missing-as-state. To compare the two: lacunet compare-missing."
    )


def remind(network: Network, missing_as_state: bool) -> None:
    """Say that a model was fitted to holes as answers, where rows are not read so."""
    has = any(has_missing_state(column) for column in api.observed_columns(network))
    if has and not missing_as_state:
        say(
            "note: the model has states '(missing)', but missing cells are left open. To read them "
            "as that state, give --missing-as-state."
        )


def audit(table: Table) -> None:
    """Say, before the work, what was read."""
    say(f"{table.source}: {sizes(table)}; {holes(table)}")
    for note in table.notes:
        say(f"note: {note}")
    for column in table.columns:
        if table.weights is None and column.name.lower() in COUNTS:
            say(
                f"note: column '{column.name}' is used as a variable. If it says how often a row "
                f"occurs, give --weights {shlex.quote(column.name)}."
            )
