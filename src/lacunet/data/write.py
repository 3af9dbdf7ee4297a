"""Write tables: the input with columns added, coded rows as labels, missing cells filled in.

Arrays and dataframes keep their types when missing cells are filled in.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Number
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from lacunet.data.source import ARROW, PARQUET, open_source, slices
from lacunet.data.table import Column
from lacunet.errors import DataError, OptionError
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IntArray
from lacunet.runtime.files import SAFE_CSV, StrPath, atomic_path, check_file, inert
from lacunet.runtime.states import State, label

SEPARATORS = {".csv": ",", ".tsv": "\t"}
ENDINGS = (*SEPARATORS, *PARQUET, *ARROW)


def column_names(source: object) -> list[str]:
    """List the columns of a source without reading its rows."""
    return list(open_source(source).columns)


def whole_frame(source: object) -> pl.DataFrame:
    """Read all cells of a source unchanged; those of a text file are texts."""
    opened = open_source(source)
    return pl.concat(opened.batches(opened.columns))


def write_frames(frames: Sequence[pl.DataFrame], out: StrPath, numbered: str | None = None) -> None:
    """Write tables of the same columns one below the other.

    A first column `numbered`, if named, counts the tables from 1.
    """
    check_table_file(out)
    if numbered:
        number = [pl.lit(k).alias(numbered) for k in range(1, len(frames) + 1)]
        frames = [f.select(k, pl.all()) for k, f in zip(number, frames, strict=True)]
    _write(iter(frames), out)


def append_columns(
    source: object, new: Mapping[str, Sequence[Any] | NDArray[Any]], out: StrPath
) -> None:
    """Write all columns of a source unchanged, followed by the new columns.

    `new` has a value per row of the source; the ending of `out` says the format (`ENDINGS`).
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
    labelled = []
    for column, cells in zip(columns, codes.T, strict=True):
        number = column.kind.number
        values = [*(column.states if number else column.labels), None]
        series = pl.Series(column.name, values, None if number else pl.String)
        # A missing cell picks the entry after the last value, which is null.
        labelled.append(series.gather(np.where(cells < 0, len(values) - 1, cells)))
    return pl.DataFrame(labelled)


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
    """Make texts inert in spreadsheets, if `SAFE_CSV` is set."""
    if not SAFE_CSV.get():
        return frame
    texts = (s for s in frame if s.dtype in (pl.String, pl.Categorical, pl.Enum))
    return frame.with_columns(
        pl.Series(s.name, [None if x is None else inert(x) for x in s.to_list()], pl.String)
        for s in texts
    )


def _header(names: Sequence[str], separator: str) -> bytes:
    """Write the header, and quote names that contain a possible separator."""
    special = {*',;|"\t\r\n'}
    quoted = ['"' + n.replace('"', '""') + '"' if special & {*n} else n for n in names]
    return (separator.join(quoted) + "\n").encode()


def check_table_file(out: StrPath) -> None:
    """Check before the computation that a table can be written; create nothing."""
    ending = Path(out).suffix.lower()
    if ending not in ENDINGS:
        raise OptionError(
            f"{out}: the ending {ending!r} is not known. A table may be written to "
            f"{', '.join(ENDINGS)}. Change the ending."
        )
    check_file(out)


MOMENTS: dict[Any, Callable[[str], Any]] = {
    nw.Datetime: dt.datetime.fromisoformat,
    nw.Date: dt.date.fromisoformat,
    nw.Time: dt.time.fromisoformat,
}
MOST_DECIMALS = 9  # of a rounded column; numbers with more are not rounded


