"""Known tables, fixed or with structural zeros; relabellings of states and variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np

from lacunet.errors import ModelError
from lacunet.models.layout import Layout
from lacunet.runtime.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from lacunet.models.network import Network
    from lacunet.models.variable import Variable

Shape: TypeAlias = tuple[int, ...]

SUM_TOLERANCE = 1e-9  # rows of a fixed table must sum to one to this


@dataclass(frozen=True)
class KnownTable:
    """Numbers of a family's table that are not learned."""

    shape: tuple[int, ...]  # states of each parent in their order, then of the child
    cells: tuple[float | None, ...]  # the child's states vary fastest; None: learned

    @classmethod
    def of(cls, table: FloatArray) -> Self:
        """Make from a table that is NaN where it is learned."""
        cells = (None if np.isnan(x) else float(x) for x in table.reshape(-1))
        return cls(table.shape, tuple(cells))

    @cached_property
    def values(self) -> FloatArray:
        """The table; NaN where it is learned."""
        return np.array(self.cells, dtype=np.float64).reshape(self.shape)

    @property
    def fixed(self) -> bool:
        """Whether all numbers are known, not only zeros."""
        return None not in self.cells and any(self.cells)

    @cached_property
    def forced_values(self) -> FloatArray:
        """The table with 1 for states that zeros leave as the only possible one."""
        rows = self.values.reshape(-1, self.shape[-1]).copy()
        learned = np.isnan(rows)
        rows[learned & (learned.sum(axis=1) == 1)[:, None]] = 1.0
        return rows.reshape(self.shape)

    def check(self, name: str, shape: tuple[int, ...]) -> None:
        """Raise ModelError unless this is a table of the given shape."""
        if self.shape != shape:
            raise ModelError(
                f"the known table of '{name}' has shape {self.shape}, but its parents "
                f"in their order and its own states make {shape}. Give a table of this shape."
            )
        rows = self.values.reshape(-1, shape[-1])
        if not self.fixed and (rows > 0.0).any():
            raise ModelError(
                f"some numbers of the table of '{name}' are known, others not. Fix the whole "
                "table, or give zeros only."
            )
        for j, row in enumerate(rows, 1):
            if not self.fixed and not np.isnan(row).any():
                raise ModelError(
                    f"the zeros of '{name}' leave no state possible in row {j} of its table. "
                    "Leave one."
                )
            proper = ((row >= 0.0) & (row <= 1.0)).all() and abs(row.sum() - 1.0) <= SUM_TOLERANCE
            if self.fixed and not proper:
                raise ModelError(
                    f"the fixed table of '{name}', row {j}: {row.tolist()} sums to "
                    f"{row.sum():.12g}. Give probabilities from 0 to 1 that sum to 1."
                )


class Conditioned(KnownTable):
    """The ones of a variable that has no probability, because all is conditional on it."""

    def check(self, name: str, shape: tuple[int, ...]) -> None:
        """Accept every table."""


def check_tie(v: Variable, leader: Variable, shape: Shape, leader_shape: Shape) -> None:
    """Raise ModelError if a variable cannot share the leader's table; both have shapes."""
    if v is leader or leader.tied_to is not None:
        raise ModelError(
            f"'{v.name}' is tied to '{leader.name}', which has no table of its own. Tie it to "
            "the variable whose table all of them share."
        )
    if v.known is not None or (leader.known is not None and leader.known.fixed):
        raise ModelError(
            f"'{v.name}' is tied to '{leader.name}': its table can be neither fixed nor have "
            f"zeros by itself. Give zeros for '{leader.name}', and fixed tables to each "
            "variable."
        )
    if shape != leader_shape:
        raise ModelError(
            f"'{v.name}' is tied to '{leader.name}', but their tables have the shapes {shape} "
            f"and {leader_shape}: states of each parent in their order, then their own. Tied "
            "tables must be alike."
        )


