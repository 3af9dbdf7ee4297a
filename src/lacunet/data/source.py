"""Open whatever a person has: a file, a dataframe, an array. One face for the rest of the package.

A source knows its column names and gives its rows in batches, so that no more than a batch of raw
values is in memory at a time.
"""

import difflib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
import polars as pl

from lacunet.data.audit import Remark
from lacunet.data.many import files_of, is_pattern, open_many
from lacunet.data.table import Table
from lacunet.data.text import by_name, open_text
from lacunet.errors import DataError
from lacunet.runtime.connecting import is_dask_frame
from lacunet.runtime.states import State

# How often a row stands in the source, in batches of distinct rows: no column can have this name.
COPIES = "\0copies"
CELLS = 1 << 18  # cells per batch: as text, some megabytes;
NUMBERS = 4  # times as many, where all are numbers
TEXT = (".csv", ".tsv", ".txt")
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
LABELLED = (".sav", ".zsav", ".por", ".dta")
SPREADSHEETS = (".xlsx", ".xls", ".xlsb", ".ods")
MANY = (*TEXT, *PARQUET, *ARROW)  # what a folder of tables may hold
KNOWN = (*TEXT, *PARQUET, *ARROW, *LABELLED, *SPREADSHEETS)
# What Polars says of a damaged file; it panics in some, which is no Exception.
UNREADABLE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)

Batches: TypeAlias = Callable[[Sequence[str]], Iterator[pl.DataFrame]]


