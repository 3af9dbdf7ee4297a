"""Flat vectors of parameters: positions of variable i, parent configuration j, place k.

Parameters θ, statistics N and hyperparameters α share one layout. The M step, the prior, BD and the
gradient are therefore array expressions over the blocks of one likelihood (a `Segment`). In a block
hidden variables come last, so that the kernels loop over contiguous memory. Inference plans use
cells, which are linear in natural parameters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lacunet.likelihoods import CATEGORICAL, Fixed, Likelihood, Segment, Tied
from lacunet.runtime.arrays import BoolArray, FloatArray, IndexArray, IntArray

if TYPE_CHECKING:
    from lacunet.models.network import Network

N = TypeVar("N", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Layout:
    """Positions of θ_ijk in a flat vector; family i is a variable with its parents."""

    cards: tuple[int, ...]  # r_i, number of states of each variable
    families: tuple[tuple[int, ...], ...]  # (parents in their order..., child) of each family
    axes: tuple[tuple[int, ...], ...]  # the same variables in storage order: hidden ones last
    kinds: tuple[Likelihood, ...]  # the likelihood of each child
    widths: tuple[int, ...]  # places of each child, for one parent configuration
    given: FloatArray | None = None  # (size,) θ that is not learned, NaN elsewhere; None: none
    leaders: tuple[int, ...] = ()  # the family whose table each family uses; (): its own

    @classmethod
    def build(
        cls,
        cards: Sequence[int],
        parents: Sequence[Sequence[int]],
        hidden: Sequence[bool],
        kinds: Sequence[Likelihood] = (),
        widths: Sequence[int] = (),
    ) -> Layout:
        """Lay out one block per variable; `parents[i]` are indices of variables.

        Without kinds and widths the layout is that of cells: one place a state.
        """
        families = tuple((*pa, i) for i, pa in enumerate(parents))
        axes = tuple(tuple(sorted(f, key=lambda v: (hidden[v], f.index(v)))) for f in families)
        likelihoods = tuple(kinds) or (CATEGORICAL,) * len(families)
        return cls(tuple(cards), families, axes, likelihoods, tuple(widths) or tuple(cards))

    def shape(self, i: int, axes: Sequence[int] | None = None) -> list[int]:
        """Shape of block i: parents and child, or the given axes."""
        along = self.families[i] if axes is None else axes
        return [self.widths[i] if v == i else self.cards[v] for v in along]

    @cached_property
    def offsets(self) -> IntArray:
        """(n + 1,) start of each family's block, and the end of the last."""
        sizes = [math.prod(self.shape(i)) for i in range(len(self.families))]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @cached_property
    def tabular(self) -> bool:
        """Whether all variables are categorical: cells are positions."""
        return all(kind.tabular for kind in self.kinds)

    @property
    def discrete(self) -> bool:
        """Whether data have probabilities, not densities: log evidence is at most 0."""
        return all(kind.tabular or kind.whole for kind in self.kinds)

    @property
    def untied(self) -> bool:
        """Whether all parameters are probabilities of categories that share no table."""
        return self.tabular and bool(self.in_simplex.all()) and not self.leaders

    @property
    def plain(self) -> bool:
        """Whether every position has a separate learned parameter."""
        return self.given is None and not self.leaders

    @cached_property
    def owner(self) -> IntArray:
        """(size,) the family of each position."""
        return np.repeat(np.arange(len(self.families)), np.diff(self.offsets))

    @cached_property
    def slots(self) -> IntArray:
        """(size,) the position that represents each parameter: its own, or its leader's."""
        positions, slots = np.arange(self.size), np.arange(self.size)
        for i, leader in enumerate(self.leaders):
            self.table(slots, i)[...] = self.table(positions, leader)
        return slots

    @cached_property
    def in_tables(self) -> BoolArray:
        """(size,) whether a position is a cell of a table."""
        return np.array([kind.tabular for kind in self.kinds])[self.owner]

    @cached_property
    def in_simplex(self) -> BoolArray:
        """(size,) whether a position is a probability of a simplex."""
        return np.array([kind.simplex for kind in self.kinds])[self.owner]

    @cached_property
    def learned(self) -> BoolArray:
        """(size,) whether a position's parameter is learned, not known."""
        return np.isnan(self.given) if self.given is not None else np.ones(self.size, dtype=bool)

    def pooled(self, x: FloatArray) -> FloatArray:
        """Sum over the positions that share a parameter, at each of them, (size,)."""
        if not self.leaders:
            return x
        return np.asarray(np.bincount(self.slots, x, self.size), dtype=np.float64)[self.slots]

    def prior(self, alpha: FloatArray) -> FloatArray:
        """Hyperparameters of each position from those of whole tables, (size,).

        Known numbers have 0; tied families divide α evenly.
        """
        if self.plain:
            return alpha
        return np.where(self.learned, alpha / self.pooled(np.ones(self.size)), 0.0)

    def marks(self, alpha: FloatArray) -> FloatArray:
        """Marks that distinguish positions a priori: hyperparameters, negated known numbers."""
        return alpha if self.given is None else np.where(self.learned, alpha, -self.given)

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """One segment a likelihood, and one each for known and for tied positions."""
        if self.plain and all(kind == self.kinds[0] for kind in self.kinds):
            return (self._segment(self.kinds[0], slice(None)),)
        learned, shared = self.learned, self.learned & (self.pooled(np.ones(self.size)) > 1)
        kinds = list(dict.fromkeys(self.kinds))
        number = np.array([kinds.index(kind) for kind in self.kinds])[self.owner]
        parts: list[tuple[Likelihood, IntArray]] = [
            (kind, np.flatnonzero(learned & ~shared & (number == k)))
            for k, kind in enumerate(kinds)
        ]
        if self.given is not None:
            parts.append((Fixed(self.given[~learned]), np.flatnonzero(~learned)))
        if shared.any():
            where = np.flatnonzero(shared)
            lead = np.flatnonzero(self.slots[where] == where)
            slot = np.searchsorted(where[lead], self.slots[where])
            parts.append((Tied(self._segment(CATEGORICAL, where[lead]), slot, lead), where))
        return tuple(self._segment(kind, where) for kind, where in parts if len(where))

    @cached_property
    def located(self) -> tuple[IntArray, IntArray]:
        """The number of the segment of each position, and its index there; (size,) each."""
        number, index = np.zeros((2, self.size), dtype=np.int64)
        for n, s in enumerate(self.segments):
            number[s.where], index[s.where] = n, np.arange(len(s.ij))
        return number, index

    @cached_property
    def only(self) -> Segment | None:
        """The only segment, if there is just one."""
        return self.segments[0] if self.plain and len(self.segments) == 1 else None

    def _segment(self, kind: Likelihood, where: slice | IntArray) -> Segment:
        """The segment of a likelihood at some positions."""
        used, ij = np.unique(self.ij[where], return_inverse=True)
        variables, blocks = np.unique(self.owner[where], return_index=True)
        first = np.searchsorted(used, np.minimum.reduceat(self.ij[where], blocks))
        k = self.k[where]
        return Segment(kind, where, ij.astype(np.int32), k, len(used), blocks, first, variables)

    @property
    def size(self) -> int:
        """Length of a flat vector."""
        return int(self.offsets[-1])

    @cached_property
    def ij(self) -> IndexArray:
        """(size,) the parent configuration of each position, numbered over all families."""
        tables, first = [], 0
        for i, family in enumerate(self.families):
            q_i = math.prod(self.cards[v] for v in family[:-1])
            j = np.arange(first, first + q_i)[:, None]
            tables.append(self._to_storage(i, np.broadcast_to(j, (q_i, self.widths[i]))))
            first += q_i
        return np.concatenate(tables).astype(np.int32)

    @cached_property
    def k(self) -> IndexArray:
        """(size,) the place of the child at each position; for categories the state."""
        blocks = [
            self._to_storage(i, np.broadcast_to(np.arange(width), self.shape(i)))
            for i, width in enumerate(self.widths)
        ]
        return np.concatenate(blocks).astype(np.int32)

    @cached_property
    def configurations(self) -> int:
        """Number of parent configurations over all families, Σ_i q_i."""
        return int(self.ij.max()) + 1

    @property
    def dimension(self) -> int:
        """Number of free parameters, d = Σ_i q_i (r_i − 1) for categories."""
        return sum(len(s.family.free(np.ones(len(s.ij)), s)[0]) for s in self.segments)

    def sum_k(self, x: FloatArray) -> FloatArray:
        """Sum over the states of the child: x_ij = Σ_k x_ijk, shape (configurations,)."""
        return np.asarray(np.bincount(self.ij, x, self.configurations), dtype=np.float64)

    def totals(self, x: FloatArray) -> FloatArray:
        """The sum over the states of the child at every position, shape (size,)."""
        return self.spread(self.sum_k(x))

    def spread(self, x_ij: FloatArray) -> FloatArray:
        """The value of its parent configuration at every position, shape (size,)."""
        return x_ij[self.ij]

    def block(self, i: int) -> slice:
        """The slice of family i."""
        return slice(int(self.offsets[i]), int(self.offsets[i + 1]))

    def stride(self, i: int, variable: int) -> int:
        """Distance of neighbouring states of `variable` in block i."""
        axes = self.axes[i]
        return math.prod(self.shape(i, axes[axes.index(variable) + 1 :]))

    def along(self, variable: int) -> tuple[IntArray, IntArray]:
        """State of a variable and stride to its next state at each position; 0, 0 elsewhere."""
        if variable not in self._along:
            state, stride = np.zeros((2, self.size), dtype=np.int64)
            for i, family in enumerate(self.families):
                if variable in family:
                    block, step = self.block(i), self.stride(i, variable)
                    number = self.widths[i] if variable == i else self.cards[variable]
                    state[block] = np.arange(block.stop - block.start) // step % number
                    stride[block] = step
            self._along[variable] = state, stride
        return self._along[variable]

    @cached_property
    def _along(self) -> dict[int, tuple[IntArray, IntArray]]:
        return {}

    def table(self, x: NDArray[N], i: int) -> NDArray[N]:
        """The array of family i: parents in their order, then child."""
        stored = x[self.block(i)].reshape(self.shape(i, self.axes[i]))
        return np.transpose(stored, [self.axes[i].index(v) for v in self.families[i]])

    def flat(self, tables: Sequence[FloatArray]) -> FloatArray:
        """The flat vector of one table per family (parents in their order, then child)."""
        return np.concatenate(
            [self._to_storage(i, np.asarray(t, dtype=np.float64)) for i, t in enumerate(tables)]
        )

    def _to_storage(self, i: int, table: NDArray[Any]) -> NDArray[Any]:
        family = self.families[i]
        if self.axes[i] == family:
            return table.reshape(-1)
        shaped = np.reshape(table, self.shape(i))
        return np.transpose(shaped, [family.index(v) for v in self.axes[i]]).reshape(-1)


