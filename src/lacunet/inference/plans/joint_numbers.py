"""E steps for blocks of numbers with a joint normal distribution in each class.

Log weights are linear in the products of a row: its numbers, 1, and all x_a x_b with a ≤ b, the
squares first. Rows are sorted by missing-data pattern; those of one pattern share their weights.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from lacunet.likelihoods.joint_normal import (
    cholesky,
    completed,
    conditional,
    joint_statistics,
    marginal,
    products,
)
from lacunet.likelihoods.kernels import ObservedSplit
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.jit import kernel

ROWS_AT_ONCE = 128


class ProductRows(NamedTuple):
    """Rows with o observed numbers each, sorted by their P patterns."""

    x: FloatArray  # (n, o)
    starts: IntArray  # (P + 1,) start of each pattern


@kernel
def write_products(x: FloatArray, out: FloatArray) -> None:
    """Write the products of some rows, (n, o) → (products, n), with long inner loops over rows."""
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
    """A buffer for n rows: `room`, or a smaller array for the last rows."""
    return room if n == room.shape[1] else np.empty((room.shape[0], n))


@kernel
def weigh_products(rows: ProductRows, weights: FloatArray, out: FloatArray) -> None:
    """Log weights of the cells of each row, (n, W), from weights of products, (P, W, products)."""
    width = weights.shape[1]
    room = np.empty((weights.shape[2], ROWS_AT_ONCE))
    part_result = np.empty((width, ROWS_AT_ONCE))
    for p in range(rows.starts.shape[0] - 1):
        for first in range(rows.starts[p], rows.starts[p + 1], ROWS_AT_ONCE):
            n = min(ROWS_AT_ONCE, rows.starts[p + 1] - first)
            some, part = room_for(n, room), room_for(n, part_result)
            write_products(rows.x[first : first + n], some)
            np.dot(weights[p], some, part)
            for i in range(n):
                for c in range(width):
                    out[first + i, c] = part[c, i]


@kernel
def gather_products(rows: ProductRows, cells: FloatArray, out: FloatArray) -> None:
    """Sum products times cell weights, (n, W), by pattern and product, (P, products, W)."""
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


TINY = 1e-20  # of a complex step
NUMBERS_AT_ONCE = 1 << 22  # of patterns completed at once


class PatternGroup(NamedTuple):
    """Rows with the same number of observed values in a block. n rows, P patterns."""

    rows: IntArray  # (n,) row indices of the plan
    shown: ProductRows
    split: ObservedSplit


@dataclass(frozen=True, eq=False)
class BlockRows:
    """All rows with an observed value in a block of d numbers."""

    variables: tuple[int, ...]  # (d,) its variables
    first: int  # first position in a flat vector
    cells: int  # K, states of the hidden variable
    width: int  # statistics of the block
    groups: tuple[PatternGroup, ...]

    @property
    def d(self) -> int:
        """Number of variables."""
        return len(self.variables)

    @property
    def members(self) -> tuple[int, ...]:
        """Variables that are missing in some row that shows others."""
        missing = [group.split.missing.reshape(-1) for group in self.groups]
        places = np.unique(np.concatenate([*missing, np.zeros(0, dtype=np.int64)]))
        return tuple(self.variables[place] for place in places)

    @property
    def positions(self) -> slice:
        """Positions of the block in a flat vector."""
        return slice(self.first, self.first + self.width * self.cells)

    def natural(self, flats: FloatArray, along: FloatArray | None = None) -> Any:
        """η of every class of C flat vectors, (C·K, width), plus a complex step `along`."""
        eta = np.concatenate([x[self.positions].reshape(self.width, self.cells).T for x in flats])
        return eta if along is None else eta + 1j * TINY * self.natural(along[None])

    def only(self, used: IntArray, m: int) -> "BlockRows":
        """Restrict the block to some of the m rows of the plan."""
        x, present = np.zeros((m, self.d)), np.zeros((m, self.d), dtype=np.bool_)
        for group in self.groups:
            numbers = np.repeat(group.split.shown, np.diff(group.shown.starts), axis=0)
            x[group.rows[:, None], numbers] = group.shown.x
            present[group.rows[:, None], numbers] = True
        return replace(self, groups=group_by_pattern(x[used], present[used]))

    def weigh(self, flats: FloatArray, out: FloatArray, along: FloatArray | None = None) -> None:
        """Add log weights of all rows, or their change along a direction, to (m, C, W)."""
        (C, W), natural = out.shape[1:], self.natural(flats, along)
        for rows, shown, split in self.chunks():
            weights = marginal(natural, split, self.d)
            weights = weights if along is None else weights.imag / TINY
            by_cell = np.zeros((len(weights), C, W, weights.shape[-1]))
            by_cell[:, :, : self.cells] = weights.reshape(len(weights), C, self.cells, -1)
            log_weights = np.zeros((len(rows), C * W))
            weigh_products(shown, by_cell.reshape(len(weights), C * W, -1), log_weights)
            out[rows] += log_weights.reshape(-1, C, W)

    def gather(
        self, flat: FloatArray, cells: FloatArray, out: FloatArray, along: FloatArray | None = None
    ) -> None:
        """Add statistics of rows with cell weights (m, W), or their change along a direction."""
        natural, total = self.natural(flat[None], along), np.zeros((self.cells, self.width))
        for rows, shown, split in self.chunks():
            S = np.zeros((len(split.shown), products(shown.x.shape[1]), cells.shape[1]))
            gather_products(shown, cells[rows], S)
            S = np.swapaxes(S[..., : self.cells], 1, 2)
            T = completed(natural, split, S, self.d).sum(axis=0)
            total += T if along is None else T.imag / TINY
        out[self.positions] += total.T.reshape(-1)

    def draw(self, flats: FloatArray, cells: FloatArray, rng: Any, out: FloatArray) -> None:
        """Add statistics of (m, C, W) cases by row, chain and cell, with missing values drawn."""
        C, K = cells.shape[1], self.cells
        natural, total = self.natural(flats), np.zeros((C * K, self.width))
        for rows, shown, split in self.chunks():
            cases = np.ascontiguousarray(cells[rows, :, :K]).reshape(-1, C * K)
            if split.missing.shape[1]:
                total += _drawn(natural, split, shown, cases, rng)
            else:
                S = np.zeros((len(split.shown), products(self.d), C * K))
                gather_products(shown, cases, S)
                total += completed(natural, split, np.swapaxes(S, 1, 2), self.d).sum(axis=0)
        for flat, statistics in zip(out, total.reshape(C, K, -1), strict=True):
            flat[self.positions] += statistics.T.reshape(-1)

    def by_row(self, flat: FloatArray, cells: FloatArray, out: FloatArray) -> None:
        """Add the statistics of each row to a flat vector of its own, (m, positions)."""
        eta = self.natural(flat[None])
        for group in self.groups:
            for p, (start, stop) in enumerate(pairwise(group.shown.starts.tolist())):
                rows, x = group.rows[start:stop], group.shown.x[start:stop]
                shown = np.empty((products(x.shape[1]), len(rows)))
                write_products(x, shown)
                S = cells[rows, : self.cells, None] * shown.T[:, None, :]
                each = ObservedSplit(*(np.repeat(h[[p]], len(rows), axis=0) for h in group.split))
                statistics = completed(eta, each, S, self.d)  # (rows, K, width)
                out[rows, self.positions] += np.swapaxes(statistics, 1, 2).reshape(len(rows), -1)

    def missing_numbers(self, flat: FloatArray, cells: FloatArray) -> float:
        """Sum ½ (d + log |C|) of missing values over rows with cell weights `cells`."""
        eta, total = self.natural(flat[None]), 0.0
        for rows, shown, split in self.chunks():
            if d := split.missing.shape[1]:
                cases = np.add.reduceat(cells[rows, : self.cells], shown.starts[:-1])
                C = conditional(eta, split, self.d).C
                total += float(np.sum(cases * 0.5 * (d + np.linalg.slogdet(C)[1])))
        return total

    def chunks(self) -> Iterator[PatternGroup]:
        """Cut groups into runs of patterns that fit into memory."""
        step = max(1, NUMBERS_AT_ONCE // (self.d**2 * (self.cells + 4)))
        for group in self.groups:
            for p in range(0, len(group.shown.starts) - 1, step):
                some = group.shown.starts[p : p + step + 1]
                rows = slice(int(some[0]), int(some[-1]))
                shown = ProductRows(group.shown.x[rows], some - some[0])
                yield PatternGroup(
                    group.rows[rows], shown, ObservedSplit(*(h[p : p + step] for h in group.split))
                )


def group_by_pattern(x: FloatArray, present: BoolArray) -> tuple[PatternGroup, ...]:
    """Group rows, (m, d), by missing-data pattern; `present` marks observed values."""
    d, groups = x.shape[1], []
    number = present.sum(axis=1)
    for o in np.unique(number[number > 0]).tolist():
        rows = np.flatnonzero(number == o)
        patterns, of_row = np.unique(present[rows], axis=0, return_inverse=True)
        order = np.argsort(of_row.reshape(-1), kind="stable")
        starts = np.searchsorted(of_row.reshape(-1)[order], np.arange(len(patterns) + 1))
        rows = rows[order]
        shown = np.nonzero(patterns)[1].reshape(-1, o)
        split = ObservedSplit(shown, np.nonzero(~patterns)[1].reshape(len(patterns), d - o))
        values = np.take_along_axis(x[rows], shown[of_row.reshape(-1)[order]], axis=1)
        groups.append(PatternGroup(rows, ProductRows(values, starts.astype(np.int64)), split))
    return tuple(groups)


def _drawn(
    natural: FloatArray, split: ObservedSplit, shown: ProductRows, cells: FloatArray, rng: Any
) -> FloatArray:
    """Statistics of cases, (n, classes), with missing values drawn: (classes, width)."""
    o, d = split.shown.shape[1], split.shown.shape[1] + split.missing.shape[1]
    often = cells.astype(np.int64)
    row, of = np.nonzero(often)
    order = np.argsort(of, kind="stable")  # sorted by class
    times = often[row, of][order]
    row, of = np.repeat(row[order], times), np.repeat(of[order], times)
    pattern = np.repeat(np.arange(len(split.shown)), np.diff(shown.starts))[row]
    A, b, C = conditional(natural, split, d)
    noise = rng.standard_normal((len(row), d - o))
    x = np.empty((len(row), d))
    np.put_along_axis(x, split.shown[pattern], shown.x[row], axis=1)
    missing = np.einsum("nmo,no->nm", A[pattern, of], shown.x[row]) + b[pattern, of]
    missing += np.einsum("nab,nb->na", cholesky(C)[pattern, of], noise)
    np.put_along_axis(x, split.missing[pattern], missing, axis=1)
    T, total = joint_statistics(x), np.zeros(natural.shape)
    classes, first = np.unique(of, return_index=True)
    if len(classes):
        total[classes] = np.add.reduceat(T, first, axis=0)
    return total
