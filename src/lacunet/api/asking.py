"""What a model says of rows: posteriors, imputed cells, answers to questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from lacunet.api.inputs import (
    ModelLike,
    asked_model,
    check_columns,
    observed_columns,
    observed_states,
)
from lacunet.api.options import AssignOptions, QueryOptions, divide, with_options
from lacunet.api.results import Assigned, Assignment
from lacunet.arrays import BoolArray, CodeArray, FloatArray
from lacunet.data import Table
from lacunet.data.missing_state import put_missing_states
from lacunet.data.read import read_rows
from lacunet.errors import DataError, ModelError, OptionError
from lacunet.inference.asking.query import posterior
from lacunet.model.network import Model, Network, Variable
from lacunet.settings import DEFAULTS, Settings
from lacunet.state import label


@with_options
def assign(
    data: object,
    model: ModelLike,
    *,
    hidden: Sequence[str] = (),
    impute: bool = False,
    settings: Settings = DEFAULTS,
    **options: Unpack[AssignOptions],
) -> Assignment:
    """Give every row, in the order of the input, the posterior of what it does not show.

    A fitted model is asked at the posterior means of its parameters; with `plug_in`, or if it was
    not fitted, at the parameters that it has.

    Parameters
    ----------
    data
        The path of a file, a dataframe or an array: what has an order of rows.
    **model; hidden
    impute
        Not only hidden variables, but also every variable that has a hole somewhere.
    **options

    Examples
    --------
    >>> import lacunet
    >>> path = lacunet.dataset_path("carcinoma")
    >>> model = lacunet.fit(path, 2, weights="count", starts=4).model
    >>> lacunet.assign(path, model).best[:4].tolist()  # numbers of the states, from 0
    [1, 1, 1, 1]
    """
    settings, reading = divide(settings, options)
    given = asked_model(model, settings, hidden)
    network = given.network
    if isinstance(data, Table):
        raise DataError(
            "a Table holds each distinct row once, without the order of the rows. "
            "Give the file or dataframe itself."
        )
    check_columns(data, network)
    codes = read_rows(data, observed_states(network), missing=reading.get("missing", ()))
    if settings.missing_as_state:
        put_missing_states(codes, observed_columns(network))
    column = {v: codes[:, j] for j, v in enumerate(network.observed)}
    wanted = list(network.hidden)
    if impute:
        wanted += [v for v in network.observed if (column[v] < 0).any()]
    if not wanted:
        raise ModelError(
            "nothing to assign: the model has no hidden variable. "
            "Use --impute to fill in missing cells."
            if not impute
            else "nothing to assign: the model has no hidden variable, and no cell is missing."
        )
    open_ = {v: column[v] < 0 if v in column else np.full(len(codes), True) for v in wanted}
    found = posterior(given, codes, [(v,) for v in wanted])
    assigned = (
        _assigned(network.variables[v], p, open_[v]) for v, p in zip(wanted, found, strict=True)
    )
    return Assignment(tuple(assigned))


def _assigned(variable: Variable, p: FloatArray, missing: BoolArray) -> Assigned:
    possible = p.sum(axis=1) > 0
    probabilities = np.where(possible[:, None], p, np.nan)
    best = np.where(possible, p.argmax(axis=1), -1)
    return Assigned(variable.name, variable.labels, probabilities, best, missing)


@with_options
def query(
    model: ModelLike,
    variables: str | Sequence[str],
    evidence: object = None,
    *,
    settings: Settings = DEFAULTS,
    **options: Unpack[QueryOptions],
) -> FloatArray:
    """Give p(variables | evidence): their joint distribution, one axis each in the order given.

    A fitted model is asked at the posterior means of its parameters; with `plug_in`, or if it was
    not fitted, at the parameters that it has. Where the evidence is impossible, the answer is NaN.

    Parameters
    ----------
    **model
    variables
        What to ask for.
    evidence
        What is seen: a mapping {name: state} (or nothing) for one row, or a table with one row for
        each question; then the first axis of the answer is the rows.
    **options

    Examples
    --------
    >>> import lacunet
    >>> model = lacunet.random_model(2, 3, seed=1)
    >>> lacunet.query(model, "class", {"x1": 0, "x2": 1}).round(3).tolist()
    [0.661, 0.339]
    """
    settings, reading = divide(settings, options)
    given = asked_model(model, settings)
    network = given.network
    names = [v.name for v in network.variables]
    asked = [variables] if isinstance(variables, str) else list(variables)
    for name in asked:
        if name not in names:
            raise ModelError(f"'{name}' is not a variable of this model: it has {names}.")
    if not asked or len(set(asked)) < len(asked):
        raise OptionError("name one or more different variables to ask for.")
    group = tuple(names.index(name) for name in asked)
    if evidence is None or isinstance(evidence, Mapping):
        answer: FloatArray = _asked(given, _one_row(network, evidence or {}), group)[0]
        return answer
    codes = read_rows(evidence, observed_states(network), missing=reading.get("missing", ()))
    return _asked(given, codes, group)


def _asked(model: Model, codes: CodeArray, group: tuple[int, ...]) -> FloatArray:
    (answer,) = posterior(model, codes, [group])
    answer[answer.reshape(len(codes), -1).sum(axis=1) == 0] = np.nan
    return answer


def _one_row(network: Network, evidence: Mapping[str, Any]) -> CodeArray:
    codes = np.full((1, len(network.observed)), -1, dtype=np.int32)
    place = {network.variables[v].name: j for j, v in enumerate(network.observed)}
    for name, state in evidence.items():
        if name not in place:
            raise DataError(f"'{name}' is not an observed variable: there are {list(place)}.")
        labels = network.variables[network.observed[place[name]]].labels
        if label(state) not in labels:
            raise DataError(f"'{name}': {state!r} is not one of its states {list(labels)}.")
        codes[0, place[name]] = labels.index(label(state))
    return codes
