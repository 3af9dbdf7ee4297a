"""Files that the workers of a cluster read: equal rows are counted there, and distinct ones come.

A part is a file, or some rows of a long one of Parquet. Whoever works in a Dask client has files
read so, where they are large enough to be worth it.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import polars as pl

from lacunet.data.dask_rows import CountedRows, count_rows, on_heaps
from lacunet.data.many import ManyFiles
from lacunet.data.source import PARQUET, Source, batches_of, open_lazy, open_source
from lacunet.errors import DataError
from lacunet.runtime.connecting import current_client, grouped

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
        split = partial(_split, columns, tuple(wanted))
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


def _split(
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
