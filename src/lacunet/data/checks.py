"""Check that columns are usable, and build the errors."""

import math
import re
import shlex
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from lacunet.data.discover import (
    INFINITE,
    UNKNOWN,
    Coding,
    RawValues,
    is_missing,
    number_of,
    shorten,
    shown,
)
from lacunet.data.kinds import MOST_DATES, ColumnKind, looks_like_dates, steps_of
from lacunet.data.source import Source
from lacunet.errors import DataError, OptionError, did_you_mean
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.runtime.states import Numbers, State, label

MOST_STATES = 1_000
NOTHING = "has no observed value: every cell is missing"
BY_CHANCE = 1e-4  # least probability of distinct uniform draws that counts as chance
# Names of identifier columns: id, customer_id, caseId, index, uuid.
IDENTIFIER = re.compile(r"(.*[ _.-])?(?i:ids?|uuid|rowid|caseid)|(?i:index|idx)|.*[a-z](Id|ID)")
FEWEST_ROWS = 3  # below this every column looks like an identifier
FEWEST_PATTERNS = 21  # the same with weights, where tables often have one row per pattern


def unusable(name: str, why: str, instead: str = "") -> DataError:
    """Build the error for an unusable column; `instead` is an alternative to its exclusion."""
    step = f"{instead}, or exclude" if instead else "Exclude"
    return DataError(f"column {name!r} {why}. {step} it with --exclude {shlex.quote(name)}.")


def infinite(cell: str, text: str) -> DataError:
    """Build the error for an infinite number in a cell."""
    return DataError(
        f"{cell}: {text} is not a finite number. Correct it, or declare it with "
        f"--missing={shlex.quote(text)}."
    )


def check_inferred(raw: RawValues, coding: Coding, *, weighted: bool) -> None:
    """Refuse a column without values, with identifiers, or with dates."""
    states = coding.states
    if not states:
        raise unusable(raw.name, NOTHING)
    check_finite(raw, states)
    if len(states) > MOST_DATES and looks_like_dates(states):
        raise unusable(raw.name, f"holds {len(states):,} dates", "Turn them into a few periods")
    check_not_identifier(raw, coding, weighted=weighted)
    check_number_of_states(raw.name, states)


def check_not_identifier(raw: RawValues, coding: Coding, *, weighted: bool) -> None:
    """Refuse texts that are distinct in every row, and row numbers."""
    name, states, observed = raw.name, coding.states, int(raw.counts[coding.codes >= 0].sum())
    all_distinct = len(states) == observed >= (FEWEST_PATTERNS if weighted else FEWEST_ROWS)
    if not all_distinct or (isinstance(states[0], int) and not _numbers_rows(name, states)):
        return
    kind = "categorical" if isinstance(states[0], str) else "gaussian"
    refused = unusable(
        name,
        f"has {observed:,} different values in {observed:,} observed rows, so it looks like an "
        "identifier",
    )
    raise DataError(f"{refused.args[0]} If it is not one, give --kinds {shlex.quote(name)}={kind}.")


def _numbers_rows(name: str, states: Sequence[State]) -> bool:
    """Whether whole numbers, distinct in every row, number or identify the rows.

    They do if the column has such a name, or if they fill their range so densely that all would
    hardly differ by chance. Measurements may all differ in few rows.
    """
    if IDENTIFIER.fullmatch(name):
        return True
    n, places = len(states), steps_of(states) + 1
    log_chance = sum(math.log1p(-i / places) for i in range(n)) if n < places else -math.inf
    return n == places or log_chance < math.log(BY_CHANCE)


def check_finite(raw: RawValues, states: Sequence[State]) -> None:
    """Refuse an infinite number among sorted states."""
    for value in (states[0], states[-1]):
        if isinstance(value, float) and math.isinf(value):
            raise infinite(raw.cell(raw.values.index(value)), str(value))


def check_no_infinite_text(raw: RawValues, missing: frozenset[str]) -> None:
    """Refuse an infinite number among texts that are numbers."""
    texts: dict[str, int] = {}  # index of the first occurrence
    for i, value in enumerate(raw.values):
        if not is_missing(value, missing):
            texts.setdefault(label(value).strip(), i)
    large = [text for text in texts if INFINITE.fullmatch(text)]
    if len(large) not in (0, len(texts)) and all(
        number_of(text) is not None for text in texts.keys() - large
    ):
        raise infinite(raw.cell(texts[large[0]]), large[0])


def check_categories(name: str, states: Sequence[State], coding: Coding) -> None:
    """Refuse a categorical column without observed values, or with too many states."""
    if (coding.codes < 0).all():
        raise unusable(name, NOTHING)
    check_number_of_states(name, states)


def check_number_of_states(name: str, states: Sequence[State]) -> None:
    """Refuse more than `MOST_STATES` states."""
    if len(states) > MOST_STATES:
        why = f"has more than {MOST_STATES:,} states ({len(states):,} found)"
        raise unusable(name, why, "Group them first")


def check_known(raw: RawValues, coding: Coding) -> None:
    """Refuse a value that is not among the declared states."""
    unknown = np.flatnonzero(coding.codes == UNKNOWN)
    if len(unknown):
        at = int(unknown[0])
        value = raw.values[at]
        value = value.strip() if isinstance(value, str) else value
        raise DataError(
            f"{raw.cell(at)}: {shown([value])} is not one of its {len(coding.states)} states "
            f"{shown(coding.states)}. Declare it with "
            f"--missing {shlex.quote(shorten(label(value), 40))}, or add it to the states."
        )


