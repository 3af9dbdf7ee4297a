"""What tells the states of a hidden variable apart: numbers of a flat vector, gathered."""

import math
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lacunet.inference.contexts import Context
from lacunet.model.layout import Layout
from lacunet.runtime.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Features:
    """The families around a hidden variable in a context, its own first; K states, f numbers each.

    Other hidden variables are summed out, so that relabelling them changes nothing; and the numbers
    of another variable of its block stand in the same order.
    """

    families: tuple[int, ...]
    tables: tuple[IntArray, ...]  # of each family, (K, numbers, addends): positions

    @cached_property
    def _positions(self) -> IntArray:
        """All positions, state by state."""
        states = len(self.tables[0])
        return np.hstack([table.reshape(states, -1) for table in self.tables]).reshape(-1)

    @cached_property
    def _starts(self) -> IntArray | None:
        """Where the addends of each number begin among them; nothing, if each has one."""
        each = [np.full(table.shape[1], table.shape[2]) for table in self.tables]
        addends = np.tile(np.concatenate(each), len(self.tables[0]))
        return None if (addends == 1).all() else np.cumsum(addends) - addends

    def __call__(self, x: FloatArray) -> FloatArray:
        """Gather them from a flat vector, (K, f)."""
        found = x[self._positions]
        if self._starts is not None:
            found = np.add.reduceat(found, self._starts)
        return found.reshape(len(self.tables[0]), -1)

    def by_family(self, x: FloatArray) -> list[FloatArray]:
        """Do the same family by family, (K, …) each."""
        return [x[table].sum(axis=-1) for table in self.tables]


def features_of(layout: Layout, h: int, within: Context, hidden: AbstractSet[int]) -> Features:
    """Find out where the numbers stand that tell the states of h apart in a context."""
    around = [i for i, family in enumerate(layout.families) if h in family and layout.widths[i]]
    around.sort(key=lambda i: (i != h, i))
    return Features(tuple(around), tuple(_table(layout, h, i, within, hidden) for i in around))


def _table(layout: Layout, h: int, i: int, within: Context, hidden: AbstractSet[int]) -> IntArray:
    """Positions of one family, (K, numbers, addends)."""
    family = layout.families[i]
    where = tuple(within.get(v, slice(None)) for v in family)
    table = layout.table(np.arange(layout.size), i)[where]
    left = [v for v in family if v not in within]
    away = [v for v in left if v in hidden and v != h]
    kept = sorted((v for v in left if v not in away), key=lambda v: (v != h, v == i, v))
    turned = np.transpose(table, [left.index(v) for v in (*kept, *away)])
    addends = math.prod(turned.shape[len(kept) :])
    return turned.reshape(len(turned), -1, addends)
