"""What several commands read, and what they say of it."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from lacunet import api
from lacunet.api.structure import Structured
from lacunet.cli.console import say
from lacunet.cli.options import Request
from lacunet.data import Table
from lacunet.data.audit import COUNTS, WARNING, holes, kinds_grid, sizes
from lacunet.data.transform import has_missing_state
from lacunet.errors import OptionError
from lacunet.models.ensemble import Speaker
from lacunet.models.network import Network
from lacunet.selection.evaluating import check_states
from lacunet.settings import Settings


def read_structure(
    data: Path,
    network: Path | Network | None,
    hidden: dict[str, int | None],
    asked: Request,
    states: int | None = None,
) -> tuple[Table, Structured | None]:
    """Read a network and the table for it; None for a latent class model of the table.

    Warn of a number of states that the table can hardly have.
    """
    if network is None:
        if hidden:
            raise OptionError("--hidden names variables of a network. Give the network: --network.")
        return read(data, asked, states), None
    found = api.structured(data, network, hidden, asked.reading, asked.settings.numbers)
    tell(found.table, asked, states)
    return found.table, found


def settle(found: Structured | None, states: int | None) -> tuple[int | None, Network | None]:
    """Give a number of classes, or a network all of whose states are told: one of the two."""
    return (states, None) if found is None else (None, found.settled(states))


def check_one_model(states: int | None, network: Path | None) -> None:
    """Refuse a number of classes and a network, neither of them, and no class at all.

    A graph without tables may leave the number of classes to be told beside it.
    """
    both = states is not None and network is not None and api.as_sketch(network) is None
    if both or (states is None and network is None):
        raise OptionError("give --classes for a latent class model, or --network; one of the two.")
    if states is not None and states < 1:
        raise OptionError(f"--classes {states}: there must be at least 1.")


def read(data: Path, asked: Request, states: int | None = None) -> Table:
    """Read the table, and say what was read."""
    table = api.as_table(data, asked.reading, numbers=True)
    tell(table, asked, states)
    return table


def tell(table: Table, asked: Request, states: int | None = None) -> None:
    """Say what was read; warn of a number of states that it can hardly have."""
    audit(table)
    if asked.settings.missing_as_state:
        _answers(table)
    if states is not None:
        doubt([states], table)


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


def say_not_shown(data: Path, speaker: Speaker) -> None:
    """Say which variables of a model no column shows, and which columns are not used."""
    for note in api.notes_on_columns(data, speaker):
        say(f"note: {note}")


def audit(table: Table) -> None:
    """Say, before the work, what was read."""
    say(f"{table.source}: {sizes(table)}; {holes(table)}")
    if any(column.why for column in table.columns):
        say(kinds_grid(table).text())
    for note in table.notes:
        say(note if note.startswith(WARNING) else f"note: {note}")
    for column in table.columns:
        numbers = len(column.states) and not isinstance(column.states[0], str)
        if table.weights is None and numbers and column.name.lower() in COUNTS:
            say(
                f"note: column '{column.name}' is used as a variable. If it says how often a row "
                f"occurs, or what it weighs, give --weights {shlex.quote(column.name)}."
            )
