"""Write tables: the input with columns added, and coded rows as labels."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lacunet.data.source import ARROW, PARQUET, open_source, slices
from lacunet.data.table import Column
from lacunet.errors import DataError, OptionError
from lacunet.runtime.arrays import CodeArray
from lacunet.runtime.files import SAFE_CSV, StrPath, atomic_path, check_file, inert

SEPARATORS = {".csv": ",", ".tsv": "\t"}
ENDINGS = (*SEPARATORS, *PARQUET, *ARROW)


def column_names(source: object) -> list[str]:
    """List the columns of a source without reading its rows."""
    return list(open_source(source).columns)


def whole_frame(source: object) -> pl.DataFrame:
    """Read all cells of a source as they are: those of a text file are texts."""
    opened = open_source(source)
    return pl.concat(opened.batches(opened.columns))


def write_frames(frames: Sequence[pl.DataFrame], out: StrPath, numbered: str | None = None) -> None:
    """Write tables of the same columns one below the other, perhaps with a column for their number.

    It comes first, and counts from 1.
    """
    check_table_file(out)
    each = enumerate(frames, start=1)
    told = (f.select(pl.lit(k).alias(numbered), pl.all()) if numbered else f for k, f in each)
    _write(told, out)


def append_columns(
    source: object, new: Mapping[str, Sequence[Any] | NDArray[Any]], out: StrPath
) -> None:
    """Write all columns of a source as they are, in its order of rows, then the new columns.

    Parameters
    ----------
    source
        Anything that `read_table` reads. The text of CSV cells is kept as it is.
    new
        Values of each new column, one per row of the source.
    out
        The file; its ending says the format: .csv, .tsv, .parquet, .pq, .arrow, .feather, .ipc.
    """
    check_table_file(out)
    opened = open_source(source)
    for name in new:
        if name in opened.columns:
            raise OptionError(
                f"{opened.name} has a column {name!r} already. Choose another name for the new one."
            )
    rows = {len(values) for values in new.values()}

    def batches() -> Iterator[pl.DataFrame]:
        row = 0
        for frame in opened.batches(opened.columns):
            part = slice(row, row + len(frame))
            row += len(frame)
            if any(size < row for size in rows):
                break
            yield frame.with_columns(pl.Series(n, values[part]) for n, values in new.items())
        if rows - {row}:
            raise DataError(
                f"the new columns have {min(rows):,} values, but {opened.name} has another "
                "number of rows. Give one value per row."
            )

    _write(batches(), out)


def write_codes(columns: Sequence[Column], codes: CodeArray, out: StrPath) -> None:
    """Write coded rows (m, n) as a file of labels and numbers, a missing cell empty."""
    check_table_file(out)
    for column in columns:
        for text in () if column.kind.number else column.labels:
            if not text or text != text.strip():
                raise DataError(
                    f"column {column.name!r}: the state {text!r} could not be read back, because "
                    "white space around a cell is ignored. Rename the state."
                )
    parts = slices(max(len(codes), 1), len(columns))
    _write((labelled_frame(columns, codes[rows]) for rows in parts), out)


def labelled_frame(columns: Sequence[Column], codes: CodeArray) -> pl.DataFrame:
    """Turn coded rows (m, n) into a dataframe of labels and numbers, a missing cell null."""
    values = [_values(column) for column in columns]
    # A missing cell picks the entry after the last value, which is null.
    places = [np.where(codes[:, j] < 0, len(t) - 1, codes[:, j]) for j, t in enumerate(values)]
    return pl.DataFrame([t.gather(p) for t, p in zip(values, places, strict=True)])


def _values(column: Column) -> pl.Series:
    """What its codes stand for, and null: labels of categories, or numbers."""
    if column.kind.number:
        return pl.Series(column.name, [*column.states, None])
    return pl.Series(column.name, [*column.labels, None], pl.String)


def _write(batches: Iterator[pl.DataFrame], out: StrPath) -> None:
    ending = Path(out).suffix.lower()
    with atomic_path(out) as path:
        if ending in SEPARATORS:
            with path.open("wb") as file:
                separator = SEPARATORS[ending]
                for i, frame in enumerate(batches):
                    if i == 0:
                        file.write(_header([inert(name) for name in frame.columns], separator))
                    _inert_cells(frame).write_csv(file, separator=separator, include_header=False)
        elif ending in PARQUET:
            pl.concat(batches).write_parquet(path)
        else:
            pl.concat(batches).write_ipc(path)


def _inert_cells(frame: pl.DataFrame) -> pl.DataFrame:
    """Take from texts what spreadsheets would compute, where that was asked for."""
    if not SAFE_CSV.get():
        return frame
    texts = (s for s in frame if s.dtype in (pl.String, pl.Categorical, pl.Enum))
    return frame.with_columns(
        pl.Series(s.name, [None if x is None else inert(x) for x in s.to_list()], pl.String)
        for s in texts
    )


def _header(names: Sequence[str], separator: str) -> bytes:
    """Write the header, with quotation marks around whatever could be taken for a separator."""
    special = {*',;|"\t\r\n'}
    quoted = ['"' + n.replace('"', '""') + '"' if special & {*n} else n for n in names]
    return (separator.join(quoted) + "\n").encode()


def check_table_file(out: StrPath) -> None:
    """Say now, before the work, why a table could not be written; nothing is made yet."""
    ending = Path(out).suffix.lower()
    if ending not in ENDINGS:
        raise OptionError(
            f"{out}: the ending {ending!r} is not known. A table may be written to "
            f"{', '.join(ENDINGS)}. Change the ending."
        )
    check_file(out)
