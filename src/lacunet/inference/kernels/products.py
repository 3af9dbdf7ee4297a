"""Rows that show blocks of numbers: log weights are sums over their products.

The products of a row are its numbers, 1, and all x_a x_b with a ≤ b, the squares first. Rows with
the same pattern of holes stand together and share their log weights.
"""

from typing import NamedTuple

import numpy as np

from lacunet.runtime.arrays import FloatArray, IntArray
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
