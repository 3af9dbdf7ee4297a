"""Values that look like answers and are none: 99, −99, "refused", "don't know".

Surveys write such codes into the cells of people who did not answer. Nobody can tell for sure, so
they stay what they are, and a warning names them, how often they occur, and what makes them holes.

What a person may not expect of the states that were found in a column, in a sentence each.
Holes as answers: a missing cell as one more state of its column, or as a column of its own.
"""

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from lacunet.data.audit import WARNING, Remark
from lacunet.data.discover import MARKERS, Coding, RawValues, number_of, shown
from lacunet.data.distinct import collapse, merge, places, smallest
from lacunet.data.kinds import ColumnKind
from lacunet.data.table import Column, Table
from lacunet.errors import DataError
from lacunet.runtime.arrays import CodeArray, FloatArray
from lacunet.runtime.states import Numbers, State, label
from lacunet.wording import missing_words

# 7, 8, 9 and what they are repeated or counted down from: 77, 96 to 99, 998, 9999.
CODE = re.compile(
    r"-?(?:[6789]|(?:66|77|88|9[6-9])|(?:666|777|888|99[6-9])|(?:7777|8888|999[6-9]))"
)
NEGATIVE = re.compile(r"-(?:[1-9]|[1-9]{2}|99[0-9]|999[0-9]|777|888|666)")
MARK = "'"  # around texts
GAP = 3  # empty places between answers and a code of one digit
APART = 2.0  # how many times the largest answer a longer code is, at least
NO_ANSWER = re.compile(
    r"refus(?:ed|al|es)?(?: to answer)?|(?:do(?:es)?n[’']?t|do(?:es)? not|did ?n[o’']t) know|dk|"
    r"d/k|dk/?na|dk/ref(?:used)?|no answer|no response|not answered|non[- ]?response|"
    r"prefer not to (?:say|answer)|(?:does )?not appl(?:icable|y)|inapplicable|"
    r"n/?a|n\.a\.|na|none given|missing|unknown|"
    r"not (?:available|stated|ascertained|asked)|can[’']?t (?:say|choose)|keine angabe|k\.? ?a\.?|"
    r"weiß nicht|ne sait pas|sans réponse|no sabe|no contesta|ns/nc|[.\-–—]+|\(?blank\)?",
    re.IGNORECASE,
)


def notes_on_codes(name: str, raw: RawValues, coding: Coding) -> Iterator[Remark]:
    """Warn of values of a column that look as if nobody had answered."""
    found = _numbers(raw, coding) if _numeric(coding) else _texts(raw, coding)
    if not found:
        return
    settled = missing_words([state.removeprefix(MARK).removesuffix(MARK) for state in found])
    what = "looks like a code of no answer, and is a value"
    if len(found) > 1:
        what = "look like codes of no answer, and are values"
    sentence = f"{what} like any other. If nobody answered there, give {settled}."
    yield Remark(name, sentence, tuple(found.items()), warning=True)


def odd_numbers(values: FloatArray) -> list[float]:
    """Find numbers that stand apart as codes do: 99 after 1 to 5, −9 where all others are not.

    Parameters
    ----------
    values
        Different ones, in order.

    Examples
    --------
    >>> odd_numbers(np.array([1.0, 2, 3, 4, 98, 99])), odd_numbers(np.array([-9.0, 0, 1]))
    ([98.0, 99.0], [-9.0])
    >>> odd_numbers(np.arange(18.0, 100)), odd_numbers(np.array([-2.0, -1, 0, 1, 2]))
    ([], [])
    """
    below, above = values[values < 0].tolist(), values[values >= 0].tolist()
    return [*(below if _are_codes(below, above) else []), *_high(above)]


def _are_codes(below: Sequence[float], above: Sequence[float]) -> bool:
    """Whether the numbers below 0 are codes, not the lower half of a scale."""
    scale = [-x for x in reversed(below)] == list(range(1, len(below) + 1))
    half = scale and bool(above) and len(below) >= above[-1]
    return len(above) > 1 and not half and all(NEGATIVE.fullmatch(f"{x:g}") for x in below)


def _high(values: Sequence[float]) -> list[float]:
    """The codes at the upper end of numbers from 0 up, in order."""
    end = len(values)
    while end and CODE.fullmatch(f"{values[end - 1]:g}"):
        end -= 1
        codes, others = values[end:], values[:end]
        if len(others) > 1 and _far(codes[0], others[-1]):
            return list(codes)
    return []


