"""Network files: formats by file extension.

A format is a module with ``read(text) -> Model`` and ``write(model) -> str``, and an entry in
`FORMATS`; DOT is written only. Only the JSON model file holds a prior; other formats are read with
the same α everywhere. `read_model` and `write_model` always use JSON. Structure, numbers and types
of states round-trip exactly (`assembly`).
"""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lacunet.deprecation import renamed_parameter
from lacunet.errors import DataError, ModelError
from lacunet.models.ensemble import (
    Ensemble,
    HasEnsemble,
    HasModel,
    ensemble_in,
    model_as_shown,
    model_in,
)
from lacunet.models.formats import bif, interop, json_model, xdsl, xmlbif
from lacunet.models.formats.interop import predictors_lost, warn
from lacunet.models.network import Model
from lacunet.models.prior import PAPER_ALPHA, check_alpha, uniform_alpha
from lacunet.runtime.files import StrPath, check_file, write_text


@dataclass(frozen=True)
class NetworkFormat:
    """One network format."""

    name: str
    endings: tuple[str, ...]  # a shared ending is written as the first of its formats
    read: Callable[[str], Model] | None  # None: written only
    write: Callable[[Model], str]
    looks: str  # pattern that identifies a text of this format
    prior: bool = False  # whether it holds α and constraints on tables


JSON_MODEL = NetworkFormat(
    "JSON model", (".json",), json_model.read, json_model.write, r"\A\s*\{", prior=True
)
FORMATS = (
    NetworkFormat("BIF", (".bif",), bif.read, bif.write, bif.LOOKS),
    NetworkFormat("XMLBIF", (".xmlbif", ".bifxml", ".xml"), xmlbif.read, xmlbif.write, r"<BIF\b"),
    NetworkFormat("XDSL", (".xdsl", ".xml"), xdsl.read, xdsl.write, r"<smile\b"),
    JSON_MODEL,
    NetworkFormat("DOT", (".dot", ".gv"), None, interop.write, r"\A\s*(strict\s+)?digraph\b"),
)


def read_network(path: StrPath, alpha: float = PAPER_ALPHA) -> Model:
    """Read a network with its parameters; `alpha` is the prior if the file has none."""
    check_alpha(alpha)
    file_format, model = _read(path, _readable(path))
    if file_format.prior:
        return model
    return Model(model.network, model.theta, uniform_alpha(model.network.layout, alpha))


@renamed_parameter("say", "report")
def write_network(model: HasModel, path: StrPath, report: Callable[[str], None] = warn) -> None:
    """Write a network with its parameters, atomically.

    `report` receives a message about what the format cannot hold; by default it warns.
    """
    chosen, model = _allowed(path)[0], model_as_shown(model_in(model))
    numbers = [v.name for v in model.network.variables if not v.family.tabular]
    check_holds_numbers(path, numbers)
    if chosen.read is not None and not chosen.prior and not model.network.plain:
        report(
            f"{os.fspath(path)}: {chosen.name} holds the probabilities, but not that tables are "
            "fixed, tied or have zeros. A .json file does."
        )
    if not chosen.prior and model.predictors is not None:
        report(f"{os.fspath(path)}: {predictors_lost(chosen.name, model.predictors)}")
    write_text(path, chosen.write(model))


def read_model(path: StrPath) -> Model:
    """Read and check a model file."""
    ending = Path(path).suffix.lower()
    for other in FORMATS:
        if other.read is not None and ending in other.endings and other is not JSON_MODEL:
            raise ModelError(
                f"{os.fspath(path)}: {other.name} is not a model file. `read_network` reads it."
            )
    return _read(path, [JSON_MODEL])[1]


def read_model_or_stack(path: StrPath) -> Model | Ensemble:
    """Read a network, or a stack of several."""
    if JSON_MODEL not in _readable(path):
        return read_network(path)
    try:
        document = json_model.read_json(_text(path))
        if json_model.is_stack(document):
            return json_model.ensemble_of(document)
        return json_model.model_of(document)
    except ModelError as error:
        raise ModelError(f"{os.fspath(path)}: {error}") from error.__cause__