@dataclass(frozen=True, eq=False)
class Support:
    """Plausible values of a numeric column, inferred from the values that occur."""

    values: FloatArray  # (values,) that occur, sorted

    @classmethod
    def of(cls, *occurring: Sequence[State]) -> "Support":
        """Join the values that occur in several places.

        >>> Support.of((18, 90), (17, 35)).near(np.array([54.19, 120.0])).tolist()
        [54.0, 90.0]
        """
        return cls(np.unique(np.concatenate([np.asarray(v, np.float64) for v in occurring])))

    @cached_property
    def decimals(self) -> int | None:
        """The number of decimals of the values; None: too many for rounded values.

        Two values may be only the ends of a range: they show whether numbers are whole.
        """
        most = MOST_DECIMALS if len(self.values) > 2 else 0
        with np.errstate(over="ignore", invalid="ignore"):
            single = self.values.astype(np.float32)  # values of a column in single precision
            x, kind = self.values, np.float32 if (single == self.values).all() else np.float64
            each = (d for d in range(most + 1) if (np.round(x, d).astype(kind) == x).all())
            return next(each, None)

    @property
    def whole(self) -> bool:
        """Whether all values are whole numbers."""
        return self.decimals == 0

    def near(self, x: FloatArray) -> FloatArray:
        """Round numbers to the decimals of the values, and clip them to the range; NaN stays."""
        if not len(self.values):
            return x
        rounded = x if self.decimals is None else np.round(x, self.decimals)
        return np.clip(rounded, self.values[0], self.values[-1])

    def nearest(self, x: FloatArray) -> FloatArray:
        """Replace each number by the nearest value that occurs; NaN stays.

        >>> Support.of((0, 100, 250)).nearest(np.array([-30.0, 40.0, 60.0])).tolist()
        [0.0, 0.0, 100.0]
        """
        if not len(self.values):
            return x
        middles = self.values[:-1] + np.diff(self.values) / 2
        return np.where(np.isnan(x), np.nan, self.values[np.searchsorted(middles, x)])


class Filling(NamedTuple):
    """Imputed values of the missing cells of one column."""

    values: NDArray[Any]  # (values,) distinct imputed values
    which: IntArray  # (rows,) index of the imputed value; −1: not imputed
    codes: CodeArray  # (rows,) index of the observed value; −1: another, or none


def filled_array(X: NDArray[Any], fillings: Mapping[int, Filling]) -> NDArray[Any]:
    """Impute cells of an array, which keeps its type if that can hold the values."""
    if X.dtype.kind == "U" or any(filling.values.dtype == object for filling in fillings.values()):
        X = X.astype(object)
    for j, filling in fillings.items():
        missing = filling.which >= 0
        values = filling.values[filling.which[missing]]
        if X.dtype == object:
            sample = _sample(X[:, j])
            values = np.array([_like(value, sample) for value in values.tolist()], dtype=object)
        X[missing, j] = values
    return X


def filled_frame(native: Any, fillings: Mapping[int, Filling]) -> Any:
    """Impute cells of a dataframe, in the types of its library."""
    frame = nw.from_native(native, eager_only=True)
    names = frame.columns
    new = [_filled(frame.get_column(names[j]), filling) for j, filling in fillings.items()]
    return frame.with_columns(*new).to_native() if new else native


def _filled(column: Any, filling: Filling) -> Any:
    """Copy each imputed value from a row of the column that shows it, if there is one."""
    missing = filling.which >= 0
    donors = np.full(len(filling.values), -1)
    shown, rows = np.unique(filling.codes, return_index=True)
    donors[shown[shown >= 0]] = rows[shown >= 0]
    wanted = np.where(missing, donors[filling.which], -1)
    given = missing & (wanted >= 0)
    if given.any():
        order = np.where(given, wanted, np.arange(len(wanted)))
        column = column[order.tolist()].alias(column.name)
    others = missing & ~given
    if others.any():
        column = _with_values(column, others, filling.values[filling.which[others]])
    return column


def _with_values(column: Any, missing: BoolArray, values: NDArray[Any]) -> Any:
    """Write imputed values that no row shows, such as a mean."""
    dtype = column.dtype
    if dtype.is_integer():
        values = np.rint(values)
    new = values.tolist()
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        new = [label(value) for value in new]
    elif dtype == nw.Object:
        sample = _sample(column.to_list())
        new = [_like(value, sample) for value in new]
    else:  # states that are not numbers are texts
        read = next((read for kind, read in MOMENTS.items() if dtype == kind), None)
        new = new if read is None else [read(value) for value in new]
    series = nw.new_series(column.name, new, backend=nw.get_native_namespace(column))
    series = series if dtype == nw.Object else series.cast(dtype)
    return column.scatter(np.flatnonzero(missing).tolist(), series)


def _sample(cells: Iterable[Any]) -> Any:
    """Give the first cell with a text or a number; None if there is none."""
    shown = (x for x in cells if isinstance(x, str) or (isinstance(x, Number) and x == x))
    return next(shown, None)


def _like(value: Any, sample: Any) -> Any:
    """Convert a value to text or integer, if a sample cell of an untyped column is one."""
    if isinstance(sample, str):
        return label(value)
    whole = isinstance(value, float) and value.is_integer()
    return int(value) if whole and isinstance(sample, Integral) else value