def _far(code: float, largest: float) -> bool:
    """Whether a code stands apart from the largest answer."""
    if code < 10:
        return code - largest > GAP
    return code >= APART * largest and code - largest >= 10


def _numbers(raw: RawValues, coding: Coding) -> dict[str, int]:
    """Numbers that look like codes, and their rows; those that are holes already are none."""
    told = coding.codes >= 0
    if isinstance(raw.values, Numbers):
        values, counts = raw.values.array[told], raw.counts[told]
    else:
        pairs = [(number_of(raw.values[i]), raw.counts[i]) for i in np.flatnonzero(told).tolist()]
        values = np.array([x for x, _ in pairs if x is not None])
        counts = np.array([n for x, n in pairs if x is not None])
    different = np.unique(values)
    odd = odd_numbers(different)
    return {f"{x:g}": int(counts[values == x].sum()) for x in odd if len(odd) < len(different)}


def _texts(raw: RawValues, coding: Coding) -> dict[str, int]:
    """Texts that say that nobody answered, and their rows."""
    told = coding.codes >= 0
    rows = np.bincount(coding.codes[told], raw.counts[told], len(coding.states))
    said = [
        isinstance(s, str) and s not in MARKERS and NO_ANSWER.fullmatch(s.strip())
        for s in coding.states
    ]
    pairs = zip(coding.states, rows.tolist(), said, strict=True)
    return {f"{MARK}{s}{MARK}": int(n) for s, n, odd in pairs if odd and n and not all(said)}


def _numeric(coding: Coding) -> bool:
    """Whether a column holds numbers, perhaps in bins."""
    states = coding.states
    if coding.bins is not None or isinstance(states, Numbers):
        return True
    return len(states) > 0 and not isinstance(states[0], str | bool)


FEW_STEPS = 10_000  # of a float from one value to the next, which measurements should reach over


def notes_on(
    name: str, raw: RawValues, coding: Coding, *, forced: bool = False
) -> Iterator[str | Remark]:
    """Tell what was found in a column whose raw values are these.

    `forced`: whether bins are there because only categories can be.
    """
    values = raw.values
    yield from notes_on_codes(name, raw, coding)
    used = np.zeros(len(coding.states), dtype=bool)
    used[coding.codes[coding.codes >= 0]] = True
    if not used.all():
        unused = [coding.states[int(k)] for k in np.flatnonzero(~used)]
        yield f"column {name!r}: declared but never observed: {shown(unused)}."
    if coding.bins is not None and forced:
        yield (
            f"column {name!r} holds numbers, and only categories can be here: they are put into "
            f"{len(coding.states)} bins of about as many rows each. Say which with "
            f"--bin {shlex.quote(name)}=5."
        )
    if len(coding.states) == 1 and not coding.kind.number:
        yield f"column {name!r} has only one state, {shown(coding.states)}: it says nothing."
    yield from _lost_digits(name, coding)
    if isinstance(values, Numbers):
        return
    for alike in _alike(values, str.strip):
        yield f"column {name!r}: {shown(alike)} differ in spaces alone, and are one state."
    texts = [state for state in coding.states if isinstance(state, str)]
    for alike in _alike(texts, str.casefold):
        yield (
            f"{WARNING}column {name!r}: {_counted(alike, raw)} differ in upper and lower case "
            "alone, and are different states. If they are the same answer, give --ignore-case."
        )
    marks = [state for state in coding.states if isinstance(state, str) and state in MARKERS]
    if marks:
        yield (
            f"column {name!r}: {shown(marks)} is a state like any other, since a cell without a "
            "value says so by itself here. If it stands for a hole, declare it missing."
        )


def _lost_digits(name: str, coding: Coding) -> Iterator[str]:
    """Warn of measurements that differ in the last digits of a float alone."""
    if coding.kind not in (ColumnKind.GAUSSIAN, ColumnKind.LOGNORMAL):
        return
    x = np.asarray(coding.states, dtype=np.float64)
    x = np.log(x) if coding.kind is ColumnKind.LOGNORMAL else x
    largest = float(np.abs(x).max(initial=0.0))
    reach = float(np.ptp(x / 2.0)) * 2.0 if len(x) else 0.0
    if 0.0 < reach < FEW_STEPS * np.spacing(largest):
        yield (
            f"{WARNING}column {name!r}: its numbers, up to {largest:.3g}, differ by {reach:.2g} at "
            "most, in the last of the 16 digits that a number has here: the others are rounded "
            "away. Subtract what they have in common before they are written."
        )


