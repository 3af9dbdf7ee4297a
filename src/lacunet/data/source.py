"""Open a file, a folder, a dataframe or an array as a `Source`: named columns, rows in batches.

No more than a batch of raw values is in memory at a time.
"""

import difflib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TypeAlias

import numpy as np
import polars as pl
import polars.selectors as cs

from lacunet.data.audit import Remark
from lacunet.errors import DataError
from lacunet.runtime.connecting import is_dask_frame
from lacunet.runtime.states import State

# The column of row counts in batches of distinct rows; no other column can have this name.
COPIES = "\0copies"
CELLS = 1 << 18  # cells per batch: as text, some megabytes;
NUMBERS = 4  # times as many, if all are numbers
TEXT = (".csv", ".tsv", ".txt")
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
LABELLED = (".sav", ".zsav", ".por", ".dta")
SPREADSHEETS = (".xlsx", ".xls", ".xlsb", ".ods")
MANY = (*TEXT, *PARQUET, *ARROW)  # formats in a folder of tables
KNOWN = (*MANY, *LABELLED, *SPREADSHEETS)
# What Polars raises for a damaged file; its panics are not Exceptions.
UNREADABLE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
WILD = frozenset("*?[")
ASIDE = ("_", ".")  # prefixes of metadata files, such as _SUCCESS
PROCESS = os.getpid()  # the threads of Polars do not survive a fork

Batches: TypeAlias = Callable[[Sequence[str]], Iterator[pl.DataFrame]]


@dataclass(frozen=True)
class Source:
    """A readable table."""

    name: str  # for messages
    columns: tuple[str, ...]
    batches: Batches  # gives the wanted columns, some rows at a time, in order
    categories: Mapping[str, tuple[State, ...]] = field(default_factory=dict)  # declared, in order
    markers: frozenset[str] = frozenset()  # texts that mean missing
    titles: Mapping[str, str] = field(default_factory=dict)  # descriptions of columns
    remarks: Mapping[str, tuple[str | Remark, ...]] = field(
        default_factory=dict
    )  # "": of the table
    types: Mapping[str, pl.DataType] = field(default_factory=dict)  # empty if all are text
    scales: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # codes behind labels
    where: Callable[[int], str] = "row {}".format  # the first row is 1
    paths: tuple[Path, ...] = ()  # of the files, if there are several


def by_name(names: Sequence[str]) -> list[pl.Expr]:
    """Select columns by exact names, because Polars parses `*` and `^…$` as patterns.

    >>> pl.DataFrame({"*": [1], "a": [2]}).select(by_name(["*"])).columns
    ['*']
    """
    return [cs.by_name(name).as_expr() for name in names]


def cells_of(frame: pl.DataFrame, name: str) -> pl.Series:
    """Give a column under a plain name, because many methods of a series select by its name."""
    return frame.get_column(name).alias("cells")


def open_source(source: object, *, counted: bool = False) -> Source:
    """Open a path, a dataframe, a 2-d array, or Python's own lists and dicts.

    With `counted` batches may hold distinct rows in any order, with their counts.
    """
    if os.getpid() != PROCESS:
        raise DataError(
            "tables cannot be read in a process that was forked from one which had loaded "
            "lacunet: the threads of Polars do not survive it, and it would wait for ever. Start "
            "workers with multiprocessing.get_context('spawn'), or read the table before."
        )
    if isinstance(source, str | os.PathLike):
        path = _expanded(source)
        if counted and "distributed" in sys.modules:  # a Dask client may be active
            from lacunet.data.dask_rows import read_by_workers

            return read_by_workers(path, _open_path(path))
        return _open_path(path)
    if isinstance(source, pl.LazyFrame):
        return open_lazy(source, "polars LazyFrame", sliced=False)
    if isinstance(source, pl.DataFrame):
        return open_lazy(source.lazy(), "polars DataFrame", sliced=True)
    if counted and is_dask_frame(source):
        from lacunet.data.dask_rows import open_dask

        return open_dask(source)
    from lacunet.data.frames import open_object

    return open_object(source)


