"""Results as they come: one JSON line each, so that work can stop at any moment and go on.

The first line says what the file is. A last line that was cut off (the program was killed while
writing it) is dropped; anything else that is not as it should be is reported and left alone.
"""

import json
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

from lacunet.errors import OptionError, OutputError
from lacunet.files import check_folder
from lacunet.paper.design import Task
from lacunet.plots.door import load

FORMAT = "lacunet-paper/1"
TASK = tuple(field.name for field in fields(Task))


class Ledger:
    """The results file: what is done is read, what gets done is added."""

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self.path = path
        self.header = {"format": FORMAT, **settings}
        self.records: dict[Task, dict[str, Any]] = {}
        if path.exists():
            self._read()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._append(self.header)

    def __contains__(self, task: Task) -> bool:
        return task in self.records

    def add(self, record: dict[str, Any]) -> None:
        """Keep a result, on disk at once."""
        self._append(record)
        self.records[_task(record)] = record

    def _append(self, record: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _read(self) -> None:
        text = self.path.read_bytes()
        whole, _, rest = text.rpartition(b"\n")
        lines = whole.split(b"\n") if whole else []
        parsed = [self._parse(number, line) for number, line in enumerate(lines, start=1)]
        if not parsed or parsed[0].get("format") != FORMAT:
            raise self._refused("it is not a results file of `lacunet paper`")
        for name, value in self.header.items():
            if parsed[0].get(name) != value:
                made = parsed[0].get(name)
                raise self._refused(f"it was made with {name} {made!r}, not {value!r}")
        for number, record in enumerate(parsed[1:], start=2):
            if not all(name in record for name in TASK):
                raise self._refused(f"line {number} is no result")
            self.records[_task(record)] = record
        if rest:  # cut off while it was written: that one fit is done again
            with self.path.open("r+b") as file:
                file.truncate(len(text) - len(rest))

    def _parse(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            record = json.loads(line)
        except ValueError:
            raise self._refused(f"line {number} is damaged") from None
        if not isinstance(record, dict):
            raise self._refused(f"line {number} is no result")
        return record

    def _refused(self, why: str) -> OutputError:
        return OutputError(
            f"{self.path}: {why}. It was left as it is: move it away, or choose another folder "
            "with --out."
        )


def begin(
    out: str | Path, name: str, *, models: int, datasets: int, seed: int, starts: int
) -> Ledger:
    """Check all that can be checked before the work, and open the results file of a folder."""
    for what, value in {"models": models, "datasets": datasets}.items():
        if value < 1:
            raise OptionError(f"{value} {what}: there must be at least 1.")
    check_folder(out)
    load(extra="paper", what="a figure")
    return Ledger(Path(out) / name, {"seed": seed, "starts": starts})


def _task(record: dict[str, Any]) -> Task:
    return Task(**{name: record[name] for name in TASK})
