"""Conversion of arguments: data, models, networks and constraints."""

import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import chain, count
from typing import Any, TypeAlias, TypeVar

import numpy as np

from lacunet.api.options import AS_USUAL, ReadSettings
from lacunet.data import Column, Table
from lacunet.data.audit import COUNTS
from lacunet.data.design import DesignColumns
from lacunet.data.kinds import understand_kinds
from lacunet.data.read import read_rows, read_table
from lacunet.data.write import column_names
from lacunet.errors import DataError, ModelError, OptionError, did_you_mean, numbers_refused
from lacunet.inference.covariates import check_shown, design_of_rows, kinds_of_covariates
from lacunet.inference.leaves import all_with_values, kind_of, kinds_of
from lacunet.models.ensemble import (
    Ensemble,
    ModelLike,
    NetworkLike,
    PredictiveModel,
    PredictiveModelLike,
    all_in_canonical_order,
    in_canonical_order,
    model_in_canonical_order,
    model_or_path,
    network_or_path,
    predictive_or_path,
)
from lacunet.models.formats import read_model_or_stack, read_network
from lacunet.models.network import Model, Network, Variable
from lacunet.models.predictors import Covariates
from lacunet.models.surgery import hide, predicted, with_hidden
from lacunet.runtime.arrays import CodeArray
from lacunet.settings import Settings
from lacunet.structure.knowledge import Knowledge, read_knowledge

KnowledgeLike: TypeAlias = Knowledge | str | os.PathLike[str]
Hidden: TypeAlias = Mapping[str, int | None] | Sequence[str]
E = TypeVar("E", bound=StrEnum)


def as_model(model: ModelLike, hidden: Hidden = ()) -> Model:
    """Give a model, or read its file, and declare variables hidden."""
    model_or_file = model_or_path(model)
    given = model_or_file if isinstance(model_or_file, Model) else read_network(model_or_file)
    states = {v.name: len(v.states) for v in given.network.variables}
    for name, size in as_sizes(hidden).items():
        if size is not None and states.get(name) not in (None, size):
            raise OptionError(
                f"hidden variable '{name}' with {size} states: the parameters of the model are for "
                f"{states[name]}. Give --hidden {name}, or fit it anew."
            )
    return model_in_canonical_order(hide(given, list(as_sizes(hidden))) if hidden else given)


def prediction_model(model: ModelLike, settings: Settings, hidden: Hidden = ()) -> Model:
    """Give the posterior predictive model, or with `plug_in` the point estimate."""
    given = as_model(model, hidden)
    return given if settings.plug_in else given.predictive


def read_predictive(
    model: PredictiveModelLike, settings: Settings, hidden: Hidden = ()
) -> PredictiveModel:
    """Do the same for a model or a stack, whose members already have posterior means."""
    model_or_file = predictive_or_path(model)
    given = (
        model_or_file
        if isinstance(model_or_file, Model | Ensemble)
        else read_model_or_stack(model_or_file)
    )
    if isinstance(given, Model):
        return prediction_model(given, settings, hidden)
    if hidden:
        raise OptionError(
            "--hidden lists the hidden variables of a network; the models of a stack have their "
            "own. "
            "Leave it out."
        )
    return all_in_canonical_order(given)


def as_network(network: NetworkLike, hidden: Hidden = ()) -> Network:
    """Give a structure, or read its file, and declare variables hidden."""
    model_or_file = network_or_path(network)
    given = model_or_file if isinstance(model_or_file, Network) else as_model(model_or_file).network
    return in_canonical_order(with_hidden(given, as_sizes(hidden)))


def as_knowledge(knowledge: KnowledgeLike | None) -> Knowledge:
    """Give constraints on a network, or read their file."""
    if knowledge is None:
        return Knowledge()
    return knowledge if isinstance(knowledge, Knowledge) else read_knowledge(knowledge)


def as_sizes(hidden: Hidden) -> dict[str, int | None]:
    """Map hidden variables to their numbers of states; None keeps that of the network."""
    if isinstance(hidden, str):
        hidden = [hidden]
    return dict(hidden) if isinstance(hidden, Mapping) else dict.fromkeys(hidden)


def as_table(data: object, reading: ReadSettings = AS_USUAL, *, numbers: bool = False) -> Table:
    """Give a table, or read it, in canonical order."""
    return as_written(data, reading, numbers=numbers).in_canonical_order


