"""Encode batches of raw values as small integers, one column at a time.

`NumberEncoder` is for measurements, with nearly as many values as rows: it keeps them as arrays and
uses sorted search. `ColumnEncoder` is for any other column. Codes follow the first appearance.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import TypeAlias

import numpy as np
import polars as pl

from lacunet.data.checks import infinite, unusable
from lacunet.data.design import (
    MOST_CASES,
    DesignColumns,
    SamplingDesign,
    SurveyWeights,
    design_of_codes,
    missing_words,
)
from lacunet.data.discover import (
    INFINITE,
    MARKERS,
    NUMBER,
    RawValues,
    canonical,
    is_missing,
    weighed,
)
from lacunet.data.source import Source, cells_of
from lacunet.errors import DataError
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray
from lacunet.runtime.states import Numbers, State, label

# Different values at which reading stops: enough for several spellings of each of the 1,000 allowed
# states, few enough to refuse a long identifier early.
MOST_VALUES = 10_000
MOST_DIFFERENT = 1 << 30  # of numbers: as many as there are rows
MOST_BEFORE_NUMBERS = 1_000  # above, a possibly numeric column is read as numbers
LARGEST_WEIGHT = 1e300  # of a row: sums over rows are floats
MOST_NEAR = 1_000  # widest range of integers with a lookup table
LARGEST = 2.0**53  # beyond it floats do not hold all integers, such as long identifiers


class TooManyValuesError(Exception):
    """A column has more different values than any usable column."""


class NotNumbersError(Exception):
    """A column that was read as numbers holds another value."""


class _Counter:
    """Counts the rows of each value of a column."""

    def __init__(self, name: str, source: Source) -> None:
        self.name, self.source = name, source
        self._rows = np.zeros(0, np.int64)  # of the first appearance of each value
        self._counts = np.zeros(0, np.int64)

    def count(self, codes: CodeArray, more: IntArray) -> None:
        """Add further copies of the rows of a batch."""
        self._counts += weighed(codes, more, len(self._counts)).astype(np.int64)

    def _raw(self, values: Sequence[State]) -> RawValues:
        return RawValues(self.name, self.source.where, values, self._rows, self._counts)

    def _add(self, rows: IntArray) -> None:
        """Add new values, given the rows of their first appearance."""
        self._rows = np.concatenate([self._rows, rows])
        self._counts = np.pad(self._counts, (0, len(rows)))


class ColumnEncoder(_Counter):
    """Encodes a column of any type."""

    def __init__(self, name: str, source: Source, most: int = MOST_VALUES) -> None:
        super().__init__(name, source)
        self.most = most
        self._numbers: dict[State, int] = {}
        self._known = pl.Enum([])  # the values so far, if they are text

    @property
    def raw(self) -> RawValues:
        """The values so far."""
        return self._raw(list(self._numbers))

    def encode(self, series: pl.Series, row: int) -> CodeArray:
        """Encode a batch that begins after `row` rows; null is -1."""
        plain = _plain(series, self.name, self.source.name)
        codes = self._lookup(plain)
        if codes is None:
            self._add_new(plain, row)
            codes = self._lookup(plain)
        if codes is None:  # pragma: no cover
            raise AssertionError(f"column {self.name!r}: a value was added but not found")
        self._counts += np.bincount(codes[codes >= 0], minlength=len(self._counts))
        if len(self._numbers) > self.most:
            raise TooManyValuesError
        return codes

    def _lookup(self, values: pl.Series) -> CodeArray | None:
        """Encode values, or give None if one of them is new."""
        kind = np.int32 if len(self._numbers) > np.iinfo(np.int16).max else np.int16
        if values.dtype == pl.String:
            # An Enum is a hash table in native code; values outside it become null.
            numbers = values.cast(self._known, strict=False).to_physical()
            if numbers.null_count() != values.null_count():
                return None
            if numbers.null_count():
                numbers = numbers.cast(pl.Int32).fill_null(-1)
            coded: CodeArray = numbers.to_numpy().astype(kind)
            return coded
        integers = values.dtype.is_integer() and values.dtype != pl.UInt64
        if integers and (near := self._near(values, kind)) is not None:
            return near
        different, place = np.unique(values.drop_nulls().to_numpy(), return_inverse=True)
        known = [self._numbers.get(value.item(), -1) for value in different]
        if -1 in known:
            return None
        codes: CodeArray = np.full(len(values), -1, kind)
        codes[values.is_not_null().to_numpy()] = np.array(known, kind)[place]
        return codes

    def _near(self, values: pl.Series, kind: type) -> CodeArray | None:
        """Encode integers of a narrow range by a lookup table.

        None if the range is wide, or if a value is new or missing.
        """
        least, most = values.min(), values.max()
        if values.null_count() or not isinstance(least, int) or not isinstance(most, int):
            return None
        if most - least >= MOST_NEAR:
            return None
        known = [self._numbers.get(value, -1) for value in range(least, most + 1)]
        at = np.subtract(values.to_numpy(), least, dtype=np.int64)
        codes: CodeArray = np.array(known, kind)[at]
        return None if (codes < 0).any() else codes

    def _add_new(self, values: pl.Series, row: int) -> None:
        places = values.arg_unique()
        if self.most < MOST_VALUES and len(places) > self.most + 1:  # null is not a value
            raise TooManyValuesError  # it is read again as numbers
        rows = list[int]()
        for first in places:
            value = values[first]
            if value is not None and value not in self._numbers:
                self._numbers[value] = len(self._numbers)
                rows.append(row + first + 1)
        self._add(np.array(rows, np.int64))
        if values.dtype == pl.String:
            self._known = pl.Enum([str(value) for value in self._numbers])


def _plain(series: pl.Series, name: str, source: str) -> pl.Series:
    """Bring a column to text, integers, floats without NaN, or booleans."""
    kind = series.dtype
    if kind.is_float():
        return series.fill_nan(None)
    if kind in (pl.Boolean, pl.String) or (kind.is_integer() and kind != pl.Int128):
        return series
    if kind == pl.Decimal:
        return series.cast(pl.Float64)
    if kind in (pl.Categorical, pl.Enum, pl.Int128, pl.Null, pl.Date, pl.Datetime, pl.Time):
        return series.cast(pl.String)
    allowed = "text, integers, numbers, booleans, categories and dates are allowed"
    raise unusable(name, f"of {source} holds {kind}; {allowed}", "Convert it")


class NumberEncoder(_Counter):
    """Encodes a column of numbers; refuses any other value."""

    def __init__(self, name: str, source: Source, missing: frozenset[str]) -> None:
        super().__init__(name, source)
        self._missing_texts = pl.Series(sorted(missing), dtype=pl.String)
        self._missing = _numbers_of(missing)
        self._values = np.zeros(0)  # by their code
        self._sorted = np.zeros(0)  # the values from the smallest on,
        self._numbers = np.zeros(0, np.int64)  # and their codes

    @property
    def raw(self) -> RawValues:
        """The values so far."""
        return self._raw(Numbers(self._values))

    def encode(self, series: pl.Series, row: int) -> CodeArray:
        """Encode a batch that begins after `row` rows; missing is -1."""
        x = self._floats(series)
        seen = np.flatnonzero(~np.isnan(x))
        values, first, place, often = np.unique(
            x[seen], return_index=True, return_inverse=True, return_counts=True
        )
        at = np.searchsorted(self._sorted, values)
        new = np.append(self._sorted, np.nan)[at] != values
        if new.any():
            rows = row + seen[first[new]] + 1
            order = np.argsort(rows)  # in the order of their appearance
            numbers = np.empty(len(order), np.int64)
            numbers[order] = len(self._values) + np.arange(len(order))
            self._values = np.concatenate([self._values, values[new][order]])
            self._sorted = np.insert(self._sorted, at[new], values[new])
            self._numbers = np.insert(self._numbers, at[new], numbers)
            self._add(rows[order])
            at = np.searchsorted(self._sorted, values)
        self._counts[self._numbers[at]] += often
        codes = np.full(len(x), -1, np.int32)
        codes[seen] = self._numbers[at][place]
        return codes

    def check_finite(self, series: pl.Series, row: int) -> None:
        """Refuse an infinite number if all other values are numbers."""
        if series.dtype == pl.String:
            text = self._stripped(series)
            large = text.str.contains(f"^(?:{INFINITE.pattern})$").fill_null(False)
            if large.any() and (large | text.str.contains(NUMBER)).fill_null(True).all():
                at = int(large.arg_max() or 0)
                cell = f"column {self.name!r}, {self.source.where(row + at + 1)}"
                raise infinite(cell, text[at])

    def _stripped(self, series: pl.Series) -> pl.Series:
        text = series.str.strip_chars()
        return text.set(text.is_in(self._missing_texts.implode()), None)

    def _floats(self, series: pl.Series) -> FloatArray:
        """Convert a batch to floats, missing cells to NaN; refuse other values."""
        kind = series.dtype
        if kind == pl.String:
            text = self._stripped(series)
            if not text.str.contains(NUMBER).fill_null(True).all():
                raise NotNumbersError
            series = text.cast(pl.Float64)
            if series.is_infinite().any():
                raise NotNumbersError
        elif kind != pl.Null and not (kind.is_float() or kind.is_integer() or kind == pl.Decimal):
            raise NotNumbersError
        x: FloatArray = np.array(series.cast(pl.Float64).to_numpy())  # null becomes NaN
        if (np.abs(x[np.isfinite(x)]) >= LARGEST).any() and not kind.is_float():
            raise NotNumbersError
        x[np.isin(x, self._missing)] = np.nan
        x[x == 0.0] = 0.0  # −0 becomes 0
        return x


def _numbers_of(texts: frozenset[str]) -> FloatArray:
    """Give the numbers among texts, also infinite ones."""
    numbers = []
    for text in texts:
        with suppress(ValueError):
            numbers.append(float(canonical(text)))
    return np.array(numbers)


Encoder: TypeAlias = ColumnEncoder | NumberEncoder


def read_weights(series: pl.Series, name: str, row: int, source: Source) -> FloatArray:
    """Read a batch of the weight column; every weight must be a finite number, not negative."""

    def refuse(at: int, what: str) -> DataError:
        return DataError(
            f"weight column {name!r}, {source.where(row + at + 1)}: {what}. A weight must "
            "be a number that is not negative; correct it, or choose another column with --weights."
        )

    if series.dtype == pl.String:
        series = series.str.strip_chars()
        series = series.set(series.is_in(list(MARKERS)), None)
    elif not series.dtype.is_numeric() and series.dtype != pl.Null:
        raise refuse(0, f"{series[0]!r} is not a number")
    numbers = series.cast(pl.Float64, strict=False)
    wrong = (~numbers.is_finite() | (numbers < 0)).fill_null(True)
    if wrong.any():
        at = int(wrong.arg_max() or 0)
        value = series[at]
        if value is None or value != value:  # NaN
            raise refuse(at, "the weight is missing")
        if numbers[at] is None:
            raise refuse(at, f"{value!r} is not a number")
        raise refuse(at, f"{value} is {'negative' if numbers[at] < 0 else 'infinite'}")
    weights: FloatArray = numbers.to_numpy().astype(np.float64)
    if (weights > LARGEST_WEIGHT).any():
        raise DataError(
            f"weight column {name!r}: rows add up to more than {LARGEST_WEIGHT:g} cases, and "
            f"{MOST_CASES:g} are the most. Divide the weights by {LARGEST_WEIGHT:g}, and take them "
            "as those of a survey: --weights-as survey."
        )
    return weights


class DesignReader:
    """Reads the columns of a sampling design batch by batch."""

    def __init__(self, columns: DesignColumns, source: Source, missing: frozenset[str]) -> None:
        self.columns, self.source, self.missing = columns, source, missing
        self.encoders = [ColumnEncoder(name, source, MOST_DIFFERENT) for name in columns.names]

    def encode(self, frame: pl.DataFrame, row: int) -> list[CodeArray]:
        """Encode each column of a batch that begins after `row` rows."""
        coded = []
        for encoder in self.encoders:
            codes = encoder.encode(cells_of(frame, encoder.name), row)
            if (codes < 0).any():
                raise self._refuse(encoder.name, row + int(np.argmax(codes < 0)) + 1)
            coded.append(codes)
        return coded

    def design(
        self,
        drawn: CodeArray,
        row: IntArray,
        weight: FloatArray,
        copies: IntArray,
        survey: SurveyWeights | None,
    ) -> SamplingDesign:
        """Make the design of rows whose provisional codes are `drawn`, (rows, columns).

        `row` gives the distinct row of each in the table, and `weight` the raw weight.
        """
        cases, people = weight, float(weight @ copies)
        if survey is not None:
            cases, people = weight * survey.scale, float(survey.rows)
        codes: dict[str, IntArray] = {}
        texts: dict[str, Sequence[str]] = {}
        for j, encoder in enumerate(self.encoders):  # numbered by the order of their texts
            for value, at in zip(encoder.raw.values, encoder.raw.rows, strict=True):
                if is_missing(value, self.missing):
                    raise self._refuse(encoder.name, int(at))
            meant = [canonical(label(value).strip()) for value in encoder.raw.values]
            unique, places = np.unique(meant, return_inverse=True)
            texts[encoder.name] = unique.tolist()
            codes[encoder.name] = places[drawn[:, j]]
        return design_of_codes(self.columns, codes, texts, row, cases, copies, people)

    def _refuse(self, name: str, row: int) -> DataError:
        return DataError(missing_words(name, self.source.where(row)))
