"""From batches of raw values to small integers, one column at a time."""

import numpy as np
import polars as pl

from lacunet.data.checks import unusable
from lacunet.data.discover import MARKERS, RawValues, weighed
from lacunet.data.source import Source
from lacunet.data.table import MOST_CASES
from lacunet.errors import DataError
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray
from lacunet.runtime.states import State

# Values that a column may show before reading stops: enough to leave room for several spellings of
# each of the 1,000 states that are allowed, few enough to refuse a long identifier early.
MOST_VALUES = 10_000
MOST_DIFFERENT = 1 << 30  # of numbers: as many as there are rows
MOST_BEFORE_NUMBERS = 1_000  # above, a column that may be numbers is read as such: no object each
LARGEST_WEIGHT = 1e300  # of a row: sums over rows are floats
MOST_NEAR = 1_000  # integers between the least and the largest, to be numbered by a table


class TooManyValuesError(Exception):
    """A column shows more different values than any usable column can."""


class ColumnEncoder:
    """Numbers the different values of a column in the order in which they appear."""

    def __init__(self, name: str, most: int = MOST_VALUES) -> None:
        self.name, self.most = name, most
        self._numbers: dict[State, int] = {}
        self._rows: list[int] = []
        self._counts = np.zeros(0, np.int64)
        self._known = pl.Enum([])  # the values so far, if they are text

    @property
    def raw(self) -> RawValues:
        """The values so far."""
        return RawValues(list(self._numbers), self._rows, self._counts)

    def encode(self, series: pl.Series, row: int, source: Source) -> CodeArray:
        """Give the numbers of a batch that begins after `row` rows; null is -1."""
        plain = _plain(series, self.name, source)
        codes = self._lookup(plain)
        if codes is None:
            self._learn(plain, row)
            codes = self._lookup(plain)
        if codes is None:  # pragma: no cover
            raise AssertionError(f"column {self.name!r}: a value was learned but not found")
        self._counts += np.bincount(codes[codes >= 0], minlength=len(self._counts))
        if len(self._numbers) > self.most:
            raise TooManyValuesError
        return codes

    def count(self, codes: CodeArray, more: IntArray) -> None:
        """Let each row of a batch count so many times more."""
        self._counts += weighed(codes, more, len(self._counts)).astype(np.int64)

    def _lookup(self, values: pl.Series) -> CodeArray | None:
        """Give the numbers of values, or None if one of them is new."""
        if values.dtype == pl.String:
            # An Enum is a hash table in native code; what it does not know becomes null.
            numbers = values.cast(self._known, strict=False).to_physical()
            if numbers.null_count() != values.null_count():
                return None
            if numbers.null_count():
                numbers = numbers.cast(pl.Int32 if self._many else pl.Int16).fill_null(-1)
            found: CodeArray = numbers.to_numpy().astype(np.int32 if self._many else np.int16)
            return found
        integers = values.dtype.is_integer() and values.dtype != pl.UInt64
        if integers and (near := self._near(values)) is not None:
            return near
        different, place = np.unique(values.drop_nulls().to_numpy(), return_inverse=True)
        known = [self._numbers.get(value.item(), -1) for value in different]
        if -1 in known:
            return None
        codes: CodeArray = np.full(len(values), -1, np.int32 if self._many else np.int16)
        codes[values.is_not_null().to_numpy()] = np.array(known, codes.dtype)[place]
        return codes

    def _near(self, values: pl.Series) -> CodeArray | None:
        """Give the numbers of integers that lie close together, by a table of all between them.

        None: they do not, or one of them is new, or there is a hole.
        """
        least, most = values.min(), values.max()
        if values.null_count() or not isinstance(least, int) or not isinstance(most, int):
            return None
        if most - least >= MOST_NEAR:
            return None
        known = [self._numbers.get(value, -1) for value in range(least, most + 1)]
        table = np.array(known, np.int32 if self._many else np.int16)
        codes: CodeArray = table[np.subtract(values.to_numpy(), least, dtype=np.int64)]
        return None if (codes < 0).any() else codes

    @property
    def _many(self) -> bool:
        """Whether 16 bits are not enough."""
        return len(self._numbers) > np.iinfo(np.int16).max

    def _learn(self, values: pl.Series, row: int) -> None:
        places = values.arg_unique()
        if self.most < MOST_VALUES and len(places) > self.most + 1:  # null is no value
            raise TooManyValuesError  # it is read again, so nothing need be learned of it
        for first in places:
            value = values[first]
            if value is not None and value not in self._numbers:
                self._numbers[value] = len(self._numbers)
                self._rows.append(row + first + 1)
        self._counts = np.pad(self._counts, (0, len(self._numbers) - len(self._counts)))
        if values.dtype == pl.String:
            self._known = pl.Enum([str(value) for value in self._numbers])


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
    found: FloatArray = numbers.to_numpy().astype(np.float64)
    if (found > LARGEST_WEIGHT).any():
        raise DataError(
            f"weight column {name!r}: rows add up to more than {LARGEST_WEIGHT:g} cases, and "
            f"{MOST_CASES:g} are the most. Divide the weights by {LARGEST_WEIGHT:g}, and take them "
            "as those of a survey: --weights-as survey."
        )
    return found


def _plain(series: pl.Series, name: str, source: Source) -> pl.Series:
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
    raise unusable(name, f"of {source.name} holds {kind}; {allowed}", "Convert it")
