"""What a person may not expect of the states that were found in a column, in a sentence each."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from lacunet.data.discover import MARKERS, Coding, shown
from lacunet.state import Numbers, State


def notes_on(name: str, values: Sequence[State], coding: Coding) -> Iterator[str]:
    """Tell what was found in a column whose raw values are these."""
    used = np.zeros(len(coding.states), dtype=bool)
    used[coding.codes[coding.codes >= 0]] = True
    if not used.all():
        unused = [coding.states[int(k)] for k in np.flatnonzero(~used)]
        yield f"column {name!r}: declared but never observed: {shown(unused)}."
    if isinstance(values, Numbers):
        return
    for alike in _alike(values):
        yield f"column {name!r}: {shown(alike)} differ in spaces alone, and are one state."
    marks = [state for state in coding.states if isinstance(state, str) and state in MARKERS]
    if marks:
        yield (
            f"column {name!r}: {shown(marks)} is a state like any other, since a cell without a "
            "value says so by itself here. If it stands for a hole, declare it missing."
        )


def _alike(values: Sequence[State]) -> list[list[State]]:
    """Texts that are one without the spaces around them."""
    by_text: defaultdict[str, list[State]] = defaultdict(list)
    for value in values:
        if isinstance(value, str):
            by_text[value.strip()].append(value)
    return [alike for text, alike in by_text.items() if len(alike) > 1 and text]
