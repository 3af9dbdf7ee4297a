"""Data, models and networks, however they are given."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from lacunet.data import Column, Table, column_names, read_table
from lacunet.errors import DataError, OptionError
from lacunet.model.formats import read_network
from lacunet.model.network import Model, Network, with_hidden

ModelLike: TypeAlias = Model | str | os.PathLike[str]
NetworkLike: TypeAlias = Network | Model | str | os.PathLike[str]
Hidden: TypeAlias = Mapping[str, int | None] | Sequence[str]


def as_model(model: ModelLike) -> Model:
    """Give a model as it is, or read its file."""
    return model if isinstance(model, Model) else read_network(model)


def as_network(network: NetworkLike, hidden: Hidden = ()) -> Network:
    """Give a structure, or read its file, and declare variables hidden."""
    given = network if isinstance(network, Network) else as_model(network).network
    return with_hidden(given, as_sizes(hidden))


def as_sizes(hidden: Hidden) -> dict[str, int | None]:
    """Give hidden variables with their numbers of states; None keeps the network's."""
    if isinstance(hidden, str):
        hidden = [hidden]
    return dict(hidden) if isinstance(hidden, Mapping) else dict.fromkeys(hidden)


def as_table(data: object, **reading: Any) -> Table:
    """Give a table as it is, or read it; `reading` goes to `read_table`."""
    if not isinstance(data, Table):
        return read_table(data, **reading)
    given = [name for name, value in reading.items() if value]
    if given:
        raise OptionError(
            f"{', '.join(given)}: this table is read already. Give these to read_table instead."
        )
    return data


def table_for(data: object, network: Network, **reading: Any) -> Table:
    """Read the columns that a network asks for, with its states."""
    if isinstance(data, Table):
        return as_table(data, **reading)
    names = column_names(data)
    wanted = observed_states(network)
    for name in wanted:
        if name not in names:
            raise DataError(
                f"the data have no column '{name}', which the network has. Their columns are "
                + ", ".join(f"'{n}'" for n in names)
                + ". Add it (empty cells are fine), or declare it hidden: "
                f"with --hidden {name}, or in the model file."
            )
    table = read_table(data, **{**reading, "states": wanted})
    return replace(table, notes=(*table.notes, *_unused(network, names, reading.get("weights"))))


def _unused(network: Network, names: Sequence[str], weights: str | None) -> list[str]:
    """Say which columns are not used, and why."""
    notes = []
    hidden = {network.variables[i].name for i in network.hidden}
    known = {v.name for v in network.variables}
    notes += [
        f"column '{name}' is not used: the network has it as hidden. "
        f"To use it, do not declare '{name}' hidden."
        for name in names
        if name in hidden
    ]
    other = [f"'{name}'" for name in names if name not in known and name != weights]
    if other:
        notes.append(f"not in the model, so not used: {', '.join(other)}.")
    return notes


def observed_columns(network: Network) -> list[Column]:
    """Give the variables that data can show, as columns."""
    return [
        Column(network.variables[i].name, network.variables[i].states) for i in network.observed
    ]


def observed_states(network: Network) -> dict[str, Sequence[Any]]:
    """Give the states of the variables that data can show, by name."""
    return {column.name: column.states for column in observed_columns(network)}


def fresh_names(new: Mapping[str, Any], taken: Sequence[str]) -> dict[str, Any]:
    """Rename new columns that stand in the data already: 'class' becomes 'class_2', and so on."""
    renamed = {}
    for name, values in new.items():
        free = name
        number = 2
        while free in taken:
            free, number = f"{name}_{number}", number + 1
        renamed[free] = values
    return renamed
