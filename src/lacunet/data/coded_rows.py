"""Rows in the order of their source, as codes: none merged.

Rows in the order of their source, as codes, for those who answer row by row.
From codes back to the values that a person works with.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lacunet.data import checks
from lacunet.data.audit import Remark, told_once
from lacunet.data.columns import Judge
from lacunet.data.discover import UNKNOWN, Coding, RawValues, weighed
from lacunet.data.kinds import BY_RULE, Kinds
from lacunet.data.reading import Reading, described, recoded, until_read
from lacunet.data.source import open_source
from lacunet.data.table import Column
from lacunet.errors import DataError
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IntArray
from lacunet.runtime.states import Bins, State
from lacunet.wording import worded


@dataclass(frozen=True)
class Unseen:
    """A value that is none of the states of its column."""

    column: str
    where: str  # its first row
    value: State
    states: Sequence[State]  # those of the column


@dataclass(frozen=True, eq=False)
class Rows:
    """Coded rows."""

    columns: tuple[Column, ...]
    codes: CodeArray  # (rows, n), -1 = missing, or a value that is none of the given states
    unseen: tuple[Unseen, ...] = ()  # each such value once
    notes: tuple[str, ...] = ()  # what a person should be told
    unknown: BoolArray | None = None  # (rows, n) where they stand; None: nowhere
    beside: "Rows | None" = None  # columns of the same rows that are given, and not asked about


def code_rows(
    source: object,
    states: Sequence[Sequence[State] | None] | None = None,
    columns: Sequence[int] | None = None,
    weights: FloatArray | None = None,
    *,
    names: Sequence[str] | None = None,
    kinds: Kinds = BY_RULE,
    asked: bool = False,
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
    weights
        (rows,) how often there is each row; one of weight 0 is as if it were not in the source.
    names
        What the columns are called; as in the source without it.
    kinds
        What is said of columns, by these names.
    asked
        Whether rows are only asked about: then a column need not be one to learn from.

    Examples
    --------
    >>> code_rows(np.array([[0.0, 5.0], [1.0, np.nan], [0.0, 7.0]])).codes.tolist()
    [[0, 0], [1, -1], [0, 1]]
    """
    opened = open_source(source)
    own = opened.columns if columns is None else [opened.columns[i] for i in columns]
    if not own:
        raise DataError(f"{opened.name} has no columns. Give a table with at least one.")
    called = own if names is None else names
    # What is told of columns is told by other names than those of the source: all may be numbers.
    reading, codes = until_read(Reading(Judge(opened), own), lambda one: (one, one.codes()))
    weight = np.ones(len(codes)) if weights is None else weights
    codes, weight = codes[weight > 0], weight[weight > 0]
    judge = Judge(opened, kinds, weighted=weights is not None, asked=asked)
    given = [None] * len(own) if states is None else states
    codings, unseen, notes = [], [], list[str | Remark]()
    for j, (name, encoder) in enumerate(zip(called, reading.encoders, strict=True)):
        left = Left.of(encoder.raw, codes[:, j], weight)
        declared = opened.categories.get(own[j]) if given[j] is None else given[j]
        coding = left.coding(judge, name, declared)
        if declared is None:
            notes += judge.notes(name, left.raw, coding)
        codings.append(left.spread(coding, len(encoder.raw.values)))
        for i in np.flatnonzero(coding.codes == UNKNOWN).tolist():
            where = opened.where(left.raw.rows[i])
            unseen.append(Unseen(name, where, left.raw.values[i], coding.states))
    final = recoded(codes, codings)
    said = tuple(map(worded, told_once(notes)))
    more = tuple(unseen), said, final == UNKNOWN if unseen else None
    return Rows(described(called, codings, kinds), np.maximum(final, -1), *more)


def empty_columns(source: object, rows: BoolArray | None = None) -> list[int]:
    """Places of the columns that show no value at all, in some of the rows.

    >>> empty_columns(np.array([[1.0, np.nan], [np.nan, np.nan]]))
    [1]
    """
    opened = open_source(source)
    found = until_read(Reading(Judge(opened), opened.columns), lambda reading: reading.codes())
    return np.flatnonzero((found[slice(None) if rows is None else rows] < 0).all(axis=0)).tolist()


def declared_columns(source: object) -> list[int]:
    """Places of the columns whose states the source declares, as categories of a dataframe."""
    opened = open_source(source)
    return [j for j, name in enumerate(opened.columns) if name in opened.categories]


@dataclass(frozen=True)
class Left:
    """Values of a column that are left where some rows are not there."""

    raw: RawValues
    cases: FloatArray  # (values,) how much each weighs
    which: IntArray  # (values,) of all values in the source

    @classmethod
    def of(cls, raw: RawValues, codes: CodeArray, weight: FloatArray) -> Self:
        """Find them; `codes` (rows,) say which value is in each row, −1: none."""
        cases = weighed(codes, weight, len(raw.values))
        rows = np.bincount(codes[codes >= 0], minlength=len(raw.values))
        which = np.flatnonzero(rows)
        return cls(replace(raw, counts=rows).only(which), cases[which], which)

    def coding(self, judge: Judge, name: str, states: Sequence[State] | None) -> Coding:
        """Code them: as a model or a person has the states, or as the rule has it."""
        bins = judge.kinds.bins.get(name)
        if states is not None and isinstance(bins, Bins):
            coding = judge.by_bins(name, self.raw, states, bins)
        elif states is None or judge.kinds.declares_number(name):
            coding = judge.inferred(name, self.raw, self.cases)
        else:
            coding = judge.known(self.raw, states)
        if not coding.states and name not in judge.kinds.ends:
            raise checks.unusable(name, checks.NOTHING)
        if not coding.kind.number:
            checks.check_number_of_states(name, coding.states)
        return coding

    def spread(self, coding: Coding, values: int) -> Coding:
        """Give codes to all values of the source; those that are not left get any."""
        every = np.full(values, -1, dtype=np.int64)
        every[self.which] = coding.codes
        return replace(coding, codes=every)


Values: TypeAlias = NDArray[Any]


def as_array(states: Sequence[Sequence[State]], codes: CodeArray) -> Values:
    """Give the values of coded cells without holes: numbers if all columns have them, or objects.

    >>> as_array([("no", "yes"), (1, 2)], np.array([[1, 0]])).tolist()
    [['yes', 1]]
    >>> as_array([(0.5, 2.5), (1, 2)], np.array([[1, 0]]))
    array([[2.5, 1. ]])
    """
    columns = [as_values(s)[codes[:, j]] for j, s in enumerate(states)]
    if any(column.dtype == object for column in columns):
        columns = [column.astype(object) for column in columns]
    return np.column_stack(columns)


def as_values(states: Sequence[State]) -> Values:
    """Keep numbers and truth values as they are; texts stay Python's."""
    numbers = not any(isinstance(state, str) for state in states)
    return np.array(states, dtype=None if numbers else object)
