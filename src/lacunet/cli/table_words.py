"""What several commands read, and what they say of it."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from lacunet import api
from lacunet.cli.console import say
from lacunet.cli.options import Asked
from lacunet.data import Table
from lacunet.data.audit import COUNTS, holes, kinds_grid, sizes
from lacunet.data.missing_state import has_missing_state
from lacunet.data.no_answers import WARNING
from lacunet.errors import OptionError
from lacunet.model.network import Network
from lacunet.search.proposals import check_states
from lacunet.settings import Settings


def network_of(file: Path | None, hidden: dict[str, int | None]) -> Network | None:
    """Read a network and declare variables hidden; None for a latent class model."""
    if file is not None:
        return api.as_network(file, hidden)
    if hidden:
        raise OptionError("--hidden names variables of a network. Give the network: --network.")
    return None


def check_one_model(states: int | None, file: Path | None) -> None:
    """Refuse a number of classes and a network, neither of them, and no class at all."""
    if (states is None) == (file is None):
        raise OptionError("give --classes for a latent class model, or --network; one of the two.")
    if states is not None and states < 1:
        raise OptionError(f"--classes {states}: there must be at least 1.")


def read(data: Path, network: Network | None, asked: Asked, states: int | None = None) -> Table:
    """Read the table, for a network if there is one, and say what was read.

    Warn of a number of states that it can hardly have.
    """
    reading = asked.reading
    if network is None:
        table = api.as_table(data, reading, numbers=True)
    else:
        table = api.table_for(data, network, reading, numbers=True)
    audit(table)
    if asked.settings.missing_as_state:
        _answers(table)
    if states is not None:
        doubt([states], table)
    return table


def doubt(states: Sequence[int], table: Table) -> None:
    """Warn of numbers of states that the table can hardly have."""
    for warning in check_states(states, table):
        say(f"warning: {warning}")


def _answers(table: Table) -> None:
    """Say what reading holes as answers means for this table."""
    if table.complete:
        say("note: no cell is missing, so --missing-as-state changes nothing.")
        return
    say(
        f"note: a missing cell counts as an answer, in {int((table.missing > 0).sum())} columns. "
        "Log-likelihood and evidence are then about other data, and cannot be compared with those "
        "of a run without --missing-as-state. To compare the two: lacunet compare-missing."
    )


def remind(network: Network, settings: Settings) -> None:
    """Say that a model was fitted to holes as answers, where rows are not read so."""
    has = any(has_missing_state(column) for column in api.observed_columns(network))
    if has and not settings.missing_as_state:
        say(
            "note: the model has states '(missing)', but missing cells are left open. To read them "
            "as that state, give --missing-as-state."
        )


def say_not_shown(data: Path, network: Network) -> None:
    """Say which variables of a model no column shows, and which columns are not used."""
    for note in api.notes_on_columns(data, network):
        say(f"note: {note}")


def audit(table: Table) -> None:
    """Say, before the work, what was read."""
    say(f"{table.source}: {sizes(table)}; {holes(table)}")
    if any(column.why for column in table.columns):
        say(kinds_grid(table).text())
    for note in table.notes:
        say(note if note.startswith(WARNING) else f"note: {note}")
    for column in table.columns:
        if table.weights is None and column.name.lower() in COUNTS:
            say(
                f"note: column '{column.name}' is used as a variable. If it says how often a row "
                f"occurs, give --weights {shlex.quote(column.name)}."
            )
