"""Read Dask dataframes, and files by the workers of a cluster.

Workers count the equal rows of partitions and files, and return only distinct rows.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from lacunet.data.frames import open_frame
from lacunet.data.source import (
    COPIES,
    PARQUET,
    Batches,
    Source,
    batches_of,
    by_name,
    check_frame_names,
    open_lazy,
    open_source,
)
from lacunet.errors import DataError, LacunetError
from lacunet.runtime.connecting import current_client, grouped, partitions

UNKNOWN = "__UNKNOWN_CATEGORIES__"  # of Dask, if only partitions have the categories
SEED = 15
AT_ONCE = 1 << 18  # rows to gather before a merge
WORTH = 1 << 22  # bytes of files from which workers read them
ROWS = 1 << 20  # in a part of a long file
WHERE = "distinct row {}".format  # partitions have no order in the source


class FilePart(NamedTuple):
    """A file, or some of its rows."""

    path: str
    first: int = 0
    rows: int | None = None  # all of them


def open_dask(frame: Any) -> Source:
    """Open a Dask dataframe; only its columns are computed."""
    name = "dask DataFrame"
    columns = check_frame_names(list(frame.columns), name)
    try:
        declared = open_frame(frame._meta).categories  # noqa: SLF001 - the only source of types
    except LacunetError:
        declared = {}
    known = {n: states for n, states in declared.items() if states and UNKNOWN not in states}
    return Source(name, columns, _counted_batches(columns, partitions(frame)), known, where=WHERE)


def read_by_workers(path: Path, opened: Source) -> Source:
    """Let the workers of the current client read the files of a source, if there is a client.

    Small files, and one without parts, are read in this process.
    """
    if current_client() is None:
        return opened
    paths = opened.paths or (path,)
    if sum(one.stat().st_size for one in paths) < WORTH:
        return opened
    parts = [part for one in paths for part in _parts(one.absolute())]
    if len(parts) < 2:
        return opened
    return replace(opened, batches=_counted_batches(opened.columns, parts), where=WHERE)


def _counted_batches(columns: Sequence[str], parts: Sequence[Any]) -> Batches:
    def batches(wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
        split = partial(_split, columns, tuple(wanted))
        for heap in grouped(parts, split, count_rows):
            for frame in heap:
                yield from batches_of(frame)(frame.columns)

    return batches


def _split(
    columns: Sequence[str], wanted: Sequence[str], part: Any, number: int, heaps: int
) -> list[list[pl.DataFrame]]:
    """Count the equal rows of a part on its worker, and split them into heaps."""
    if isinstance(part, FilePart):
        return on_heaps(_open_part(columns, part).batches(wanted), heaps)
    names = [str(name) for name in part.columns]
    if names != list(columns):
        missing = [name for name in columns if name not in names]
        what = f"has no column '{missing[0]}'" if missing else f"has the columns {names}"
        raise DataError(
            f"partition {number + 1} of the dask DataFrame {what}; the dataframe has "
            f"{list(columns)}. Partitions must have the same columns in the same order."
        )
    return on_heaps(open_frame(part).batches(wanted), heaps)


def _open_part(columns: Sequence[str], part: FilePart) -> Source:
    path, host = Path(part.path), socket.gethostname()
    if not path.exists():
        raise DataError(
            f"{path} does not exist for the worker on {host}. Put the files where "
            "all workers find them under one name, or read them here, before: give "
            "lacunet.read_table(...), read outside of the client, in place of the files."
        )
    source = open_source(path)
    missing = [name for name in columns if name not in source.columns]
    if missing:
        raise DataError(
            f"{path} has no column '{missing[0]}' on the worker on {host}, where "
            f"it has the columns {list(source.columns)}. All must see the same files."
        )
    if part.rows is None:
        return source
    some = pl.scan_parquet(path, glob=False).slice(part.first, part.rows)
    return open_lazy(some, part.path, sliced=True)


def on_heaps(batches: Iterable[pl.DataFrame], heaps: int) -> list[list[pl.DataFrame]]:
    """Count equal rows, and split them by hash into heaps."""
    one_each = pl.lit(1, pl.Int64).alias(COPIES)
    whole: list[pl.DataFrame] = []
    waiting: list[pl.DataFrame] = []
    for batch in batches:
        texts = pl.col(pl.Categorical).cast(pl.String)  # category codes are local
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
    """Merge the rows of several partitions, in a frame per schema."""
    kinds: dict[tuple[Any, ...], list[pl.DataFrame]] = {}
    for frame in (frame for heap in heaps for frame in heap if len(frame)):
        kinds.setdefault(tuple(frame.dtypes), []).append(frame)
    return [_counted(pl.concat(alike)) for alike in kinds.values()]


def _parts(path: Path) -> list[FilePart]:
    if path.suffix.lower() in PARQUET:
        rows = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
        if rows > ROWS:
            return [FilePart(str(path), first, ROWS) for first in range(0, rows, ROWS)]
    return [FilePart(str(path))]
