"""What values must be like to be numbers of a kind, and what to say when they are not."""

import shlex
from collections.abc import Callable, Sequence

from lacunet.data.audit import shorten
from lacunet.data.column_checks import NOTHING, check_finite, unusable
from lacunet.data.discover import Coding, RawValues, number_of, shown
from lacunet.data.kinds import ColumnKind
from lacunet.data.source import Source
from lacunet.errors import DataError
from lacunet.state import State, label

INFINITE = ("inf", "infinity")


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
    if known is None:
        return
    for i, code in enumerate(coding.codes):
        value = number_of(raw.values[i]) if code >= 0 else None
        if value is not None and not known[0] <= value <= known[1]:
            raise DataError(
                f"column {name!r}, {source.where(raw.rows[i])}: {label(raw.values[i]).strip()} is "
                f"not among the answers of the model, which go from {known[0]:g} to {known[1]:g}. "
                f"Correct it, or declare it with --missing={label(raw.values[i]).strip()}."
            )


def check_numbers(
    name: str, kind: ColumnKind, raw: RawValues, coding: Coding, source: Source, *, own: bool
) -> None:
    """Refuse a column that cannot have its kind, and name the row.

    `own`: whether a person said the kind, and may say another; it is not that of a model.
    """
    seen = [i for i, code in enumerate(coding.codes) if code >= 0]
    for i in seen:
        _check_number(name, kind, raw.values[i], source.where(raw.rows[i]), own=own)
    if coding.states:
        check_finite(name, raw, coding.states, source)
    wrong, words = WRONG[kind]
    for i in seen:
        value = number_of(raw.values[i])
        if value is not None and wrong(value):
            text = label(raw.values[i]).strip()
            other = f"give the column another kind: --kinds {shlex.quote(name)}=gaussian"
            raise DataError(
                f"column {name!r}, {source.where(raw.rows[i])}: {text} {words}. Correct it, or "
                f"{other if own else f'declare it with --missing={text}'}."
            )


def _check_number(name: str, kind: ColumnKind, value: State, where: str, *, own: bool) -> None:
    """Refuse a text, or true and false."""
    if isinstance(value, bool):
        raise DataError(f"column {name!r} holds true and false: they are categories, not {kind}.")
    if number_of(value) is not None:
        return
    text = label(value).strip()
    what = "not finite" if text.lower().lstrip("+-") in INFINITE else "not a number"
    declare = f"declare it with --missing={shlex.quote(shorten(text, 40))}"
    other = f"or read the column as categories: --kinds {shlex.quote(name)}=categorical"
    raise DataError(
        f"column {name!r}, {where}: {text!r} is {what}, and the column is read as {kind}. Correct "
        f"it, {f'{declare}, {other}' if own else f'or {declare}'}."
    )


def _never(_: float) -> bool:
    return False


def _not_whole(x: float) -> bool:
    return not float(x).is_integer()


def _no_count(x: float) -> bool:
    return x < 0 or _not_whole(x)


def _not_positive(x: float) -> bool:
    return x <= 0


# By kind: which numbers it does not have, and what to say of them.
WRONG: dict[ColumnKind, tuple[Callable[[float], bool], str]] = {
    ColumnKind.GAUSSIAN: (_never, ""),
    ColumnKind.LOGNORMAL: (_not_positive, "is not above 0, so it has no logarithm"),
    ColumnKind.POISSON: (_no_count, "is no count: counts are whole numbers from 0 up"),
    ColumnKind.ORDINAL: (_not_whole, "is not whole: ordered answers are 1, 2, 3 and so on"),
}
