"""Spreadsheets: the only place that knows fastexcel, through Polars."""

import functools
from pathlib import Path

import polars as pl

from lacunet.data.discover import MARKERS
from lacunet.data.source import FrameSource, batches_of, check_frame_names
from lacunet.errors import DataError
from lacunet.optional import require

EXTRA = "files"  # that installs it


def open_spreadsheet(path: Path) -> FrameSource:
    """Open the first sheet of a spreadsheet; its first row names the columns."""
    found = path.stat()
    return _read(path, found.st_mtime_ns, found.st_size)


@functools.lru_cache(maxsize=1)  # a table is read in several passes
def _read(path: Path, _time: int, _size: int) -> FrameSource:
    door = require("fastexcel", extra=EXTRA, what=f"reading {path.suffix.lower()} files")
    try:
        sheets = door.read_excel(str(path)).sheet_names
        # All rows say what a column is: a text in the last one makes it a column of texts.
        frame = pl.read_excel(path, engine="calamine", infer_schema_length=None)
    except Exception as error:  # of either package
        raise DataError(
            f"{path} cannot be read ({str(error).partition(chr(10))[0]}). Its first sheet must be "
            "a table whose first row names the columns."
        ) from error
    names = check_frame_names(frame.columns, str(path))
    others = f"of its {len(sheets)} sheets the first is read, {sheets[0]!r}."
    about = {"": (others,)} if len(sheets) > 1 else {}
    return FrameSource(str(path), names, batches_of(frame), markers=MARKERS, remarks=about)
