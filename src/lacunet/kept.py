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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from lacunet.errors import OutputError
from lacunet.executor import Executor
from lacunet.files import StrPath, check_file
from lacunet.ledger import Ledger, Sort

STOPPED = Sort(
    "lacunet-kept/1",
    "a file of work that was stopped",
    "give --resume another name",
    own_name=False,
)
OURS = "lacunet."
KINDS = "biufc?"  # of arrays: numbers and truth values

A = TypeVar("A")
B = TypeVar("B")


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
