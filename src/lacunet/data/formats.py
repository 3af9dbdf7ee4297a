"""Files of SPSS and Stata: the only place that knows pyreadstat.

Codes of answers have labels there, variables have a text, and some codes are declared to stand for
no answer. A column whose values all have labels holds these labels, in the order of their codes;
what was declared missing is a hole, and is counted.

Spreadsheets: the only place that knows fastexcel, through Polars.
"""

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from lacunet.data.audit import Remark
from lacunet.data.discover import MARKERS
from lacunet.data.source import FrameSource, batches_of, check_frame_names
from lacunet.errors import DataError
from lacunet.optional import require
from lacunet.runtime.states import label

READERS = {".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por", ".dta": "read_dta"}
DECLARES_MISSING = ("read_sav",)  # codes are given as they are there, with their ranges
EXTRA = "files"  # that installs it


@dataclass(frozen=True)
class _Labelled:
    """What such a file says of one column."""

    labels: Mapping[Any, str]  # of values
    ranges: Sequence[Mapping[str, Any]]  # of values that stand for no answer

    def is_missing(self, value: Any) -> bool:
        return any(self._within(value, one["lo"], one["hi"]) for one in self.ranges)

    @staticmethod
    def _within(value: Any, low: Any, high: Any) -> bool:
        return isinstance(value, str) == isinstance(low, str) and bool(low <= value <= high)


def open_labelled(path: Path) -> FrameSource:
    """Open a file of SPSS or Stata."""
    found = path.stat()
    return _read(path, found.st_mtime_ns, found.st_size)


@functools.lru_cache(maxsize=1)  # a table is read in several passes
def _read(path: Path, _time: int, _size: int) -> FrameSource:
    reader = READERS[path.suffix.lower()]
    door = require("pyreadstat", extra=EXTRA, what=f"reading {path.suffix.lower()} files")
    asked = {"user_missing": True} if reader in DECLARES_MISSING else {}
    try:
        frame, meta = getattr(door, reader)(str(path), output_format="polars", **asked)
    except Exception as error:  # the package has no kinds of errors
        raise DataError(
            f"{path} cannot be read ({str(error).partition(chr(10))[0]}). It may be damaged, cut "
            "off, or of another format than its ending says: write it again."
        ) from error
    names = check_frame_names(frame.columns, str(path))
    columns, remarks = [], {}
    scales: dict[str, dict[str, float]] = {}
    for name in names:
        told = _Labelled(
            meta.variable_value_labels.get(name, {}), meta.missing_ranges.get(name, ())
        )
        column, notes, scale = _meant(frame[name], told)
        columns.append(column)
        scales |= {name: scale} if scale else {}
        remarks[name] = tuple(notes)
    titles = {n: text.strip() for n, text in meta.column_names_to_labels.items() if text}
    return _source(str(path), pl.DataFrame(columns), titles, remarks, scales)


def _source(
    name: str,
    frame: pl.DataFrame,
    titles: Mapping[str, str],
    remarks: Mapping[str, tuple[Remark, ...]],
    scales: Mapping[str, Mapping[str, float]],
) -> FrameSource:
    kinds = frame.schema.items()
    enums = {n: tuple(kind.categories) for n, kind in kinds if isinstance(kind, pl.Enum)}
    names = tuple(frame.columns)
    return FrameSource(
        name,
        names,
        batches_of(frame),
        enums,
        titles=titles,
        remarks=remarks,
        scales=scales,
    )


def _meant(series: pl.Series, told: _Labelled) -> tuple[pl.Series, list[Remark], dict[str, float]]:
    """Give a column with its labels and holes, and say which cells are holes by declaration.

    With labels come the numbers that they stand for.
    """
    name, notes = series.name, list[Remark]()
    if series.dtype == pl.String:
        series = series.str.strip_chars_end().replace("", None)  # which is missing there
    values = series.drop_nulls().drop_nans() if series.dtype.is_float() else series.drop_nulls()
    counts = Counter(values.to_list())
    missing = [value for value in sorted(counts, key=label) if told.is_missing(value)]
    if missing:
        each = tuple((_named(v, told), counts[v]) for v in missing)
        notes.append(Remark(name, "declared missing in the file", each, summed=True))
        series = pl.Series(name, [None if v in set(missing) else v for v in series], series.dtype)
    kept = sorted((v for v in counts if v not in missing), key=lambda v: (isinstance(v, str), v))
    if not told.labels or not kept:
        return series, notes, {}
    known = [v for v in kept if v in told.labels]
    if len(known) < len(kept):
        if known:
            some = f"{len(known)} of its {len(kept)} values have labels, so it shows the values."
            notes.append(Remark(name, some))
        return series, notes, {}
    texts = _different([told.labels[v].strip() or label(v) for v in kept], kept)
    by_value = dict(zip(kept, texts, strict=True))
    labels = [None if v is None else by_value.get(v) for v in series.to_list()]
    scale = {t: float(v) for v, t in by_value.items() if isinstance(v, int | float)}
    return pl.Series(name, labels, pl.Enum(texts)), notes, scale


def _named(value: Any, told: _Labelled) -> str:
    text = told.labels.get(value)
    code = label(int(value) if isinstance(value, float) and value.is_integer() else value)
    return f"{code} {text!r}" if text else code


def _different(texts: Sequence[str], values: Sequence[Any]) -> list[str]:
    """Tell labels apart that several codes have, by the code."""
    often = Counter(texts)
    return [
        text if often[text] == 1 else f"{text} ({label(value)})"
        for text, value in zip(texts, values, strict=True)
    ]


SPREADSHEET_EXTRA = "files"  # that installs it


def open_spreadsheet(path: Path) -> FrameSource:
    """Open the first sheet of a spreadsheet; its first row names the columns."""
    found = path.stat()
    return _read_spreadsheet(path, found.st_mtime_ns, found.st_size)


@functools.lru_cache(maxsize=1)  # a table is read in several passes
def _read_spreadsheet(path: Path, _time: int, _size: int) -> FrameSource:
    door = require(
        "fastexcel", extra=SPREADSHEET_EXTRA, what=f"reading {path.suffix.lower()} files"
    )
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
