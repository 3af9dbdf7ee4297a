"""Draws of rows that show blocks of numbers, for several chains at once.

To the rows, the K classes of C chains are C·K classes: they are weighed, and what is missing is
drawn, in the same few calls whatever the number of chains.
"""

from typing import Any

import numpy as np

from lacunet.inference.kernels import products as kernels
from lacunet.inference.plans.block_rows import NUMBERS_AT_ONCE, BlockRows
from lacunet.likelihoods.joint_normal import (
    cholesky,
    completed,
    conditional,
    joint_statistics,
    marginal,
    products,
)
from lacunet.likelihoods.kernels import Holes
from lacunet.runtime.arrays import FloatArray


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
        kernels.weigh_products(shown, by_cell.reshape(len(by_cell), C * W, -1), found)
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
            kernels.gather_products(shown, own, S)
            total += completed(natural, holes, np.swapaxes(S, 1, 2), rows.block.d).sum(axis=0)
    for flat, own in zip(out, total.reshape(C, K, -1), strict=True):
        flat[rows.positions] += own.T.reshape(-1)


def _natural(rows: BlockRows, flats: FloatArray) -> FloatArray:
    """η of every class of every chain, (C·K, width)."""
    return np.concatenate([rows.natural(flat) for flat in flats])


def _drawn(
    natural: FloatArray, holes: Holes, shown: kernels.ProductRows, cells: FloatArray, rng: Any
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
