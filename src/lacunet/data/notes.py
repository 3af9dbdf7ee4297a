"""What a person may not expect of the states that were found in a column, in a sentence each."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from lacunet.data.discover import MARKERS, Coding, RawValues, shown
from lacunet.data.kinds import ColumnKind
from lacunet.data.no_answers import notes_on_codes
from lacunet.data.remark import WARNING, Remark
from lacunet.runtime.states import Numbers, State, label

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