def as_written(data: object, reading: ReadSettings = AS_USUAL, *, numbers: bool = False) -> Table:
    """Give a table, or read it, in its original order.

    Without `numbers`, numbers of a file are binned, and a table with numbers is refused.
    """
    if not isinstance(data, Table):
        if not numbers:
            reading = replace(reading, kinds=understand_kinds(reading.kinds).categories_alone)
        return read_table(data, **vars(reading))
    number = next((c.name for c in data.columns if c.kind.number), None)
    if number is not None and not numbers:
        raise numbers_refused(number)
    given = [name for name, value in reading.changed.items() if value]
    if given:
        raise OptionError(
            f"{', '.join(given)}: this is already a table. Give these to read_table instead."
        )
    return data


def table_for(
    data: object,
    network: Network,
    reading: ReadSettings = AS_USUAL,
    *,
    numbers: bool = False,
    also: Sequence[str] = (),
) -> Table:
    """Read the columns of a network, with its states, and the columns named by `also`.

    Number columns keep their values.
    """
    if isinstance(data, Table):
        return as_table(data, reading, numbers=numbers)
    if not numbers:
        network.refuse_numbers()
    names = check_columns(data, network)
    options = replace(reading, kinds=understand_kinds(reading.kinds).also(kinds_of(network)))
    table = read_table(data, **vars(options), states=observed_states(network), also=also)
    places = {v.name: v.place for v in network.variables}
    columns = tuple(replace(c, place=places.get(c.name, c.place)) for c in table.columns)
    left_out = {*beside_items(reading), *reading.exclude}
    other = [name for name in names if name not in also]
    notes = (*table.notes, *_unused(network, other, left_out))
    return replace(table, columns=columns, notes=notes).in_canonical_order


def table_of(
    data: object, model: Model, reading: ReadSettings = AS_USUAL, also: Sequence[str] = ()
) -> Table:
    """Read the columns of a model, its covariates, and the columns named by `also`."""
    known = covariates_of(model)
    check_shown(known, names_in(data))
    if isinstance(data, Table) or not known.covariates:
        return table_for(data, model.network, reading, numbers=True, also=also)
    kinds = understand_kinds(reading.kinds)
    wanted = frozenset((*kinds.wanted, *known.names))
    options = replace(reading, kinds=replace(kinds.also(kinds_of_covariates(known)), wanted=wanted))
    every = list(dict.fromkeys((*also, *known.names)))
    return table_for(data, model.network, options, numbers=True, also=every)


def beside_items(reading: ReadSettings) -> list[str | None]:
    """List the columns of weights and survey design; None for absent weights."""
    return [reading.weights, *DesignColumns.of(reading.strata, reading.clusters).names]


def check_columns(data: object, network: Network) -> list[str]:
    """Give the column names; refuse data that lack an observed variable."""
    names, absent = column_names(data), not_shown(data, network)
    if absent:
        one = len(absent) == 1
        raise DataError(
            f"the data have no column{'s' * (not one)} {listed(absent)}, which the network has. "
            f"Their columns are {listed(names)}. "
            f"Add {'it' if one else 'them'} (empty cells are fine), or declare "
            f"{'it' if one else 'them'} hidden: with "
            + " ".join(f"--hidden {shlex.quote(name)}" for name in absent)
            + ", or in the model file."
        )
    return names


def names_in(data: object) -> list[str]:
    """Name the columns of a table, or of anything that `read_table` reads."""
    return [c.name for c in data.columns] if isinstance(data, Table) else column_names(data)


def check_ordered(data: object) -> None:
    """Refuse data without an order of rows."""
    if isinstance(data, Table):
        raise DataError(
            "a Table holds each distinct row once, without the order of the rows. "
            "Give the file or dataframe itself."
        )


def rows_for(
    data: object, predictive_model: PredictiveModel, reading: ReadSettings
) -> tuple[PredictiveModel, CodeArray]:
    """Code each row in its order, (rows, observed variables); absent columns are missing.

    The returned model has the values of the number columns.
    """
    network = predictive_model.network
    states, names = observed_states(network), column_names(data)
    shown = {name: states[name] for name in states if name in names}
    if not shown:
        raise DataError(
            f"the table shows no variable of the model. Its columns are {listed(names)}; the model "
            f"has {listed(list(states))}. Rename the columns."
        )
    missing, known = reading.missing, covariates_of(predictive_model)
    check_shown(known, names)
    kinds = kinds_of(network).also(kinds_of_covariates(known))
    rows = read_rows(data, shown, missing=missing, kinds=kinds, also=known.names)
    filled = np.full((len(rows.codes), len(states)), -1, dtype=rows.codes.dtype)
    items = len(shown)
    filled[:, [list(states).index(name) for name in shown]] = rows.codes[:, :items]
    predictive = all_with_values(predictive_model, rows.columns[:items])
    return given_covariates(predictive, filled, rows.columns[items:], rows.codes[:, items:])


