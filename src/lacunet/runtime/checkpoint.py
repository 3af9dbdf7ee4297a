"""Checkpoint files: an interrupted run resumes with identical results.

A file has a header, and a line for each result. Calls of functions over items are numbered in a
reproducible order, and a result has the index of its item. A search has named pieces instead; the
last line of a piece is its state. Numbers, arrays and records of this package are restored exactly;
no code is loaded.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib
import json
import math
import os
import re
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from lacunet.errors import OutputError
from lacunet.runtime.executor import Executor
from lacunet.runtime.files import StrPath, check_file, hold

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")  # a task: a frozen dataclass, whose fields begin the line of its result

OURS = "lacunet."
KINDS = "biufc?"  # of arrays: numbers and truth values
DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class Sort:
    """A format of result files."""

    format: str  # name in its first line
    made_by: str  # "a results file of `lacunet paper`"
    elsewhere: str  # how the user chooses another name
    program_chose_name: bool = (
        True  # False: the user names the file, which may be of another format
    )


class Ledger(Generic[T]):
    """A file of results: reads existing results and appends new ones."""

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
        """Append a result, and flush it to disk."""
        self._append(record)
        self.records[self._task(record)] = record

    def _append(self, record: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _read(self) -> None:
        text = self.path.read_bytes()
        *lines, rest = text.split(b"\n")
        records = [_parsed(line) for line in lines]
        if not records or records[0] is None:
            self._begin_anew(text)
            return
        if records[0].get("format") != self.sort.format:
            raise self._refused(f"it is not {self.sort.made_by}")
        for name, value in self.header.items():
            made = records[0].get(name)
            if made != value:
                shown = not isinstance(value, dict) and not DIGEST.fullmatch(str(value))
                why = f"it was made with {name} {made!r}, not {value!r}"
                raise self._refused(why if shown else f"it belongs to a run with other {name}")
        for number, record in enumerate(records[1:], start=2):
            if record is None:
                raise self._refused(f"line {number} is damaged")
            if not all(name in record for name in self.names):
                raise self._refused(f"line {number} is not a result")
            self.records[self._task(record)] = record
        if rest:  # a truncated last line: its result is computed again
            with self.path.open("r+b") as file:
                file.truncate(len(text) - len(rest))

    def _begin_anew(self, text: bytes) -> None:
        """Begin anew; old content is kept beside the file, unless it is a truncated header.

        A file that the user named is left unchanged if it has another format.
        """
        header = (json.dumps(self.header, allow_nan=False) + "\n").encode()
        if not header.startswith(text):
            if not self.sort.program_chose_name:
                raise self._refused(f"it is not {self.sort.made_by}")
            beside = self.path.with_name(f"{self.path.name}.damaged")
            beside.write_bytes(text)
            warnings.warn(
                f"{self.path}: its first line is damaged. It was set aside as {beside.name}, and "
                "the run starts again.",
                UserWarning,
                stacklevel=2,
            )
        with self.path.open("r+b") as file:
            file.truncate(0)

    def _task(self, record: dict[str, Any]) -> T:
        return self.kind(**{name: record[name] for name in self.names})

    def _refused(self, why: str) -> OutputError:
        return OutputError(
            f"{self.path}: {why}. It was left as it is: move it away, or {self.sort.elsewhere}."
        )


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


STOPPED = Sort(
    "lacunet-checkpoint/2",
    "a checkpoint of an unfinished run",
    "give --resume another name",
    program_chose_name=False,
)


@dataclass(frozen=True)
class Piece:
    """The key of a result; a piece of a search has only a name."""

    call: int
    place: int
    of: str  # the function


@dataclass(frozen=True)
class Packing(Generic[A, B]):
    """A compact form of results, without the data that their items hold."""

    pack: Callable[[A, B], Any]
    unpack: Callable[[A, Any], B]


WHOLE: Packing[Any, Any] = Packing(lambda _, result: result, lambda _, packed: packed)


class Checkpoint:
    """A checkpoint: runs tasks and stores their results; without a file, it only runs them."""

    def __init__(self, path: StrPath | None = None, about: Mapping[str, Any] | None = None) -> None:
        self.calls, self.name, self.ledger = 0, "", None
        self.lock = threading.Lock()  # pieces of a search may run concurrently
        if path is not None:
            check_file(path)
            self.ledger = Ledger(Path(path), STOPPED, about or {}, Piece)

    def close(self) -> None:
        """Release the lock of the file."""
        if self.ledger is not None:
            self.ledger.close()

    def map(
        self,
        function: Callable[[A], B],
        items: Sequence[A],
        executor: Executor,
        name: str = "",
        packing: Packing[A, B] = WHOLE,
        of: tuple[int, int] | None = None,
    ) -> list[B]:
        """Apply to every item without a stored result; return all results in order.

        With a name, report the number done; `of` is the number done before, and the total.
        """
        before, total = of or (0, len(items))
        self.calls += 1
        task = getattr(function, "func", function).__name__
        pieces = [Piece(self.calls, place, task) for place in range(len(items))]
        records = {} if self.ledger is None else self.ledger.records
        results = {
            place: packing.unpack(items[place], decoded(records[piece]["result"]))
            for place, piece in enumerate(pieces)
            if piece in records
        }
        left = [place for place in range(len(items)) if place not in results]
        for at, result in executor.results(function, [items[place] for place in left]):
            place = left[at]
            results[place] = result
            if name:
                done = before + len(results)
                executor.report(f"{name} {done} of {total}", done / total)
            # None: time ran out, and the next run tries again.
            if self.ledger is not None and result is not None:
                packed = packing.pack(items[place], result)
                if packed is not None:  # failures are tried again
                    self.ledger.add({**vars(pieces[place]), "result": encoded(packed)})
        return [results[place] for place in range(len(items))]

    def get(self, piece: str) -> dict[str, Any] | None:
        """Restore the state of a piece of a search."""
        record = None if self.ledger is None else self.ledger.records.get(self._piece(piece))
        return None if record is None else dict(decoded(record["result"]))

    def put(self, piece: str, **state: Any) -> None:
        """Store the state of a piece of a search on disk."""
        if self.ledger is not None:
            with self.lock:
                self.ledger.add({**vars(self._piece(piece)), "result": encoded(state)})

    def chapter(self, name: str) -> Checkpoint:
        """Give a view of the file for one of several searches, with a prefix for its pieces."""
        chapter = Checkpoint()
        chapter.ledger, chapter.lock, chapter.name = self.ledger, self.lock, f"{self.name}{name}: "
        return chapter

    def _piece(self, name: str) -> Piece:
        return Piece(0, 0, f"{self.name}{name}")

    def __reduce__(self) -> tuple[type[Checkpoint], tuple[()]]:
        """Pickle as the null checkpoint, because workers do not have the file."""
        return Checkpoint, ()


NULL_CHECKPOINT = Checkpoint()


def fingerprint(*values: Any) -> str:
    """Compute a digest of values, so that a run on other data does not resume from a file."""
    text = json.dumps([encoded(x) for x in values], allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def encoded(x: Any) -> Any:
    """Encode a value for JSON."""
    if isinstance(x, float) and not math.isfinite(x):
        return {"float": repr(float(x))}
    if x is None or (isinstance(x, bool | int | float | str) and not isinstance(x, Enum)):
        return x
    if isinstance(x, np.ndarray):
        if x.dtype.kind not in KINDS:
            raise TypeError(f"arrays of {x.dtype} cannot be stored in a checkpoint")
        data = base64.b64encode(np.ascontiguousarray(x).tobytes()).decode()
        return {"array": data, "dtype": x.dtype.str, "shape": list(x.shape)}
    if isinstance(x, np.random.Generator):
        return {"generator": x.bit_generator.state}
    if isinstance(x, np.generic):
        return encoded(x.item())
    if isinstance(x, Enum):
        return {"record": _name(type(x)), "values": [encoded(x.value)]}
    if isinstance(x, Mapping):
        return {"mapping": [[encoded(k), encoded(v)] for k, v in x.items()]}
    if isinstance(x, list):
        return [encoded(y) for y in x]
    if isinstance(x, tuple):
        values = [encoded(y) for y in x]
        if type(x) is tuple:
            return {"tuple": values}
        return {"record": _name(type(x)), "values": values}
    if is_dataclass(x):
        named = {f.name: encoded(getattr(x, f.name)) for f in fields(x) if f.init}
        return {"record": _name(type(x)), "fields": named}
    raise TypeError(f"{type(x)} cannot be stored in a checkpoint")


def decoded(x: Any) -> Any:
    """Decode a value that `encoded` wrote."""
    if isinstance(x, list):
        return [decoded(y) for y in x]
    if not isinstance(x, dict):
        return x
    match x:
        case {"float": str(number)}:
            return float(number)
        case {"array": str(data), "dtype": str(kind), "shape": [*shape]}:
            if np.dtype(kind).kind not in KINDS:
                raise _damaged("holds an invalid array")
            array = np.frombuffer(base64.b64decode(data), np.dtype(kind))
            return array.reshape(shape).copy()
        case {"generator": {"bit_generator": "PCG64"} as state}:
            generator = np.random.default_rng(0)
            generator.bit_generator.state = state
            return generator
        case {"mapping": [*pairs]}:
            return {decoded(k): decoded(v) for k, v in pairs}
        case {"tuple": [*values]}:
            return tuple(decoded(y) for y in values)
        case {"record": str(name), "values": [*values]}:
            return _record(name)(*(decoded(y) for y in values))
        case {"record": str(name), "fields": dict(named)}:
            return _record(name)(**{k: decoded(y) for k, y in named.items()})
    raise _damaged("holds an unknown entry")


def _damaged(what: str) -> OutputError:
    return OutputError(f"a checkpoint of an unfinished run {what}. Remove it.")


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


@functools.cache
def _record(name: str) -> Any:
    """Find a record of this package by its name: a dataclass, a named tuple or an enumeration."""
    module, _, qualname = name.partition(":")
    if module.startswith(OURS) and qualname.isidentifier():
        kind = getattr(importlib.import_module(module), qualname, None)
        if isinstance(kind, type) and (is_dataclass(kind) or issubclass(kind, tuple | Enum)):
            return kind
    raise _damaged(f"names '{name}', which does not exist")