def batches_of(frame: pl.DataFrame) -> Batches:
    """Make the batches of a frame in memory."""

    def batches(wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
        for part in slices(len(frame), len(wanted)):
            yield frame.select(by_name(wanted))[part]

    return batches


def slices(rows: int, columns: int, times: int = 1) -> Iterator[slice]:
    """Cut rows into batches of about as many cells each, whatever the number of columns."""
    step = max(times * CELLS // max(columns, 1), 256)
    return (slice(start, start + step) for start in range(0, rows, step))


def check_frame_names(names: Sequence[object], source: str) -> tuple[str, ...]:
    """Turn the column names of a dataframe into distinct texts."""
    texts: dict[str, None] = {}  # an ordered set
    for name in names:
        if not isinstance(name, str | int | np.integer) or isinstance(name, bool):
            raise DataError(
                f"{source}: the column name {name!r} is not text. Rename the columns with text."
            )
        if not str(name).strip():
            raise DataError(f"{source}: column {len(texts) + 1} has no name. Give it one.")
        if str(name) in texts:
            raise DataError(f"{source}: two columns are named {str(name)!r}. Rename one of them.")
        texts[str(name)] = None
    return tuple(texts)


def _expanded(source: str | os.PathLike[str]) -> Path:
    try:
        return Path(source).expanduser()
    except RuntimeError:  # ~somebody
        raise DataError(
            f"{os.fspath(source)}: there is no user of that name. Write the folder out."
        ) from None


def _open_path(path: Path) -> Source:
    if "\0" in str(path):
        raise DataError(f"{str(path)!r} is not a name of a file: it has a zero byte.")
    try:
        if path.is_dir() or is_pattern(path):
            return _open_many(path, files_of(path, MANY))
        if not path.exists():
            raise DataError(f"there is no file {path}.{_close_files(path)}")
        return _open_file(path, path.suffix.lower())
    except OSError as error:  # a name that is too long, a protected file
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error


def _open_file(path: Path, ending: str) -> Source:
    """Open one file, and import readers of foreign formats on demand."""
    from lacunet.data import formats, text

    if ending not in KNOWN:
        raise DataError(
            f"{path}: the ending {ending or 'of the name'!r} is not known. Files may end in "
            f"{', '.join(KNOWN)}. Save the data as one of these."
        )
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty. The first line must name the columns.")
    if ending in TEXT:
        return text.open_text(path)
    if ending in LABELLED + SPREADSHEETS:
        return formats.open_foreign(path)
    if ending in PARQUET:
        return open_lazy(pl.scan_parquet(path, glob=False), str(path), sliced=True)
    return open_lazy(pl.scan_ipc(path), str(path), sliced=False)


def open_lazy(lazy: pl.LazyFrame, name: str, *, sliced: bool) -> Source:
    """Open a lazy query.

    Slices bound memory best if they are cheap: in memory and in Parquet. Elsewhere each slice may
    run the whole query, or load a whole record batch.
    """
    try:
        schema = lazy.collect_schema()
    except UNREADABLE as error:
        raise unreadable(name, error) from error

    def batches(wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
        try:
            query = lazy.select(by_name(wanted))
            if not sliced:
                size = max(CELLS // len(wanted), 256)
                yield from query.collect_batches(chunk_size=size, engine="streaming")
                return
            rows = lazy.select(pl.len()).collect(engine="streaming").item()
            small = all(schema[name].is_numeric() or schema[name] == pl.Boolean for name in wanted)
            for part in slices(rows, len(wanted), NUMBERS if small else 1):
                yield query.slice(part.start, part.stop - part.start).collect(engine="streaming")
        except UNREADABLE as error:
            raise unreadable(name, error) from error

    names = check_frame_names(schema.names(), name)
    return Source(name, names, batches, enum_categories(schema), types=dict(schema))


def enum_categories(schema: pl.Schema) -> dict[str, tuple[State, ...]]:
    """Give the categories of the Enum columns."""
    return {n: tuple(kind.categories) for n, kind in schema.items() if isinstance(kind, pl.Enum)}


def unreadable(name: str, error: BaseException) -> DataError:
    """Build the error for an unreadable table."""
    why = str(error).strip().partition("\n")[0]
    return DataError(
        f"{name} cannot be read ({why}). A file may be damaged, cut off, or not of the format of "
        "its extension: write it again."
    )


def _close_files(path: Path) -> str:
    if not path.parent.is_dir():
        return f" There is no folder {path.parent} either."
    close = difflib.get_close_matches(path.name, [p.name for p in path.parent.iterdir()], n=3)
    return f" Did you mean {' or '.join(close)}?" if close else " Check the name and the folder."


def is_pattern(path: Path) -> bool:
    """Whether a path is a glob pattern and not an existing file."""
    return bool(WILD & set(str(path))) and not path.exists()


def files_of(path: Path, endings: Sequence[str]) -> list[Path]:
    """List the tables of a folder or of a pattern, sorted by name; refuse if there is none.

    All must have one ending, because text and typed values are read differently.
    """
    folder = path.is_dir()
    paths = path.iterdir() if folder else Path(path.anchor).glob(str(path.relative_to(path.anchor)))
    files = sorted(
        p for p in paths if p.is_file() and p.suffix.lower() in endings and p.name[0] not in ASIDE
    )
    if not files:
        inside = folder and any(p.is_dir() for p in path.iterdir())
        problem = f"{path} has no table in it" if folder else f"no table fits {path}"
        next_step = f"Give the pattern '{path / '*' / '*'}'" if inside else "Check the name"
        raise DataError(f"{problem}: no file that ends in {', '.join(endings)}. {next_step}.")
    kinds = sorted({p.suffix.lower() for p in files})
    if len(kinds) > 1:
        raise DataError(
            f"{path} has tables that end in {' and in '.join(kinds)}: they may be copies of each "
            f"other. Give one kind: '{path / '*' if folder else path}{kinds[0]}'."
        )
    return files


def _open_many(path: Path, files: Sequence[Path]) -> Source:
    """Open files as one table; all must have the columns of the first."""
    parts = [_open_path(file) for file in files]
    first = parts[0]
    for file, part in zip(files[1:], parts[1:], strict=True):
        _check_same(files[0], first, file, part)
    remarks: dict[str, list[str | Remark]] = {}
    for part in parts:
        for name, notes in part.remarks.items():
            known = remarks.setdefault(name, [])
            known += (one for one in notes if isinstance(one, Remark) or one not in known)
    rows = [0]  # of the files that are read so far

    def batches(wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
        rows.clear()
        for part in parts:
            rows.append(0)
            for frame in part.batches(wanted):
                yield frame
                rows[-1] += len(frame)

    def where(row: int) -> str:
        ends = list(accumulate(rows))
        k = next((k for k, end in enumerate(ends) if row <= end), len(rows) - 1)
        return f"{files[k].name}, {parts[k].where(row - ends[k] + rows[k])}"

    return Source(
        str(path),
        first.columns,
        batches,
        first.categories,
        first.markers,
        first.titles,
        {name: tuple(notes) for name, notes in remarks.items()},
        first.types,
        first.scales,
        where,
        tuple(files),
    )


def _check_same(first: Path, one: Source, file: Path, other: Source) -> None:
    pairs = ((first, one, file, other), (file, other, first, one))
    for has, columns, lacks, others in pairs:
        for name in columns.columns:
            if name not in set(others.columns):
                raise DataError(
                    f"{lacks} has no column '{name}', which {has} has. Files of one table must "
                    "have the same columns: leave one of them out, or add the column (empty cells "
                    "are fine)."
                )
    for name, kind in one.types.items():
        other_kind = other.types[name]
        if pl.Null() not in (kind, other_kind) and kind != other_kind:
            raise DataError(
                f"column '{name}' is {kind} in {first} and {other_kind} in {file}. Write the "
                "files with one type."
            )
