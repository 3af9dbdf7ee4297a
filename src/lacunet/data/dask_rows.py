"""Dataframes of Dask: equal rows are counted where partitions are, and only distinct ones come.

Files that the workers of a cluster read: equal rows are counted there, and distinct ones come.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from lacunet.data.frames import open_frame
from lacunet.data.many import ManyFiles
from lacunet.data.source import (
    COPIES,
    PARQUET,
    FrameSource,
    Source,
    batches_of,
    check_frame_names,
    open_lazy,
    open_source,
)
from lacunet.data.text import by_name
from lacunet.errors import DataError, LacunetError
from lacunet.runtime.connecting import current_client, grouped, partitions

UNKNOWN = "__UNKNOWN_CATEGORIES__"  # as Dask says that categories are known to partitions alone
SEED = 15
AT_ONCE = 1 << 18  # rows to gather before it pays to look for equal ones


class CountedRows(FrameSource):
    """Distinct rows, each with the number of its copies."""

    def where(self, row: int) -> str:
        """Say where a row is: partitions have no order that people know."""
        return f"distinct row {row}"


def open_dask(frame: Any) -> CountedRows:
    """Open a dataframe of Dask; nothing is computed yet but its columns."""
    name = "dask DataFrame"
    columns = check_frame_names(list(frame.columns), name)
    try:
        declared = open_frame(frame._meta).categories  # noqa: SLF001 - the only place of types
    except LacunetError:
        declared = {}
    known = {n: states for n, states in declared.items() if states and UNKNOWN not in states}

    def batches(wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
        split = partial(_split, columns, tuple(wanted))
        for heap in grouped(partitions(frame), split, count_rows):
            yield from heap

    return CountedRows(name, columns, batches, known)


def _split(
    columns: Sequence[str], wanted: Sequence[str], part: Any, number: int, heaps: int
) -> list[list[pl.DataFrame]]:
    """Count the equal rows of a partition, and put them on heaps: equal rows on the same."""
    found = [str(name) for name in part.columns]
    if found != list(columns):
        missing = [name for name in columns if name not in found]
        what = f"has no column '{missing[0]}'" if missing else f"has the columns {found}"
        raise DataError(
            f"partition {number + 1} of the dask DataFrame {what}; the dataframe has "
            f"{list(columns)}. Partitions must have the same columns in the same order."
        )
    return on_heaps(open_frame(part).batches(wanted), heaps)


def on_heaps(batches: Iterable[pl.DataFrame], heaps: int) -> list[list[pl.DataFrame]]:
    """Count equal rows, and put them on heaps: equal rows on the same."""
    one_each = pl.lit(1, pl.Int64).alias(COPIES)
    whole: list[pl.DataFrame] = []
    waiting: list[pl.DataFrame] = []
    for batch in batches:
        texts = pl.col(pl.Categorical).cast(pl.String)  # whose numbers are known here alone
        waiting.append(_counted(batch.with_columns(texts, one_each)))
        if sum(map(len, waiting)) > sum(map(len, whole)) + AT_ONCE:  # twice as many: merge them
            whole, waiting = count_rows([whole, waiting]), []
    whole = count_rows([whole, waiting])
    keys = [frame.drop(COPIES).hash_rows(SEED) % heaps for frame in whole]
    return [
        [frame.filter(key == heap) for frame, key in zip(whole, keys, strict=True)]
        for heap in range(heaps)
    ]


def _counted(frame: pl.DataFrame) -> pl.DataFrame:
    """Merge equal rows, and add up their copies."""
    others = [name for name in frame.columns if name != COPIES]
    return frame.group_by(by_name(others)).agg(pl.col(COPIES).sum())


def count_rows(heaps: Sequence[Sequence[pl.DataFrame]]) -> list[pl.DataFrame]:
    """Merge what several partitions have, in frames of one type each."""
    kinds: dict[tuple[Any, ...], list[pl.DataFrame]] = {}
    for frame in (frame for heap in heaps for frame in heap if len(frame)):
        kinds.setdefault(tuple(frame.dtypes), []).append(frame)
    return [_counted(pl.concat(alike)) for alike in kinds.values()]


WORTH = 1 << 22  # bytes of files, from which workers read them
ROWS = 1 << 20  # of a part of a long file


class FilePart(NamedTuple):
    """A file, or some of its rows."""

    path: str
    first: int = 0
    rows: int | None = None  # all of them


def read_by_workers(path: Path, opened: Source) -> Source:
    """Give the same source, read by the workers of the client that one works in, if there is one.

    Small files, and one that has no parts, are read here.
    """
    if current_client() is None:
        return opened
    paths = opened.paths if isinstance(opened, ManyFiles) else (path,)
    if sum(one.stat().st_size for one in paths) < WORTH:
        return opened
    parts = [part for one in paths for part in _parts(one.absolute())]
    if len(parts) < 2:
        return opened
    columns = opened.columns

    def batches(wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
        split = partial(_split_worker_files, columns, tuple(wanted))
        for heap in grouped(parts, split, count_rows):
            for frame in heap:
                yield from batches_of(frame)(frame.columns)

    return CountedRows(
        opened.name,
        columns,
        batches,
        opened.categories,
        opened.markers,
        opened.titles,
        opened.remarks,
        opened.types,
    )


def _parts(path: Path) -> list[FilePart]:
    if path.suffix.lower() not in PARQUET:
        return [FilePart(str(path))]
    rows = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
    if rows <= ROWS:
        return [FilePart(str(path))]
    return [FilePart(str(path), first, ROWS) for first in range(0, rows, ROWS)]


def _split_worker_files(
    columns: Sequence[str], wanted: Sequence[str], part: FilePart, number: int, heaps: int
) -> list[list[pl.DataFrame]]:
    """Count the equal rows of a part on the worker that reads it, and put them on heaps."""
    del number  # a file has a name
    path = Path(part.path)
    if not path.exists():
        raise DataError(
            f"{path} is not there for the worker on {socket.gethostname()}. Put the files where "
            "all workers find them under one name, or read them here, before: give "
            "lacunet.read_table(...), read outside of the client, in place of the files."
        )
    source = open_source(path)
    missing = [name for name in columns if name not in source.columns]
    if missing:
        raise DataError(
            f"{path} has no column '{missing[0]}' on the worker on {socket.gethostname()}, where "
            f"it has the columns {list(source.columns)}. All must see the same files."
        )
    if part.rows is not None:
        some = pl.scan_parquet(path, glob=False).slice(part.first, part.rows)
        source = open_lazy(some, part.path, sliced=True)
    return on_heaps(source.batches(wanted), heaps)