class Source(Protocol):
    """What can be read: names, rows in batches, and how to say where a row is."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""

    @property
    def markers(self) -> frozenset[str]:
        """Texts that stand for a hole; none where a cell can be empty by itself."""

    @property
    def categories(self) -> Mapping[str, tuple[State, ...]]:
        """Declared categories of categorical columns, in their declared order."""

    @property
    def scales(self) -> Mapping[str, Mapping[str, float]]:
        """Numbers that names of categories stand for, where the source has both."""

    @property
    def titles(self) -> Mapping[str, str]:
        """What columns are about, in words, where the source says it."""

    @property
    def remarks(self) -> Mapping[str, tuple[str | Remark, ...]]:
        """What to know of how columns are read, by name; of all of them under ""."""

    @property
    def types(self) -> Mapping[str, pl.DataType]:
        """What values the columns hold; nothing where all are text."""

    def batches(self, wanted: Sequence[str], /) -> Iterator[pl.DataFrame]:
        """Give the wanted columns, some rows at a time, in the order of the source."""

    def where(self, row: int) -> str:
        """Say where a row is; the first row is 1."""


@dataclass(frozen=True)
class FrameSource:
    """A table with typed columns."""

    name: str
    columns: tuple[str, ...]
    batches: Batches
    categories: Mapping[str, tuple[State, ...]] = field(default_factory=dict)
    markers: frozenset[str] = frozenset()  # None, NaN and null are holes, and nothing else is
    titles: Mapping[str, str] = field(default_factory=dict)
    remarks: Mapping[str, tuple[str | Remark, ...]] = field(default_factory=dict)
    types: Mapping[str, pl.DataType] = field(default_factory=dict)
    scales: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def where(self, row: int) -> str:
        """Say where a row is; the first row is 1."""
        return f"row {row}"


class _Forked:
    """Whether this process was forked from one in which Polars had its threads."""

    here = False

    @classmethod
    def note(cls) -> None:
        cls.here = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Forked.note)


def open_source(source: object, *, counted: bool = False) -> Source:
    """Open a path, a dataframe, a 2-d array, or Python's own lists and dicts.

    With `counted` the order of rows does not matter, and distinct ones may come with their copies.
    """
    if _Forked.here:
        raise DataError(
            "tables cannot be read in a process that was forked from one which had loaded "
            "lacunet: the threads of Polars do not survive it, and it would wait for ever. Start "
            "workers with multiprocessing.get_context('spawn'), or read the table before."
        )
    if isinstance(source, str | os.PathLike):
        path = _expanded(source)
        return _read_by_workers(path, _open_path(path)) if counted else _open_path(path)
    if isinstance(source, pl.LazyFrame):
        return open_lazy(source, "polars LazyFrame", sliced=False)
    if isinstance(source, pl.DataFrame):
        return open_lazy(source.lazy(), "polars DataFrame", sliced=True)
    if isinstance(source, Table):
        raise DataError("this table is read already. Give what it was read from.")
    if counted and is_dask_frame(source):
        from lacunet.data.dask_rows import open_dask

        return open_dask(source)
    return _open_object(source)


def _read_by_workers(path: Path, opened: Source) -> Source:
    """Let the workers of a Dask client read files, if one works in one."""
    if "distributed" not in sys.modules:  # who has one has loaded it
        return opened
    from lacunet.data.dask_rows import read_by_workers

    return read_by_workers(path, opened)


def _open_object(source: object) -> Source:
    """Open what lives in memory."""
    from lacunet.data.frames import open_mapping, open_records, open_rows

    if isinstance(source, Mapping) and not hasattr(source, "toarray"):  # as a sparse matrix has
        return open_mapping(source)
    if isinstance(source, list | tuple):
        return open_rows(source)
    if isinstance(source, np.ndarray) and source.dtype.names:
        return open_records(source)
    # narwhals has one door, and only those who use another dataframe pay for opening it.
    from lacunet.data.frames import open_array, open_frame

    if isinstance(source, np.matrix):
        source = np.asarray(source)  # whose columns are columns
    return open_array(source) if isinstance(source, np.ndarray) else open_frame(source)


def batches_of(frame: pl.DataFrame) -> Callable[[Sequence[str]], Iterator[pl.DataFrame]]:
    """Give what hands out some columns of a frame in memory, some rows at a time."""

    def batches(wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
        for part in slices(len(frame), len(wanted)):
            yield frame.select(by_name(wanted))[part]

    return batches


def slices(rows: int, columns: int, times: int = 1) -> Iterator[slice]:
    """Cut rows into batches of about as many cells each, whatever the number of columns."""
    step = max(times * CELLS // max(columns, 1), 256)
    return (slice(start, start + step) for start in range(0, rows, step))


def check_frame_names(names: Sequence[object], source: str) -> tuple[str, ...]:
    """Turn the column names of a dataframe into text, each different."""
    texts: dict[str, None] = {}  # in their order
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
        raise DataError(f"{str(path)!r} is no name of a file: it has a zero byte.")
    try:
        if path.is_dir() or is_pattern(path):
            return open_many(path, files_of(path, MANY), _open_path)
        if not path.exists():
            raise DataError(f"there is no file {path}.{_close_files(path)}")
    except OSError as error:  # a name that is too long
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from None
    ending = path.suffix.lower()
    if ending not in KNOWN:
        raise DataError(
            f"{path}: the ending {ending or 'of the name'!r} is not known. Files may end in "
            f"{', '.join(KNOWN)}. Save the data as one of these."
        )
    try:
        if path.stat().st_size == 0:
            raise DataError(f"{path} is empty. The first line must name the columns.")
        if ending in TEXT:
            return open_text(path)
        if ending in LABELLED + SPREADSHEETS:
            return _open_foreign(path, ending)
        if ending in PARQUET:
            return open_lazy(pl.scan_parquet(path, glob=False), str(path), sliced=True)
        return open_lazy(pl.scan_ipc(path), str(path), sliced=False)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error


def _open_foreign(path: Path, ending: str) -> Source:
    """Open the file of another program; only those who have one pay for its reader."""
    if ending in LABELLED:
        from lacunet.data.formats import open_labelled

        return open_labelled(path)
    from lacunet.data.formats import open_spreadsheet

    return open_spreadsheet(path)


def open_lazy(lazy: pl.LazyFrame, name: str, *, sliced: bool) -> FrameSource:
    """Open a query.

    Slices bound the memory best where they are cheap: in memory and in Parquet. Elsewhere a slice
    may run the whole query, or load a whole record batch, each time.
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

    enums = {n: tuple(kind.categories) for n, kind in schema.items() if isinstance(kind, pl.Enum)}
    names = check_frame_names(schema.names(), name)
    return FrameSource(name, names, batches, enums, types=dict(schema))


def unreadable(name: str, error: BaseException) -> DataError:
    """Say that something that should be a table cannot be read, and why."""
    why = str(error).strip().partition("\n")[0]
    return DataError(
        f"{name} cannot be read ({why}). A file may be damaged, cut off, or of another format than "
        "its ending says: write it again."
    )


def _close_files(path: Path) -> str:
    if not path.parent.is_dir():
        return f" There is no folder {path.parent} either."
    close = difflib.get_close_matches(path.name, [p.name for p in path.parent.iterdir()], n=3)
    return f" Did you mean {' or '.join(close)}?" if close else " Check the name and the folder."
