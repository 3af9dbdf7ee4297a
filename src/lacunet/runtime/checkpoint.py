"""Results of tasks in a file: work that was stopped goes on, and ends as if it had not been.

Work is a row of calls, each of a function for many items, in an order that only their results
decide. So a call has a number, and a result its place in it. What a file holds is read back as the
values that it was: numbers to the last digit, arrays, and records of this package; nothing else,
and no code.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib
import json
import math
import os
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


STOPPED = Sort(
    "lacunet-kept/1",
    "a file of work that was stopped",
    "give --resume another name",
    own_name=False,
)
OURS = "lacunet."
KINDS = "biufc?"  # of arrays: numbers and truth values


@dataclass(frozen=True)
class Piece:
    """One result."""

    call: int
    place: int
    of: str  # the function


@dataclass(frozen=True)
class Packing(Generic[A, B]):
    """How a result is written that is not written whole: what its item knows is left out."""

    pack: Callable[[A, B], Any]
    unpack: Callable[[A, Any], B]


WHOLE: Packing[Any, Any] = Packing(lambda _, result: result, lambda _, told: told)


class Kept:
    """Does tasks, and keeps what they give; without a file, it only does them."""

    def __init__(self, path: StrPath | None = None, about: Mapping[str, Any] | None = None) -> None:
        self.calls, self.ledger = 0, None
        if path is not None:
            check_file(path)
            self.ledger = Ledger(Path(path), STOPPED, about or {}, Piece)

    def close(self) -> None:
        """Let others have the file."""
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
        """Apply to every item whose result is not there, results in order.

        With a name, say after each how many of them are done; `of` says how many were before, and
        how many there are together.
        """
        before, total = of or (0, len(items))
        self.calls += 1
        task = getattr(function, "func", function).__name__
        pieces = [Piece(self.calls, place, task) for place in range(len(items))]
        known = self._known(pieces)
        found = {place: packing.unpack(items[place], told) for place, told in known.items()}
        left = [place for place in range(len(items)) if place not in found]
        for at, result in executor.results(function, [items[place] for place in left]):
            place = left[at]
            found[place] = result
            if name:
                done = before + len(found)
                executor.say(f"{name} {done} of {total}", done / total)
            # None: there was no time for it. Next time there may be.
            if self.ledger is not None and result is not None:
                told = packing.pack(items[place], result)
                if told is not None:  # what failed is tried again
                    self.ledger.add({**vars(pieces[place]), "told": encoded(told)})
        return [found[place] for place in range(len(items))]

    def _known(self, pieces: Sequence[Piece]) -> dict[int, Any]:
        """Results that the file has, by place."""
        known = {} if self.ledger is None else self.ledger.records
        return {p.place: decoded(known[p]["told"]) for p in pieces if p in known}

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        """Travel as one that keeps nothing: where a task ends up, there is no such file."""
        return Kept, ()


FORGETFUL = Kept()


def fingerprint(*values: Any) -> str:
    """Say in a few letters what values are: no work about others may go on from a file."""
    text = json.dumps([encoded(x) for x in values], allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def encoded(x: Any) -> Any:
    """Give what JSON can hold of a value."""
    if isinstance(x, float) and not math.isfinite(x):
        return {"float": repr(float(x))}
    if x is None or (isinstance(x, bool | int | float | str) and not isinstance(x, Enum)):
        return x
    if isinstance(x, np.ndarray):
        if x.dtype.kind not in KINDS:
            raise TypeError(f"arrays of {x.dtype} are not kept")
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
    if isinstance(x, tuple) and type(x) is tuple:
        return {"tuple": [encoded(y) for y in x]}
    if isinstance(x, tuple):
        return {"record": _name(type(x)), "values": [encoded(y) for y in x]}
    if is_dataclass(x):
        told = {f.name: encoded(getattr(x, f.name)) for f in fields(x) if f.init}
        return {"record": _name(type(x)), "fields": told}
    raise TypeError(f"{type(x)} is not kept")


def decoded(x: Any) -> Any:
    """Give the value that `encoded` told of."""
    if isinstance(x, list):
        return [decoded(y) for y in x]
    if not isinstance(x, dict):
        return x
    match x:
        case {"float": str(number)}:
            return float(number)
        case {"array": str(data), "dtype": str(kind), "shape": [*shape]}:
            return _array(data, kind, shape)
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
        case {"record": str(name), "fields": dict(told)}:
            return _record(name)(**{k: decoded(y) for k, y in told.items()})
    raise OutputError("a file of work that was stopped holds what nobody wrote there. Remove it.")


def _array(data: str, kind: str, shape: Sequence[int]) -> Any:
    dtype = np.dtype(kind)
    if dtype.kind not in KINDS:
        raise OutputError("a file of work that was stopped holds what is no array. Remove it.")
    return np.frombuffer(base64.b64decode(data), dtype).reshape(shape).copy()


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


@functools.cache
def _record(name: str) -> Any:
    """Find a record of this package by its name: a dataclass, a named tuple or an enumeration."""
    module, _, own = name.partition(":")
    if module.startswith(OURS) and own.isidentifier():
        kind = getattr(importlib.import_module(module), own, None)
        if isinstance(kind, type) and (is_dataclass(kind) or issubclass(kind, tuple | Enum)):
            return kind
    raise OutputError(f"a file of work that was stopped names '{name}', which is none. Remove it.")
