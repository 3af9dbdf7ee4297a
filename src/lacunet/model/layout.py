"""Where variable i, parent configuration j, place k is in a flat vector: concatenated typed blocks.

Parameters θ, statistics N and hyperparameters α all share one layout, so that the M step, the
prior, BD and the gradient are one-line array expressions over the blocks of one kind (a `Segment`).
Inside a block the hidden variables come last: the inner loops of the kernels run over hidden
states, and so over contiguous memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lacunet.arrays import FloatArray, IndexArray, IntArray
from lacunet.model.families import CATEGORICAL, Family, Segment

N = TypeVar("N", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Layout:
    """Positions of θ_ijk in a flat vector; family i is a variable with its parents."""

    cards: tuple[int, ...]  # r_i, number of states of each variable
    families: tuple[tuple[int, ...], ...]  # (parents in their order..., child) of each family
    axes: tuple[tuple[int, ...], ...]  # the same variables in storage order: hidden ones last
    kinds: tuple[Family, ...]  # what each child's block means
    widths: tuple[int, ...]  # places of each child's block, for one parent configuration

    @classmethod
    def build(
        cls,
        cards: Sequence[int],
        parents: Sequence[Sequence[int]],
        hidden: Sequence[bool],
        kinds: Sequence[Family] = (),
        widths: Sequence[int] = (),
    ) -> Layout:
        """Lay out one block per variable; `parents[i]` are indices of variables.

        Without kinds and widths it is that of cells: a place for every state of every child.
        """
        families = tuple((*pa, i) for i, pa in enumerate(parents))
        axes = tuple(tuple(sorted(f, key=lambda v: (hidden[v], f.index(v)))) for f in families)
        own = tuple(kinds) or (CATEGORICAL,) * len(families)
        return cls(tuple(cards), families, axes, own, tuple(widths) or tuple(cards))

    def shape(self, i: int, axes: Sequence[int] | None = None) -> list[int]:
        """Extents of block i: along its family's parents and child, or along some axes."""
        along = self.families[i] if axes is None else axes
        return [self.widths[i] if v == i else self.cards[v] for v in along]

    @cached_property
    def offsets(self) -> IntArray:
        """(n + 1,) start of each family's block, and the end of the last."""
        sizes = [math.prod(self.shape(i)) for i in range(len(self.families))]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @cached_property
    def tabular(self) -> bool:
        """Whether every cell has a parameter of its own."""
        return all(kind.tabular for kind in self.kinds)

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The blocks of each kind, one after the other."""
        if all(kind == self.kinds[0] for kind in self.kinds):
            where: list[tuple[Family, slice | IntArray]] = [(self.kinds[0], slice(None))]
        else:
            owner = np.repeat(np.arange(len(self.kinds)), np.diff(self.offsets))
            where = [
                (kind, np.flatnonzero([self.kinds[i] == kind for i in owner]))
                for kind in dict.fromkeys(self.kinds)
            ]
        return tuple(self._segment(kind, at) for kind, at in where)

    @cached_property
    def only(self) -> Segment | None:
        """The one segment, if all blocks are of one kind."""
        return self.segments[0] if len(self.segments) == 1 else None

    def _segment(self, kind: Family, where: slice | IntArray) -> Segment:
        variables = np.flatnonzero([own == kind for own in self.kinds])
        used, ij = np.unique(self.ij[where], return_inverse=True)
        sizes = np.diff(self.offsets)[variables]
        blocks = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        first = np.searchsorted(used, self.ij[self.offsets[variables]])
        k = self.k[where]
        return Segment(kind, where, ij.astype(np.int32), k, len(used), blocks, first, variables)

    @property
    def size(self) -> int:
        """Length of a flat vector."""
        return int(self.offsets[-1])

    @cached_property
    def ij(self) -> IndexArray:
        """(size,) which parent configuration, numbered over all families, a position belongs to."""
        blocks, first = [], 0
        for i, family in enumerate(self.families):
            q_i = int(np.prod([self.cards[v] for v in family[:-1]], dtype=np.int64))
            j = np.broadcast_to(np.arange(q_i)[:, None], (q_i, self.widths[i]))
            blocks.append(self._to_storage(i, j) + first)
            first += q_i
        return np.concatenate(blocks).astype(np.int32)

    @cached_property
    def k(self) -> IndexArray:
        """(size,) which place of the child, of categories which state, a position stands for."""
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
        sums = np.bincount(self.ij, weights=x, minlength=self.configurations)
        return np.asarray(sums, dtype=np.float64)

    def spread(self, x_ij: FloatArray) -> FloatArray:
        """Give every position the value of its parent configuration, shape (size,)."""
        return x_ij[self.ij]

    def block(self, i: int) -> slice:
        """Where family i is."""
        return slice(int(self.offsets[i]), int(self.offsets[i + 1]))

    def stride(self, i: int, variable: int) -> int:
        """How far apart two neighbouring states of `variable` are inside block i."""
        axes = self.axes[i]
        later = axes[axes.index(variable) + 1 :]
        return int(np.prod(self.shape(i, later), dtype=np.int64))

    def table(self, x: NDArray[N], i: int) -> NDArray[N]:
        """Give family i of a flat vector as an array: parents in their order, then child."""
        stored = x[self.block(i)].reshape(self.shape(i, self.axes[i]))
        return np.transpose(stored, [self.axes[i].index(v) for v in self.families[i]])

    def flat(self, tables: Sequence[FloatArray]) -> FloatArray:
        """Put one table per family (parents in their order, then child) into a flat vector."""
        return np.concatenate(
            [self._to_storage(i, np.asarray(t, dtype=np.float64)) for i, t in enumerate(tables)]
        )

    def _to_storage(self, i: int, table: NDArray[Any]) -> NDArray[Any]:
        family = self.families[i]
        if self.axes[i] == family:
            return table.reshape(-1)
        shaped = np.reshape(table, self.shape(i))
        return np.transpose(shaped, [family.index(v) for v in self.axes[i]]).reshape(-1)
