"""Read delimited text in pieces that fit in memory; every cell stays a text.

Polars parses pieces whose lines are rows. The csv module parses pieces with blank or ragged lines,
line breaks in cells, or unusual quotation marks. It locates errors by row. Numbers may have a
decimal comma.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import polars as pl

from lacunet.data.audit import Remark
from lacunet.data.discover import MARKERS
from lacunet.data.source import Source, by_name, cells_of
from lacunet.errors import DataError

WITH_COMMA = r"^\s*[+-]?(?:[0-9]{1,18},[0-9]+|,[0-9]+)(?:[eE][+-]?[0-9]{1,3})?\s*$"
WITHOUT = r"^\s*[+-]?[0-9]{1,18}\s*$"
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


def comma_columns(frame: pl.DataFrame) -> frozenset[str]:
    """Find the columns of a batch of texts whose numbers have a decimal comma.

    >>> frame = pl.DataFrame({"a": ["1,5", "2", ""], "b": ["1,2", "x", None], "c": ["1", "2", "3"]})
    >>> sorted(comma_columns(frame))
    ['a']
    """
    columns = set()
    for name in frame.columns:
        texts = cells_of(frame, name).drop_nulls().unique()
        texts = texts.filter(~texts.str.strip_chars().is_in(list(MARKERS)))
        commas = texts.str.contains(WITH_COMMA)
        if commas.any() and (commas | texts.str.contains(WITHOUT)).all():
            columns.add(name)
    return frozenset(columns)


def _with_point(cells: pl.Expr) -> pl.Expr:
    point = cells.str.replace(",", ".", literal=True)
    return pl.when(cells.str.contains(WITH_COMMA)).then(point).otherwise(cells)


@dataclass
class _TextFile:
    """A delimited text file whose header is read."""

    path: Path
    separator: str
    columns: tuple[str, ...]
    start: int  # byte at which the first data row begins
    header_line: int  # number of the last line of the header, from 1
    lines_are_rows: bool = True  # until a quoted cell with a line break is met
    commas: frozenset[str] = frozenset()  # columns with decimal commas
    blank: int | None = None  # row of the first blank line, perhaps the last line

    def where(self, row: int) -> str:
        return f"row {row}" + (f" (line {row + self.header_line})" if self.lines_are_rows else "")

    def batches(self, wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Give the wanted columns as text, piece by piece; an empty cell is null."""
        size = max(PIECE, PIECE_PER_COLUMN * len(self.columns))
        self.blank, row = None, 0
        commas = by_name([name for name in wanted if name in self.commas])
        with self.path.open("rb") as file:
            file.seek(self.start)
            while piece := file.read(size):
                at = file.tell() - len(piece)
                piece += file.readline()
                self._check_bytes(piece, at, row)
                if regular := self._is_regular(piece):
                    lazy = pl.scan_csv(
                        piece if piece.endswith(b"\n") else piece + b"\n",
                        has_header=False,
                        schema=dict.fromkeys(self.columns, pl.String()),
                        separator=self.separator,
                        quote_char='"' if b'"' in piece else None,
                    )
                    frame = lazy.select(by_name(wanted)).collect()
                else:
                    records = list(self._records(file, piece, row))
                    cells = zip(*records, strict=True) if records else ((),) * len(self.columns)
                    texts = dict(zip(self.columns, cells, strict=True))
                    kinds = dict.fromkeys(wanted, pl.String)
                    frame = pl.DataFrame({n: texts[n] for n in wanted}, kinds)
                if b'"' in piece or not regular:
                    frame = frame.with_columns(pl.all().replace("", None))
                if len(frame):
                    row += len(frame)
                    yield frame.with_columns(map(_with_point, commas)) if commas else frame

    def _check_bytes(self, piece: bytes, at: int, row: int) -> None:
        """Refuse bytes that are not UTF-8 text; they begin at byte `at`, after `row` rows."""
        if b"\0" in piece:
            raise _binary(self.path)
        if not piece.isascii():
            try:
                piece.decode()
            except UnicodeDecodeError as error:
                row += piece.count(b"\n", 0, error.start) + 1
                where = "" if b'"' in piece else f", {self.where(row)}"  # a row may have many lines
                raise _not_utf8(f"{self.path}{where}", at + error.start) from None

    def _is_regular(self, piece: bytes) -> bool:
        """Whether each line is a row with as many cells as the header, quoted whole or not."""
        if self.blank is not None:
            return False
        quoted = b'"' in piece
        if len(self.columns) == 1 and not quoted:  # a blank line is a missing cell
            return self.separator.encode() not in piece
        bytes_ = np.frombuffer(piece, np.uint8)
        ends = bytes_ == ord("\n")
        marks = bytes_ == ord(self.separator)
        if quoted:
            quotes = bytes_ == ord('"')
            inside = np.logical_xor.accumulate(quotes)  # a mark that opens is inside, not its end
            border = np.concatenate(([True], marks | ends | quotes, [True]))
            closes = quotes & ~inside
            after = border[2:] | np.append(bytes_[1:] == ord("\r"), True)
            usual = border[:-2][quotes & inside].all() and after[closes].all()
            if not usual or inside[-1] or (ends & inside).any():
                return False
            marks = marks & ~inside
        starts = np.concatenate(([0], np.flatnonzero(ends[:-1]) + 1))
        cells = np.add.reduceat(marks.view(np.uint8), starts, dtype=np.int64) + 1
        return bool((cells == len(self.columns)).all())

    def _records(self, file: BinaryIO, piece: bytes, row: int) -> Iterator[list[str]]:
        """Parse a piece with the csv module, reading on to the end of its last record."""
        first, left, ended = row, [*io.BytesIO(piece)][::-1], False

        def next_line() -> bytes:
            at = file.tell()
            line = file.readline()
            self._check_bytes(line, at, first)
            return line

        def lines() -> Iterator[str]:
            # The csv module reads a line only when it needs one, so after a complete record
            # the file is at the start of the next.
            nonlocal ended
            while line := left.pop() if left else next_line():
                yield line.decode()
            ended = True

        # Spaces before a cell belong to it, unless a quotation mark follows: `a, "b, c"`.
        spaced = re.search(rb'(?:^|[,;|\t])[ ]+"', piece, re.MULTILINE) is not None
        reader = csv.reader(lines(), delimiter=self.separator, skipinitialspace=spaced)
        last_line = 0
        try:
            for record in reader:
                row += 1
                self.lines_are_rows &= reader.line_num == last_line + 1
                if ended:  # the reader needs another line, so a cell is still open
                    raise self._unclosed(row)
                last_line = reader.line_num
                cells = record or [""]
                blank = len(cells) == 1 < len(self.columns) and not cells[0].strip()
                if self.blank is not None and not blank:
                    raise self._blank_line(self.blank)
                if blank:
                    self.blank = self.blank or row
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
                f"{self.path}, {self.where(row + 1)}: {error}. Save the file again as CSV."
            ) from None

    def _ragged(self, row: int, cells: int) -> DataError:
        wanted = len(self.columns)
        step = "Fill the row up; a missing value is an empty cell, not one left out."
        if cells > wanted:
            step = f"Put cells that contain the separator {self.separator!r} in quotation marks."
        return DataError(
            f"{self.path}, {self.where(row)}: {cells} cell{'s' * (cells != 1)}, but the header has "
            f"{wanted} column{'s' * (wanted != 1)}. {step}"
        )

    def _blank_line(self, row: int) -> DataError:
        return DataError(
            f"{self.path}, {self.where(row)}: the line is blank, but the header has "
            f"{len(self.columns)} columns. Delete the line; a row without any value is written as "
            f"{self.separator * (len(self.columns) - 1)!r}."
        )

    def _too_long(self, row: int, file: BinaryIO) -> DataError:
        """Explain an overlong cell: an odd number of quotation marks leaves one open."""
        file.seek(self.start)
        if sum(piece.count(b'"') for piece in iter(lambda: file.read(PIECE), b"")) % 2:
            return self._unclosed(row)
        return DataError(
            f"{self.path}, row {row}: a cell has more than {csv.field_size_limit():,} characters, "
            "or a misplaced quotation mark. Shorten it, or leave its column out."
        )

    def _unclosed(self, row: int) -> DataError:
        return DataError(
            f"{self.path}, row {row}: a quotation mark is opened and never closed. Close it, or "
            'write a mark that belongs to the text as "".'
        )