def check_names(names: Iterable[str], option: str, source: Source) -> None:
    """Refuse the name of a column that does not exist, and suggest a similar one."""
    for name in names:
        if name not in source.columns:
            raise OptionError(f"{option}: {_absent(name, source)}")


def check_used(names: Iterable[str], option: str, used: Sequence[str]) -> None:
    """Refuse an option for a column that is not used."""
    for name in names:
        if name not in used:
            raise OptionError(
                f"{option}: column {name!r} is not used. Leave it out there, or use it."
            )


def check_has(names: Iterable[str], source: Source) -> None:
    """Refuse data without a needed column."""
    for name in names:
        if name not in source.columns:
            raise DataError(f"{_absent(name, source)} Add it, or rename the one that holds it.")


def _absent(name: str, source: Source) -> str:
    hint = did_you_mean(str(name), source.columns)
    listed = f"Its columns are {shown(source.columns)}."
    return f"there is no column {name!r} in {source.name}.{hint} {listed}"


def check_not_left_out(
    needed: Iterable[str], columns: Sequence[str] | None, exclude: Sequence[str]
) -> None:
    """Refuse to leave out a needed column."""
    for name in needed:
        if name in exclude or (columns is not None and name not in columns):
            option = "--exclude" if name in exclude else "--columns"
            raise OptionError(
                f"{option}: column {name!r} is left out, but the network has it. Keep it, or "
                f"declare it hidden: --hidden '{name}'."
            )


def check_some_numbers(name: str, states: Sequence[State]) -> None:
    """Refuse a numeric column with fewer than two values."""
    if not states:
        raise unusable(name, NOTHING)
    if len(states) == 1:
        raise unusable(name, f"has only one value, {shown(states)}, so nothing can be learned")


def check_ends(known: tuple[float, float] | None, raw: RawValues, coding: Coding) -> None:
    """Refuse a number outside the range of a model, and name the row."""
    if known is None or not coding.states:
        return
    x = np.asarray(coding.states, dtype=np.float64)
    at = _first((x < known[0]) | (x > known[1]), coding)
    if at is not None:
        text = label(raw.values[at]).strip()
        raise DataError(
            f"{raw.cell(at)}: {text} is not among the answers of the model, which go from "
            f"{known[0]:g} to {known[1]:g}. Correct it, or declare it with --missing={text}."
        )


def _first(wrong: BoolArray, coding: Coding) -> int | None:
    """Give the index of the first value with a wrong state, if any."""
    values = np.flatnonzero(wrong[coding.codes] & (coding.codes >= 0))
    return int(values[0]) if len(values) else None


def check_numbers(raw: RawValues, coding: Coding, *, declarable: bool) -> None:
    """Refuse values that the kind of a column excludes, and name the row.

    `declarable`: whether the user may declare another kind, because it is not that of a model.
    """
    if not isinstance(raw.values, Numbers):
        for i in np.flatnonzero(coding.codes >= 0).tolist():
            _check_number(coding.kind, raw, i, declarable=declarable)
    if not coding.states:
        return
    check_finite(raw, coding.states)
    if coding.kind not in WRONG:
        return
    wrong, words = WRONG[coding.kind]
    at = _first(wrong(np.asarray(coding.states, dtype=np.float64)), coding)
    if at is not None:
        text = label(raw.values[at]).strip()
        other = f"give the column another kind: --kinds {shlex.quote(raw.name)}=gaussian"
        raise DataError(
            f"{raw.cell(at)}: {text} {words}. Correct it, or "
            f"{other if declarable else f'declare it with --missing={text}'}."
        )


def _check_number(kind: ColumnKind, raw: RawValues, i: int, *, declarable: bool) -> None:
    """Refuse a text or a truth value."""
    name, value = raw.name, raw.values[i]
    if isinstance(value, bool):
        raise DataError(f"column {name!r} holds true and false: they are categories, not numbers.")
    if number_of(value) is not None:
        return
    text = label(value).strip()
    what = "not finite" if INFINITE.fullmatch(text) else "not a number"
    declare = f"declare it with --missing={shlex.quote(shorten(text, 40))}"
    other = f"or read the column as categories: --kinds {shlex.quote(name)}=categorical"
    read = f"read as {kind}" if kind.number else "put into bins"
    raise DataError(
        f"{raw.cell(i)}: {text!r} is {what}, and the column is {read}. Correct it, "
        f"{f'{declare}, {other}' if declarable else f'or {declare}'}."
    )


# By kind: a test for invalid numbers, and the text of the error.
WRONG: dict[ColumnKind, tuple[Callable[[FloatArray], BoolArray], str]] = {
    ColumnKind.LOGNORMAL: (lambda x: x <= 0, "is not above 0, so it has no logarithm"),
    ColumnKind.POISSON: (
        lambda x: (x < 0) | (x != np.floor(x)),
        "is not a count: counts are whole numbers from 0 up",
    ),
    ColumnKind.ORDINAL: (
        lambda x: x != np.floor(x),
        "is not whole: ordered answers are 1, 2, 3 and so on",
    ),
}
