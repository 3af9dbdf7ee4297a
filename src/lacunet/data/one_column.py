"""One column of a dataframe apart from the others, whatever library it is of."""

from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from lacunet.data.cells import is_hole
from lacunet.errors import DataError
from lacunet.runtime.arrays import BoolArray


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
