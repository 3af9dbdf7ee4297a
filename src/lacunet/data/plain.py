"""Tables of Python's own making: a dict of columns, a list of dicts, a list of rows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from numpy.typing import NDArray

from lacunet.data.cells import as_series
from lacunet.data.source import FrameSource, Source, check_frame_names, slices
from lacunet.errors import DataError


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
