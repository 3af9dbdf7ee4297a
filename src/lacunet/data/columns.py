"""Columns that may turn out to be numbers, read as arrays: no text or object for each value.

A column of measurements has nearly as many different values as rows. They are numbered as they
come, by sorted search. As soon as a batch holds something that is no number, the column is no
column of numbers, and whoever reads begins again with texts (`NotNumbersError`).

What a column is: its states, or its numbers. Decided here, whatever door it came in by.
One column of a dataframe apart from the others, whatever library it is of.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from lacunet.data import checks
from lacunet.data.audit import Remark
from lacunet.data.checks import check_ends, check_numbers, check_some_numbers, infinite
from lacunet.data.discover import (
    INFINITE,
    NUMBER,
    UNKNOWN,
    Coding,
    RawValues,
    canonical,
    infer,
    is_missing,
    match,
    mean_of,
    one_spelling,
    weighed,
)
from lacunet.data.frames import is_hole
from lacunet.data.kinds import BY_RULE, Decision, Kinds
from lacunet.data.notes import notes_on
from lacunet.data.source import Source
from lacunet.errors import DataError
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IntArray
from lacunet.runtime.states import Bins, Numbers, State, bin_labels, cut_into_bins, label

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


@dataclass(frozen=True)
class Judge:
    """Says what columns of a source are."""

    source: Source
    kinds: Kinds = BY_RULE  # what is said of columns
    missing: frozenset[str] = frozenset()  # texts that stand for a hole because a person says so
    weighted: bool = False  # whether a row may stand for many
    ignore_case: bool = False  # whether texts that differ in case alone are one state
    asked: bool = False  # whether rows are asked about, so that nothing need be learned from them

    @property
    def holes(self) -> frozenset[str]:
        """All texts that stand for a hole."""
        return self.missing | self.source.markers

    def inferred(self, name: str, raw: RawValues, cases: FloatArray) -> Coding:
        """Find what a column is that declares nothing; `cases` (values,) weigh the values."""
        numbers = isinstance(raw.values, Numbers)
        told = one_spelling(raw) if self.ignore_case and not numbers else raw.values
        coding = code_numbers(raw) if numbers else infer(told, self.holes)
        texts = bool(coding.states) and isinstance(coding.states[0], str)
        if texts and self.kinds.may_be_number(name) and not self.kinds.declares_number(name):
            checks.check_no_infinite_text(name, raw, self.holes, self.source)
        rows = None if self.weighted else weighed(coding.codes, raw.counts, len(coding.states))
        decided = self.kinds.decide(name, coding.states, mean_of(coding, cases), rows)
        coding = replace(coding, kind=decided.kind, why=decided.why)
        if decided.cut is not None:
            return self._in_bins(name, raw, cases, coding, decided)
        if decided.kind.number:
            self._check_numbers(name, raw, coding)
            return replace(coding, states=_as_numbers(coding.states))
        if name in self.kinds.declared or self.kinds.other is not None:
            if not self.asked:  # rows that are asked about may show nothing
                checks.check_categories(name, coding.states, coding)
        else:
            checks.check_inferred(name, raw, coding, self.source, weighted=self.weighted)
        return replace(coding, states=tuple(coding.states))

    def declared(self, name: str, raw: RawValues, states: Sequence[State]) -> Coding:
        """Match a column with the categories that it declares, some of which may be holes."""
        states = [s for s in states if not is_missing(s, self.missing)]
        coding = self.known(raw, states)
        checks.check_known(name, raw, coding, self.source)
        checks.check_categories(name, states, coding)
        return replace(coding, why="its states were declared")

    def known(self, raw: RawValues, states: Sequence[State]) -> Coding:
        """Match a column with states; what is none of them is `UNKNOWN`."""
        return match(raw.values, states, self.missing, self.source.markers)

    def by_bins(self, name: str, raw: RawValues, states: Sequence[State], bins: Bins) -> Coding:
        """Put numbers into the bins of a model; the name of a bin is understood too."""
        if isinstance(raw.values, Numbers):
            x = raw.values.array
            checks.check_finite(
                name, raw, (float(x.min(initial=0)), float(x.max(initial=0))), self.source
            )
            return Coding(tuple(states), bins.codes(x), bins=bins)
        coding, codes = self.known(raw, states), []
        for value, code in zip(raw.values, coding.codes.tolist(), strict=True):
            found = bins.find(label(value).strip()) if code == UNKNOWN else code
            codes.append(found if found >= 0 else code)
        return replace(coding, codes=np.array(codes, dtype=np.int64), bins=bins)

    def notes(self, name: str, raw: RawValues, coding: Coding) -> Iterator[str | Remark]:
        """Say what a person may not expect of what was found in a column."""
        forced = self.kinds.forced and name not in self.kinds.bins
        return notes_on(name, raw, coding, forced=forced)

    def _in_bins(
        self, name: str, raw: RawValues, cases: FloatArray, coding: Coding, decided: Decision
    ) -> Coding:
        """Cut the numbers of a column into bins."""
        if isinstance(decided.cut, Bins):
            states = bin_labels(decided.cut.edges, exact=False)
            return self.by_bins(name, raw, states, decided.cut)
        self._check_numbers(name, raw, coding)
        seen = coding.codes >= 0
        weight = weighed(coding.codes, cases, len(coding.states))
        assert decided.cut is not None
        bins = cut_into_bins(np.array(coding.states, dtype=np.float64), weight, decided.cut)
        if bins is None:
            raise checks.unusable(name, f"has only one value, {label(coding.states[0])}, to cut")
        places = bins.codes(np.array(coding.states, dtype=np.float64))
        codes = np.where(seen, places[coding.codes], coding.codes)
        states = bin_labels(bins.edges, exact=isinstance(decided.cut, tuple))
        return replace(coding, states=states, codes=codes, bins=bins)

    def _check_numbers(self, name: str, raw: RawValues, coding: Coding) -> None:
        """Refuse a column that cannot be numbers of its kind, or is no measurement."""
        if not self.asked:
            check_some_numbers(name, coding.states)
        own = name not in self.kinds.ends
        check_numbers(name, coding.kind, raw, coding, self.source, own=own)
        check_ends(name, self.kinds.ends.get(name), raw, coding, self.source)
        known = self.kinds.declares_number(name) or name in self.kinds.wanted
        if not known and isinstance(coding.states[0], int):
            checks.check_not_identifier(name, raw, coding, weighted=self.weighted)


def _as_numbers(states: Sequence[State]) -> Sequence[State]:
    """Keep numbers as an array."""
    return states if isinstance(states, Numbers) else Numbers(np.array(states, dtype=np.float64))


class Values(NamedTuple):
    """What a column holds."""

    values: NDArray[Any]  # (rows,)
    missing: BoolArray  # (rows,)


def without_column(native: Any, name: str) -> Any:
    """Give a dataframe without a column, if it has it; anything else as it is."""
    if not hasattr(native, "columns"):
        return native
    frame = nw.from_native(native, eager_only=True)
    others = [column for column in frame.columns if column != name]  # a name may be a pattern
    return frame[others].to_native() if len(others) < len(frame.columns) else native


def column_of(native: Any, name: str) -> Any:
    """Give one column of a dataframe."""
    if not hasattr(native, "columns"):
        raise DataError(f"an array has no column {name!r}. Give a dataframe, or y.")
    frame = nw.from_native(native, eager_only=True)
    if name not in frame.columns:
        raise DataError(f"X has no column {name!r}. It has {', '.join(map(repr, frame.columns))}.")
    return frame.get_column(name).to_native()


def values_of(column: Any) -> Values:
    """Give the values of a column, or of anything like one; None, NaN and NA are missing.

    >>> values_of([1.0, float("nan")]).missing.tolist()
    [False, True]
    """
    series = nw.from_native(column, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        missing = series.is_null().to_numpy()
        values = np.asarray(series.to_list(), dtype=object) if missing.any() else series.to_numpy()
    else:
        values = np.asarray(column)
        missing = np.zeros(values.shape, dtype=bool)
    if values.dtype.kind == "f":
        missing = missing | np.isnan(values)
    elif values.dtype == object:
        holes = [is_hole(value) for value in values.ravel()]
        missing = missing | np.array(holes, dtype=bool).reshape(values.shape)
    return Values(values, missing)
