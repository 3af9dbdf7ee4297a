"""Cells that are Python's own objects: holes, what has a text, and what is no cell at all."""

import shlex
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
import polars as pl

from lacunet.errors import DataError
from lacunet.runtime.states import label

PLAIN = (str, bool, int, float, np.bool_, np.integer, np.floating)  # these have a label


def as_series(values: Sequence[Any], name: str, before: int) -> pl.Series:
    """Write cells of a column as their labels, a hole as null; `before` rows come before them."""
    return pl.Series([_text(v, name, before + i) for i, v in enumerate(values, 1)], dtype=pl.String)


def as_state(value: Any) -> Any:
    """Give a value that has a label: itself, or its text."""
    return value if isinstance(value, PLAIN) else str(value)


def _text(value: Any, name: str, row: int) -> str | None:
    """The label of a cell; None of a hole."""
    if is_hole(value):
        return None
    if not isinstance(value, PLAIN) and _no_cell(value):
        raise DataError(
            f"column {name!r}, row {row}: a cell holds a {type(value).__name__}. A cell may be "
            "text, a number, true/false, a date or empty. Convert it, or leave the column out with "
            f"--exclude {shlex.quote(name)}."
        )
    return label(as_state(value))


def is_hole(value: Any) -> bool:
    """Whether a value is what libraries have for none."""
    # pandas.NA and NaT are known by name, so that pandas need not be there.
    return (
        value is None
        or type(value).__name__ in {"NAType", "NaTType"}
        or (isinstance(value, float | np.floating) and bool(np.isnan(value)))
    )


def _no_cell(value: Any) -> bool:
    """Whether a value is several values, bytes, a complex number, or has no text of its own."""
    kind: Any = type(value)
    nameless = kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__
    several = isinstance(value, Mapping | AbstractSet | list | tuple | np.ndarray)
    return (
        nameless or several or isinstance(value, bytes | bytearray | complex | np.complexfloating)
    )