def write_stack(ensemble: HasEnsemble, path: StrPath) -> None:
    """Write a stack, atomically."""
    write_text(path, json_model.write_stack(ensemble_in(ensemble)))


def check_stack_file(path: StrPath) -> None:
    """Raise an error early if a stack could not be written to this file."""
    check_file(path)
    ending = Path(path).suffix.lower()
    if ending not in JSON_MODEL.endings:
        raise ModelError(
            f"{os.fspath(path)}: a stack is written as {JSON_MODEL.endings[0]}, not '{ending}'. "
            "Give the file that ending."
        )


def write_model(model: HasModel, path: StrPath) -> None:
    """Write a model file, atomically."""
    write_text(path, JSON_MODEL.write(model_as_shown(model_in(model))))


def check_network_file(path: StrPath) -> None:
    """Raise an error early if a network could not be written to this file."""
    check_file(path)
    _allowed(path)


def check_holds_numbers(path: StrPath, names: Sequence[str]) -> None:
    """Raise DataError if the format of a file cannot hold numeric variables."""
    chosen = _allowed(path)[0]
    if names and chosen.read is not None and not chosen.prior:
        raise DataError(
            f"{os.fspath(path)}: {chosen.name} is a format for categories, and '{names[0]}' holds "
            "numbers. Give a name that ends in .json."
        )


def _allowed(path: StrPath, formats: Sequence[NetworkFormat] = FORMATS) -> list[NetworkFormat]:
    """The formats with the extension of a file; the error lists `formats`."""
    if Path(path).is_dir():
        raise ModelError(f"{os.fspath(path)}: Is a directory. Give the path of a network file.")
    ending = Path(path).suffix.lower()
    allowed = [f for f in FORMATS if ending in f.endings]
    if not allowed:
        known = "; ".join(f"{', '.join(f.endings)} ({f.name})" for f in formats)
        raise ModelError(
            f"{os.fspath(path)}: the ending '{ending}' belongs to no network format. "
            f"Allowed are {known}."
        )
    return allowed


def _readable(path: StrPath) -> list[NetworkFormat]:
    read = [f for f in FORMATS if f.read is not None]
    allowed = _allowed(path, read)
    if all(f.read is None for f in allowed):
        others = ", ".join(f.endings[0] for f in read)
        raise ModelError(
            f"{os.fspath(path)}: {allowed[0].name} is a picture of a network without its tables, "
            f"and only written. Give the network as one of {others}."
        )
    return allowed


def _read(path: StrPath, allowed: list[NetworkFormat]) -> tuple[NetworkFormat, Model]:
    """Read a file in one of several formats; errors name its path."""
    try:
        text = _text(path)
        file_format = _chosen(allowed, text)
        if file_format.read is None:
            raise ModelError(f"{file_format.name} cannot be read.")
        return file_format, file_format.read(text)
    except ModelError as error:
        raise ModelError(f"{os.fspath(path)}: {error}") from error.__cause__


def _chosen(allowed: list[NetworkFormat], text: str) -> NetworkFormat:
    """Choose among formats by content; raise ModelError if it looks like another one."""
    alike = [f for f in FORMATS if f.read is not None and re.search(f.looks, text)]
    both = [f for f in allowed if f in alike]
    if alike and not both:
        raise ModelError(
            f"this looks like {alike[0].name}, not {' or '.join(f.name for f in allowed)}. "
            f"Give the file the ending {alike[0].endings[0]}."
        )
    return (both or allowed)[0]


def _text(path: StrPath) -> str:
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ModelError(f"{error.strerror or error}. Give the path of a network file.") from error
    except UnicodeDecodeError as error:
        raise ModelError(
            f"this is not UTF-8 text (byte {error.start}). Save it as UTF-8, or give another file."
        ) from error
    if not text.strip():
        raise ModelError("the file is empty. Give a file with a network.")
    return text
