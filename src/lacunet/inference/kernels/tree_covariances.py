"""Covariances of the counts of clique trees.

Column p of a covariance is the derivative of the expected counts along log θ_p. In a clique that
holds p it has a closed form. Any other table is a constant conditional given a separator times that
separator, so the change propagates outwards, one separator at a time.
"""

from typing import NamedTuple

import numpy as np

from lacunet.inference.kernels.trees import TreeArrays, TreeScratch, TreeWeights, posterior_tables
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.jit import kernel


class Targets(NamedTuple):
    """For each position, the free coordinates that move it and their signs: a ragged list."""

    starts: IntArray  # (size + 1,)
    columns: IntArray  # of A
    signs: FloatArray


class Change(NamedTuple):
    """Derivatives along one position."""

    tables: FloatArray  # of the clique tables
    separators: FloatArray  # of the separators, relative to their posteriors
    done: BoolArray  # (cliques of a kind,) which tables are done
    positions: FloatArray  # (size,) of expected counts
    coordinates: FloatArray  # (d,) of expected counts, in free coordinates


class TouchedPositions(NamedTuple):
    """Positions and coordinates that an instance touches: lists, and marks of their members."""

    positions: IntArray  # (size,)
    holders: IntArray  # (size, 2) a clique and a slot of each position
    position_marks: BoolArray  # (size,)
    coordinates: IntArray  # (d,)
    coordinate_marks: BoolArray  # (d,)


@kernel
def list_touched(
    a: TreeArrays, kind: int, row: int, targets: Targets, touched: TouchedPositions
) -> tuple[int, int]:
    """List the touched positions and the coordinates that move them; return both numbers."""
    count, moved = 0, 0
    for q in range(a.kind_cliques[kind], a.kind_cliques[kind + 1]):
        for s in range(a.slots[q], a.slots[q + 1]):
            offset = a.offsets[row + a.slot_family[s]]
            for c in range(a.cells[q]):
                p = offset + a.maps[a.slot_map[s] + c]
                if touched.position_marks[p]:
                    continue
                touched.position_marks[p] = True
                touched.positions[count] = p
                touched.holders[count, 0], touched.holders[count, 1] = q, s
                count += 1
                for t in range(targets.starts[p], targets.starts[p + 1]):
                    u = targets.columns[t]
                    if not touched.coordinate_marks[u]:
                        touched.coordinate_marks[u] = True
                        touched.coordinates[moved] = u
                        moved += 1
    return count, moved


@kernel
def sum_separators(a: TreeArrays, kind: int, scratch: TreeScratch) -> None:
    """Write the posterior tables of separators to `scratch.shared`."""
    for q in range(a.kind_cliques[kind], a.kind_cliques[kind + 1] - 1):
        shared = scratch.shared[a.separator_first[q] : a.separator_first[q] + a.separator[q]]
        shared[:] = 0.0
        for c in range(a.cells[q]):
            shared[a.maps[a.up[q] + c]] += scratch.work[a.first[q] + c]


@kernel
def cross(a: TreeArrays, q: int, upwards: bool, scratch: TreeScratch, change: Change) -> None:
    """Propagate a change over the separator between a clique and its parent."""
    p = a.parent[q]
    near, far = (q, p) if upwards else (p, q)
    near_map, far_map = (a.up[q], a.down[q]) if upwards else (a.down[q], a.up[q])
    first = a.separator_first[q]
    ratio = change.separators[first : first + a.separator[q]]
    ratio[:] = 0.0
    for c in range(a.cells[near]):
        ratio[a.maps[near_map + c]] += change.tables[a.first[near] + c]
    for s in range(a.separator[q]):
        shared = scratch.shared[first + s]
        ratio[s] = ratio[s] / shared if shared > 0.0 else 0.0
    for c in range(a.cells[far]):
        at = a.first[far] + c
        change.tables[at] = scratch.work[at] * ratio[a.maps[far_map + c]]


@kernel
def spread_change(
    a: TreeArrays, kind: int, origin: int, scratch: TreeScratch, change: Change
) -> None:
    """Propagate the change of one clique to all others: up to the root, then down."""
    first, last = a.kind_cliques[kind], a.kind_cliques[kind + 1] - 1
    change.done[: last - first + 1] = False
    change.done[origin - first] = True
    q = origin
    while q != last:
        cross(a, q, True, scratch, change)
        q = a.parent[q]
        change.done[q - first] = True
    for q in range(last - 1, first - 1, -1):
        if not change.done[q - first]:
            cross(a, q, False, scratch, change)


