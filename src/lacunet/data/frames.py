"""Tables in memory: dataframes of any library, NumPy arrays, Python's own lists and dicts.

narwhals reads pandas, PyArrow and other dataframes. Cells may be Python objects: missing values
become null, other values their labels.
"""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from lacunet.data.source import Source, check_frame_names, open_source, slices, unreadable
from lacunet.errors import DataError
from lacunet.runtime.arrays import BoolArray
from lacunet.runtime.states import State, label
from lacunet.wording import OF_ESTIMATOR

PLAIN = (str, bool, int, float, np.bool_, np.integer, np.floating)  # types that have a label
SEVERAL = (Mapping, AbstractSet, list, tuple, np.ndarray)  # types of several values
NO_CELL = (*SEVERAL, bytes, bytearray, complex, np.complexfloating)


def open_object(source: Any) -> Source:
    """Open an object in memory."""
    from lacunet.data.table import Table

    if isinstance(source, Table):
        raise DataError(
            "this is already a table. Give its source: a path, a dataframe or an array."
        )
    if isinstance(source, Mapping) and not hasattr(source, "toarray"):  # a sparse matrix
        return _open_mapping(source)
    if isinstance(source, list | tuple):
        return _open_rows(source)
    if isinstance(source, np.matrix):
        source = np.asarray(source)  # columns of a matrix are 2-d
    if not isinstance(source, np.ndarray):
        return open_frame(source)
    if source.dtype.names:  # its fields are columns
        return _python_source("NumPy array", {n: source[n].tolist() for n in source.dtype.names})
    return _open_array(source)


def _as_series(values: Sequence[Any], name: str, before: int) -> pl.Series:
    """Convert cells of a column to labels, or null; `before` rows precede them."""
    return pl.Series([_text(v, name, before + i) for i, v in enumerate(values, 1)], dtype=pl.String)


def _text(value: Any, name: str, row: int) -> str | None:
    """Give the label of a cell; None if it is missing."""
    if is_null(value):
        return None
    if not isinstance(value, PLAIN):
        kind: Any = type(value)
        nameless = kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__
        if nameless or isinstance(value, NO_CELL):
            raise DataError(
                f"column {name!r}, row {row}: a cell holds a {kind.__name__}. A cell may be text, "
                "a number, true/false, a date or empty. Convert it, or leave the column out with "
                f"--exclude {shlex.quote(name)}."
            )
    return label(_as_state(value))


def _as_state(value: Any) -> State:
    return value if isinstance(value, PLAIN) else str(value)  # type: ignore[return-value]


def is_null(value: Any) -> bool:
    """Whether a value is null in Python, NumPy or pandas."""
    # The type names of pandas.NA and NaT suffice, so pandas need not be imported.
    return (
        value is None
        or type(value).__name__ in {"NAType", "NaTType"}
        or (isinstance(value, float | np.floating) and bool(np.isnan(value)))
    )


