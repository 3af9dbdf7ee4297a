"""Other names for the same: variables that change places, and states that are renumbered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from lacunet.arrays import FloatArray, IntArray
from lacunet.model.layout import Layout


@dataclass(frozen=True, eq=False)
class Relabelling:
    """Which old variable, and which old state of it, each new one is; what is not named stays."""

    layout: Layout
    places: Mapping[int, int] = field(default_factory=dict)  # new variable v is the old places[v]
    orders: Mapping[int, Sequence[int]] = field(default_factory=dict)  # its state k is orders[v][k]

    @property
    def trivial(self) -> bool:
        """Whether everything stays as it is."""
        return all(new == old for new, old in self.places.items()) and all(
            list(order) == sorted(order) for order in self.orders.values()
        )

    @cached_property
    def positions(self) -> IntArray:
        """(size,) where each number of a flat vector stood before."""
        layout, places = self.layout, self.places
        before = np.arange(layout.size, dtype=np.float64)
        tables = []
        for i, family in enumerate(layout.families):
            old = places.get(i, i)
            axes = [layout.families[old].index(places.get(v, v)) for v in family]
            table = np.transpose(layout.table(before, old), axes)
            for axis, v in enumerate(family):
                if v in self.orders:
                    table = np.take(table, self.orders[v], axis=axis)
            tables.append(table)
        return layout.flat(tables).astype(np.int64)

    def apply(self, x: FloatArray) -> FloatArray:
        """Relabel flat vectors, (…, size)."""
        return x[..., self.positions]
