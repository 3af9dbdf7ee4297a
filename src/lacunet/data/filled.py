"""Holes filled in: an array stays an array, a dataframe stays what it is, with the types it had."""

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from lacunet.arrays import BoolArray, CodeArray, IntArray
from lacunet.state import label

MOMENTS: dict[Any, Callable[[str], Any]] = {
    nw.Datetime: dt.datetime.fromisoformat,
    nw.Date: dt.date.fromisoformat,
    nw.Time: dt.time.fromisoformat,
}


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
        X[holes, j] = filling.values[filling.which[holes]]
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
    if column.dtype.is_numeric() and not column.dtype.is_float() and (values % 1 != 0).any():
        column = column.cast(nw.Float64)
    told = [_told(value, column.dtype) for value in values.tolist()]
    own = nw.new_series(column.name, told, backend=nw.get_native_namespace(column))
    own = own if column.dtype == nw.Object else own.cast(column.dtype)
    return column.scatter(np.flatnonzero(holes).tolist(), own)


def _told(value: Any, dtype: Any) -> Any:
    """A state, as a column of that type says it: states are texts where there is no number."""
    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object):
        return label(value)
    read = next((read for kind, read in MOMENTS.items() if dtype == kind), None)
    return value if read is None else read(value)
