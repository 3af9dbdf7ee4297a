"""What values must be like to be numbers of a kind, and what to say when they are not."""

import shlex
from collections.abc import Callable, Sequence

import numpy as np

from lacunet.data.audit import shorten
from lacunet.data.column_checks import NOTHING, check_finite, unusable
from lacunet.data.discover import INFINITE, Coding, RawValues, number_of, shown
from lacunet.data.kinds import ColumnKind
from lacunet.data.source import Source
from lacunet.errors import DataError
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.runtime.states import Numbers, State, label


def check_some_numbers(name: str, states: Sequence[State]) -> None:
    """Refuse a column of which nothing can be learned."""
    if not states:
        raise unusable(name, NOTHING)
    if len(states) == 1:
        raise unusable(name, f"has only one value, {shown(states)}, so nothing can be learned")


def check_ends(
    name: str,
    known: tuple[float, float] | None,
    raw: RawValues,
    coding: Coding,
    source: Source,
) -> None:
    """Refuse a number beyond the lowest or highest that a model knows, and name the row."""
    if known is None or not coding.states:
        return
    x = np.asarray(coding.states, dtype=np.float64)
    at = _first((x < known[0]) | (x > known[1]), coding)
    if at is not None:
        text = label(raw.values[at]).strip()
        raise DataError(
            f"column {name!r}, {source.where(raw.rows[at])}: {text} is not among the answers of "
            f"the model, which go from {known[0]:g} to {known[1]:g}. Correct it, or declare it "
            f"with --missing={text}."
        )


def _first(wrong: BoolArray, coding: Coding) -> int | None:
    """Which value is the first to have one of the states that are wrong, if any."""
    values = np.flatnonzero(wrong[coding.codes] & (coding.codes >= 0))
    return int(values[0]) if len(values) else None


def check_numbers(
    name: str, kind: ColumnKind, raw: RawValues, coding: Coding, source: Source, *, own: bool
) -> None:
    """Refuse a column that cannot have its kind, and name the row.

    `own`: whether a person said the kind, and may say another; it is not that of a model.
    """
    if not isinstance(raw.values, Numbers):
        for i in np.flatnonzero(coding.codes >= 0).tolist():
            _check_number(name, kind, raw.values[i], source.where(raw.rows[i]), own=own)
    if not coding.states:
        return
    check_finite(name, raw, coding.states, source)
    wrong, words = WRONG[kind]
    at = _first(wrong(np.asarray(coding.states, dtype=np.float64)), coding)
    if at is not None:
        text = label(raw.values[at]).strip()
        other = f"give the column another kind: --kinds {shlex.quote(name)}=gaussian"
        raise DataError(
            f"column {name!r}, {source.where(raw.rows[at])}: {text} {words}. Correct it, or "
            f"{other if own else f'declare it with --missing={text}'}."
        )


def _check_number(name: str, kind: ColumnKind, value: State, where: str, *, own: bool) -> None:
    """Refuse a text, or true and false."""
    if isinstance(value, bool):
        raise DataError(f"column {name!r} holds true and false: they are categories, no numbers.")
    if number_of(value) is not None:
        return
    text = label(value).strip()
    what = "not finite" if INFINITE.fullmatch(text) else "not a number"
    declare = f"declare it with --missing={shlex.quote(shorten(text, 40))}"
    other = f"or read the column as categories: --kinds {shlex.quote(name)}=categorical"
    read = f"read as {kind}" if kind.number else "put into bins"
    raise DataError(
        f"column {name!r}, {where}: {text!r} is {what}, and the column is {read}. Correct it, "
        f"{f'{declare}, {other}' if own else f'or {declare}'}."
    )


def _never(x: FloatArray) -> BoolArray:
    return np.zeros(len(x), dtype=np.bool_)


def _not_whole(x: FloatArray) -> BoolArray:
    return np.asarray(x != np.floor(x))


def _no_count(x: FloatArray) -> BoolArray:
    return (x < 0) | _not_whole(x)


def _not_positive(x: FloatArray) -> BoolArray:
    return x <= 0


# By kind: which numbers it does not have, and what to say of them.
WRONG: dict[ColumnKind, tuple[Callable[[FloatArray], BoolArray], str]] = {
    ColumnKind.CATEGORICAL: (_never, ""),  # bins of any numbers
    ColumnKind.GAUSSIAN: (_never, ""),
    ColumnKind.LOGNORMAL: (_not_positive, "is not above 0, so it has no logarithm"),
    ColumnKind.POISSON: (_no_count, "is no count: counts are whole numbers from 0 up"),
    ColumnKind.ORDINAL: (_not_whole, "is not whole: ordered answers are 1, 2, 3 and so on"),
}
