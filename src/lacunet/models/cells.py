"""Cells: what plans see of parameters, and the linear maps between the two.

By its values a variable has a cell for each value and configuration of its parents: of categories
a parameter, of any other family the log weight T(x) · η. By its statistics it has a cell for each
*place* of its family: η itself. A row that shows x then adds T(x) cases to the cells of a
configuration, in place of one case to one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from lacunet.models.layout import Layout
from lacunet.runtime.arrays import FloatArray

if TYPE_CHECKING:
    from lacunet.models.network import Network


@dataclass(frozen=True, eq=False)
class Cells:
    """Positions of log weights, and how they follow from natural parameters."""

    network: Network
    dense: frozenset[int] = frozenset()  # variables that are seen by their statistics

    @cached_property
    def layout(self) -> Layout:
        """Where each cell is in a flat vector."""
        variables = self.network.variables
        widths = [
            v.family.width(v.states) if i in self.dense else len(v.states)
            for i, v in enumerate(variables)
        ]
        cards, hidden = [len(v.states) for v in variables], [v.hidden for v in variables]
        return Layout.build(cards, self.network.parents, hidden, widths=widths)

    @cached_property
    def identity(self) -> bool:
        """Whether cells are parameters, one by one."""
        kinds = (v.family for v in self.network.variables)
        return all(kind.tabular or i in self.dense for i, kind in enumerate(kinds))

    @cached_property
    def _design(self) -> csr_array:
        """(cells, size) the statistics of every cell."""
        rows, columns, values = [], [], []
        layout, cells = self.network.layout, np.arange(self.layout.size)
        positions = np.arange(layout.size)
        for i, v in enumerate(self.network.variables):
            if not layout.widths[i]:  # its parameters stand elsewhere
                continue
            T = np.eye(layout.widths[i]) if i in self.dense else v.statistics
            value, place = np.nonzero(T)
            at = self.layout.table(cells, i).reshape(-1, len(T))[:, value]
            rows.append(at.reshape(-1))
            columns.append(layout.table(positions, i).reshape(-1, T.shape[1])[:, place])
            values.append(np.broadcast_to(T[value, place], at.shape).reshape(-1))
        where = (np.concatenate(rows), np.concatenate([c.reshape(-1) for c in columns]))
        return csr_array((np.concatenate(values), where), (self.layout.size, layout.size))

    @cached_property
    def _back(self) -> csr_array:
        """(size, cells) the same the other way round."""
        return self._design.T.tocsr()

    def weights(self, natural: FloatArray) -> FloatArray:
        """Log weight of every cell: (..., size) → (..., cells)."""
        return natural if self.identity else np.asarray((self._design @ natural.T).T)

    def statistics(self, N: FloatArray) -> FloatArray:
        """What counts of cells are worth as statistics: (..., cells) → (..., size)."""
        return N if self.identity else np.asarray((self._back @ N.T).T)
