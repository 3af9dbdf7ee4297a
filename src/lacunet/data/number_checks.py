"""What values must be like to be numbers of a kind, and what to say when they are not."""

import shlex
from collections.abc import Callable

from lacunet.data.audit import shorten
from lacunet.data.column_checks import NOTHING, check_finite, unusable
from lacunet.data.discover import Coding, RawValues, number_of, shown
from lacunet.data.kinds import ColumnKind
from lacunet.data.source import Source
from lacunet.errors import DataError
from lacunet.state import State, label

INFINITE = ("inf", "infinity")


def check_numbers(
    name: str, kind: ColumnKind, raw: RawValues, coding: Coding, source: Source
) -> None:
    """Refuse a column that cannot have the kind that was said, and name the row."""
    states = coding.states
    if not states:
        raise unusable(name, NOTHING)
    if len(states) == 1:
        raise unusable(name, f"has only one value, {shown(states)}, so nothing can be learned")
    seen = [i for i, code in enumerate(coding.codes) if code >= 0]
    for i in seen:
        _check_number(name, kind, raw.values[i], source.where(raw.rows[i]))
    check_finite(name, raw, states, source)
    wrong, words = WRONG[kind]
    for i in seen:
        value = number_of(raw.values[i])
        if value is not None and wrong(value):
            raise DataError(
                f"column {name!r}, {source.where(raw.rows[i])}: {label(raw.values[i]).strip()} "
                f"{words}. Correct it, or give the column another kind: --kinds {name}=gaussian."
            )


def _check_number(name: str, kind: ColumnKind, value: State, where: str) -> None:
    """Refuse a text, or true and false."""
    if isinstance(value, bool):
        raise DataError(f"column {name!r} holds true and false: they are categories, not {kind}.")
    if number_of(value) is not None:
        return
    text = label(value).strip()
    what = "not finite" if text.lower().lstrip("+-") in INFINITE else "not a number"
    raise DataError(
        f"column {name!r}, {where}: {text!r} is {what}, and the column is read as {kind}. Correct "
        f"it, declare it with --missing={shlex.quote(shorten(text, 40))}, or read the column as "
        f"categories: --kinds {shlex.quote(name)}=categorical."
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
