"""Cells that are Python's own objects: holes, what has a text, and what is no cell at all.

The door to dataframes: pandas, PyArrow and what else narwhals knows, and NumPy arrays.
Tables of Python's own making: a dict of columns, a list of dicts, a list of rows.
"""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from lacunet.data.source import (
    FrameSource,
    Source,
    check_frame_names,
    open_source,
    slices,
    unreadable,
)
from lacunet.errors import DataError
from lacunet.runtime.states import State, label
from lacunet.wording import OF_ESTIMATOR

PLAIN = (str, bool, int, float, np.bool_, np.integer, np.floating)  # these have a label


def as_series(values: Sequence[Any], name: str, before: int) -> pl.Series:
    """Write cells of a column as their labels, a hole as null; `before` rows come before them."""
    return pl.Series([_text(v, name, before + i) for i, v in enumerate(values, 1)], dtype=pl.String)


def as_state(value: Any) -> Any:
    """Give a value that has a label: itself, or its text."""
    return value if isinstance(value, PLAIN) else str(value)


def _text(value: Any, name: str, row: int) -> str | None:
    """The label of a cell; None of a hole."""
    if is_hole(value):
        return None
    if not isinstance(value, PLAIN) and _no_cell(value):
        raise DataError(
            f"column {name!r}, row {row}: a cell holds a {type(value).__name__}. A cell may be "
            "text, a number, true/false, a date or empty. Convert it, or leave the column out with "
            f"--exclude {shlex.quote(name)}."
        )
    return label(as_state(value))


def is_hole(value: Any) -> bool:
    """Whether a value is what libraries have for none."""
    # pandas.NA and NaT are known by name, so that pandas need not be there.
    return (
        value is None
        or type(value).__name__ in {"NAType", "NaTType"}
        or (isinstance(value, float | np.floating) and bool(np.isnan(value)))
    )


def _no_cell(value: Any) -> bool:
    """Whether a value is several values, bytes, a complex number, or has no text of its own."""
    kind: Any = type(value)
    nameless = kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__
    several = isinstance(value, Mapping | AbstractSet | list | tuple | np.ndarray)
    return (
        nameless or several or isinstance(value, bytes | bytearray | complex | np.complexfloating)
    )