@dataclass(frozen=True, eq=False)
class Cells:
    """Positions of log weights, and their linear map from natural parameters."""

    network: Network
    dense: frozenset[int] = frozenset()  # variables represented by statistics, not by states

    @cached_property
    def layout(self) -> Layout:
        """The layout of cells in a flat vector."""
        variables = self.network.variables
        widths = [
            v.family.width(v.states) if i in self.dense else len(v.states)
            for i, v in enumerate(variables)
        ]
        cards, hidden = [len(v.states) for v in variables], [v.hidden for v in variables]
        return Layout.build(cards, self.network.parents, hidden, widths=widths)

    @cached_property
    def identity(self) -> bool:
        """Whether cells and parameters are identical."""
        kinds = (v.family for v in self.network.variables)
        return all(kind.tabular or i in self.dense for i, kind in enumerate(kinds))

    @cached_property
    def _design(self) -> csr_array:
        """(cells, size) statistics of every cell."""
        layout, cells = self.network.layout, np.arange(self.layout.size)
        positions, parts = np.arange(layout.size), []
        for i, v in enumerate(self.network.variables):
            if not layout.widths[i]:  # another variable has the parameters of its block
                continue
            T = np.eye(layout.widths[i]) if i in self.dense else v.statistics
            value, place = np.nonzero(T)
            row = self.layout.table(cells, i).reshape(-1, len(T))[:, value]
            column = layout.table(positions, i).reshape(-1, T.shape[1])[:, place]
            parts.append([row, column, np.broadcast_to(T[value, place], row.shape)])
        rows, columns, values = (
            np.concatenate([x.reshape(-1) for x in each]) for each in zip(*parts, strict=True)
        )
        return csr_array((values, (rows, columns)), (self.layout.size, layout.size))

    @cached_property
    def _back(self) -> csr_array:
        return self._design.T.tocsr()

    def weights(self, natural: FloatArray) -> FloatArray:
        """Log weight of every cell: (..., size) → (..., cells)."""
        return natural if self.identity else np.asarray((self._design @ natural.T).T)

    def statistics(self, N: FloatArray) -> FloatArray:
        """Statistics of cell counts: (..., cells) → (..., size)."""
        return N if self.identity else np.asarray((self._back @ N.T).T)


def with_more_parents(theta: FloatArray, narrow: Layout, wide: Layout) -> FloatArray:
    """Parameters of a network with more edges that represent the same distribution.

    Variables and the order of the old parents are the same.
    """
    tables = []
    for i, (old, new) in enumerate(zip(narrow.families, wide.families, strict=True)):
        axes = tuple(slice(None) if v in old else None for v in new)
        tables.append(np.broadcast_to(narrow.table(theta, i)[axes], wide.shape(i)))
    return wide.flat(tables)
