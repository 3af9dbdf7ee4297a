"""What rows show of families: all of them together, or each by itself around a hidden variable."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array

from lacunet.fitting.regroup import Places
from lacunet.inference.kernels.merging import SparseRows
from lacunet.models.joint import members, statistics_of
from lacunet.models.layout import Layout
from lacunet.models.network import Network
from lacunet.runtime.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Rows:
    """Cases, with the hidden variables among their columns."""

    codes: IntArray  # (m, variables), −1 = not known
    weights: IntArray | FloatArray  # (m,) how many cases each row stands for


def count_families(network: Network, rows: Rows) -> FloatArray:
    """Statistics of the families whose members are all known, (size,)."""
    layout, tables = network.layout, []
    for i, kind in enumerate(layout.kinds):
        own = _located_by(layout, i)
        size = math.prod(layout.cards[v] for v in own)
        known, cells = _known(network, rows, i, own)
        if kind.tabular:
            N = np.bincount(cells, weights=rows.weights[known], minlength=size).astype(np.float64)
        else:
            N = np.zeros((size, layout.widths[i]))
            np.add.at(N, cells, _statistics(network, rows, i, known))
        tables.append(N)
    return layout.flat(tables)


def statistics_around(network: Network, rows: Rows, places: Places) -> SparseRows:
    """What each row adds to the state of a hidden variable that it may have: (m, P), as places."""
    layout, h = network.layout, places.h
    at, columns, values, width = [], [], [], 0
    for i, family in enumerate(layout.families):
        if h not in family or not layout.widths[i]:
            continue
        own = [v for v in _located_by(layout, i) if v != h]
        known, cells = _known(network, rows, i, own)
        T = _statistics(network, rows, i, known)
        at.append(np.repeat(known, T.shape[1]))
        columns.append((width + cells[:, None] * T.shape[1] + np.arange(T.shape[1])).reshape(-1))
        values.append(T.reshape(-1))
        width += math.prod(layout.cards[v] for v in own) * T.shape[1]
    where = np.concatenate(at), np.concatenate(columns)
    shape = len(rows.weights), width
    return sparse_rows(coo_array((np.concatenate(values), where), shape))


def sparse_rows(matrix: coo_array | csr_array) -> SparseRows:
    """A matrix, (m, P), row by row."""
    rows = csr_array(matrix)
    return SparseRows(rows.indptr.astype(np.int32), rows.indices.astype(np.int32), rows.data)


def cells_of(layout: Layout, rows: Rows, variables: Sequence[int]) -> IntArray:
    """Number each row's joint state of some variables, the last running fastest; −1: unknown."""
    cells = np.zeros(len(rows.weights), dtype=np.int64)
    known = np.ones(len(cells), dtype=np.bool_)
    for v in variables:
        cells = cells * layout.cards[v] + rows.codes[:, v]
        known &= rows.codes[:, v] >= 0
    return np.where(known, cells, -1)


def _located_by(layout: Layout, i: int) -> tuple[int, ...]:
    """The variables whose joint state says where statistics of a family stand."""
    return layout.families[i] if layout.kinds[i].tabular else layout.families[i][:-1]


def _known(network: Network, rows: Rows, i: int, own: Sequence[int]) -> tuple[IntArray, IntArray]:
    """Rows that show what family i is counted by, and their joint states of some variables."""
    cells = cells_of(network.layout, rows, own)
    told = cells >= 0
    if not network.layout.kinds[i].tabular:
        told &= (rows.codes[:, members(network, i)] >= 0).all(axis=1)
    known = np.flatnonzero(told)
    return known, cells[known]


def _statistics(network: Network, rows: Rows, i: int, known: IntArray) -> FloatArray:
    """What some rows add to family i, (…, width): cases, or sums of what numbers are worth."""
    weights = rows.weights[known, None].astype(np.float64)
    around = members(network, i)
    if network.layout.kinds[i].tabular:
        return weights
    if not around:
        return np.zeros((len(known), network.layout.widths[i]))
    return weights * statistics_of(network, i, {j: rows.codes[known, j] for j in around})