def open_frame(native: object) -> Source:
    """Open a dataframe that narwhals knows."""
    kind = f"{type(native).__module__.partition('.')[0]} {type(native).__name__}"
    names = getattr(native, "columns" if hasattr(native, "dtypes") else "column_names", ())
    check_frame_names(list(names), kind)  # before narwhals, which refuses in its own words
    try:
        frame: Any = nw.from_native(native)
    except TypeError:
        raise no_table(native) from None
    if isinstance(frame, nw.LazyFrame):  # a relation of DuckDB, a collection of Dask
        try:
            frame = frame.collect("polars")
        except Exception as error:  # whatever the library raises while it works
            raise unreadable(kind, error) from error
    columns = check_frame_names(list(frame.columns), kind)
    own = dict(zip(columns, frame.columns, strict=True))  # how the dataframe itself calls them

    def batches(wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
        for rows in slices(len(frame), len(wanted)):
            part = frame[rows]
            series = {name: part.get_column(own[name]) for name in wanted}
            yield pl.DataFrame(
                {n: _series(s, n, rows.start, n in categories) for n, s in series.items()}
            )

    categories = {
        name: states
        for name, its in own.items()
        if (states := _categories(frame.get_column(its).to_native())) is not None
    }
    return FrameSource(kind, columns, batches, categories)


def in_memory(source: Any) -> Any:
    """Collect what is not a dataframe in memory, but can be one; anything else stays what it is."""
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
    holes = pl.col(pl.String).str.strip_chars().is_in(list(opened.markers))
    return every.with_columns(pl.when(~holes).then(pl.col(pl.String)).name.keep())


def _lazy(source: object) -> bool:
    """Whether something is a table that is yet to be computed."""
    try:
        return isinstance(nw.from_native(source, pass_through=True), nw.LazyFrame)
    except Exception:  # a dataframe that narwhals refuses, in its words: others say it better
        return False


def no_table(source: object) -> DataError:
    """Say what can be read, and what to do about things that nearly can."""
    kind = type(source).__name__
    known = (
        "a path, a dataframe (pandas, Polars, PyArrow, Dask, DuckDB), a dict of columns, a list of "
        "rows, or a 2-d NumPy array"
    )
    steps = {"toarray": "X.toarray()", "to_frame": "X.to_frame()", "__next__": "list(X)"}
    step = next((f"Give {how}" for name, how in steps.items() if hasattr(source, name)), "")
    return DataError(f"{kind} cannot be read as a table. {step or f'Give {known}'}.")


def open_array(array: NDArray[Any]) -> Source:
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

    def batches(wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
        for rows in slices(len(array), len(wanted)):
            yield pl.DataFrame(
                {n: _values(array[rows, columns.index(n)], n, rows.start) for n in wanted}
            )

    return FrameSource("NumPy array", columns, batches)


def _values(values: NDArray[Any], name: str, before: int) -> pl.Series:
    if values.dtype.kind == "O":
        return as_series(values.tolist(), name, before)  # what is masked is None there
    series = pl.Series(np.ascontiguousarray(np.asarray(values)))
    masked = np.ma.getmaskarray(values)
    return series.set(pl.Series(masked), None) if masked.any() else series


def _series(series: nw.Series[Any], name: str, before: int, categorical: bool) -> pl.Series:
    # Categories may be of any type, and so may the values of an object column: compare as text.
    if categorical or series.dtype == nw.Object:
        return as_series(series.to_list(), name, before)
    try:
        return series.to_polars()
    except Exception:  # whatever the dataframe's own library raises
        return as_series(series.to_list(), name, before)


def _categories(native: Any) -> tuple[State, ...] | None:
    """Give the declared categories, used or not, of a pandas or PyArrow column.

    Asked of the library itself: narwhals lists only the categories that occur.
    """
    if hasattr(native, "cat") and hasattr(native.cat, "categories"):
        return tuple(as_state(v) for v in native.cat.categories.tolist())
    if hasattr(native, "unify_dictionaries") and native.num_chunks:
        whole = native.unify_dictionaries().chunk(0)
        if hasattr(whole, "dictionary"):
            return tuple(as_state(value) for value in whole.dictionary.to_pylist())
    return None


def open_mapping(columns: Mapping[Any, Any]) -> Source:
    """Open a dict of columns: lists or arrays of one length."""
    lists = {}
    for name, values in columns.items():
        if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
            raise DataError(
                f"dict: column {name!r} is {values!r}. Give each column a list of values."
            )
        lists[name] = list(values)
    lengths = {len(values) for values in lists.values()}
    if len(lengths) > 1:
        shortest, longest = (f(lists, key=lambda n: len(lists[n])) for f in (min, max))
        raise DataError(
            f"dict: column {shortest!r} has {len(lists[shortest]):,} values and column "
            f"{longest!r} {len(lists[longest]):,}. Give all columns the same number of rows."
        )
    return _source("dict", lists)


def open_records(array: NDArray[Any]) -> Source:
    """Open a structured NumPy array: its fields are columns."""
    return _source("NumPy array", {name: array[name].tolist() for name in array.dtype.names or ()})


def open_rows(rows: Sequence[Any]) -> Source:
    """Open a list of rows: dicts (what one lacks is a hole there), or lists of one length."""
    if not rows:
        raise DataError("list has no rows. Give at least one, as a list of values or a dict.")
    if all(isinstance(row, Mapping) for row in rows):
        names = list(dict.fromkeys(name for row in rows for name in row))
        return _source("list", {name: [row.get(name) for row in rows] for name in names})
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
    names = [f"x{j}" for j in range(1, len(rows[0]) + 1)]
    return _source("list", dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def _source(kind: str, columns: Mapping[Any, list[Any]]) -> Source:
    own = dict(zip(check_frame_names(list(columns), kind), columns.values(), strict=True))
    rows = max(map(len, own.values()), default=0)

    def batches(wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
        for part in slices(rows, len(wanted)):
            yield pl.DataFrame({n: as_series(own[n][part], n, part.start) for n in wanted})

    return FrameSource(kind, tuple(own), batches)
