"""The JSON model file, `lacunet-model/1`.

::

    {"format": "lacunet-model/1",
     "variables": [{"name", "states": [...], "hidden": true|false}, ...],
     "families": [{"child", "parents": [...], "table": nested by parents, then child state,
                   "alpha": same shape or one number}, ...]}

Numbers are written with all their digits, so that a file reads back exactly.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.errors import ModelError
from lacunet.files import write_text
from lacunet.model.network import Model, Network, Variable

FORMAT = "lacunet-model/1"
SUM_TOLERANCE = 1e-9  # rows of a table must sum to one to this


def write_model(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model file, atomically."""
    write_text(path, model_to_json(model))


def read_model(path: str | os.PathLike[str]) -> Model:
    """Read and check a model file."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ModelError(
            f"{path}: {error.strerror or error}. Give the path of a model file, "
            "as `lacunet fit --save model.json` writes it."
        ) from error
    except UnicodeDecodeError as error:
        raise ModelError(
            f"{path}: this is not a text file, so not a model file. Give a file that "
            "`lacunet fit --save model.json` wrote."
        ) from error
    try:
        return model_from_json(text)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None


def model_to_json(model: Model) -> str:
    """Give the text of a model file."""
    network = model.network
    names = [v.name for v in network.variables]
    document = {
        "format": FORMAT,
        "variables": [
            {"name": v.name, "states": list(v.states), "hidden": v.hidden}
            for v in network.variables
        ],
        "families": [
            {
                "child": names[i],
                "parents": [names[p] for p in network.parents[i]],
                "table": network.layout.table(model.theta, i).tolist(),
                "alpha": _compact(network.layout.table(model.alpha, i)),
            }
            for i in range(len(names))
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _compact(alpha: FloatArray) -> Any:
    return float(alpha.flat[0]) if np.all(alpha == alpha.flat[0]) else alpha.tolist()


def model_from_json(text: str) -> Model:
    """Read the text of a model file; every mistake is a ModelError that names the place."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise ModelError(
            f"line {error.lineno}: this is not valid JSON ({error.msg}). "
            "The file may be cut off, or be another format."
        ) from None
    except (RecursionError, ValueError) as error:  # nested too deep, or a number with no end
        raise ModelError(f"this is not a model file: it cannot be read as JSON ({error}).") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelError(
            f'this is not a model file: it has no "format": "{FORMAT}". Give a file that '
            "`lacunet fit --save model.json` wrote."
        )
    variables = [_variable(entry) for entry in _list(document, "variables", "the file")]
    index: dict[str, int] = {}
    for i, v in enumerate(variables):
        if v.name in index:
            raise ModelError(f"variable '{v.name}' stands twice. Names must differ.")
        index[v.name] = i
    families = _families(_list(document, "families", "the file"), index)
    parents = [_parents(families[v.name], v.name, index) for v in variables]
    network = Network.build(variables, parents)
    shapes = [tuple(len(variables[v].states) for v in f) for f in network.layout.families]
    named = [(families[v.name], v.name, shapes[i]) for i, v in enumerate(variables)]
    return Model(
        network,
        network.layout.flat([_table(*family) for family in named]),
        network.layout.flat([_alpha(*family) for family in named]),
    )


def _get(entry: Any, key: str, where: str) -> Any:
    if not isinstance(entry, dict) or key not in entry:
        raise ModelError(f'{where} has no "{key}".')
    return entry[key]


def _list(entry: Any, key: str, where: str) -> list[Any]:
    value = _get(entry, key, where)
    if not isinstance(value, list):
        raise ModelError(f'"{key}" of {where} must be a list.')
    return value


def _variable(entry: Any) -> Variable:
    name = _get(entry, "name", "a variable")
    states = _list(entry, "states", f"variable '{name}'")
    if not isinstance(name, str):
        raise ModelError(f"a variable has the name {name!r}. Names are texts.")
    if not all(map(_is_state, states)):
        raise ModelError(f"variable '{name}': states must be texts, numbers or true/false.")
    hidden = entry.get("hidden", False)
    if not isinstance(hidden, bool):
        raise ModelError(f"variable '{name}': \"hidden\" is {hidden!r}. It must be true or false.")
    return Variable(name, tuple(states), hidden=hidden)


def _families(entries: list[Any], index: Mapping[str, int]) -> dict[str, Mapping[str, Any]]:
    """Give the one family of each variable, by the name of the child."""
    families: dict[str, Mapping[str, Any]] = {}
    for entry in entries:
        child = _get(entry, "child", "a family")
        if not isinstance(child, str) or child not in index:
            raise ModelError(
                f"family '{child}': no variable has this name. The variables are "
                f"{', '.join(map(repr, index))}."
            )
        if child in families:
            raise ModelError(f"family '{child}' stands twice. Each variable has one family.")
        families[child] = entry
    for name in index:
        if name not in families:
            raise ModelError(f"variable '{name}' has no family. Add its table.")
    return families


def _is_state(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, int | float) and abs(value) < math.inf)


def _parents(entry: Any, child: str, index: Mapping[str, int]) -> Sequence[int]:
    parents = _list(entry, "parents", f"family '{child}'")
    for parent in parents:
        if not isinstance(parent, str) or parent not in index:
            raise ModelError(
                f"family '{child}': its parent '{parent}' is not a variable of the file. These are "
                f"{', '.join(map(repr, index))}."
            )
        if parents.count(parent) > 1:
            raise ModelError(f"family '{child}': its parent '{parent}' stands twice.")
    return [index[p] for p in parents]


def _numbers(value: Any, what: str, child: str, shape: tuple[int, ...]) -> FloatArray:
    try:
        if not _all_numbers(value):
            raise TypeError
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):  # words, ragged lists, endless integers
        raise ModelError(
            f"family '{child}': its {what} is not a nested list of numbers of shape {shape}."
        ) from None


def _all_numbers(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_all_numbers, value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _table(entry: Mapping[str, Any], child: str, shape: tuple[int, ...]) -> FloatArray:
    table = _numbers(_get(entry, "table", f"family '{child}'"), "table", child, shape)
    if table.shape != shape:
        raise ModelError(
            f"family '{child}': its table has shape {table.shape}, but its parents and states "
            f"ask for {shape}."
        )
    for found, bad in (
        ("not a finite number", ~np.isfinite(table)),
        ("negative", table < 0),
    ):
        if bad.any():
            place = tuple(int(i) for i in np.argwhere(bad)[0])
            raise ModelError(
                f"family '{child}': its table is {found} at {list(place)}. Each entry must be a "
                "probability."
            )
    off = np.abs(table.sum(axis=-1) - 1.0) > SUM_TOLERANCE
    if off.any():
        place = tuple(int(i) for i in np.argwhere(off)[0])
        at = f" at parent states {list(place)}" if place else ""
        raise ModelError(
            f"family '{child}': its table sums to {table[place].sum():.12g}{at}. "
            "Each distribution must sum to 1."
        )
    return table


def _alpha(entry: Mapping[str, Any], child: str, shape: tuple[int, ...]) -> FloatArray:
    alpha = _numbers(_get(entry, "alpha", f"family '{child}'"), "alpha", child, shape)
    if alpha.shape not in ((), shape):
        raise ModelError(
            f"family '{child}': its alpha has shape {alpha.shape}. Give one number, or {shape}."
        )
    if not (np.isfinite(alpha).all() and (alpha > 0).all()):
        raise ModelError(f"family '{child}': every alpha must be a number above 0.")
    return np.broadcast_to(alpha, shape)
