"""The door to dataframes: pandas, PyArrow and what else narwhals knows, and NumPy arrays."""

from collections.abc import Iterator, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from lacunet.data.source import FrameSource, Source, check_frame_names, slices
from lacunet.errors import DataError
from lacunet.state import State, label


def open_frame(native: object) -> Source:
    """Open a dataframe that narwhals knows."""
    kind = f"{type(native).__module__.partition('.')[0]} {type(native).__name__}"
    names = getattr(native, "columns" if hasattr(native, "dtypes") else "column_names", ())
    check_frame_names(list(names), kind)  # before narwhals, which refuses in its own words
    try:
        frame: Any = nw.from_native(native)
    except TypeError:
        raise DataError(
            f"a {type(native).__name__} cannot be read as a table. Give the path of a file, a "
            "pandas, Polars or PyArrow table, or a 2-d NumPy array."
        ) from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect("polars")
    columns = check_frame_names(list(frame.columns), kind)
    own = dict(zip(columns, frame.columns, strict=True))  # how the dataframe itself calls them

    def batches(wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
        for rows in slices(len(frame), len(wanted)):
            part = frame[rows]
            series = {name: part.get_column(own[name]) for name in wanted}
            yield pl.DataFrame({n: _series(s, n in categories) for n, s in series.items()})

    categories = {
        name: states
        for name, its in own.items()
        if (states := _categories(frame.get_column(its).to_native())) is not None
    }
    return FrameSource(kind, columns, batches, categories)


def open_array(array: NDArray[Any]) -> Source:
    """Open a NumPy array, with the columns x1 .. xn."""
    if array.ndim != 2:
        raise DataError(
            f"the NumPy array has {array.ndim} dimension{'s' * (array.ndim != 1)}; rows and "
            "columns are needed. Give a 2-d array, for instance array.reshape(-1, 1)."
        )
    if array.dtype.kind not in "biufUO":
        raise DataError(
            f"a NumPy array of {array.dtype} cannot be read as a table. Give integers, numbers, "
            "booleans or text."
        )
    columns = tuple(f"x{i}" for i in range(1, array.shape[1] + 1))

    def batches(wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
        for rows in slices(len(array), len(wanted)):
            yield pl.DataFrame({n: _values(array[rows, columns.index(n)]) for n in wanted})

    return FrameSource("NumPy array", columns, batches)


def _values(values: NDArray[Any]) -> pl.Series:
    if values.dtype.kind == "O":
        return _texts(values.tolist())  # what is masked is None there
    series = pl.Series(np.ascontiguousarray(np.asarray(values)))
    masked = np.ma.getmaskarray(values)
    return series.set(pl.Series(masked), None) if masked.any() else series


def _series(series: nw.Series[Any], categorical: bool) -> pl.Series:
    # Categories may be of any type, and so may the values of an object column: compare as text.
    if categorical or series.dtype == nw.Object:
        return _texts(series.to_list())
    try:
        return series.to_polars()
    except Exception:  # whatever the dataframe's own library raises
        return _texts(series.to_list())


def _texts(values: Sequence[Any]) -> pl.Series:
    """Write values of several types as their labels; None, NaN and the like are holes."""
    return pl.Series([None if _hole(v) else label(_state(v)) for v in values], dtype=pl.String)


def _hole(value: Any) -> bool:
    # pandas.NA and NaT are known by name, so that pandas need not be there.
    return (
        value is None
        or type(value).__name__ in {"NAType", "NaTType"}
        or (isinstance(value, float | np.floating) and bool(np.isnan(value)))
    )


def _state(value: Any) -> Any:
    """Give a value that has a label: itself, or its text."""
    known = (str, bool, int, float, np.bool_, np.integer, np.floating)
    return value if isinstance(value, known) else str(value)


def _categories(native: Any) -> tuple[State, ...] | None:
    """Give the declared categories, used or not, of a pandas or PyArrow column.

    Asked of the library itself: narwhals lists only the categories that occur.
    """
    if hasattr(native, "cat") and hasattr(native.cat, "categories"):
        return tuple(_state(v) for v in native.cat.categories.tolist())
    if hasattr(native, "unify_dictionaries") and native.num_chunks:
        whole = native.unify_dictionaries().chunk(0)
        if hasattr(whole, "dictionary"):
            return tuple(_state(value) for value in whole.dictionary.to_pylist())
    return None
