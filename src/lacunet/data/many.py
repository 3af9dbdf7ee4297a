"""Several files of one table: a folder of them, or a pattern of names (`part-*.parquet`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from lacunet.data.audit import Remark
from lacunet.errors import DataError
from lacunet.runtime.states import State

if TYPE_CHECKING:
    from lacunet.data.source import Source

WILD = frozenset("*?[")
ASIDE = ("_", ".")  # names that begin so are notes of the program that wrote the others


@dataclass
class ManyFiles:
    """Files with the same columns, read one after the other: a `Source`."""

    name: str
    paths: tuple[Path, ...]
    parts: tuple[Source, ...]  # the files, opened
    rows: list[int] = field(default_factory=list, init=False)  # of the files that are read so far

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, as the first file has them."""
        return self.parts[0].columns

    @property
    def markers(self) -> frozenset[str]:
        """Texts that stand for a hole."""
        return self.parts[0].markers

    @property
    def categories(self) -> Mapping[str, tuple[State, ...]]:
        """Declared categories, which are the same in all files."""
        return self.parts[0].categories

    @property
    def scales(self) -> Mapping[str, Mapping[str, float]]:
        """Numbers that names stand for, which are the same in all files."""
        return self.parts[0].scales

    @property
    def titles(self) -> Mapping[str, str]:
        """What columns are about, as the first file says."""
        return self.parts[0].titles

    @property
    def remarks(self) -> Mapping[str, tuple[str | Remark, ...]]:
        """What to know of how columns are read, of all files; cells of remarks add up."""
        found: dict[str, list[str | Remark]] = {}
        for part in self.parts:
            for name, told in part.remarks.items():
                said = found.setdefault(name, [])
                said += (one for one in told if isinstance(one, Remark) or one not in said)
        return {name: tuple(told) for name, told in found.items()}

    @property
    def types(self) -> Mapping[str, pl.DataType]:
        """What values the columns hold, in all files."""
        return self.parts[0].types

    def batches(self, wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Give the wanted columns of all files, some rows at a time."""
        self.rows.clear()
        for part in self.parts:
            self.rows.append(0)
            for frame in part.batches(wanted):
                yield frame
                self.rows[-1] += len(frame)

    def where(self, row: int) -> str:
        """Say in which file a row is, and where; the first row of all is 1."""
        before = 0
        for path, part, rows in zip(self.paths, self.parts, self.rows, strict=False):
            if row <= before + rows:
                return f"{path.name}, {part.where(row - before)}"
            before += rows
        last = len(self.rows) - 1  # one that is being read
        return f"{self.paths[last].name}, {self.parts[last].where(row - sum(self.rows[:last]))}"


def is_pattern(path: Path) -> bool:
    """Whether a path is meant for several files."""
    return bool(WILD & set(str(path))) and not path.exists()


def files_of(path: Path, endings: Sequence[str]) -> list[Path]:
    """Find the tables of a folder, or those that a pattern fits, by name; refuse if there is none.

    All must have one ending: rows of text and typed values are not read alike.
    """
    folder = path.is_dir()
    found = path.iterdir() if folder else Path(path.anchor).glob(str(path.relative_to(path.anchor)))
    files = sorted(
        p for p in found if p.is_file() and p.suffix.lower() in endings and p.name[0] not in ASIDE
    )
    if not files:
        inside = folder and any(p.is_dir() for p in path.iterdir())
        here = f"{path} has no table in it" if folder else f"no table fits {path}"
        next_step = f"Give the pattern '{path / '*' / '*'}'" if inside else "Check the name"
        raise DataError(f"{here}: no file that ends in {', '.join(endings)}. {next_step}.")
    kinds = sorted({p.suffix.lower() for p in files})
    if len(kinds) > 1:
        raise DataError(
            f"{path} has tables that end in {' and in '.join(kinds)}: they may be copies of each "
            f"other. Give one kind: '{path / '*' if folder else path}{kinds[0]}'."
        )
    return files


def open_many(path: Path, files: Sequence[Path], open_one: Callable[[Path], Source]) -> Source:
    """Open files as one table; refuse one whose columns are other than those of the first."""
    parts = tuple(open_one(file) for file in files)
    for file, part in zip(files[1:], parts[1:], strict=True):
        _check_same(files[0], parts[0], file, part)
    return ManyFiles(str(path), tuple(files), parts)


def _check_same(first: Path, one: Source, file: Path, other: Source) -> None:
    for has, lacks, names in ((first, file, _less(one, other)), (file, first, _less(other, one))):
        if names:
            raise DataError(
                f"{lacks} has no column '{names[0]}', which {has} has. Files of one table must "
                "have the same columns: leave one of them out, or add the column (empty cells are "
                "fine)."
            )
    for name, kind in one.types.items():
        there = other.types[name]
        if pl.Null() not in (kind, there) and kind != there:
            raise DataError(
                f"column '{name}' is {kind} in {first} and {there} in {file}. Write the files with "
                "one type."
            )


def _less(one: Source, other: Source) -> list[str]:
    known = set(other.columns)
    return [name for name in one.columns if name not in known]
