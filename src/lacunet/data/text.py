"""Columns by their names, whatever these are: Polars takes `*` and `^…$` for patterns.

Numbers with a decimal comma, as spreadsheets of many countries write them: 1,5 is 1.5.
Read delimited text in pieces that fit in memory, every cell as the text that it is.
"""

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
import polars as pl
import polars.selectors as cs

from lacunet.data.audit import Remark
from lacunet.data.discover import MARKERS
from lacunet.errors import DataError
from lacunet.runtime.states import State


def by_name(names: Iterable[str]) -> list[pl.Expr]:
    """Name columns, in this order.

    >>> pl.DataFrame({"*": [1], "a": [2]}).select(by_name(["*"])).columns
    ['*']
    """
    return [cs.by_name(name).as_expr() for name in names]


def cells_of(frame: pl.DataFrame, name: str) -> pl.Series:
    """Give a column without its name, by which Polars would look for it in many a method."""
    return frame.get_column(name).alias("cells")


WITH_COMMA = r"^\s*[+-]?(?:[0-9]{1,18},[0-9]+|,[0-9]+)(?:[eE][+-]?[0-9]{1,3})?\s*$"
WITHOUT = r"^\s*[+-]?[0-9]{1,18}\s*$"


def comma_columns(frame: pl.DataFrame) -> frozenset[str]:
    """Find the columns of a batch of texts whose numbers have a decimal comma.

    >>> frame = pl.DataFrame({"a": ["1,5", "2", ""], "b": ["1,2", "x", None], "c": ["1", "2", "3"]})
    >>> sorted(comma_columns(frame))
    ['a']
    """
    found = set()
    for name in frame.columns:
        told = cells_of(frame, name).drop_nulls().unique()
        told = told.filter(~told.str.strip_chars().is_in(list(MARKERS)))
        commas = told.str.contains(WITH_COMMA)
        if commas.any() and (commas | told.str.contains(WITHOUT)).all():
            found.add(name)
    return frozenset(found)


def with_points(frame: pl.DataFrame, columns: Collection[str]) -> pl.DataFrame:
    """Write the numbers of some columns with a decimal point; whatever is none stays as it is."""
    mine = [name for name in frame.columns if name in columns]
    if not mine:
        return frame
    return frame.with_columns(map(_with_point, by_name(mine)))


def _with_point(cells: pl.Expr) -> pl.Expr:
    point = cells.str.replace(",", ".", literal=True)
    return pl.when(cells.str.contains(WITH_COMMA)).then(point).otherwise(cells)


SEPARATORS = (",", ";", "\t", "|")
PIECE = 1 << 18  # bytes per piece: short cells take some ten times that while they are parsed
PIECE_PER_COLUMN = 5_000  # so that a piece of a wide table still has some thousand rows
BOM = b"\xef\xbb\xbf"
BLANK = b" \r\n"
LONGEST_HEADER = 1 << 24  # bytes

_MAGIC = {
    b"PAR1": "a Parquet file. Rename it to end in .parquet.",
    b"ARROW1": "an Arrow file. Rename it to end in .arrow.",
    b"PK\x03\x04": "a spreadsheet or zip file. Save it as CSV first.",
    b"\xd0\xcf\x11\xe0": "a spreadsheet. Save it as CSV first.",
    b"\x1f\x8b": "compressed. Unpack it first.",
    b"\x28\xb5\x2f\xfd": "compressed. Unpack it first.",
    b"\xff\xfe": "UTF-16 text. Save it as UTF-8.",
    b"\xfe\xff": "UTF-16 text. Save it as UTF-8.",
}


