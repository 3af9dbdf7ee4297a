"""Variables and covariates of a JSON model file.

::

    {"name": "age", "hidden": false, "family": "gaussian", "range": [18, 90],
     "unit": {"origin": 47.2, "size": 17.9, "log": false}}

    "class_predictors": {
        "class": the hidden variable,
        "covariates": [{"name", "centre", "scale"},
                       {"name", "states": [...], "shown": [the reference, ...], "bins"}, ...],
        "coefficients": (classes, columns), "joint_mode": the same shape,
        "coefficient_sd": of the prior}

For a number, "range" is the lowest and the highest observed value, without decimal points if all
values were whole. Binomial scores also have "most", and blocks have "members". Gaussians with one
covariance for all configurations have "common": true.

The log odds of a class against the first are its coefficients times (1, columns of the covariates).
A number has the column (x − centre)/scale; categories have an indicator column for each observed
state except the reference. "coefficients" are the estimate; "joint_mode" are the coefficients for
predictions, at the joint mode of all parameters.
"""

import math
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from lacunet.errors import ModelError, OptionError
from lacunet.likelihoods import GAUSSIAN, POISSON, Binomial, Gaussian, GaussianBlock, Likelihood
from lacunet.likelihoods.unit import Unit
from lacunet.models.network import Network, Variable
from lacunet.models.predictors import Covariate, Covariates, Predictors
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.states import Bins, label

PREDICTORS = "class_predictors"
FAMILIES: dict[str, Likelihood] = {f.name: f for f in (GAUSSIAN, POISSON)}


def get(entry: Any, key: str, where: str) -> Any:
    """The value of a required key."""
    if not isinstance(entry, dict) or key not in entry:
        raise ModelError(f'{where} has no "{key}".')
    return entry[key]


def get_list(entry: Any, key: str, where: str) -> list[Any]:
    """The value of a required key, which must be a list."""
    value = get(entry, key, where)
    if not isinstance(value, list):
        raise ModelError(f'"{key}" of {where} must be a list.')
    return value


def get_flag(entry: dict[str, Any], key: str, where: str) -> bool:
    """The value of an optional key, true or false; `where` includes its punctuation."""
    value = entry.get(key, False)
    if not isinstance(value, bool):
        raise ModelError(f'{where} "{key}" is {value!r}. It must be true or false.')
    return value