def _counted(states: Sequence[State], raw: RawValues) -> str:
    """List states with the number of their rows."""
    rows = Counter[str]()
    for value, count in zip(raw.values, raw.counts.tolist(), strict=True):
        rows[label(value).strip()] += count
    return ", ".join(f"{state!r} ({rows[label(state)]:,})" for state in states)


def _alike(values: Sequence[State], meant: Callable[[str], str]) -> list[list[State]]:
    """Texts that mean the same."""
    by_text: defaultdict[str, list[State]] = defaultdict(list)
    for value in values:
        if isinstance(value, str):
            by_text[meant(value)].append(value)
    return [alike for text, alike in by_text.items() if len(alike) > 1 and text]


MISSING_STATE = "(missing)"
_MISSING_STATE = re.compile(r"\(missing( \d+)?\)")
SEEN, HOLE = "seen", "missing"  # states of a column that says whether another is missing


def missing_state(column: Column) -> str:
    """Name the state of a hole, so that it is none of the column's own.

    >>> missing_state(Column("x", ("no", "yes"))), missing_state(Column("x", ("a", "(missing)")))
    ('(missing)', '(missing 2)')
    """
    name, number = MISSING_STATE, 2
    while name in column.labels:
        name, number = f"(missing {number})", number + 1
    return name


def put_missing_states(codes: CodeArray, columns: Sequence[Column]) -> None:
    """Give holes the code of the state that stands for them, in place, where a column has one.

    That is how rows are read for a model that was fitted to a table of `missing_as_state`. In a
    column that had no holes then, a hole is still a hole.
    """
    for j, column in enumerate(columns):
        if has_missing_state(column):
            codes[codes[:, j] < 0, j] = len(column.states) - 1


def has_missing_state(column: Column) -> bool:
    """Whether the last state of a column stands for a hole."""
    return _MISSING_STATE.fullmatch(column.labels[-1]) is not None


def missing_as_state(table: Table, *, merged: bool = True) -> Table:
    """Make a hole a state of its own in every column that has one; other columns stay.

    The new state comes last, so the codes of all others stay. Rows that differed still differ.
    Unless they are to be merged, rows stay where they are, though some may be equal.
    """
    columns, changed = list(table.columns), []
    number = next((c.name for c in columns if c.kind.number), None)
    if number is not None:
        raise DataError(
            f"'{number}' holds numbers: a missing cell can be an answer of categories only. Put "
            f"its values into bins with --bin {shlex.quote(number)}=5, or leave out "
            "--missing-as-state."
        )
    for j in np.flatnonzero((table.codes < 0).any(axis=0)):
        column, name = columns[j], missing_state(columns[j])
        columns[j] = replace(column, states=(*column.states, name))
        changed.append(f"column '{column.name}': a missing cell counts as its state '{name}'.")
    notes = (*table.notes, *(changed or ["no cell is missing: no column gets a state for it."]))
    told = replace(table, columns=tuple(columns), notes=notes)
    return with_missing_states(told, merged=merged)


def with_missing_states(table: Table, *, merged: bool = True) -> Table:
    """Give holes the state that stands for them, in the columns that have one."""
    kind = smallest(max(len(c.states) for c in table.columns))
    codes: CodeArray = np.array(table.codes, dtype=kind)  # a copy: it is changed in place
    put_missing_states(codes, table.columns)
    if not merged:
        return replace(table, codes=codes)
    # A cell may have named the state itself: such rows are equal now.
    design = None if table.design is None else table.design.moved(places(codes))
    codes, counts = collapse(*merge(codes, table.counts, np.ones(len(codes), dtype=np.int64)))
    return replace(table, codes=codes, counts=counts, design=design)


def with_masks(table: Table) -> tuple[Table, dict[str, str]]:
    """Add, for every column with holes, one that says whether it is missing.

    Returns the table and the name of each new column, by the column that it speaks of.
    """
    holes = table.codes < 0
    wanted = np.flatnonzero(holes.any(axis=0))
    names: dict[str, str] = {}
    taken = {c.name for c in table.columns}
    for j in wanted:
        name = f"{table.columns[j].name} is missing"
        while name in taken:
            name += "?"
        taken.add(name)
        names[table.columns[j].name] = name
    masks = [Column(name, (SEEN, HOLE)) for name in names.values()]
    codes: CodeArray = np.column_stack([table.codes, holes[:, wanted].astype(table.codes.dtype)])
    return replace(table, columns=(*table.columns, *masks), codes=codes), names
