"""Files of SPSS and Stata, by pyreadstat, and spreadsheets, by fastexcel through Polars.

In files of SPSS and Stata a column whose values all have labels holds these labels, in the order of
their codes. Codes that a file declares missing are missing values, and are counted.
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
from lacunet.data.source import Source, batches_of, check_frame_names, enum_categories
from lacunet.errors import DataError
from lacunet.optional import require
from lacunet.runtime.states import label

READERS = {".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por", ".dta": "read_dta"}
EXTRA = "files"  # that installs the packages


@dataclass(frozen=True)
class _Labelled:
    """Value labels and missing ranges of one column."""

    labels: Mapping[Any, str]  # of values
    ranges: Sequence[Mapping[str, Any]]  # of missing values

    def is_missing(self, value: Any) -> bool:
        return any(
            isinstance(value, str) == isinstance(r["lo"], str) and r["lo"] <= value <= r["hi"]
            for r in self.ranges
        )

    def named(self, value: Any) -> str:
        text = self.labels.get(value)
        code = label(int(value) if isinstance(value, float) and value.is_integer() else value)
        return f"{code} {text!r}" if text else code


def open_foreign(path: Path) -> Source:
    """Open a file of SPSS or Stata, or the first sheet of a spreadsheet."""
    status = path.stat()
    return _read(path, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=1)  # a table is read in several passes
def _read(path: Path, _time: int, _size: int) -> Source:
    ending = path.suffix.lower()
    return _labelled(path, ending) if ending in READERS else _spreadsheet(path, ending)


def _labelled(path: Path, ending: str) -> Source:
    package = require("pyreadstat", extra=EXTRA, what=f"reading {ending} files")
    # Keep the codes that the file declares missing, in order to count them.
    more = {"user_missing": True} if READERS[ending] == "read_sav" else {}
    try:
        frame, meta = getattr(package, READERS[ending])(str(path), output_format="polars", **more)
    except Exception as error:  # the package has no error classes
        raise DataError(
            f"{path} cannot be read ({str(error).partition(chr(10))[0]}). It may be damaged, cut "
            "off, or not of the format of its extension: write it again."
        ) from error
    names = check_frame_names(frame.columns, str(path))
    labels, ranges = meta.variable_value_labels, meta.missing_ranges
    columns, remarks, scales = [], {}, dict[str, dict[str, float]]()
    for name in names:
        column, notes, scale = _with_labels(
            frame[name], _Labelled(labels.get(name, {}), ranges.get(name, ()))
        )
        columns.append(column)
        remarks[name] = tuple(notes)
        scales |= {name: scale} if scale else {}
    titles = {n: text.strip() for n, text in meta.column_names_to_labels.items() if text}
    labelled = pl.DataFrame(columns)
    categories = enum_categories(labelled.schema)
    batches = batches_of(labelled)
    return Source(
        str(path), names, batches, categories, titles=titles, remarks=remarks, scales=scales
    )


def _with_labels(
    series: pl.Series, meta: _Labelled
) -> tuple[pl.Series, list[Remark], dict[str, float]]:
    """Give a column with its labels, remarks on missing codes, and the codes behind labels."""
    name, notes = series.name, list[Remark]()
    if series.dtype == pl.String:
        series = series.str.strip_chars_end().replace("", None)  # an empty text is missing
    values = series.drop_nulls().drop_nans() if series.dtype.is_float() else series.drop_nulls()
    counts = Counter(values.to_list())
    missing = [value for value in sorted(counts, key=label) if meta.is_missing(value)]
    if missing:
        each = tuple((meta.named(v), counts[v]) for v in missing)
        notes.append(Remark(name, "declared missing in the file", each, summed=True))
        series = pl.Series(name, [None if v in set(missing) else v for v in series], series.dtype)
    shown = sorted((v for v in counts if v not in missing), key=lambda v: (isinstance(v, str), v))
    known = [v for v in shown if v in meta.labels]
    if len(known) < len(shown) or not shown or not meta.labels:
        if known:
            some = f"{len(known)} of its {len(shown)} values have labels, so it shows the values."
            notes.append(Remark(name, some))
        return series, notes, {}
    texts = [meta.labels[v].strip() or label(v) for v in shown]
    often = Counter(texts)  # the code distinguishes equal labels
    texts = [t if often[t] == 1 else f"{t} ({label(v)})" for t, v in zip(texts, shown, strict=True)]
    by_value = dict(zip(shown, texts, strict=True))
    labels = [None if v is None else by_value.get(v) for v in series.to_list()]
    scale = {t: float(v) for v, t in by_value.items() if isinstance(v, int | float)}
    return pl.Series(name, labels, pl.Enum(texts)), notes, scale


def _spreadsheet(path: Path, ending: str) -> Source:
    package = require("fastexcel", extra=EXTRA, what=f"reading {ending} files")
    try:
        sheets = package.read_excel(str(path)).sheet_names
        # Types follow from all rows: one text makes a column of texts.
        frame = pl.read_excel(path, engine="calamine", infer_schema_length=None)
    except Exception as error:  # of either package
        raise DataError(
            f"{path} cannot be read ({str(error).partition(chr(10))[0]}). Its first sheet must be "
            "a table whose first row names the columns."
        ) from error
    names = check_frame_names(frame.columns, str(path))
    others = f"of its {len(sheets)} sheets the first is read, {sheets[0]!r}."
    about = {"": (others,)} if len(sheets) > 1 else {}
    return Source(str(path), names, batches_of(frame), markers=MARKERS, remarks=about)