def open_text(path: Path) -> Source:
    """Read the header of a delimited text file."""
    with path.open("rb") as file:
        head = file.read(1024)
        for magic, what in _MAGIC.items():
            if head.startswith(magic):
                raise DataError(f"{path} is not CSV text; it looks like {what}")
        if b"\0" in head:
            raise _binary(path)
        file.seek(len(BOM) if head.startswith(BOM) else 0)
        header, lines = _header(file, path)
        bare = re.sub(r'"[^"]*"', "", header)
        separator = "\t" if path.suffix.lower() == ".tsv" else max(SEPARATORS, key=bare.count)
        text = io.StringIO(header, newline="")
        try:
            record = next(csv.reader(text, delimiter=separator, skipinitialspace=True))
        except csv.Error:
            raise DataError(
                f"{path}, header: a name has more than {csv.field_size_limit():,} characters. "
                "Shorten it; if the first line holds data, add a header above it."
            ) from None
        names = _checked([name.strip() for name in record], path)
        text_file = _TextFile(path, separator, names, file.tell(), lines)
    if separator != ",":
        text_file.commas = comma_columns(next(text_file.batches(names), pl.DataFrame()))
    remarks = {n: (Remark(n, "numbers with a decimal comma."),) for n in text_file.commas}
    return Source(
        str(path), names, text_file.batches, markers=MARKERS, remarks=remarks, where=text_file.where
    )


