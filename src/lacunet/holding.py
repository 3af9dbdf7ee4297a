"""Values in parts that another place holds: the disk, or workers. Work goes there, results come.

Rows are cut where their number alone says, and parts are added in order: sums do not depend on who
holds them, nor on how many there are who do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from lacunet.arrays import CodeArray, FloatArray
from lacunet.executor import SERIAL, Executor

PART = 1 << 18  # rows of a part: an E step over it takes longer than to ask for it

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, eq=False)
class SomeRows:
    """Some of the distinct rows of a table."""

    codes: CodeArray  # (m, n), -1 = missing
    counts: FloatArray  # (m,)


class StaysHereError(Exception):
    """What is held elsewhere does not travel: whoever works with it stays, and asks from here."""


class Held(ABC, Generic[A]):
    """Several values in order, each wherever it is held; while that is so, it does not travel."""

    @abstractmethod
    def then(self, function: Callable[[A], B]) -> Held[B]:
        """Apply to every value where it is; what comes out stays there."""

    @abstractmethod
    def each(self, function: Callable[[A], B], executor: Executor = SERIAL) -> list[B]:
        """Apply to every value where it is; give the results, in order."""

    def in_turn(self, function: Callable[[A], B]) -> Iterator[B]:
        """Do the same for results that are large: where it can be, one is in memory at a time."""
        return iter(self.each(function))


class MadeHere(Held[A]):
    """Values that nobody holds any more: each is made when it is asked for, one after the other."""

    def __init__(self, count: int, make: Callable[[int], A]) -> None:
        self.count, self.make = count, make

    def then(self, function: Callable[[A], B]) -> MadeHere[B]:
        """Remember what to do."""
        return MadeHere(self.count, partial(_after, function, self.make))

    def each(
        self,
        function: Callable[[A], B],
        executor: Executor = SERIAL,  # noqa: ARG002 - one at a time is in memory
    ) -> list[B]:
        """Make every value, and apply to it."""
        return list(self.in_turn(function))

    def in_turn(self, function: Callable[[A], B]) -> Iterator[B]:
        """Make a value, and apply to it, when it is asked for."""
        return (function(self.make(place)) for place in range(self.count))


def _after(function: Callable[[A], B], make: Callable[[int], A], place: int) -> B:
    return function(make(place))


class Holder(ABC):
    """A place that can hold the rows of a table."""

    @abstractmethod
    def wants(self, rows: SomeRows) -> bool:
        """Whether there are so many rows that they had better be held there."""

    @abstractmethod
    def hold(self, rows: SomeRows) -> Held[SomeRows]:
        """Put rows there, in parts; the same array of codes is put there once."""

    @property
    @abstractmethod
    def open(self) -> bool:
        """Whether it still holds anything."""

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        """Refuse to travel; afterwards there is nobody."""
        if self.open:
            raise StaysHereError
        return _nobody, ()


def _nobody() -> None:
    return None


def cut(rows: SomeRows) -> list[SomeRows]:
    """Cut rows into parts, without a copy."""
    starts = range(0, len(rows.counts), PART)
    return [SomeRows(rows.codes[s : s + PART], rows.counts[s : s + PART]) for s in starts]
