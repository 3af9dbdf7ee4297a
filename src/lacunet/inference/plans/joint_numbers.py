"""Rows that show blocks of numbers: log weights are sums over their products.

The products of a row are its numbers, 1, and all x_a x_b with a ≤ b, the squares first. Rows with
the same pattern of holes stand together and share their log weights.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from lacunet.likelihoods.joint_normal import (
    cholesky,
    completed,
    conditional,
    joint_statistics,
    marginal,
    products,
)
from lacunet.likelihoods.kernels import Holes
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.jit import kernel

ROWS_AT_ONCE = 128


class ProductRows(NamedTuple):
    """Rows that show o numbers each, in the order of their P patterns."""

    x: FloatArray  # (n, o)
    starts: IntArray  # (P + 1,) where the rows of each pattern start


@kernel
def write_products(x: FloatArray, out: FloatArray) -> None:
    """Write the products of some rows, (n, o) → (products, n): long loops, over the rows."""
    n, numbers = x.shape
    for a in range(numbers):
        for i in range(n):
            out[a, i] = x[i, a]
    for i in range(n):
        out[numbers, i] = 1.0
    at = 2 * numbers + 1
    for a in range(numbers):
        one, square = out[a], out[numbers + 1 + a]
        for i in range(n):
            square[i] = one[i] * one[i]
        for b in range(a + 1, numbers):
            other, product = out[b], out[at]
            for i in range(n):
                product[i] = one[i] * other[i]
            at += 1


@kernel
def room_for(n: int, room: FloatArray) -> FloatArray:
    """Room for the products of n rows: all of it, or, for the last few, some of their own."""
    return room if n == room.shape[1] else np.empty((room.shape[0], n))


@kernel
def weigh_products(rows: ProductRows, weights: FloatArray, out: FloatArray) -> None:
    """Log weights of the cells of each row, (n, W), from those of products, (P, W, products)."""
    width = weights.shape[1]
    room = np.empty((weights.shape[2], ROWS_AT_ONCE))
    found = np.empty((width, ROWS_AT_ONCE))
    for p in range(rows.starts.shape[0] - 1):
        for first in range(rows.starts[p], rows.starts[p + 1], ROWS_AT_ONCE):
            n = min(ROWS_AT_ONCE, rows.starts[p + 1] - first)
            some, part = room_for(n, room), room_for(n, found)
            write_products(rows.x[first : first + n], some)
            np.dot(weights[p], some, part)
            for i in range(n):
                for c in range(width):
                    out[first + i, c] = part[c, i]


@kernel
def gather_products(rows: ProductRows, cells: FloatArray, out: FloatArray) -> None:
    """Add up what rows have at their cells, (n, W), by pattern and product, (P, products, W)."""
    room = np.empty((out.shape[1], ROWS_AT_ONCE))
    part = np.empty((out.shape[1], out.shape[2]))
    for p in range(rows.starts.shape[0] - 1):
        for first in range(rows.starts[p], rows.starts[p + 1], ROWS_AT_ONCE):
            last = min(first + ROWS_AT_ONCE, rows.starts[p + 1])
            some = room_for(last - first, room)
            write_products(rows.x[first:last], some)
            np.dot(some, cells[first:last], part)
            for k in range(part.shape[0]):
                for c in range(part.shape[1]):
                    out[p, k, c] += part[k, c]


# What rows show of a block of numbers: patterns of holes, completed once each.

TINY = 1e-20  # of a complex step
Weigher: TypeAlias = Callable[[Holes], FloatArray]  # log weights of products, of some patterns
NUMBERS_AT_ONCE = 1 << 22  # of patterns that are completed together


@dataclass(frozen=True, eq=False)
class HoleGroup:
    """Rows whose patterns of holes show as many numbers. n rows, P patterns."""

    rows: IntArray  # (n,) which rows of the plan they are
    shown: ProductRows
    holes: Holes


@dataclass(frozen=True)
class JointBlock:
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

    block: JointBlock
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
                write_products(x, shown)
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
            weigh_products(shown, by_cell, found)
            out[group.rows[rows]] += found

    def _sums(self, cells: FloatArray) -> Iterator[tuple[Holes, FloatArray]]:
        """Products of the rows of each pattern, by cell: (P, K, products)."""
        for group, rows, shown, holes in self.chunks():
            found = np.zeros((len(holes.shown), products(shown.x.shape[1]), cells.shape[1]))
            gather_products(shown, cells[group.rows[rows]], found)
            yield holes, np.swapaxes(found[..., : self.block.cells], 1, 2)

    def chunks(self) -> Iterator[tuple[HoleGroup, slice, ProductRows, Holes]]:
        """Patterns that fit into memory together: their group, its rows, what these show."""
        for group in self.groups:
            starts = group.shown.starts
            step = max(1, NUMBERS_AT_ONCE // (self.block.d**2 * (self.block.cells + 4)))
            for p in range(0, len(starts) - 1, step):
                some = starts[p : p + step + 1]
                rows = slice(int(some[0]), int(some[-1]))
                shown = ProductRows(group.shown.x[rows], some - some[0])
                yield group, rows, shown, Holes(*(h[p : p + step] for h in group.holes))


def block_rows(x: FloatArray, told: BoolArray, block: JointBlock) -> BlockRows:
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
        groups.append(HoleGroup(rows, ProductRows(own, starts.astype(np.int64)), holes))
    return BlockRows(block, tuple(groups))


# Draws of rows that show blocks of numbers, for several chains at once.


def chains_at_once(rows: int, width: int) -> int:
    """How many chains fit into memory together, of rows that have so many numbers each."""
    return max(1, NUMBERS_AT_ONCE // max(1, rows * width))


def weigh_chains(rows: BlockRows, flats: FloatArray, out: FloatArray) -> None:
    """Add the log weights of all rows to `out`, (m, C, W), given C flat vectors."""
    (C, W), K = out.shape[1:], rows.block.cells
    natural = _natural(rows, flats)
    for group, some, shown, holes in rows.chunks():
        by_cell = np.zeros((len(holes.shown), C, W, products(shown.x.shape[1])))
        own = marginal(natural, holes, rows.block.d)
        by_cell[:, :, :K] = own.reshape(len(own), C, K, -1)
        found = np.zeros((len(shown.x), C * W))
        weigh_products(shown, by_cell.reshape(len(by_cell), C * W, -1), found)
        out[group.rows[some]] += found.reshape(-1, C, W)


def draw_chains(
    rows: BlockRows, flats: FloatArray, cells: FloatArray, rng: Any, out: FloatArray
) -> None:
    """Add statistics of so many cases of each row and cell, (m, C, W), what is missing drawn."""
    (C, _), K = cells.shape[1:], rows.block.cells
    natural, total = _natural(rows, flats), np.zeros((C * K, rows.block.width))
    for group, some, shown, holes in rows.chunks():
        own = np.ascontiguousarray(cells[group.rows[some], :, :K]).reshape(-1, C * K)
        if holes.missing.shape[1]:
            total += _drawn(natural, holes, shown, own, rng)
        else:
            S = np.zeros((len(holes.shown), products(rows.block.d), C * K))
            gather_products(shown, own, S)
            total += completed(natural, holes, np.swapaxes(S, 1, 2), rows.block.d).sum(axis=0)
    for flat, own in zip(out, total.reshape(C, K, -1), strict=True):
        flat[rows.positions] += own.T.reshape(-1)


def _natural(rows: BlockRows, flats: FloatArray) -> FloatArray:
    """η of every class of every chain, (C·K, width)."""
    return np.concatenate([rows.natural(flat) for flat in flats])


def _drawn(
    natural: FloatArray, holes: Holes, shown: ProductRows, cells: FloatArray, rng: Any
) -> FloatArray:
    """Statistics of cases of rows (n, classes), what is missing drawn, (classes, width)."""
    o, d = holes.shown.shape[1], holes.shown.shape[1] + holes.missing.shape[1]
    often = cells.astype(np.int64)
    row, of = np.nonzero(often)
    order = np.argsort(of, kind="stable")  # cases of one class stand together
    times = often[row, of][order]
    row, of = np.repeat(row[order], times), np.repeat(of[order], times)
    pattern = np.repeat(np.arange(len(holes.shown)), np.diff(shown.starts))[row]
    A, b, C = conditional(natural, holes, d)
    noise = rng.standard_normal((len(row), d - o))
    x = np.empty((len(row), d))
    np.put_along_axis(x, holes.shown[pattern], shown.x[row], axis=1)
    missing = np.einsum("nmo,no->nm", A[pattern, of], shown.x[row]) + b[pattern, of]
    missing += np.einsum("nab,nb->na", cholesky(C)[pattern, of], noise)
    np.put_along_axis(x, holes.missing[pattern], missing, axis=1)
    T, total = joint_statistics(x), np.zeros(natural.shape)
    here, first = np.unique(of, return_index=True)
    if len(here):
        total[here] = np.add.reduceat(T, first, axis=0)
    return total