def open_frame(native: object) -> Source:
    """Open a dataframe that narwhals supports."""
    kind = f"{type(native).__module__.partition('.')[0]} {type(native).__name__}"
    names = getattr(native, "columns" if hasattr(native, "dtypes") else "column_names", ())
    check_frame_names(list(names), kind)  # before narwhals, whose message is less clear
    try:
        frame: Any = nw.from_native(native)
    except TypeError:
        raise no_table(native) from None
    if isinstance(frame, nw.LazyFrame):  # a relation of DuckDB, a collection of Dask
        try:
            frame = frame.collect("polars")
        except Exception as error:  # libraries raise errors of any type
            raise unreadable(kind, error) from error
    columns = check_frame_names(list(frame.columns), kind)
    original = dict(zip(columns, frame.columns, strict=True))  # names in the dataframe
    declared = {n: _categories(frame.get_column(its).to_native()) for n, its in original.items()}
    categories = {name: states for name, states in declared.items() if states is not None}

    def batches(wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
        for rows in slices(len(frame), len(wanted)):
            part = frame[rows]
            series = {name: part.get_column(original[name]) for name in wanted}
            yield pl.DataFrame(
                {n: _series(s, n, rows.start, n in categories) for n, s in series.items()}
            )

    return Source(kind, columns, batches, categories)


def _series(series: nw.Series[Any], name: str, before: int, categorical: bool) -> pl.Series:
    # Categories may be of any type, and so may the values of an object column: compare as text.
    if not categorical and series.dtype != nw.Object:
        try:
            return series.to_polars()
        except Exception:
            pass
    return _as_series(series.to_list(), name, before)


def _categories(native: Any) -> tuple[State, ...] | None:
    """Give the declared categories, used or not, of a pandas or PyArrow column.

    narwhals lists only the categories that occur.
    """
    if hasattr(native, "cat") and hasattr(native.cat, "categories"):
        return tuple(map(_as_state, native.cat.categories.tolist()))
    if hasattr(native, "unify_dictionaries") and native.num_chunks:
        whole = native.unify_dictionaries().chunk(0)
        if hasattr(whole, "dictionary"):
            return tuple(map(_as_state, whole.dictionary.to_pylist()))
    return None


def in_memory(source: Any) -> Any:
    """Convert a readable source to a dataframe; dataframes and arrays in memory stay unchanged."""
    plain = isinstance(source, str | os.PathLike | Mapping) or (
        isinstance(source, list) and bool(source) and all(isinstance(r, Mapping) for r in source)
    )
    if isinstance(source, np.ndarray):
        plain = source.dtype.names is not None
    plain = plain and not hasattr(source, "toarray")  # sparse matrices: some are mappings
    if not plain and not _lazy(source):
        return source
    opened = open_source(source)
    every = pl.concat(list(opened.batches(opened.columns)) or [pl.DataFrame()])
    missing = pl.col(pl.String).str.strip_chars().is_in(list(opened.markers))
    return every.with_columns(pl.when(~missing).then(pl.col(pl.String)).name.keep())


def _lazy(source: object) -> bool:
    """Whether an object is a lazy dataframe."""
    try:
        return isinstance(nw.from_native(source, pass_through=True), nw.LazyFrame)
    except Exception:  # narwhals refuses the dataframe; later checks have clearer messages
        return False


def no_table(source: object) -> DataError:
    """Build the error for an object that is not a table, with a conversion if one exists."""
    known = (
        "a path, a dataframe (pandas, Polars, PyArrow, Dask, DuckDB), a dict of columns, a list of "
        "rows, or a 2-d NumPy array"
    )
    steps = {"toarray": "X.toarray()", "to_frame": "X.to_frame()", "__next__": "list(X)"}
    step = next((call for name, call in steps.items() if hasattr(source, name)), known)
    return DataError(f"{type(source).__name__} cannot be read as a table. Give {step}.")


def _open_array(array: NDArray[Any]) -> Source:
    """Open a NumPy array, with the columns x1 .. xn; in estimators x0, x1, …"""
    if array.ndim != 2:
        raise DataError(
            f"the NumPy array has {array.ndim} dimension{'s' * (array.ndim != 1)}; rows and "
            "columns are needed. Give a 2-d array, for instance array.reshape(-1, 1)."
        )
    if array.dtype.kind not in "biufUO":
        raise DataError(
            f"a NumPy array of {array.dtype} cannot be read as a table. Give integers, numbers, "
            "booleans or text, for instance array.astype(str)."
        )
    first = 1 if OF_ESTIMATOR.get() is None else 0  # scikit-learn counts from x0
    columns = tuple(f"x{i}" for i in range(first, first + array.shape[1]))

    def series(name: str, rows: slice) -> pl.Series:
        values = array[rows, columns.index(name)]
        if values.dtype.kind == "O":
            return _as_series(values.tolist(), name, rows.start)  # masked values become None
        plain = pl.Series(np.ascontiguousarray(np.asarray(values)))
        masked = np.ma.getmaskarray(values)
        return plain.set(pl.Series(masked), None) if masked.any() else plain

    def batches(wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
        for rows in slices(len(array), len(wanted)):
            yield pl.DataFrame({name: series(name, rows) for name in wanted})

    return Source("NumPy array", columns, batches)


def _open_mapping(columns: Mapping[Any, Any]) -> Source:
    """Open a dict of columns: lists or arrays of one length."""
    lists = {}
    for name, values in columns.items():
        if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
            raise DataError(
                f"dict: column {name!r} is {values!r}. Give each column a list of values."
            )
        lists[name] = list(values)
    if len({len(values) for values in lists.values()}) > 1:
        shortest, longest = (f(lists, key=lambda n: len(lists[n])) for f in (min, max))
        raise DataError(
            f"dict: column {shortest!r} has {len(lists[shortest]):,} values and column "
            f"{longest!r} {len(lists[longest]):,}. Give all columns the same number of rows."
        )
    return _python_source("dict", lists)


def _open_rows(rows: Sequence[Any]) -> Source:
    """Open a list of rows: dicts (a key that one lacks is missing), or lists of one length."""
    if not rows:
        raise DataError("list has no rows. Give at least one, as a list of values or a dict.")
    if all(isinstance(row, Mapping) for row in rows):
        names = list(dict.fromkeys(name for row in rows for name in row))
        return _python_source("list", {name: [row.get(name) for row in rows] for name in names})
    for i, row in enumerate(rows, 1):
        if isinstance(row, str | bytes | Mapping) or not hasattr(row, "__len__"):
            raise DataError(
                f"list, row {i}: {row!r} is not a row. Give a list of rows, each a list of values, "
                "or all of them dicts."
            )
        if len(row) != len(rows[0]):
            raise DataError(
                f"list, row {i}: {len(row)} values, and row 1 has {len(rows[0])}. Give all rows "
                "the same columns; a missing value is None."
            )
    columns = map(list, zip(*rows, strict=True))
    return _python_source("list", {f"x{j}": column for j, column in enumerate(columns, 1)})


def _python_source(kind: str, columns: Mapping[Any, list[Any]]) -> Source:
    named = dict(zip(check_frame_names(list(columns), kind), columns.values(), strict=True))
    rows = max(map(len, named.values()), default=0)

    def batches(wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
        for part in slices(rows, len(wanted)):
            yield pl.DataFrame({n: _as_series(named[n][part], n, part.start) for n in wanted})

    return Source(kind, tuple(named), batches)


class Values(NamedTuple):
    """Values of a column, and which are missing."""

    values: NDArray[Any]  # (rows,)
    missing: BoolArray  # (rows,)


def without_column(native: Any, name: str) -> Any:
    """Drop a column of a dataframe if it exists; return anything else unchanged."""
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
    """Give the values of a column or a sequence; None, NaN and NA are missing.

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
        missing = missing | np.reshape([is_null(v) for v in values.ravel()], values.shape)
    return Values(values, missing)
