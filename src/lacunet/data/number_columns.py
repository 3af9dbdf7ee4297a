"""Columns that may turn out to be numbers, read as arrays: no text or object for each value.

A column of measurements has nearly as many different values as rows. They are numbered as they
come, by sorted search. As soon as a batch holds something that is no number, the column is no
column of numbers, and whoever reads begins again with texts (`NotNumbersError`).
"""

import numpy as np
import polars as pl

from lacunet.data.column_checks import infinite
from lacunet.data.discover import INFINITE, NUMBER, Coding, RawValues, canonical, weighed
from lacunet.data.source import Source
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray
from lacunet.runtime.states import Numbers

LARGEST = 2.0**53  # beyond it an integer is no float: identifiers may be that long


class NotNumbersError(Exception):
    """A column that was read as numbers holds something else."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class NumberEncoder:
    """Numbers the different values of a column of numbers in their order as they come."""

    def __init__(self, name: str, missing: frozenset[str]) -> None:
        self.name = name
        self._holes = pl.Series(sorted(missing), dtype=pl.String)
        self._missing = np.array([x for text in missing if (x := _number(text)) is not None])
        self._values = np.zeros(0)  # by their number
        self._rows = np.zeros(0, np.int64)  # of the first appearance of each
        self._counts = np.zeros(0, np.int64)
        self._sorted = np.zeros(0)  # the values from the smallest on,
        self._numbers = np.zeros(0, np.int64)  # and their numbers

    @property
    def raw(self) -> RawValues:
        """The values so far."""
        return RawValues(Numbers(self._values), self._rows, self._counts)

    def encode(self, series: pl.Series, row: int, _source: Source) -> CodeArray:
        """Give the numbers of a batch that begins after `row` rows; missing is -1."""
        x = self._floats(series)
        told = np.flatnonzero(~np.isnan(x))
        values, first, place, often = np.unique(
            x[told], return_index=True, return_inverse=True, return_counts=True
        )
        at = np.searchsorted(self._sorted, values)
        new = np.append(self._sorted, np.nan)[at] != values
        if new.any():
            self._learn(values[new], row + told[first[new]] + 1, at[new])
            at = np.searchsorted(self._sorted, values)
        self._counts[self._numbers[at]] += often
        codes = np.full(len(x), -1, np.int32)
        codes[told] = self._numbers[at][place]
        return codes

    def count(self, codes: CodeArray, more: IntArray) -> None:
        """Let each row of a batch count so many times more."""
        self._counts += weighed(codes, more, len(self._counts)).astype(np.int64)

    def _learn(self, values: FloatArray, rows: IntArray, places: IntArray) -> None:
        """Take in new values, from the smallest on, and where each stands among the others."""
        order = np.argsort(rows)  # in the order of their appearance
        numbers = np.empty(len(order), np.int64)
        numbers[order] = len(self._values) + np.arange(len(order))
        self._values = np.concatenate([self._values, values[order]])
        self._rows = np.concatenate([self._rows, rows[order]])
        self._counts = np.pad(self._counts, (0, len(values)))
        self._sorted = np.insert(self._sorted, places, values)
        self._numbers = np.insert(self._numbers, places, numbers)

    def check_finite(self, series: pl.Series, row: int, source: Source) -> None:
        """Refuse an infinite number as such, where all else are numbers."""
        if series.dtype != pl.String:
            return
        text = series.str.strip_chars()
        text = text.set(text.is_in(self._holes.implode()), None)
        large = text.str.contains(f"^(?:{INFINITE.pattern})$").fill_null(False)
        if large.any() and (large | text.str.contains(NUMBER)).fill_null(True).all():
            at = int(large.arg_max() or 0)
            raise infinite(self.name, text[at], source.where(row + at + 1))

    def _floats(self, series: pl.Series) -> FloatArray:
        """The batch as floats, NaN where a cell is missing; refuse what is no number."""
        kind = series.dtype
        if kind == pl.String:
            text = series.str.strip_chars()
            text = text.set(text.is_in(self._holes.implode()), None)
            if not text.str.contains(NUMBER).fill_null(True).all():
                raise NotNumbersError(self.name)
            series = text.cast(pl.Float64)
            if series.is_infinite().any():
                raise NotNumbersError(self.name)
        elif kind != pl.Null and not (kind.is_float() or kind.is_integer() or kind == pl.Decimal):
            raise NotNumbersError(self.name)
        x: FloatArray = np.array(series.cast(pl.Float64).to_numpy())  # null is NaN there
        if (np.abs(x[np.isfinite(x)]) >= LARGEST).any() and not kind.is_float():
            raise NotNumbersError(self.name)
        x[np.isin(x, self._missing)] = np.nan
        x[x == 0.0] = 0.0  # there is one zero, without a sign
        return x


def _number(text: str) -> float | None:
    """The number that a marker of a hole means."""
    try:
        return float(canonical(text))
    except ValueError:
        return None


def code_numbers(raw: RawValues) -> Coding:
    """The states of a column of numbers: all that occur, in their order."""
    values, codes = np.unique(np.asarray(raw.values), return_inverse=True)
    return Coding(Numbers(values), codes)
