"""Where family i, parent configuration j, state k is in a flat vector.

Parameters θ, counts N and Dirichlet exponents α all share one layout, so that the M step, the
prior, BD and the gradient are one-line array expressions. Inside a family's block the hidden
variables come last: the inner loops of the kernels run over hidden states, and so over contiguous
memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunet.arrays import FloatArray, IndexArray, IntArray


@dataclass(frozen=True, eq=False)
class Layout:
    """Positions of θ_ijk in a flat vector; family i is a variable with its parents."""

    cards: tuple[int, ...]  # r_i, number of states of each variable
    families: tuple[tuple[int, ...], ...]  # (parents in their order..., child) of each family
    axes: tuple[tuple[int, ...], ...]  # the same variables in storage order: hidden ones last

    @classmethod
    def build(
        cls, cards: Sequence[int], parents: Sequence[Sequence[int]], hidden: Sequence[bool]
    ) -> Layout:
        """Lay out one block per variable; `parents[i]` are indices of variables."""
        families = tuple((*pa, i) for i, pa in enumerate(parents))
        axes = tuple(tuple(sorted(f, key=lambda v: (hidden[v], f.index(v)))) for f in families)
        return cls(tuple(cards), families, axes)

    @cached_property
    def offsets(self) -> IntArray:
        """(n + 1,) start of each family's block, and the end of the last."""
        sizes = [int(np.prod([self.cards[v] for v in axes])) for axes in self.axes]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

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
            j = np.broadcast_to(np.arange(q_i)[:, None], (q_i, self.cards[family[-1]]))
            blocks.append(self._to_storage(i, j) + first)
            first += q_i
        return np.concatenate(blocks).astype(np.int32)

    @cached_property
    def k(self) -> IndexArray:
        """(size,) which state of the child a position stands for."""
        blocks = [
            self._to_storage(
                i, np.broadcast_to(np.arange(self.cards[f[-1]]), [self.cards[v] for v in f])
            )
            for i, f in enumerate(self.families)
        ]
        return np.concatenate(blocks).astype(np.int32)

    @cached_property
    def configurations(self) -> int:
        """Number of parent configurations over all families, Σ_i q_i."""
        return int(self.ij.max()) + 1

    @property
    def dimension(self) -> int:
        """Number of free parameters, d = Σ_i q_i (r_i − 1)."""
        return self.size - self.configurations

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
        return int(np.prod([self.cards[v] for v in later], dtype=np.int64))

    def table(self, x: FloatArray, i: int) -> FloatArray:
        """Give family i of a flat vector as an array: parents in their order, then child."""
        stored = x[self.block(i)].reshape([self.cards[v] for v in self.axes[i]])
        return np.transpose(stored, [self.axes[i].index(v) for v in self.families[i]])

    def flat(self, tables: Sequence[FloatArray]) -> FloatArray:
        """Put one table per family (parents in their order, then child) into a flat vector."""
        return np.concatenate(
            [self._to_storage(i, np.asarray(t, dtype=np.float64)) for i, t in enumerate(tables)]
        )

    def _to_storage(self, i: int, table: NDArray[Any]) -> NDArray[Any]:
        family = self.families[i]
        shaped = np.reshape(table, [self.cards[v] for v in family])
        return np.transpose(shaped, [family.index(v) for v in self.axes[i]]).reshape(-1)
