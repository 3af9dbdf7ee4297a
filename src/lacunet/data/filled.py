"""Holes filled in: an array stays an array, a dataframe stays what it is, with the types it had."""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Number
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IntArray
from lacunet.runtime.states import State, label

MOMENTS: dict[Any, Callable[[str], Any]] = {
    nw.Datetime: dt.datetime.fromisoformat,
    nw.Date: dt.date.fromisoformat,
    nw.Time: dt.time.fromisoformat,
}
MOST_DECIMALS = 9  # that a column is rounded to; numbers with more are not rounded


@dataclass(frozen=True, eq=False)
class Support:
    """The values that a column of numbers can have, as far as the values that occur show it."""

    values: FloatArray  # (values,) that occur, rising

    @classmethod
    def of(cls, *occurring: Sequence[State]) -> "Support":
        """Join the values that occur in several places.

        >>> Support.of((18, 90), (17, 35)).near(np.array([54.19, 120.0])).tolist()
        [54.0, 90.0]
        """
        return cls(np.unique(np.concatenate([np.asarray(v, np.float64) for v in occurring])))

    @cached_property
    def decimals(self) -> int | None:
        """How many decimals the values have; None: too many to be a choice of a person.

        Two values are no more than the ends of a range: they show whether numbers are whole.
        """
        most = MOST_DECIMALS if len(self.values) > 2 else 0
        with np.errstate(over="ignore", invalid="ignore"):
            single = self.values.astype(np.float32)  # as a column in single precision has them
            x, kind = self.values, np.float32 if (single == self.values).all() else np.float64
            each = (d for d in range(most + 1) if (np.round(x, d).astype(kind) == x).all())
            return next(each, None)

    @property
    def whole(self) -> bool:
        """Whether all values are whole numbers."""
        return self.decimals == 0

    def near(self, x: FloatArray) -> FloatArray:
        """The same numbers within the range of the values, with as many decimals; NaN stays."""
        if not len(self.values):
            return x
        rounded = x if self.decimals is None else np.round(x, self.decimals)
        return np.clip(rounded, self.values[0], self.values[-1])

    def nearest(self, x: FloatArray) -> FloatArray:
        """The value that occurs next to each number; NaN stays.

        >>> Support.of((0, 100, 250)).nearest(np.array([-30.0, 40.0, 60.0])).tolist()
        [0.0, 0.0, 100.0]
        """
        if not len(self.values):
            return x
        middles = self.values[:-1] + np.diff(self.values) / 2
        return np.where(np.isnan(x), np.nan, self.values[np.searchsorted(middles, x)])


class Filling(NamedTuple):
    """What the holes of one column get."""

    values: NDArray[Any]  # different ones,
    which: IntArray  # (rows,) and the one that each row gets; −1: nothing
    codes: CodeArray  # (rows,) which of the values each row shows; −1: another, or none


def filled_array(X: NDArray[Any], found: Mapping[int, Filling]) -> NDArray[Any]:
    """Put values into cells; the array keeps its type if that holds them."""
    if X.dtype.kind == "U" or any(filling.values.dtype == object for filling in found.values()):
        X = X.astype(object)
    for j, filling in found.items():
        holes = filling.which >= 0
        values = filling.values[filling.which[holes]]
        if X.dtype == object:
            sample = _sample(X[:, j])
            values = np.array([_like(value, sample) for value in values.tolist()], dtype=object)
        X[holes, j] = values
    return X


def filled_frame(native: Any, found: Mapping[int, Filling]) -> Any:
    """Do the same with a dataframe, in its own library's types."""
    frame = nw.from_native(native, eager_only=True)
    names = frame.columns
    new = [_filled(frame.get_column(names[j]), filling) for j, filling in found.items()]
    return frame.with_columns(*new).to_native() if new else native


def _filled(column: Any, filling: Filling) -> Any:
    """Let each hole have the very value that another row of the column shows, if one does."""
    holes = filling.which >= 0
    donors = np.full(len(filling.values), -1)
    shown, rows = np.unique(filling.codes, return_index=True)
    donors[shown[shown >= 0]] = rows[shown >= 0]
    wanted = np.where(holes, donors[filling.which], -1)
    given = holes & (wanted >= 0)
    if given.any():
        order = np.where(given, wanted, np.arange(len(wanted)))
        column = column[order.tolist()].alias(column.name)
    others = holes & ~given
    if others.any():
        column = _with_values(column, others, filling.values[filling.which[others]])
    return column


def _with_values(column: Any, holes: BoolArray, values: NDArray[Any]) -> Any:
    """Write values that no row shows: a mean, or a state of other rows."""
    if column.dtype.is_integer():
        values = np.rint(values)
    sample = _sample(column.to_list()) if column.dtype == nw.Object else None
    told = [_told(value, column.dtype, sample) for value in values.tolist()]
    own = nw.new_series(column.name, told, backend=nw.get_native_namespace(column))
    own = own if column.dtype == nw.Object else own.cast(column.dtype)
    return column.scatter(np.flatnonzero(holes).tolist(), own)


def _told(value: Any, dtype: Any, sample: Any) -> Any:
    """A state, as a column of that type says it: states are texts where there is no number."""
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return label(value)
    if dtype == nw.Object:
        return _like(value, sample)
    read = next((read for kind, read in MOMENTS.items() if dtype == kind), None)
    return value if read is None else read(value)


def _sample(cells: Iterable[Any]) -> Any:
    """The first cell that shows a text or a number; None, if no cell does."""
    shown = (x for x in cells if isinstance(x, str) or (isinstance(x, Number) and x == x))
    return next(shown, None)


def _like(value: Any, sample: Any) -> Any:
    """A state of the type that another cell of an untyped column has: text, integer or itself."""
    if isinstance(sample, str):
        return label(value)
    whole = isinstance(value, float) and value.is_integer()
    return int(value) if whole and isinstance(sample, Integral) else value
