"""Rows in the order of their source, as codes, for those who answer row by row.

Nothing is refused here because it looks odd: that is for the caller to say. What cannot be coded
at all still is.
"""

from collections.abc import Sequence

import numpy as np

from lacunet.arrays import BoolArray, CodeArray
from lacunet.data import column_checks as checks
from lacunet.data.discover import MISSING, UNKNOWN, Coding, infer, is_missing, match
from lacunet.data.encode import ColumnEncoder
from lacunet.data.read import Reading, recoded
from lacunet.data.rows import Rows, Unseen
from lacunet.data.source import Source, open_source
from lacunet.data.table import Column
from lacunet.errors import DataError
from lacunet.state import State


def code_rows(
    source: object,
    states: Sequence[Sequence[State] | None] | None = None,
    columns: Sequence[int] | None = None,
    keep: BoolArray | None = None,
) -> Rows:
    """Code the columns of a source.

    Parameters
    ----------
    source
        Anything that `read_table` reads.
    states
        States of each column. None: those that it declares (categories), or that it shows.
    columns
        Places of the columns to read; all of them without it.
    keep
        (rows,) which rows there are; the others are as if they were not in the source.

    Examples
    --------
    >>> rows = code_rows(np.array([[0.0, 5.0], [1.0, np.nan], [0.0, 7.0]]))
    >>> rows.codes.tolist(), rows.columns[1].states
    ([[0, 0], [1, -1], [0, 1]], (5, 7))
    """
    opened = open_source(source)
    names = opened.columns if columns is None else [opened.columns[i] for i in columns]
    if not names:
        raise DataError(f"{opened.name} has no columns. Give a table with at least one.")
    reading = Reading(opened, names, {})
    codes = reading.codes()
    codes = codes if keep is None else codes[keep]
    given = [None] * len(names) if states is None else states
    codings = [
        _coding(encoder, codes[:, j], states_, opened)
        for j, (encoder, states_) in enumerate(zip(reading.encoders, given, strict=True))
    ]
    unseen = [
        Unseen(
            encoder.name, opened.where(encoder.raw.rows[i]), encoder.raw.values[i], coding.states
        )
        for encoder, coding in zip(reading.encoders, codings, strict=True)
        for i, code in enumerate(coding.codes)
        if code == UNKNOWN
    ]
    described = tuple(Column(name, c.states) for name, c in zip(names, codings, strict=True))
    return Rows(described, np.maximum(recoded(codes, codings), -1), tuple(unseen))


def _coding(
    encoder: ColumnEncoder, codes: CodeArray, states: Sequence[State] | None, source: Source
) -> Coding:
    """Code the values that are left in a column; its other values get any code."""
    name, raw = encoder.name, encoder.raw
    left = [int(code) for code in np.unique(codes) if code >= 0]
    values = [raw.values[i] for i in left]
    if states is None and name in source.categories:
        states = [s for s in source.categories[name] if not is_missing(s, MISSING)]
    if states is not None:
        coding = match(values, states, frozenset())
    else:
        coding = infer(values, frozenset())
        if coding.states:
            checks.check_finite(name, raw, coding.states, source)
    if not coding.states:
        raise DataError(f"column {name!r} {checks.NOTHING}. Leave it out.")
    checks.check_number_of_states(name, coding.states)
    every = [-1] * len(raw.values)
    for i, code in zip(left, coding.codes, strict=True):
        every[i] = code
    return Coding(coding.states, tuple(every))
