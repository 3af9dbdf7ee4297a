"""What is known of a table whatever the data say: its numbers, or that some of them are zero."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np

from lacunet.errors import ModelError
from lacunet.runtime.arrays import FloatArray

if TYPE_CHECKING:
    from lacunet.models.variable import Variable

Shape: TypeAlias = tuple[int, ...]

SUM_TOLERANCE = 1e-9  # rows of a fixed table must sum to one to this


@dataclass(frozen=True)
class KnownTable:
    """Numbers of a family's table that nobody learns."""

    shape: tuple[int, ...]  # states of each parent in their order, then of the child
    cells: tuple[float | None, ...]  # the child's states run fastest; None: it is learned

    @classmethod
    def of(cls, table: FloatArray) -> Self:
        """Take a table that is NaN where it is learned."""
        cells = (None if np.isnan(x) else float(x) for x in table.reshape(-1))
        return cls(table.shape, tuple(cells))

    @cached_property
    def values(self) -> FloatArray:
        """The table; NaN where it is learned."""
        return np.array(self.cells, dtype=np.float64).reshape(self.shape)

    @property
    def fixed(self) -> bool:
        """Whether all its numbers are known, not only zeros."""
        return None not in self.cells and any(self.cells)

    @cached_property
    def settled(self) -> FloatArray:
        """The same, with 1 where zeros leave one state only."""
        rows = self.values.reshape(-1, self.shape[-1]).copy()
        learned = np.isnan(rows)
        rows[learned & (learned.sum(axis=1) == 1)[:, None]] = 1.0
        return rows.reshape(self.shape)

    def check(self, name: str, shape: tuple[int, ...]) -> None:
        """Refuse what is no table of a child with so many states, given such parents."""
        if self.shape != shape:
            raise ModelError(
                f"what is known of the table of '{name}' has shape {self.shape}, but its parents "
                f"in their order and its own states make {shape}. Give a table of this shape."
            )
        rows = self.values.reshape(-1, shape[-1])
        (_check_fixed if self.fixed else _check_zeros)(name, rows)


def _check_fixed(name: str, rows: FloatArray) -> None:
    for j, row in enumerate(rows, 1):
        if not ((row >= 0.0) & (row <= 1.0)).all() or abs(row.sum() - 1.0) > SUM_TOLERANCE:
            raise ModelError(
                f"the fixed table of '{name}', row {j}: {row.tolist()} sums to {row.sum():.12g}. "
                "Give probabilities from 0 to 1 that sum to 1."
            )


def _check_zeros(name: str, rows: FloatArray) -> None:
    if (rows > 0.0).any():
        raise ModelError(
            f"some numbers of the table of '{name}' are known, others not. Fix the whole table, or "
            "give zeros only."
        )
    for j, row in enumerate(rows, 1):
        if not np.isnan(row).any():
            raise ModelError(
                f"the zeros of '{name}' leave no state possible in row {j} of its table. Leave one."
            )


def check_tie(v: Variable, leader: Variable, own: Shape, its: Shape) -> None:
    """Refuse a table that cannot be that of another variable; both have shapes."""
    if v is leader or leader.tied_to is not None:
        raise ModelError(
            f"'{v.name}' is tied to '{leader.name}', which has no table of its own. Tie it to "
            "the variable whose table all of them share."
        )
    if v.known is not None or (leader.known is not None and leader.known.fixed):
        raise ModelError(
            f"'{v.name}' is tied to '{leader.name}': its table can be neither fixed nor have "
            f"zeros by itself. Say zeros of '{leader.name}'; give fixed tables to each variable."
        )
    if own != its:
        raise ModelError(
            f"'{v.name}' is tied to '{leader.name}', but their tables have the shapes {own} and "
            f"{its}: states of each parent in their order, then their own. Tied tables must be "
            "alike."
        )
