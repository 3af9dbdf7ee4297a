"""Rows in the order of their source, as codes, for those who answer row by row.

Nothing is refused here because it looks odd: that is for the caller to say. What cannot be coded
at all still is.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lacunet.arrays import BoolArray, CodeArray
from lacunet.data import column_checks as checks
from lacunet.data.discover import (
    UNKNOWN,
    Coding,
    RawValues,
    infer,
    match,
)
from lacunet.data.kinds import CATEGORIES, Kinds
from lacunet.data.number_checks import check_ends, check_numbers, check_some_numbers
from lacunet.data.number_columns import code_numbers
from lacunet.data.read import Reading, described, recoded, until_read
from lacunet.data.rows import Rows, Unseen
from lacunet.data.source import Source, open_source
from lacunet.errors import DataError
from lacunet.state import Numbers, State


def code_rows(
    source: object,
    states: Sequence[Sequence[State] | None] | None = None,
    columns: Sequence[int] | None = None,
    keep: BoolArray | None = None,
    *,
    names: Sequence[str] | None = None,
    kinds: Kinds = CATEGORIES,
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
    names
        What the columns are called; as in the source without it.
    kinds
        What is said of columns of numbers, by these names.

    Examples
    --------
    >>> rows = code_rows(np.array([[0.0, 5.0], [1.0, np.nan], [0.0, 7.0]]))
    >>> rows.codes.tolist(), rows.columns[1].states
    ([[0, 0], [1, -1], [0, 1]], (5, 7))
    """
    opened = open_source(source)
    own = opened.columns if columns is None else [opened.columns[i] for i in columns]
    if not own:
        raise DataError(f"{opened.name} has no columns. Give a table with at least one.")
    called = own if names is None else names
    many = Kinds(auto=any(kinds.may_be_number(name) for name in called))
    reading, codes = until_read(
        Reading(opened, own, {}, kinds=many), lambda reading: (reading, reading.codes())
    )
    codes = codes if keep is None else codes[keep]
    given = [None] * len(own) if states is None else states
    declared = [
        _declared(opened, name) if mine is None else mine
        for name, mine in zip(own, given, strict=True)
    ]
    codings, unseen = [], []
    for j, (name, encoder) in enumerate(zip(called, reading.encoders, strict=True)):
        coding = _coding(name, encoder.raw, codes[:, j], declared[j], opened, kinds)
        codings.append(coding)
        for i in np.flatnonzero(coding.codes == UNKNOWN).tolist():
            where = opened.where(encoder.raw.rows[i])
            unseen.append(Unseen(name, where, encoder.raw.values[i], coding.states))
    final = np.maximum(recoded(codes, codings), -1)
    return Rows(described(called, codings), final, tuple(unseen))


def _declared(source: Source, name: str) -> list[State] | None:
    """The categories that a column of a dataframe declares, if it does."""
    if name not in source.categories:
        return None
    return list(source.categories[name])


def _coding(
    name: str,
    raw: RawValues,
    codes: CodeArray,
    states: Sequence[State] | None,
    source: Source,
    kinds: Kinds,
) -> Coding:
    """Code the values that are left in a column; its other values get any code."""
    left = np.unique(codes)
    left = left[left >= 0]
    some = raw.only(left)
    coding = (
        _inferred(name, some, source, kinds)
        if states is None or kinds.declares_number(name)
        else match(some.values, states, frozenset(), source.markers)
    )
    if not coding.states and name not in kinds.ends:
        raise DataError(f"column {name!r} {checks.NOTHING}. Leave it out.")
    if not coding.kind.number:
        checks.check_number_of_states(name, coding.states)
    every = np.full(len(raw.values), -1, dtype=np.int64)
    every[left] = coding.codes
    return replace(coding, codes=every)


def _inferred(name: str, raw: RawValues, source: Source, kinds: Kinds) -> Coding:
    """Find the states of a column that declares none, and what they are."""
    numbers = isinstance(raw.values, Numbers)
    coding = code_numbers(raw) if numbers else infer(raw.values, source.markers)
    decided = kinds.decide(name, coding.states, math.nan)
    if decided.kind.number:
        own = name not in kinds.ends
        check_numbers(name, decided.kind, raw, coding, source, own=own)
        check_ends(name, kinds.ends.get(name), raw, coding, source)
        if own:
            check_some_numbers(name, coding.states)
    elif coding.states:
        checks.check_finite(name, raw, coding.states, source)
    states = coding.states if decided.kind.number else tuple(coding.states)
    return replace(coding, states=states, kind=decided.kind, why=decided.why)
