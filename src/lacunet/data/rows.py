"""Rows in the order of their source, as codes: none merged."""

from collections.abc import Sequence
from dataclasses import dataclass

from lacunet.data.table import Column
from lacunet.runtime.arrays import BoolArray, CodeArray
from lacunet.runtime.states import State


@dataclass(frozen=True)
class Unseen:
    """A value that is none of the states of its column."""

    column: str
    where: str  # its first row
    value: State
    states: Sequence[State]  # those of the column


@dataclass(frozen=True, eq=False)
class Rows:
    """Coded rows."""

    columns: tuple[Column, ...]
    codes: CodeArray  # (rows, n), -1 = missing, or a value that is none of the given states
    unseen: tuple[Unseen, ...] = ()  # each such value once
    notes: tuple[str, ...] = ()  # what a person should be told
    unknown: BoolArray | None = None  # (rows, n) where they stand; None: nowhere
    beside: "Rows | None" = None  # columns of the same rows that are given, and not asked about
