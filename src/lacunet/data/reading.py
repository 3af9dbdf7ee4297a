"""One pass over a source: batches of codes, and what the columns turn out to be."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import polars as pl

from lacunet.data import checks
from lacunet.data.audit import told_once
from lacunet.data.columns import Judge, NotNumbersError, NumberEncoder
from lacunet.data.design_columns import (
    NO_DESIGN,
    DesignColumns,
    DesignReader,
)
from lacunet.data.discover import Coding, weighed
from lacunet.data.distinct import Merged, alike, smallest
from lacunet.data.encode import (
    MOST_BEFORE_NUMBERS,
    MOST_DIFFERENT,
    MOST_VALUES,
    ColumnEncoder,
    TooManyValuesError,
    read_weights,
)
from lacunet.data.kinds import Kinds
from lacunet.data.source import COPIES, Source
from lacunet.data.table import Column
from lacunet.data.text import cells_of
from lacunet.errors import DataError
from lacunet.runtime.arrays import CodeArray, FloatArray
from lacunet.runtime.states import Bins, State

R = TypeVar("R")


class ReadAgainError(Exception):
    """Columns are other than was thought while they were read."""

    def __init__(self, numbers: frozenset[str], texts: frozenset[str]) -> None:
        super().__init__(numbers, texts)
        self.numbers, self.texts = numbers, texts


def until_read(reading: "Reading", read: Callable[["Reading"], R]) -> R:
    """Read; where columns turn out to be other than was thought, begin again."""
    while True:
        try:
            return read(reading)
        except ReadAgainError as error:
            numbers, texts = reading.numbers | error.numbers, reading.texts | error.texts
            reading = replace(reading, numbers=numbers - texts, texts=texts)


@dataclass(frozen=True)
class Reading:
    """One pass over a source."""

    judge: Judge  # who says what its columns are
    names: Sequence[str]  # the used columns
    states: Mapping[str, Sequence[State]] | None = None  # of a model: the data may look odd then
    weights: str | None = None
    drawn: DesignColumns = NO_DESIGN  # columns that say how rows were drawn
    memory: int | None = None  # bytes that the process may have
    numbers: frozenset[str] = frozenset()  # columns that are read as numbers
    texts: frozenset[str] = frozenset()  # columns that may be numbers, but hold something else

    @property
    def source(self) -> Source:
        """What is read."""
        return self.judge.source

    @cached_property
    def encoders(self) -> list[ColumnEncoder | NumberEncoder]:
        """One per used column."""
        return [self._encoder(name) for name in self.names]

    @cached_property
    def design_reader(self) -> DesignReader:
        """Reads the columns that say how rows were drawn."""
        return DesignReader(self.drawn, self.source, self.judge.holes)

    def _encoder(self, name: str) -> ColumnEncoder | NumberEncoder:
        """Read a column as numbers, if it must be that; else a value is anything."""
        said = self.judge.kinds.declares_number(name)
        if name not in self.texts and (said or name in self.numbers):
            return NumberEncoder(name, self.judge.holes)
        if said:
            return ColumnEncoder(name, MOST_DIFFERENT)  # so that what is no number can be named
        return ColumnEncoder(name, MOST_BEFORE_NUMBERS if self._open(name) else MOST_VALUES)

    def _open(self, name: str) -> bool:
        """Whether a column may still turn out to be numbers."""
        declared = self.source.categories if self.states is None else self.states
        known = name in declared or name in self.texts
        return not known and self.judge.kinds.may_be_number(name)

    def codes(self) -> CodeArray:
        """Give provisional codes of all rows, (rows, n)."""
        return np.concatenate([batch for batch, _, _ in self.batches()])

    def batches(self) -> Iterator[Merged]:
        """Give, batch by batch, provisional codes (rows, n), weights and copies (rows,).

        Behind the codes of the used columns come those of the design.
        """
        weighed_by = () if self.weights is None else (self.weights,)
        wanted, drawn = [*self.names, *weighed_by, *self.drawn.names], self.design_reader
        row = 0
        for frame in self.source.batches(wanted):
            if not len(frame):
                continue
            weight = (
                alike(1.0, len(frame))
                if self.weights is None
                else read_weights(cells_of(frame, self.weights), self.weights, row, self.source)
            )
            coded = [*self._coded(frame, row), *drawn.encode(frame, row)]
            every = (*self.encoders, *drawn.encoders)
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
        """Give the provisional codes of each column of a batch that begins after `row` rows."""
        coded, many, texts = [], set[str](), set[str]()
        for encoder in self.encoders:
            try:
                coded.append(encoder.encode(cells_of(frame, encoder.name), row, self.source))
            except NotNumbersError:
                if isinstance(encoder, NumberEncoder) and not self._says_number(encoder.name):
                    encoder.check_finite(cells_of(frame, encoder.name), row, self.source)
                texts.add(encoder.name)
            except TooManyValuesError:
                if not self._open(encoder.name):
                    raise self._too_many(encoder) from None
                many.add(encoder.name)
        if many or texts:  # all that are found here at once: few passes, however many columns
            raise ReadAgainError(frozenset(many), frozenset(texts))
        return coded

    def _says_number(self, name: str) -> bool:
        """Whether a column is declared to hold numbers: then its cells are judged as such."""
        return self.judge.kinds.declares_number(name)

    def _too_many(self, encoder: ColumnEncoder | NumberEncoder) -> DataError:
        """Say what is wrong with a column of too many values."""
        raw = encoder.raw
        self._coding(encoder, raw.counts.astype(np.float64))  # says more, if it can
        return checks.unusable(encoder.name, f"has more than {len(raw.values):,} different values")

    @property
    def counted(self) -> list[FloatArray]:
        """How many rows have each provisional code of each column; nothing where rows weigh."""
        if self.weights is not None:
            return []
        return [encoder.raw.counts.astype(np.float64) for encoder in self.encoders]

    def weighed(self, codes: CodeArray, weight: FloatArray) -> list[FloatArray]:
        """What each provisional code of each column weighs in rows, (rows, n), so heavy each."""
        return [
            weighed(codes[:, j], weight, len(encoder.raw.values))
            for j, encoder in enumerate(self.encoders)
        ]

    def codings(self, cases: Sequence[FloatArray]) -> list[Coding]:
        """Find the states of each column, and refuse those that cannot be used.

        `cases` say what each of its provisional codes weighs.
        """
        return [self._coding(e, own) for e, own in zip(self.encoders, cases, strict=True)]

    def _coding(self, encoder: ColumnEncoder | NumberEncoder, cases: FloatArray) -> Coding:
        name, raw, judge = encoder.name, encoder.raw, self.judge
        known = None if self.states is None else self.states.get(name)
        bins = judge.kinds.bins.get(name)
        if known is not None and isinstance(bins, Bins):
            coding = judge.by_bins(name, raw, known, bins)
        elif judge.kinds.declares_number(name):
            return judge.inferred(name, raw, cases)
        elif known is not None:
            coding = judge.known(raw, known)
        elif name in self.source.categories:
            return judge.declared(name, raw, self.source.categories[name])
        else:
            return judge.inferred(name, raw, cases)
        checks.check_known(name, raw, coding, self.source)
        return replace(coding, why="its states were declared")

    def described(self, codings: Sequence[Coding]) -> tuple[Column, ...]:
        """Give the columns that were found."""
        found = described(self.names, codings, self.judge.kinds)
        titles = self.source.titles
        return tuple(replace(c, title=titles.get(c.name, "")) for c in found)

    def notes(self, codings: Sequence[Coding]) -> list[str]:
        """Say what a person may not expect of the states that were found."""
        remarks = self.source.remarks
        said = [note for name in ("", *self.names) for note in remarks.get(name, ())]
        if self.states is None:
            for e, coding in zip(self.encoders, codings, strict=True):
                said += self.judge.notes(e.name, e.raw, coding)
        return told_once(said)


def described(names: Sequence[str], codings: Sequence[Coding], kinds: Kinds) -> tuple[Column, ...]:
    """Give the columns that were found; where all are categories, there is nothing to explain."""
    told = kinds.said or any(c.kind.number or c.bins is not None for c in codings)
    pairs = zip(names, codings, strict=True)
    return tuple(Column(name, c.states, c.kind, c.why if told else "", c.bins) for name, c in pairs)


def recoded(codes: CodeArray, codings: Sequence[Coding]) -> CodeArray:
    """Replace provisional codes by those of the states, in place where the type allows it."""
    kind = smallest(max(len(coding.states) for coding in codings))
    final = codes if codes.dtype == kind else np.empty(codes.shape, kind)
    for j, coding in enumerate(codings):
        # A missing cell, -1, picks the last entry.
        final[:, j] = np.append(coding.codes, -1).astype(kind)[codes[:, j]]
    return final
