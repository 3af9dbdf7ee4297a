"""Covariates that predict classes, in a JSON model file.

::

    "class_predictors": {
        "class": the hidden variable,
        "covariates": [{"name", "centre", "scale"},
                       {"name", "states": [...], "shown": [the reference, ...], "bins"}, ...],
        "coefficients": (classes, columns), "asked": the same shape,
        "coefficient_sd": of the prior}

The log odds of a class against the first are its coefficients times (1, columns of the covariates):
of a number (x − centre)/scale; of categories one column for each state that was shown but the
reference, 1 where a row has it. "coefficients" are the estimate, "asked" those at the mode of all
parameters, which rows are asked with.
"""

from dataclasses import asdict
from typing import Any

import numpy as np

from lacunet.errors import ModelError
from lacunet.models.formats.json_entries import all_numbers, get, get_list, is_state, read_bins
from lacunet.models.network import Network
from lacunet.models.predictors import Covariate, Covariates, Predictors
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.states import label

KEY = "class_predictors"


def write(predictors: Predictors) -> dict[str, Any]:
    """Give the entry of a file."""
    entry = {
        "class": predictors.variable,
        "covariates": [_entry(one) for one in predictors.covariates],
        "coefficients": predictors.coefficients.tolist(),
        "asked": predictors.asked.tolist(),
        "coefficient_sd": predictors.coefficient_sd,
    }
    return {KEY: entry}


def _entry(one: Covariate) -> dict[str, Any]:
    if one.number:
        return {"name": one.name, "centre": one.centre, "scale": one.scale}
    shown = [one.states[k] for k in one.shown]
    told = {"name": one.name, "states": list(one.states), "shown": shown}
    return told if one.bins is None else {**told, "bins": asdict(one.bins)}


def read(entry: Any, network: Network) -> Predictors:
    """Read the entry of a file; every mistake is a ModelError that names the place."""
    where = f'"{KEY}"'
    name = get(entry, "class", where)
    hidden = [network.variables[i] for i in network.hidden]
    found = next((v for v in hidden if v.name == name), None)
    if found is None or network.parents[network.index(name)]:
        raise ModelError(f"{where}: {name!r} is no hidden variable without parents.")
    covariates = tuple(_covariate(one) for one in get_list(entry, "covariates", where))
    names = {v.name for v in network.variables}
    for one in covariates:
        if one.name in names or [c.name for c in covariates].count(one.name) > 1:
            raise ModelError(f"{where}: '{one.name}' stands twice. Names must differ.")
    shape = len(found.states), len(Covariates(covariates).titles)
    sd = get(entry, "coefficient_sd", where)
    if not all_numbers(sd) or isinstance(sd, list) or not sd > 0:
        raise ModelError(f'{where}: "coefficient_sd" is {sd!r}. It must be a number above 0.')
    estimate, asked = (
        _coefficients(entry, what, where, shape) for what in ("coefficients", "asked")
    )
    return Predictors(covariates, str(name), estimate, asked, float(sd))


def _covariate(entry: Any) -> Covariate:
    name = get(entry, "name", "a covariate")
    if not isinstance(name, str):
        raise ModelError(f"a covariate has the name {name!r}. Names are texts.")
    where = f"covariate '{name}'"
    if "states" not in entry:
        centre, scale = (get(entry, what, where) for what in ("centre", "scale"))
        if not all_numbers([centre, scale]) or not scale > 0:
            raise ModelError(f'{where}: "centre" and "scale" must be numbers, "scale" above 0.')
        return Covariate(name, float(centre), float(scale))
    states, shown = (get_list(entry, what, where) for what in ("states", "shown"))
    if not all(map(is_state, (*states, *shown))):
        raise ModelError(f"{where}: states must be texts, numbers or true/false.")
    labels = [label(state) for state in states]
    order = [labels.index(label(s)) for s in shown if label(s) in labels]
    if len(set(labels)) < len(labels) or len(set(order)) < max(len(shown), 2):
        raise ModelError(
            f'{where}: "shown" must be two or more of its "states", each once, the reference first.'
        )
    bins = read_bins(entry, name)
    return Covariate(name, states=tuple(states), shown=tuple(order), bins=bins)


def _coefficients(entry: Any, what: str, where: str, shape: tuple[int, int]) -> FloatArray:
    """Read coefficients, those of the first class 0."""
    given = get_list(entry, what, where)
    try:
        found = np.array(given, dtype=np.float64) if all_numbers(given) else None
    except (ValueError, OverflowError):  # ragged lists, endless integers
        found = None
    if found is None or found.shape != shape or not np.isfinite(found).all() or found[0].any():
        raise ModelError(
            f'{where}: "{what}" must be finite numbers of the shape {shape}, a row for each class '
            "and 0 for the first."
        )
    return found
