"""Other names for the same: variables that change places, and states that are renumbered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lacunet.errors import ModelError
from lacunet.models.known import KnownTable
from lacunet.models.layout import Layout
from lacunet.runtime.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from lacunet.models.network import Network


@dataclass(frozen=True, eq=False)
class Relabelling:
    """Which old variable, and which old state of it, each new one is; what is not named stays."""

    layout: Layout
    places: Mapping[int, int] = field(default_factory=dict)  # new variable v is the old places[v]
    orders: Mapping[int, Sequence[int]] = field(default_factory=dict)  # its state k is orders[v][k]
    # Only where these variables have these states. None of them moves, and all stand in each family
    # in which anything does.
    within: Mapping[int, int] = field(default_factory=dict)

    @property
    def trivial(self) -> bool:
        """Whether everything stays as it is."""
        return all(new == old for new, old in self.places.items()) and all(
            list(order) == sorted(order) for order in self.orders.values()
        )

    @cached_property
    def positions(self) -> IntArray:
        """(size,) where each number of a flat vector stood before."""
        if not self.within and all(new == old for new, old in self.places.items()):
            return self._renumbered
        before = np.arange(self.layout.size, dtype=np.float64)
        families = range(len(self.layout.families))
        return self.layout.flat([self._moved(before, i) for i in families]).astype(np.int64)

    @property
    def _renumbered(self) -> IntArray:
        """The same where variables stay: a state moves by so many strides, in each family."""
        positions = np.arange(self.layout.size)
        for v, order in self.orders.items():
            state, stride = self.layout.along(v)
            moved = np.asarray(order) - np.arange(len(order))
            positions += np.where(stride > 0, moved[state], 0) * stride
        return positions

    def _moved(self, before: FloatArray, i: int) -> FloatArray:
        """One family of a flat vector, relabelled."""
        layout, places, family = self.layout, self.places, self.layout.families[i]
        old = places.get(i, i)
        axes = [layout.families[old].index(places.get(v, v)) for v in family]
        table = np.transpose(layout.table(before, old), axes)
        for axis, v in enumerate(family):
            if v in self.orders:
                table = np.take(table, self.orders[v], axis=axis)
        if not self.within or not set(self.within) <= set(family):
            return table
        stays = layout.table(before, i).copy()
        where = tuple(self.within.get(v, slice(None)) for v in family)
        stays[where] = table[where]
        return stays

    def apply(self, x: FloatArray) -> FloatArray:
        """Relabel flat vectors, (…, size)."""
        return x[..., self.positions]

    @cached_property
    def keeps_ties(self) -> bool:
        """Whether tables that are one stay one."""
        if not self.layout.leaders:
            return True
        slots = self.layout.slots
        pairs = np.unique(np.stack([slots, slots[self.positions]]), axis=1)
        return len(pairs.T) == len(np.unique(slots))

    def keeps(self, alpha: FloatArray) -> bool:
        """Whether a prior, and what is known of tables, stay as they are."""
        marks = self.layout.marks(alpha)
        return self.keeps_ties and bool((self.apply(marks) == marks).all())


@dataclass(frozen=True)
class Chain:
    """Relabellings one after the other; no two of them undo each other."""

    steps: tuple[Relabelling, ...]

    @property
    def trivial(self) -> bool:
        """Whether everything stays as it is."""
        return all(step.trivial for step in self.steps)

    def apply(self, x: FloatArray) -> FloatArray:
        """Relabel flat vectors, (…, size)."""
        for step in self.steps:
            x = x if step.trivial else step.apply(x)
        return x


def relabelled_network(network: Network, by: Relabelling) -> Network:
    """Renumber what is known of tables; names, states and edges stay."""
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
    said = [
        np.full(layout.shape(i), np.nan) if v.known is None else v.known.values
        for i, v in enumerate(network.variables)
    ]
    moved = by.apply(layout.flat(said))  # as it was said: without what follows from zeros
    known = (KnownTable.of(layout.table(moved, i)) for i in range(len(network.variables)))
    variables = [
        v if v.known is None else replace(v, known=own)
        for v, own in zip(network.variables, known, strict=True)
    ]
    return replace(network, variables=tuple(variables))