@dataclass(frozen=True, eq=False)
class Relabelling:
    """A permutation of variables and of their states; those not named stay."""

    layout: Layout
    places: Mapping[int, int] = field(default_factory=dict)  # new variable v is the old places[v]
    orders: Mapping[int, Sequence[int]] = field(default_factory=dict)  # its state k is orders[v][k]
    # Applies only where these variables have these states. They do not move, and every family that
    # changes contains all of them.
    within: Mapping[int, int] = field(default_factory=dict)

    @property
    def _keeps_places(self) -> bool:
        return all(new == old for new, old in self.places.items())

    @property
    def trivial(self) -> bool:
        """Whether this is the identity."""
        orders = self.orders.values()
        return self._keeps_places and all(list(order) == sorted(order) for order in orders)

    @cached_property
    def positions(self) -> IntArray:
        """(size,) the previous position of each number of a flat vector."""
        positions = np.arange(self.layout.size)
        if self.within or not self._keeps_places:
            families = range(len(self.layout.families))
            moved = [self._moved(positions.astype(np.float64), i) for i in families]
            return self.layout.flat(moved).astype(np.int64)
        for (
            v,
            order,
        ) in self.orders.items():  # a state moves by a multiple of the stride in each family
            state, stride = self.layout.along(v)
            steps = np.asarray(order) - np.arange(len(order))
            positions += np.where(stride > 0, steps[state], 0) * stride
        return positions

    def _moved(self, before: FloatArray, i: int) -> FloatArray:
        """The relabelled table of one family."""
        layout, places, family = self.layout, self.places, self.layout.families[i]
        old = places.get(i, i)
        axes = [layout.families[old].index(places.get(v, v)) for v in family]
        table = np.transpose(layout.table(before, old), axes)
        for axis, v in enumerate(family):
            if v in self.orders:
                table = np.take(table, self.orders[v], axis=axis)
        if not self.within or not set(self.within) <= set(family):
            return table
        partial = layout.table(before, i).copy()
        where = tuple(self.within.get(v, slice(None)) for v in family)
        partial[where] = table[where]
        return partial

    def apply(self, x: FloatArray) -> FloatArray:
        """Relabel flat vectors, (…, size)."""
        return x[..., self.positions]

    @cached_property
    def keeps_ties(self) -> bool:
        """Whether tied tables stay tied."""
        if not self.layout.leaders:
            return True
        slots = self.layout.slots
        pairs = np.unique(np.stack([slots, slots[self.positions]]), axis=1)
        return len(pairs.T) == len(np.unique(slots))

    def keeps(self, alpha: FloatArray) -> bool:
        """Whether the prior and the known tables are invariant."""
        marks = self.layout.marks(alpha)
        return self.keeps_ties and bool((self.apply(marks) == marks).all())


@dataclass(frozen=True)
class Relabellings:
    """A sequence of relabellings; no two are inverse to each other."""

    steps: tuple[Relabelling, ...]

    @property
    def trivial(self) -> bool:
        """Whether all steps are the identity."""
        return all(step.trivial for step in self.steps)

    def apply(self, x: FloatArray) -> FloatArray:
        """Relabel flat vectors, (…, size)."""
        for step in self.steps:
            x = x if step.trivial else step.apply(x)
        return x


def relabelled_network(network: Network, by: Relabelling) -> Network:
    """Relabel known tables; names, states and edges stay."""
    if network.plain:
        return network
    if not by.keeps_ties:
        raise ModelError(
            "these states cannot be renumbered: a table that is tied to another would differ from "
            "it then. Renumber the states of both alike."
        )
    layout = network.layout
    if layout.given is None:
        return network
    given = [
        np.full(layout.shape(i), np.nan) if v.known is None else v.known.values
        for i, v in enumerate(network.variables)
    ]
    moved = by.apply(layout.flat(given))  # without the ones that follow from zeros
    variables = [
        v if v.known is None else replace(v, known=KnownTable.of(layout.table(moved, i)))
        for i, v in enumerate(network.variables)
    ]
    return replace(network, variables=tuple(variables))
