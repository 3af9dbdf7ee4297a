"""What rows show of a block of numbers: patterns of holes, completed once each.

Rows are ordered by how many numbers they show, then by their pattern. A part of a plan: it adds to
the log weights of rows, and turns what is expected of their hidden cells into statistics.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from lacunet.inference.kernels import products as kernels
from lacunet.likelihoods.joint_normal import completed, conditional, marginal, products
from lacunet.likelihoods.kernels import Holes
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray

TINY = 1e-20  # of a complex step
Weigher: TypeAlias = Callable[[Holes], FloatArray]  # log weights of products, of some patterns
NUMBERS_AT_ONCE = 1 << 22  # of patterns that are completed together


@dataclass(frozen=True, eq=False)
class HoleGroup:
    """Rows whose patterns of holes show as many numbers. n rows, P patterns."""

    rows: IntArray  # (n,) which rows of the plan they are
    shown: kernels.ProductRows
    holes: Holes


@dataclass(frozen=True)
class Block:
    """Where a block of numbers stands."""

    variables: tuple[int, ...]  # (d,) its variables
    first: int  # position of its first place in a flat vector
    cells: int  # K, states of what is hidden
    width: int  # places of the block

    @property
    def d(self) -> int:
        """How many numbers it has."""
        return len(self.variables)


@dataclass(frozen=True, eq=False)
class BlockRows:
    """All rows that show something of one block."""

    block: Block
    groups: tuple[HoleGroup, ...]

    @property
    def members(self) -> tuple[int, ...]:
        """Variables that some row hides while it shows others."""
        missing = [np.unique(group.holes.missing) for group in self.groups]
        places = np.unique(np.concatenate([*missing, np.zeros(0, dtype=np.int64)]))
        return tuple(self.block.variables[place] for place in places)

    @property
    def positions(self) -> slice:
        """Where it stands in a flat vector."""
        return slice(self.block.first, self.block.first + self.block.width * self.block.cells)

    def natural(self, flat: FloatArray) -> FloatArray:
        """η of each class, (K, width)."""
        return flat[self.positions].reshape(self.block.width, self.block.cells).T

    def only(self, used: IntArray, m: int) -> "BlockRows":
        """Some of the m rows of the plan."""
        x, told = np.zeros((m, self.block.d)), np.zeros((m, self.block.d), dtype=np.bool_)
        for group in self.groups:
            numbers = np.repeat(group.holes.shown, np.diff(group.shown.starts), axis=0)
            x[group.rows[:, None], numbers] = group.shown.x
            told[group.rows[:, None], numbers] = True
        return block_rows(x[used], told[used], self.block)

    def weigh(self, flat: FloatArray, out: FloatArray) -> None:
        """Add the log weights of all rows to `out`, (m, W)."""
        own = self.natural(flat)
        self._weigh(lambda holes: marginal(own, holes, self.block.d), out)

    def weigh_along(self, flat: FloatArray, direction: FloatArray, out: FloatArray) -> None:
        """Add how these move along a direction."""
        step = self.natural(flat) + 1j * TINY * self.natural(direction)
        self._weigh(lambda holes: marginal(step, holes, self.block.d).imag / TINY, out)

    def gather(self, flat: FloatArray, cells: FloatArray, out: FloatArray) -> None:
        """Add statistics of rows that have so much of each cell, (m, W), to a flat vector."""
        own, total = self.natural(flat), np.zeros((self.block.cells, self.block.width))
        for holes, S in self._sums(cells):
            total += completed(own, holes, S, self.block.d).sum(axis=0)
        self._put(total, out)

    def gather_along(
        self, flat: FloatArray, direction: FloatArray, cells: FloatArray, out: FloatArray
    ) -> None:
        """Add how statistics of the same rows move along a direction."""
        step = self.natural(flat) + 1j * TINY * self.natural(direction)
        total = np.zeros((self.block.cells, self.block.width))
        for holes, S in self._sums(cells):
            total += completed(step, holes, S, self.block.d).sum(axis=0).imag / TINY
        self._put(total, out)

    def by_row(self, flat: FloatArray, cells: FloatArray, out: FloatArray) -> None:
        """Add the statistics of each row by itself to its own flat vector, (m, positions)."""
        own, at = self.natural(flat), self.positions
        for group in self.groups:
            for p, (start, stop) in enumerate(pairwise(group.shown.starts.tolist())):
                rows, x = group.rows[start:stop], group.shown.x[start:stop]
                shown = np.empty((products(x.shape[1]), len(rows)))
                kernels.write_products(x, shown)
                holes = Holes(group.holes.shown[[p]], group.holes.missing[[p]])
                S = cells[rows, : self.block.cells, None] * shown.T[:, None, :]
                each = Holes(*(np.repeat(h, len(rows), axis=0) for h in holes))
                found = completed(own, each, S, self.block.d)  # (rows, K, width)
                out[rows, at] += np.swapaxes(found, 1, 2).reshape(len(rows), -1)

    def missing_numbers(self, flat: FloatArray, cells: FloatArray) -> float:
        """Add up ½ (d + log |C|) of what is missing, for rows that have so much of each cell."""
        own, total = self.natural(flat), 0.0
        for group, rows, shown, holes in self.chunks():
            d = holes.missing.shape[1]
            if d:
                each = cells[group.rows[rows], : self.block.cells]
                cases = np.add.reduceat(each, shown.starts[:-1])
                C = conditional(own, holes, self.block.d).C
                total += float(np.sum(cases * 0.5 * (d + np.linalg.slogdet(C)[1])))
        return total

    def _put(self, total: FloatArray, out: FloatArray) -> None:
        out[self.positions] += total.T.reshape(-1)

    def _weigh(self, weights: Weigher, out: FloatArray) -> None:
        for group, rows, shown, holes in self.chunks():
            found = np.zeros((len(shown.x), out.shape[1]))
            by_cell = np.zeros((len(holes.shown), out.shape[1], products(shown.x.shape[1])))
            by_cell[:, : self.block.cells] = weights(holes)
            kernels.weigh_products(shown, by_cell, found)
            out[group.rows[rows]] += found

    def _sums(self, cells: FloatArray) -> Iterator[tuple[Holes, FloatArray]]:
        """Products of the rows of each pattern, by cell: (P, K, products)."""
        for group, rows, shown, holes in self.chunks():
            found = np.zeros((len(holes.shown), products(shown.x.shape[1]), cells.shape[1]))
            kernels.gather_products(shown, cells[group.rows[rows]], found)
            yield holes, np.swapaxes(found[..., : self.block.cells], 1, 2)

    def chunks(self) -> Iterator[tuple[HoleGroup, slice, kernels.ProductRows, Holes]]:
        """Patterns that fit into memory together: their group, its rows, what these show."""
        for group in self.groups:
            starts = group.shown.starts
            step = max(1, NUMBERS_AT_ONCE // (self.block.d**2 * (self.block.cells + 4)))
            for p in range(0, len(starts) - 1, step):
                some = starts[p : p + step + 1]
                rows = slice(int(some[0]), int(some[-1]))
                shown = kernels.ProductRows(group.shown.x[rows], some - some[0])
                yield group, rows, shown, Holes(*(h[p : p + step] for h in group.holes))


def block_rows(x: FloatArray, told: BoolArray, block: Block) -> BlockRows:
    """Order rows by their holes; x are (m, d) numbers, and `told` says which of them are there."""
    d, groups = x.shape[1], []
    number = told.sum(axis=1)
    for o in np.unique(number[number > 0]).tolist():
        rows = np.flatnonzero(number == o)
        patterns, of_row = np.unique(told[rows], axis=0, return_inverse=True)
        order = np.argsort(of_row.reshape(-1), kind="stable")
        starts = np.searchsorted(of_row.reshape(-1)[order], np.arange(len(patterns) + 1))
        rows = rows[order]
        shown = np.nonzero(patterns)[1].reshape(-1, o)
        holes = Holes(shown, np.nonzero(~patterns)[1].reshape(len(patterns), d - o))
        own = np.take_along_axis(x[rows], shown[of_row.reshape(-1)[order]], axis=1)
        groups.append(HoleGroup(rows, kernels.ProductRows(own, starts.astype(np.int64)), holes))
    return BlockRows(block, tuple(groups))
