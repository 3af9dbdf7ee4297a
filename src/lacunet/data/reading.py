"""One pass over a source: batches of codes, types of columns, and unmerged rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lacunet.data import checks
from lacunet.data.audit import Remark, notes_on, written_once
from lacunet.data.columns import ColumnTyper, described
from lacunet.data.design import NO_DESIGN, DesignColumns
from lacunet.data.discover import UNKNOWN, Coding, is_missing, weighed
from lacunet.data.distinct import Merged, alike, smallest
from lacunet.data.encode import (
    MOST_BEFORE_NUMBERS,
    MOST_DIFFERENT,
    MOST_VALUES,
    ColumnEncoder,
    DesignReader,
    Encoder,
    NotNumbersError,
    NumberEncoder,
    TooManyValuesError,
    read_weights,
)
from lacunet.data.kinds import BY_RULE, Kinds
from lacunet.data.source import COPIES, Source, cells_of, open_source
from lacunet.data.table import Column
from lacunet.errors import DataError
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray
from lacunet.runtime.states import Bins, State
from lacunet.wording import worded

R = TypeVar("R")
Values: TypeAlias = NDArray[Any]


class _ReadAgainError(Exception):
    """Columns have another type than was assumed while they were read."""

    def __init__(self, numbers: frozenset[str], texts: frozenset[str]) -> None:
        super().__init__(numbers, texts)
        self.numbers, self.texts = numbers, texts


def until_read(reader: SourceReader, read: Callable[[SourceReader], R]) -> R:
    """Read; start again whenever columns have another type than assumed."""
    while True:
        try:
            return read(reader)
        except _ReadAgainError as error:
            numbers, texts = reader.numbers | error.numbers, reader.texts | error.texts
            reader = replace(reader, numbers=numbers - texts, texts=texts)


@dataclass(frozen=True)
class SourceReader:
    """One pass over a source; provisional codes number values by first appearance."""

    typer: ColumnTyper
    names: Sequence[str]  # the used columns
    states: Mapping[str, Sequence[State]] | None = None  # of a model: no remarks on the data then
    weights: str | None = None
    drawn: DesignColumns = NO_DESIGN  # columns of the sampling design
    memory: int | None = None  # memory limit of the process in bytes
    numbers: frozenset[str] = frozenset()  # columns that are read as numbers
    texts: frozenset[str] = frozenset()  # columns that may be numbers, but hold something else

    @property
    def source(self) -> Source:
        """The source."""
        return self.typer.source

    @cached_property
    def encoders(self) -> list[Encoder]:
        """One per used column."""
        return [self._encoder(name) for name in self.names]

    @cached_property
    def design_reader(self) -> DesignReader:
        """The reader of the design columns."""
        return DesignReader(self.drawn, self.source, self.typer.missing | self.source.markers)

    def _encoder(self, name: str) -> Encoder:
        """Choose the encoder: of numbers if the column must be numeric, else of any values."""
        declared = self.typer.kinds.declares_number(name)
        if name not in self.texts and (declared or name in self.numbers):
            return NumberEncoder(name, self.source, self.typer.missing | self.source.markers)
        most = MOST_BEFORE_NUMBERS if self._is_open(name) else MOST_VALUES
        if declared:
            most = MOST_DIFFERENT  # so that an error can show the wrong value
        return ColumnEncoder(name, self.source, most)

    def _is_open(self, name: str) -> bool:
        """Whether a column may still be read as numbers."""
        declared = self.source.categories if self.states is None else self.states
        known = name in declared or name in self.texts
        return not known and self.typer.kinds.may_be_number(name)

    def codes(self) -> CodeArray:
        """Give provisional codes of all rows, (rows, n)."""
        return np.concatenate([batch for batch, _, _ in self.batches()])

    def batches(self) -> Iterator[Merged]:
        """Yield batches of provisional codes (rows, n), weights and copies (rows,).

        Codes of the design columns follow those of the used columns.
        """
        weighed_by = () if self.weights is None else (self.weights,)
        wanted, drawn = [*self.names, *weighed_by, *self.drawn.names], self.design_reader
        every: tuple[Encoder, ...] = (*self.encoders, *drawn.encoders)
        row = 0
        for frame in self.source.batches(wanted):
            if not len(frame):
                continue
            weight = alike(1.0, len(frame))
            if self.weights is not None:
                cells = cells_of(frame, self.weights)
                weight = read_weights(cells, self.weights, row, self.source)
            coded = [*self._coded(frame, row), *drawn.encode(frame, row)]
            kind = smallest(max(len(encoder.raw.values) for encoder in every))
            copies = alike(1, len(frame), np.int64)
            if COPIES in frame.columns:
                copies = frame[COPIES].to_numpy()
                for encoder, codes in zip(every, coded, strict=True):
                    encoder.count(codes, copies - 1)
            yield np.stack(coded, axis=1, dtype=kind), weight, copies
            row += len(frame)
        if not row:
            raise DataError(f"{self.source.name} has columns but no rows. Add at least one row.")

    def _coded(self, frame: pl.DataFrame, row: int) -> list[CodeArray]:
        """Encode each column of a batch that begins after `row` rows."""
        coded, many, texts = [], set[str](), set[str]()
        for encoder in self.encoders:
            name = encoder.name
            try:
                coded.append(encoder.encode(cells_of(frame, name), row))
            except NotNumbersError:
                declared = self.typer.kinds.declares_number(name)
                if isinstance(encoder, NumberEncoder) and not declared:
                    encoder.check_finite(cells_of(frame, name), row)
                texts.add(name)
            except TooManyValuesError:
                if not self._is_open(name):
                    raw = encoder.raw
                    self._coding(encoder, raw.counts.astype(np.float64))  # a better error, if any
                    why = f"has more than {len(raw.values):,} different values"
                    raise checks.unusable(name, why) from None
                many.add(name)
        if many or texts:  # all at once, for few passes
            raise _ReadAgainError(frozenset(many), frozenset(texts))
        return coded

    @property
    def counted(self) -> list[FloatArray]:
        """Rows of each provisional code, by column; empty if rows have weights."""
        if self.weights is not None:
            return []
        return [encoder.raw.counts.astype(np.float64) for encoder in self.encoders]

    def weighed(self, codes: CodeArray, weight: FloatArray) -> list[FloatArray]:
        """Sum the weights of each provisional code of each column of `codes`, (rows, n)."""
        return [
            weighed(codes[:, j], weight, len(encoder.raw.values))
            for j, encoder in enumerate(self.encoders)
        ]

    def codings(self, cases: Sequence[FloatArray]) -> list[Coding]:
        """Infer the states of each column, and refuse unusable columns.

        `cases` are the weights of the provisional codes, by column.
        """
        return [self._coding(e, weights) for e, weights in zip(self.encoders, cases, strict=True)]

    def _coding(self, encoder: Encoder, cases: FloatArray) -> Coding:
        name, raw, kinds = encoder.name, encoder.raw, self.typer.kinds
        model = None if self.states is None else self.states.get(name)
        states = self.source.categories.get(name) if model is None else model
        inferred = kinds.declares_number(name)
        if model is not None and isinstance(kinds.bins.get(name), Bins):
            inferred = False
        if states is None or inferred:
            return self.typer.coding(raw, cases, None)
        if model is None:
            states = [s for s in states if not is_missing(s, self.typer.missing)]
        coding = self.typer.coding(raw, cases, states)
        checks.check_known(raw, coding)
        if model is None:
            checks.check_categories(name, states, coding)
        return replace(coding, why="its states were declared")

    def described(self, codings: Sequence[Coding]) -> tuple[Column, ...]:
        """Make the columns, with their titles."""
        columns, titles = described(self.names, codings, self.typer.kinds), self.source.titles
        return tuple(replace(c, title=titles.get(c.name, "")) for c in columns)

    def notes(self, codings: Sequence[Coding]) -> list[str]:
        """Collect remarks on the values of the columns."""
        remarks, kinds = self.source.remarks, self.typer.kinds
        notes = [note for name in ("", *self.names) for note in remarks.get(name, ())]
        if self.states is None:
            for e, coding in zip(self.encoders, codings, strict=True):
                forced = kinds.forced and e.name not in kinds.bins
                notes += notes_on(e.raw, coding, forced=forced)
        return written_once(notes)


def recoded(codes: CodeArray, codings: Sequence[Coding]) -> CodeArray:
    """Replace provisional codes by those of the states, in place where the type allows it."""
    kind = smallest(max(len(coding.states) for coding in codings))
    final = codes if codes.dtype == kind else np.empty(codes.shape, kind)
    for j, coding in enumerate(codings):
        # A missing cell, -1, picks the last entry.
        final[:, j] = np.append(coding.codes, -1).astype(kind)[codes[:, j]]
    return final


@dataclass(frozen=True)
class Unseen:
    """A value outside the states of its column."""

    column: str
    where: str  # its first row
    value: State
    states: Sequence[State]  # those of the column


@dataclass(frozen=True, eq=False)
class Rows:
    """Unmerged rows as codes, in the order of their source."""

    columns: tuple[Column, ...]
    codes: CodeArray  # (rows, n), -1 = missing, or a value that is none of the given states
    unseen: tuple[Unseen, ...] = ()  # each such value once
    notes: tuple[str, ...] = ()  # remarks on the data
    unknown: BoolArray | None = None  # (rows, n) cells with unseen values; None: there are none
    beside: Rows | None = None  # further columns of the same rows, which are not queried


def code_rows(
    source: object,
    states: Sequence[Sequence[State] | None] | None = None,
    columns: Sequence[int] | None = None,
    weights: FloatArray | None = None,
    *,
    names: Sequence[str] | None = None,
    kinds: Kinds = BY_RULE,
    queried: bool = False,
) -> Rows:
    """Code some columns of a source by index, under other `names` if given.

    A column without `states` has its declared categories or its observed values. Rows of weight 0
    are ignored. `kinds` refer to `names`. `queried` rows are not learned from, so a column need not
    be suitable for learning.

    >>> code_rows(np.array([[0.0, 5.0], [1.0, np.nan], [0.0, 7.0]])).codes.tolist()
    [[0, 0], [1, -1], [0, 1]]
    """
    opened = open_source(source)
    selected = opened.columns if columns is None else [opened.columns[i] for i in columns]
    if not selected:
        raise DataError(f"{opened.name} has no columns. Give a table with at least one.")
    called = selected if names is None else names
    # `kinds` may use other names than the source, so any column may be numeric here.
    reader = SourceReader(ColumnTyper(opened), selected)
    reader, codes = until_read(reader, lambda one: (one, one.codes()))
    weight = np.ones(len(codes)) if weights is None else weights
    codes, weight = codes[weight > 0], weight[weight > 0]
    typer = ColumnTyper(opened, kinds, weighted=weights is not None, queried=queried)
    given = [None] * len(selected) if states is None else states
    codings, unseen, notes = [], [], list[str | Remark]()
    for j, (name, encoder) in enumerate(zip(called, reader.encoders, strict=True)):
        # Values that no row of weight above 0 shows are left out.
        rows = np.bincount(codes[:, j][codes[:, j] >= 0], minlength=len(encoder.raw.values))
        which = np.flatnonzero(rows)
        raw = replace(encoder.raw, name=name, counts=rows).only(which)
        cases = weighed(codes[:, j], weight, len(rows))[which]
        declared = opened.categories.get(selected[j]) if given[j] is None else given[j]
        coding = typer.coding(raw, cases, declared)
        if not coding.states and name not in kinds.ends:
            raise checks.unusable(name, checks.NOTHING)
        if not coding.kind.number:
            checks.check_number_of_states(name, coding.states)
        if declared is None:
            forced = kinds.forced and name not in kinds.bins
            notes += notes_on(raw, coding, forced=forced)
        every = np.full(len(rows), -1, dtype=np.int64)
        every[which] = coding.codes
        codings.append(replace(coding, codes=every))
        for i in np.flatnonzero(coding.codes == UNKNOWN).tolist():
            where = opened.where(int(raw.rows[i]))
            unseen.append(Unseen(name, where, raw.values[i], coding.states))
    final = recoded(codes, codings)
    remarks = tuple(map(worded, written_once(notes)))
    more = tuple(unseen), remarks, final == UNKNOWN if unseen else None
    return Rows(described(called, codings, kinds), np.maximum(final, -1), *more)


def empty_columns(source: object, rows: BoolArray | None = None) -> list[int]:
    """Give the indices of the columns without an observed value in the selected rows.

    >>> empty_columns(np.array([[1.0, np.nan], [np.nan, np.nan]]))
    [1]
    """
    opened = open_source(source)
    reader = SourceReader(ColumnTyper(opened), opened.columns)
    codes = until_read(reader, SourceReader.codes)
    return np.flatnonzero((codes[slice(None) if rows is None else rows] < 0).all(axis=0)).tolist()


def declared_columns(source: object) -> list[int]:
    """Give the indices of the columns with declared categories, as in a dataframe."""
    opened = open_source(source)
    return [j for j, name in enumerate(opened.columns) if name in opened.categories]


def as_array(states: Sequence[Sequence[State]], codes: CodeArray) -> Values:
    """Decode cells without missing values: numbers if all columns are numeric, else objects.

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
    """Make an array of states: numbers and truth values unchanged, texts as objects."""
    numbers = not any(isinstance(state, str) for state in states)
    return np.array(states, dtype=None if numbers else object)