@kernel
def change_of_counts(
    a: TreeArrays, where: tuple[int, int, int, int], p: int, scratch: TreeScratch, change: Change
) -> None:
    """Add the derivative of an instance's counts along log θ_p, given a slot that holds p."""
    kind, row, origin, slot = where
    offset, start = a.offsets[row + a.slot_family[slot]], a.slot_map[slot]
    share = 0.0
    for c in range(a.cells[origin]):
        if offset + a.maps[start + c] == p:
            share += scratch.work[a.first[origin] + c]
    for c in range(a.cells[origin]):
        equal = 1.0 if offset + a.maps[start + c] == p else 0.0
        at = a.first[origin] + c
        change.tables[at] = scratch.work[at] * (equal - share)
    spread_change(a, kind, origin, scratch, change)
    for q in range(a.kind_cliques[kind], a.kind_cliques[kind + 1]):
        for s in range(a.slots[q], a.slots[q + 1]):
            offset, start = a.offsets[row + a.slot_family[s]], a.slot_map[s]
            for c in range(a.cells[q]):
                change.positions[offset + a.maps[start + c]] += change.tables[a.first[q] + c]


@kernel
def subtract_column(
    p: int,
    weighted: tuple[float, FloatArray],
    targets: Targets,
    touched: tuple[IntArray, IntArray],
    change: Change,
    A: FloatArray,
) -> None:
    """Subtract the change along a position from A, at touched positions and coordinates.

    `weighted` is the weight of the instance and 1/θ.
    """
    (weight, inverse_theta), (positions, coordinates) = weighted, touched
    for o in positions:
        for t in range(targets.starts[o], targets.starts[o + 1]):
            moved = targets.signs[t] * change.positions[o] * inverse_theta[o]
            change.coordinates[targets.columns[t]] += moved
        change.positions[o] = 0.0
    for t in range(targets.starts[p], targets.starts[p + 1]):
        column, factor = targets.columns[t], weight * targets.signs[t] * inverse_theta[p]
        for u in coordinates:
            if u >= column:  # the lower triangle
                A[u, column] -= factor * change.coordinates[u]
    for u in coordinates:
        change.coordinates[u] = 0.0


@kernel
def subtract_covariances(
    a: TreeArrays,
    log_theta: FloatArray,
    inverse_theta: FloatArray,
    scratch: TreeScratch,
    targets: Targets,
    A: FloatArray,
) -> None:
    """Subtract weight · Cov(score) of every component from A, in free coordinates."""
    weights = TreeWeights(log_theta, np.exp(log_theta))
    size, d = log_theta.shape[0], A.shape[0]
    touched = TouchedPositions(
        np.empty(size, dtype=np.int64),
        np.empty((size, 2), dtype=np.int64),
        np.zeros(size, dtype=np.bool_),
        np.empty(d, dtype=np.int64),
        np.zeros(d, dtype=np.bool_),
    )
    change = Change(
        np.empty(scratch.work.shape[0]),
        np.empty(scratch.shared.shape[0]),
        np.empty((a.kind_cliques[1:] - a.kind_cliques[:-1]).max(), dtype=np.bool_),
        np.zeros(size),
        np.zeros(d),
    )
    for kind in range(a.kind_width.shape[0]):
        for i in range(a.kind_instances[kind], a.kind_instances[kind + 1]):
            row = a.kind_offsets[kind] + (i - a.kind_instances[kind]) * a.kind_width[kind]
            posterior_tables(a, kind, row, weights, scratch)
            sum_separators(a, kind, scratch)
            count, moved = list_touched(a, kind, row, targets, touched)
            lists = touched.positions[:count], touched.coordinates[:moved]
            for n in range(count):
                p, q, s = touched.positions[n], touched.holders[n, 0], touched.holders[n, 1]
                touched.position_marks[p] = False
                if targets.starts[p] < targets.starts[p + 1]:
                    change_of_counts(a, (kind, row, q, s), p, scratch, change)
                    weighted = (a.counts[i], inverse_theta)
                    subtract_column(p, weighted, targets, lists, change, A)
            for u in touched.coordinates[:moved]:
                touched.coordinate_marks[u] = False