def _header(file: BinaryIO, path: Path) -> tuple[str, int]:
    """Read the header, which may span several lines, and the number of its last line.

    Blank lines before it are skipped.
    """
    raw, lines = b"", 0
    while not raw.strip(BLANK) or raw.count(b'"') % 2:
        raw = raw if raw.strip(BLANK) else b""
        line = file.readline()
        lines += 1
        raw += line
        if not line and not raw:
            raise DataError(f"{path} is empty. The first line must name the columns.")
        if not line or len(raw) > LONGEST_HEADER:
            raise DataError(
                f"{path}, header: a quotation mark is opened and never closed. Close it."
            )
    if b"\r" in raw.rstrip(b"\r\n").replace(b"\r\n", b""):
        raise DataError(
            f"{path} ends its lines with a bare carriage return. Save it with the line ends of "
            "Unix or Windows."
        )
    try:
        return raw.decode(), lines
    except UnicodeDecodeError as error:
        raise _not_utf8(f"{path}, header", file.tell() - len(raw) + error.start) from None


def _checked(names: list[str], path: Path) -> tuple[str, ...]:
    first: dict[str, int] = {}  # place of each name
    for place, name in enumerate(names, 1):
        if not name:
            raise DataError(
                f"{path}: column {place} of {len(names)} has no name. Give it one in the header."
            )
        if first.setdefault(name, place) != place:
            raise DataError(
                f"{path}: two columns are named {name!r} (columns {first[name]} and "
                f"{place}). Rename one; if the first line holds data, add a header above it."
            )
    return tuple(names)


def _binary(path: Path) -> DataError:
    return DataError(f"{path} is not text: it holds zero bytes. Save it as CSV (UTF-8).")


def _not_utf8(where: str, byte: int) -> DataError:
    return DataError(
        f"{where}, byte {byte + 1}: not UTF-8 text. Save the file as UTF-8 (in a spreadsheet "
        'program: "CSV UTF-8").'
    )