def check_unpredicted(model: Model, what: str) -> Model:
    """Refuse a model with covariates, for which `what` is undefined."""
    if (known := model.predictors) is not None:
        raise ModelError(
            f"the model predicts its classes from {listed(known.names)}: {what} are for models "
            "without covariates. Fit it with --covariates, which gives its evidence."
        )
    return model


def given_covariates(
    predictive_model: PredictiveModel,
    codes: CodeArray,
    columns: Sequence[Column],
    covariates: CodeArray,
) -> tuple[PredictiveModel, CodeArray]:
    """Append the covariate patterns of a model with covariates as a column of codes."""
    known = covariates_of(predictive_model)
    if not known.covariates:
        return predictive_model, codes
    assert isinstance(predictive_model, Model)
    design = design_of_rows(known, columns, covariates)
    return predicted(predictive_model, design.matrix), np.column_stack([codes, design.pattern])


def covariates_of(predictive_model: PredictiveModel) -> Covariates:
    """Give the covariates of a model; most models have none."""
    predictors = predictive_model.predictors if isinstance(predictive_model, Model) else None
    return Covariates(()) if predictors is None else predictors


def not_shown(data: object, network: Network) -> list[str]:
    """List the observed variables of a network that the data lack."""
    names = column_names(data)
    seen = (network.variables[i] for i in network.shown if not network.variables[i].hidden)
    return [v.name for v in seen if v.name not in names]


def notes_on_columns(data: object, predictive_model: PredictiveModel) -> list[str]:
    """List absent variables, perhaps misspelt, and unused columns."""
    absent, network = not_shown(data, predictive_model.network), predictive_model.network
    known = {*(v.name for v in network.variables), *covariates_of(predictive_model).names}
    other = [name for name in column_names(data) if name not in known]
    notes = [f"no column shows {listed(absent)}: not observed in any row."] if absent else []
    return [*notes, f"not in the model, so not used: {listed(other)}."] if other else notes


def to_vary(network: Network, hidden: Hidden) -> list[str]:
    """List the hidden variables whose numbers of states vary: those named without a number.

    If none is named, these are all hidden variables of the network.
    """
    sizes = as_sizes(hidden)
    every = [network.variables[i].name for i in network.shown if network.variables[i].hidden]
    varied = [name for name, size in sizes.items() if size is None] if sizes else every
    if not varied:
        raise OptionError(
            "no hidden variable to try numbers of states for. Name it: --hidden NAME."
        )
    return varied


def listed(names: Sequence[str]) -> str:
    """Write names with quotes and commas."""
    return ", ".join(f"'{name}'" for name in names)


def _unused(network: Network, names: Sequence[str], left_out: Collection[str | None]) -> list[str]:
    """Note unused columns, except those that the user left out."""
    hidden = {network.variables[i].name for i in network.hidden}
    known = {v.name for v in network.variables}
    notes = [
        f"column '{name}' is not used: the network has it as hidden. "
        f"To use it, leave out --hidden {shlex.quote(name)}, or its mark in the network file."
        for name in names
        if name in hidden
    ]
    other = [name for name in names if name not in known and name not in left_out]
    if other:
        notes.append(f"not in the model, so not used: {listed(other)}.")
    notes += [
        f"column '{name}' may hold counts of rows. If so, give --weights {shlex.quote(name)}."
        for name in other
        if None in left_out and name.lower() in COUNTS
    ]
    return notes


def observed_columns(network: Network) -> list[Column]:
    """Give the observed variables of a network as columns."""
    return columns_of([network.variables[i] for i in network.observed])


def columns_of(variables: Sequence[Variable]) -> list[Column]:
    """Give variables as columns."""
    return [
        Column(v.name, v.states, kind_of(v), bins=v.bins, place=v.place, title=v.title)
        for v in variables
    ]


def observed_states(network: Network) -> dict[str, Sequence[Any]]:
    """Give the states of the observed variables of a network, by name."""
    return {column.name: column.states for column in observed_columns(network)}


def fresh_names(new: Mapping[str, Any], taken: Sequence[str]) -> dict[str, Any]:
    """Rename new columns whose names are taken: 'class' becomes 'class_2', and so on."""
    renamed = {}
    for name, values in new.items():
        names = chain([name], (f"{name}_{number}" for number in count(2)))
        renamed[next(n for n in names if n not in taken)] = values
    return renamed


def one_of(kind: type[E], what: str, name: str) -> E:
    """Give the member of an enumeration by name."""
    if name not in list(kind):
        hint = did_you_mean(name, list(kind))
        raise OptionError(f"{what} '{name}' is not known.{hint} Choose from {', '.join(kind)}.")
    return kind(name)