def all_numbers(value: Any) -> bool:
    """Whether nested lists contain only numbers."""
    if isinstance(value, list):
        return all(map(all_numbers, value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_states(states: Iterable[Any], where: str) -> None:
    for value in states:
        if not isinstance(value, str) and not (
            isinstance(value, int | float) and abs(value) < math.inf
        ):
            raise ModelError(f"{where}: states must be texts, numbers or true/false.")


def _read_bins(entry: Any, name: str) -> Bins | None:
    """Read the edges and typical numbers of bins."""
    if "bins" not in entry:
        return None
    where = f"\"bins\" of variable '{name}'"
    both = [get_list(entry["bins"], key, where) for key in ("edges", "typical")]
    if not all_numbers(both):
        raise ModelError(f"{where}: edges and typical must be lists of numbers.")
    try:
        return Bins(*(tuple(map(float, numbers)) for numbers in both))
    except (OptionError, OverflowError) as error:
        raise ModelError(f"{where}: {error}") from None


def _bins_entry(bins: Bins | None) -> dict[str, Any]:
    return {} if bins is None else {"bins": asdict(bins)}


def write_variable(v: Variable) -> dict[str, Any]:
    """The entry of a variable."""
    title = {"title": v.title} if v.title else {}
    if v.family.tabular:
        entry = {"name": v.name, "states": list(v.states), "hidden": v.hidden, **title}
        return {**entry, **_bins_entry(v.bins)}
    extra = {key: getattr(v.family, key, None) for key in ("most", "members", "common")}
    extra["members"] = extra["members"] and list(extra["members"])
    return {
        "name": v.name,
        "hidden": v.hidden,
        "family": v.family.name,
        **{key: value for key, value in extra.items() if value},
        "range": [v.states[0], v.states[-1]],
        "unit": asdict(v.unit or Unit()),
        **title,
    }


def read_variable(entry: Any) -> Variable:
    """Read the entry of a variable."""
    name = get(entry, "name", "a variable")
    where, title = f"variable '{name}'", entry.get("title", "")
    if not isinstance(title, str):
        raise ModelError(f'{where}: "title" is {title!r}. It must be a text.')
    if "family" in entry:
        return replace(_read_number(entry, str(name), where), title=title)
    states = get_list(entry, "states", where)
    if not isinstance(name, str):
        raise ModelError(f"a variable has the name {name!r}. Names are texts.")
    _check_states(states, where)
    hidden, bins = get_flag(entry, "hidden", f"{where}:"), _read_bins(entry, name)
    return Variable(name, tuple(states), hidden=hidden, bins=bins, title=title)


def _read_number(entry: dict[str, Any], name: str, where: str) -> Variable:
    family = _read_family(entry, name, where)
    if get_flag(entry, "common", f"{where}:"):
        if not isinstance(family, Gaussian | GaussianBlock):
            raise ModelError(f"{where}: only Gaussian families have a common covariance.")
        family = replace(family, common=True)
    try:
        first, last = entry["range"]
        low, high = float(first), float(last)
        given = entry["unit"]
        unit = Unit(float(given["origin"]), float(given["size"]), bool(given["log"]))
    except (KeyError, TypeError, ValueError):
        raise ModelError(
            f"{where} is a number. It needs a range of two numbers, and a unit with "
            "origin, size and log."
        ) from None
    finite = np.isfinite([low, high, unit.origin, unit.size]).all()
    if not (finite and unit.size > 0 and low < high):
        raise ModelError(f"{where}: its range must go up, and its unit have a size above 0.")
    whole = isinstance(first, int) and isinstance(last, int)  # as written if all values are whole
    ends = (first, last) if whole else (low, high)
    return Variable(name, ends, family=family, unit=unit)


def _read_family(entry: dict[str, Any], name: str, where: str) -> Likelihood:
    family = entry["family"]
    if family == Binomial.name:
        most = entry.get("most")
        if not isinstance(most, int) or most < 1:
            raise ModelError(f'{where}: "most" must be a whole number from 1 up.')
        return Binomial(most=most)
    if family == GaussianBlock.name:
        members = entry.get("members")
        if not isinstance(members, list) or name not in members:
            raise ModelError(f'{where}: "members" must name the columns of its block.')
        return GaussianBlock(tuple(map(str, members)), members.index(name))
    if not isinstance(family, str) or family not in FAMILIES:
        known = ", ".join((*FAMILIES, Binomial.name, GaussianBlock.name))
        raise ModelError(f"{where}: the family '{family}' is not known. There are {known}.")
    return FAMILIES[family]


def write_predictors(predictors: Predictors) -> dict[str, Any]:
    """The entry of covariates that predict classes."""
    entry = {
        "class": predictors.variable,
        "covariates": [_covariate_entry(one) for one in predictors.covariates],
        "coefficients": predictors.coefficients.tolist(),
        "joint_mode": predictors.at_joint_mode.tolist(),
        "coefficient_sd": predictors.coefficient_sd,
    }
    return {PREDICTORS: entry}


def _covariate_entry(one: Covariate) -> dict[str, Any]:
    if one.number:
        return {"name": one.name, "centre": one.centre, "scale": one.scale}
    shown = [one.states[k] for k in one.shown]
    return {
        "name": one.name, "states": list(one.states), "shown": shown, **_bins_entry(one.bins)
    }  # fmt: skip


def read_predictors(entry: Any, network: Network) -> Predictors:
    """Read covariates that predict the classes of a network."""
    where = f'"{PREDICTORS}"'
    name = get(entry, "class", where)
    classes = next((i for i in network.hidden if network.variables[i].name == name), None)
    if classes is None or network.parents[classes]:
        raise ModelError(f"{where}: {name!r} is not a hidden variable without parents.")
    covariates = tuple(_read_covariate(one) for one in get_list(entry, "covariates", where))
    names = [*(v.name for v in network.variables), *(one.name for one in covariates)]
    for one in covariates:
        if names.count(one.name) > 1:
            raise ModelError(f"{where}: '{one.name}' occurs twice. Names must differ.")
    shape = len(network.variables[classes].states), len(Covariates(covariates).titles)
    sd = get(entry, "coefficient_sd", where)
    if not all_numbers(sd) or isinstance(sd, list) or not sd > 0:
        raise ModelError(f'{where}: "coefficient_sd" is {sd!r}. It must be a number above 0.')
    joint = "asked" if isinstance(entry, dict) and "asked" in entry else "joint_mode"  # version 3
    estimate, at_joint_mode = (
        _read_coefficients(entry, what, where, shape) for what in ("coefficients", joint)
    )
    return Predictors(covariates, str(name), estimate, at_joint_mode, float(sd))


def _read_covariate(entry: Any) -> Covariate:
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
    _check_states((*states, *shown), where)
    labels = [label(state) for state in states]
    order = [labels.index(label(s)) for s in shown if label(s) in labels]
    if len(set(labels)) < len(labels) or len(set(order)) < max(len(shown), 2):
        raise ModelError(
            f'{where}: "shown" must be two or more of its "states", each once, the reference first.'
        )
    bins = _read_bins(entry, name)
    return Covariate(name, states=tuple(states), shown=tuple(order), bins=bins)


def _read_coefficients(entry: Any, what: str, where: str, shape: tuple[int, int]) -> FloatArray:
    """Read coefficients; those of the first class must be 0."""
    given = get_list(entry, what, where)
    try:
        x = np.array(given, dtype=np.float64) if all_numbers(given) else None
    except (ValueError, OverflowError):  # ragged lists, huge integers
        x = None
    if x is None or x.shape != shape or not np.isfinite(x).all() or x[0].any():
        raise ModelError(
            f'{where}: "{what}" must be finite numbers of the shape {shape}, a row for each class '
            "and 0 for the first."
        )
    return x
