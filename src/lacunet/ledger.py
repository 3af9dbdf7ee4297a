"""Results as they come: one JSON line each, so that work can stop at any moment and go on.

The first line says what the file is. A last line that was cut off (the program was killed while
writing it) is dropped; a file whose first line is damaged is set aside, unless a person chose its
name; anything else that is not as it should be is reported and left alone. One process at a time
holds the file.
"""

import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Generic, TypeVar

from lacunet.errors import OutputError
from lacunet.files import hold

T = TypeVar("T")  # a task: a frozen dataclass, whose fields begin the line of its result


@dataclass(frozen=True)
class Sort:
    """A sort of such files."""

    format: str  # as its first line names it
    made_by: str  # "a results file of `lacunet paper`"
    elsewhere: str  # what a person may give another name with
    own_name: bool = True  # False: a person names the file, so that it may be another one


class Ledger(Generic[T]):
    """The results file: what is done is read, what gets done is added."""

    def __init__(self, path: Path, sort: Sort, settings: Mapping[str, Any], kind: type[T]) -> None:
        self.path, self.sort, self.kind = path, sort, kind
        self.names = tuple(field.name for field in fields(kind))  # type: ignore[arg-type]
        self.header = {"format": sort.format, **settings}
        self.records: dict[T, dict[str, Any]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        self.close = hold(path, self)
        try:
            if path.stat().st_size:
                self._read()
            if not path.stat().st_size:
                self._append(self.header)
        except BaseException:
            self.close()
            raise

    def __contains__(self, task: T) -> bool:
        return task in self.records

    def add(self, record: dict[str, Any]) -> None:
        """Keep a result, on disk at once."""
        self._append(record)
        self.records[self._task(record)] = record

    def _append(self, record: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _read(self) -> None:
        text = self.path.read_bytes()
        whole, _, rest = text.rpartition(b"\n")
        if not whole or not self._is_object(whole.partition(b"\n")[0]):
            self._begin_anew(text)
            return
        lines = whole.split(b"\n")
        parsed = [self._parse(number, line) for number, line in enumerate(lines, start=1)]
        if not parsed or parsed[0].get("format") != self.sort.format:
            raise self._refused(f"it is not {self.sort.made_by}")
        for name, value in self.header.items():
            if parsed[0].get(name) != value:
                made = parsed[0].get(name)
                raise self._refused(f"it was made with {name} {made!r}, not {value!r}")
        for number, record in enumerate(parsed[1:], start=2):
            if not all(name in record for name in self.names):
                raise self._refused(f"line {number} is no result")
            self.records[self._task(record)] = record
        if rest:  # cut off while it was written: that one fit is done again
            with self.path.open("r+b") as file:
                file.truncate(len(text) - len(rest))

    @staticmethod
    def _is_object(line: bytes) -> bool:
        try:
            return isinstance(json.loads(line), dict)
        except (ValueError, RecursionError):
            return False

    def _begin_anew(self, text: bytes) -> None:
        """Begin anew; what the file held is kept beside it, unless it is a header cut off.

        A file that a person named, and that does not begin as one of these, is left as it is.
        """
        header = (json.dumps(self.header, allow_nan=False) + "\n").encode()
        if not header.startswith(text):
            if not self.sort.own_name:
                raise self._refused(f"it is not {self.sort.made_by}")
            beside = self.path.with_name(f"{self.path.name}.damaged")
            beside.write_bytes(text)
            warnings.warn(
                f"{self.path}: its first line is damaged. It was set aside as {beside.name}, and "
                "the work begins anew.",
                UserWarning,
                stacklevel=2,
            )
        with self.path.open("r+b") as file:
            file.truncate(0)

    def _task(self, record: dict[str, Any]) -> T:
        return self.kind(**{name: record[name] for name in self.names})

    def _parse(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            raise self._refused(f"line {number} is damaged") from None
        if not isinstance(record, dict):
            raise self._refused(f"line {number} is no result")
        return record

    def _refused(self, why: str) -> OutputError:
        return OutputError(
            f"{self.path}: {why}. It was left as it is: move it away, or {self.sort.elsewhere}."
        )