@dataclass
class TextFile:
    """A delimited text file, its header read: a `Source` that declares no categories."""

    path: Path
    separator: str
    columns: tuple[str, ...]
    start: int  # byte at which the first data row begins
    header_line: int  # number of the last line of the header, from 1
    lines_are_rows: bool = True  # until a quoted cell with a line break is met
    categories: Mapping[str, tuple[State, ...]] = field(default_factory=dict, init=False)
    markers: frozenset[str] = field(default=MARKERS, init=False)
    titles: Mapping[str, str] = field(default_factory=dict, init=False)
    scales: Mapping[str, Mapping[str, float]] = field(default_factory=dict, init=False)
    commas: frozenset[str] = field(default=frozenset(), init=False)  # columns with decimal commas
    types: Mapping[str, pl.DataType] = field(default_factory=dict, init=False)
    _blank: int | None = field(default=None, init=False)  # row of a blank line, maybe a last one

    @property
    def name(self) -> str:
        """What messages call it."""
        return str(self.path)

    @property
    def remarks(self) -> Mapping[str, tuple[Remark, ...]]:
        """Say which columns have decimal commas."""
        return {n: (Remark(n, "numbers with a decimal comma."),) for n in self.commas}

    def where(self, row: int) -> str:
        """Say where a row is: "row 17 (line 18)"."""
        return f"row {row}" + (f" (line {row + self.header_line})" if self.lines_are_rows else "")

    def batches(self, wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Give the wanted columns as text, piece by piece; an empty cell is null."""
        schema = dict.fromkeys(self.columns, pl.String())
        size = max(PIECE, PIECE_PER_COLUMN * len(self.columns))
        self._blank = None
        row = 0
        with self.path.open("rb") as file:
            file.seek(self.start)
            while piece := file.read(size):
                at = file.tell() - len(piece)
                piece += file.readline()
                self.check_bytes(piece, at, row)
                if b'"' in piece:
                    records = list(self._records(file, piece, row))
                    cells = zip(*records, strict=True) if records else ((),) * len(self.columns)
                    texts = dict(zip(self.columns, cells, strict=True))
                    frame = pl.DataFrame(
                        {n: texts[n] for n in wanted}, dict.fromkeys(wanted, pl.String)
                    )
                    rows, frame = len(records), frame.with_columns(pl.all().replace("", None))
                else:
                    piece = self._whole_rows(piece, row)
                    rows = piece.count(b"\n")
                    lazy = pl.scan_csv(
                        piece,
                        has_header=False,
                        schema=schema,
                        separator=self.separator,
                        quote_char=None,
                    )
                    frame = lazy.select(by_name(wanted)).collect() if rows else pl.DataFrame()
                if rows:
                    row += rows
                    yield with_points(frame, self.commas)

    def check_bytes(self, piece: bytes, at: int, row: int) -> None:
        """Refuse bytes that are not UTF-8 text; they begin at byte `at`, after `row` rows."""
        if piece.isascii() and b"\0" not in piece:
            return
        if b"\0" in piece:
            raise _binary(self.name)
        try:
            piece.decode()
        except UnicodeDecodeError as error:
            row += piece.count(b"\n", 0, error.start) + 1
            where = "" if b'"' in piece else f", {self.where(row)}"  # lines need not be rows there
            raise _not_utf8(f"{self.name}{where}", at + error.start) from None

    def _whole_rows(self, piece: bytes, row: int) -> bytes:
        """Check that each line has as many cells as the header; cut blank lines at the end."""
        if not piece.endswith(b"\n"):
            piece += b"\n"
        if len(self.columns) == 1 and self.separator.encode() not in piece:
            return piece  # here a blank line is a missing cell
        if self._blank is not None:
            if piece.strip(BLANK):
                raise self._blank_line(self._blank)
            return b""
        bytes_ = np.frombuffer(piece, np.uint8)
        ends = np.flatnonzero(bytes_ == ord("\n"))
        starts = np.concatenate(([0], ends[:-1] + 1))
        marks = (bytes_ == ord(self.separator)).view(np.uint8)
        cells = np.add.reduceat(marks, starts, dtype=np.int64) + 1
        wrong = np.flatnonzero(cells != len(self.columns))
        if not len(wrong):
            return piece
        first = int(wrong[0])
        if piece[starts[first] : ends[first]].strip(BLANK):
            raise self._ragged(row + first + 1, int(cells[first]))
        self._blank = row + first + 1
        if piece[starts[first] :].strip(BLANK):
            raise self._blank_line(self._blank)
        return piece[: starts[first]]

    def _records(self, file: BinaryIO, piece: bytes, row: int) -> Iterator[list[str]]:
        """Parse a piece with the csv module, reading on to the end of its last record."""
        first, left, ended = row, [*io.BytesIO(piece)][::-1], False

        def lines() -> Iterator[str]:
            # The csv module asks for a line only when it needs one, so after a complete record
            # the file stands exactly at the start of the next.
            nonlocal ended
            while line := left.pop() if left else self._next_line(file, first):
                yield line.decode()
            ended = True

        # Spaces before a cell belong to it, unless a quotation mark follows: `a, "b, c"`.
        spaced = re.search(rb'(?:^|[,;|\t])[ ]+"', piece, re.MULTILINE) is not None
        reader = csv.reader(lines(), delimiter=self.separator, skipinitialspace=spaced)
        last_line = 0
        try:
            for record in reader:
                row += 1
                if reader.line_num > last_line + 1:
                    self.lines_are_rows = False
                if ended:  # the reader asked for more, so a cell is still open
                    raise self._unclosed(row)
                last_line = reader.line_num
                cells = record or [""]
                if len(self.columns) == 1 and len(cells) == 1:
                    yield cells
                elif not any(cell.strip() for cell in cells) and len(cells) == 1:
                    self._blank = self._blank or row
                elif self._blank is not None:
                    raise self._blank_line(self._blank)
                elif len(cells) != len(self.columns):
                    raise self._ragged(row, len(cells))
                else:
                    yield cells
                if not left:
                    return
        except csv.Error as error:
            if "field limit" in str(error):
                raise self._too_long(row + 1, file) from None
            raise DataError(
                f"{self.name}, {self.where(row + 1)}: {error}. Save the file again as CSV."
            ) from None

    def _next_line(self, file: BinaryIO, row: int) -> bytes:
        at = file.tell()
        line = file.readline()
        self.check_bytes(line, at, row)
        return line

    def _ragged(self, row: int, cells: int) -> DataError:
        wanted = len(self.columns)
        step = "Fill the row up; a missing value is an empty cell, not one left out."
        if cells > wanted:
            step = f"Put cells that contain the separator {self.separator!r} in quotation marks."
        return DataError(
            f"{self.name}, {self.where(row)}: {cells} cell{'s' * (cells != 1)}, but the header has "
            f"{wanted} column{'s' * (wanted != 1)}. {step}"
        )

    def _blank_line(self, row: int) -> DataError:
        return DataError(
            f"{self.name}, {self.where(row)}: the line is blank, but the header has "
            f"{len(self.columns)} columns. Delete the line; a row without any value is written as "
            f"{self.separator * (len(self.columns) - 1)!r}."
        )

    def _too_long(self, row: int, file: BinaryIO) -> DataError:
        """Say what is wrong with a cell without end: marks that are all closed come in pairs."""
        file.seek(self.start)
        marks = sum(piece.count(b'"') for piece in iter(lambda: file.read(PIECE), b""))
        if marks % 2:
            return self._unclosed(row)
        return DataError(
            f"{self.name}, row {row}: a cell has more than {csv.field_size_limit():,} characters, "
            "or a quotation mark stands where none belongs. Shorten it, or leave its column out."
        )

    def _unclosed(self, row: int) -> DataError:
        return DataError(
            f"{self.name}, row {row}: a quotation mark is opened and never closed. Close it, or "
            'write a mark that belongs to the text as "".'
        )


def open_text(path: Path) -> TextFile:
    """Read the header of a delimited text file."""
    with path.open("rb") as file:
        head = file.read(1024)
        for magic, what in _MAGIC.items():
            if head.startswith(magic):
                raise DataError(f"{path} is not CSV text; it looks like {what}")
        if b"\0" in head:
            raise _binary(str(path))
        file.seek(len(BOM) if head.startswith(BOM) else 0)
        header, lines = _header(file, str(path))
        separator = "\t" if path.suffix.lower() == ".tsv" else _separator(header)
        text = io.StringIO(header, newline="")
        try:
            record = next(csv.reader(text, delimiter=separator, skipinitialspace=True))
        except csv.Error:
            raise DataError(
                f"{path}, header: a name has more than {csv.field_size_limit():,} characters. "
                "Shorten it; if the first line holds data, add a header above it."
            ) from None
        names = _checked([name.strip() for name in record], str(path))
        found = TextFile(path, separator, names, file.tell(), lines)
    if separator != ",":
        found.commas = comma_columns(next(found.batches(names), pl.DataFrame()))
    return found


def _header(file: BinaryIO, name: str) -> tuple[str, int]:
    """Read the header, over several lines if a quoted name is; give it and its last line's number.

    Blank lines before it are skipped.
    """
    raw, lines = b"", 0
    while not raw.strip(BLANK) or raw.count(b'"') % 2:
        raw = raw if raw.strip(BLANK) else b""
        line = file.readline()
        lines += 1
        raw += line
        if not line and not raw:
            raise DataError(f"{name} is empty. The first line must name the columns.")
        if not line or len(raw) > LONGEST_HEADER:
            raise DataError(
                f"{name}, header: a quotation mark is opened and never closed. Close it."
            )
    if b"\r" in raw.rstrip(b"\r\n").replace(b"\r\n", b""):
        raise DataError(
            f"{name} ends its lines with a bare carriage return. Save it with the line ends of "
            "Unix or Windows."
        )
    try:
        return raw.decode(), lines
    except UnicodeDecodeError as error:
        raise _not_utf8(f"{name}, header", file.tell() - len(raw) + error.start) from None


def _separator(header: str) -> str:
    """Find the separator that occurs most often in the header, outside quotation marks."""
    bare = re.sub(r'"[^"]*"', "", header)
    return max(SEPARATORS, key=bare.count)


def _checked(names: list[str], source: str) -> tuple[str, ...]:
    first: dict[str, int] = {}  # place of each name
    for place, name in enumerate(names, 1):
        if not name:
            raise DataError(
                f"{source}: column {place} of {len(names)} has no name. Give it one in the header."
            )
        if first.setdefault(name, place) != place:
            raise DataError(
                f"{source}: two columns are named {name!r} (columns {first[name]} and "
                f"{place}). Rename one; if the first line holds data, add a header above it."
            )
    return tuple(names)


def _binary(name: str) -> DataError:
    return DataError(f"{name} is not text: it holds zero bytes. Save it as CSV (UTF-8).")


def _not_utf8(where: str, byte: int) -> DataError:
    return DataError(
        f"{where}, byte {byte + 1}: not UTF-8 text. Save the file as UTF-8 (in a spreadsheet "
        'program: "CSV UTF-8").'
    )
