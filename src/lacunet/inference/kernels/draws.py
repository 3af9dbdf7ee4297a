"""Gibbs draws of hidden cells, and sequential updates of particles.

Draws work on several chains at once, one per row of their arrays. A random generator belongs to one
group of chains and is never used by two threads.

A particle (Kong, Liu & Wong 1994) stores the counts of the cases so far, so its parameters are
Dirichlet. A case touches every family at most once. So its predictive probability, with parameters
integrated out, is its probability at their means. An update multiplies the weight by it, then draws
the hidden values of the case and adds them to the exponents A_ijk and their sums A_ij.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from lacunet.inference.kernels.rows import (
    ROWS_AT_ONCE,
    PatternArrays,
    exp_rows,
    spread_table,
    sum_patterns,
    sum_table,
)
from lacunet.inference.kernels.trees import TreeArrays, TreeScratch, TreeWeights, posterior_tables
from lacunet.runtime.arrays import FloatArray, IndexArray, IntArray
from lacunet.runtime.jit import kernel

SMALL = 1e-100  # products below are rescaled, to prevent underflow
OFTEN = 8  # families between two checks for underflow
FEW = 4  # draws per cell up to which they are drawn one by one; beyond, by binomials


@kernel
def draw_cell(weights: FloatArray, total: float, cells: int, rng: Any) -> int:
    """Draw one of the first `cells` cells, with probabilities weights / total."""
    u = rng.random() * total
    cell = 0
    while cell < cells - 1 and u >= weights[cell]:
        u -= weights[cell]
        cell += 1
    while cell > 0 and weights[cell] == 0.0:  # rounding must not draw an impossible cell
        cell -= 1
    return cell


@kernel
def draw_cells(
    weights: FloatArray, total: float, cells: int, draws: int, rng: Any, out: IntArray
) -> None:
    """Draw multinomial counts into out[cell], by conditional binomials if draws are many."""
    out[:cells] = 0
    if draws <= FEW * cells:
        for _ in range(draws):
            out[draw_cell(weights, total, cells, rng)] += 1
        return
    left = draws
    for cell in range(cells - 1):
        if left == 0 or not total > 0.0:
            break
        share = min(1.0, weights[cell] / total)
        drawn = rng.binomial(left, share) if share > 0.0 else 0
        out[cell] = drawn
        left -= drawn
        total -= weights[cell]
    if left > 0:
        last = cells - 1
        while last > 0 and weights[last] == 0.0:
            last -= 1
        out[last] += left


@kernel
def draw_rows(
    table: FloatArray, index: IndexArray, counts: FloatArray, cells: int, rng: Any, out: FloatArray
) -> None:
    """Draw the hidden cell of every case of every row, and count it in the row's patterns."""
    width = table.shape[1]
    buffer = np.empty((ROWS_AT_ONCE, width))
    top, total = np.empty(ROWS_AT_ONCE), np.empty(ROWS_AT_ONCE)
    bits = np.empty(ROWS_AT_ONCE * width, dtype=np.int64)
    often = np.empty(cells, dtype=np.int64)
    groups = index.shape[1]
    for first in range(0, index.shape[0], ROWS_AT_ONCE):
        m = min(ROWS_AT_ONCE, index.shape[0] - first)
        r, rows = buffer[:m], index[first : first + m]
        sum_patterns(table, rows, r)
        exp_rows(r, bits, top, total)
        for i in range(m):
            draws = int(counts[first + i])
            if draws == 1:
                cell = draw_cell(r[i], total[i], cells, rng)
                for g in range(groups):
                    out[rows[i, g], cell] += 1.0
                continue
            draw_cells(r[i], total[i], cells, draws, rng, often)
            for cell in range(cells):
                if often[cell] > 0:
                    for g in range(groups):
                        out[rows[i, g], cell] += often[cell]


@kernel
def draw_patterns(
    plan: PatternArrays, counts: FloatArray, log_weights: FloatArray, rng: Any, N: FloatArray
) -> None:
    """Add drawn counts of a pattern plan to N; log weights and N have a row for each chain."""
    for chain in range(log_weights.shape[0]):
        table = sum_table(plan, log_weights[chain], -np.inf)
        drawn = np.zeros(table.shape)
        draw_rows(table, plan.of_row, counts, plan.cells, rng, drawn)
        spread_table(plan, drawn, N[chain])


@kernel
def draw_tree(a: TreeArrays, kind: int, work: FloatArray, cell_of: IntArray, rng: Any) -> None:
    """Draw a cell of every clique from posterior tables: the root, then each given its parent."""
    first, last = a.kind_cliques[kind], a.kind_cliques[kind + 1] - 1
    for q in range(last, first - 1, -1):
        w = work[a.first[q] : a.first[q] + a.cells[q]]
        shared = a.maps[a.down[q] + cell_of[a.parent[q] - first]] if q < last else 0
        total = 0.0
        for c in range(a.cells[q]):
            if q == last or a.maps[a.up[q] + c] == shared:
                total += w[c]
        u = rng.random() * total
        chosen = 0
        for c in range(a.cells[q]):
            if w[c] > 0.0 and (q == last or a.maps[a.up[q] + c] == shared):
                chosen = c
                u -= w[c]
                if u < 0.0:
                    break
        cell_of[q - first] = chosen


@kernel
def draw_trees(
    a: TreeArrays, log_weights: FloatArray, rng: Any, scratch: TreeScratch, N: FloatArray
) -> None:
    """Add drawn counts of all clique trees to N; log weights and N have a row for each chain."""
    work = scratch.work
    cell_of = np.empty((a.kind_cliques[1:] - a.kind_cliques[:-1]).max(), dtype=np.int64)
    often = np.empty(work.shape[0], dtype=np.int64)
    for chain in range(log_weights.shape[0]):
        weights = TreeWeights(log_weights[chain], np.exp(log_weights[chain]))
        for kind in range(a.kind_width.shape[0]):
            root, cliques = a.kind_cliques[kind], a.kind_cliques[kind + 1] - a.kind_cliques[kind]
            for i in range(a.kind_instances[kind], a.kind_instances[kind + 1]):
                row = a.kind_offsets[kind] + (i - a.kind_instances[kind]) * a.kind_width[kind]
                posterior_tables(a, kind, row, weights, scratch)
                draws = int(a.counts[i])
                if cliques == 1:
                    cells = a.cells[root]
                    draw_cells(work[:cells], 1.0, cells, draws, rng, often)
                    for c in range(cells):
                        if often[c] > 0:
                            cell_of[0] = c
                            count_tree(a, kind, row, cell_of, float(often[c]), N[chain])
                else:
                    for _ in range(draws):
                        draw_tree(a, kind, work, cell_of, rng)
                        count_tree(a, kind, row, cell_of, 1.0, N[chain])


@kernel
def count_tree(
    a: TreeArrays, kind: int, row: int, cell_of: IntArray, often: float, out: FloatArray
) -> None:
    """Add `often` cases to the families of drawn cells."""
    first = a.kind_cliques[kind]
    for q in range(first, a.kind_cliques[kind + 1]):
        for s in range(a.slots[q], a.slots[q + 1]):
            offset = a.offsets[row + a.slot_family[s]]
            out[offset + a.maps[a.slot_map[s] + cell_of[q - first]]] += often


@kernel
def draw_number_cells(counts: FloatArray, cells: int, rng: Any, posterior: FloatArray) -> None:
    """Draw the hidden cell of every case: replace posteriors, (m, W), by counts."""
    often = np.empty(cells, dtype=np.int64)
    for i in range(counts.shape[0]):
        total = 0.0
        for c in range(cells):
            total += posterior[i, c]
        draw_cells(posterior[i], total, cells, int(counts[i]), rng, often)
        posterior[i, cells:] = 0.0
        for c in range(cells):
            posterior[i, c] = often[c]


class ParticleState(NamedTuple):
    """Particles: Dirichlet exponents of the parameters, and weights."""

    A: FloatArray  # (particles, size) α + counts so far
    A_ij: FloatArray  # (particles, configurations) their sums
    log_weights: FloatArray  # (particles,)
    ij: IndexArray  # (size,) parent configuration of each position


@kernel
def effective(log_weights: FloatArray) -> float:
    """Effective number of particles."""
    top = -np.inf
    for p in range(log_weights.shape[0]):
        top = max(top, log_weights[p])
    total, squares = 0.0, 0.0
    for p in range(log_weights.shape[0]):
        w = math.exp(log_weights[p] - top)
        total += w
        squares += w * w
    return total * total / squares


@kernel
def rescaled(w: FloatArray) -> float:
    """Rescale weights if they are small; return the log of the factor removed."""
    top = 0.0
    for c in range(w.shape[0]):
        top = max(top, w[c])
    if top > SMALL or top == 0.0:
        return 0.0
    for c in range(w.shape[0]):
        w[c] /= top
    return math.log(top)


@kernel
def take_in_rows(
    plan: PatternArrays, cases: IntArray, particles: ParticleState, least: float, rng: Any
) -> int:
    """Update by rows of a pattern plan until fewer than `least` particles are effective."""
    A, A_ij, ij = particles.A, particles.A_ij, particles.ij
    w = np.empty(plan.cells)
    groups = plan.of_row.shape[1]
    for n in range(cases.shape[0]):
        row = plan.of_row[cases[n]]
        for p in range(A.shape[0]):
            w[:] = 1.0
            log_scale, families = 0.0, 0
            for g in range(groups):
                for e in range(plan.starts[row[g]], plan.starts[row[g] + 1]):
                    first = plan.positions[plan.entries[e]]
                    for c in range(plan.cells):
                        w[c] *= A[p, first + c] / A_ij[p, ij[first + c]]
                    families += 1
                    if families % OFTEN == 0:
                        log_scale += rescaled(w)
            total = 0.0
            for c in range(plan.cells):
                total += w[c]
            particles.log_weights[p] += math.log(total) + log_scale
            cell = draw_cell(w, total, plan.cells, rng)
            for g in range(groups):
                for e in range(plan.starts[row[g]], plan.starts[row[g] + 1]):
                    at = plan.positions[plan.entries[e]] + cell
                    A[p, at] += 1.0
                    A_ij[p, ij[at]] += 1.0
        if effective(particles.log_weights) < least:
            return n + 1
    return len(cases)


@kernel
def load_means(
    a: TreeArrays, kind: int, row: int, p: int, particles: ParticleState, out: TreeWeights
) -> None:
    """Write the mean parameters of a particle at the positions that an instance touches."""
    for q in range(a.kind_cliques[kind], a.kind_cliques[kind + 1]):
        for s in range(a.slots[q], a.slots[q + 1]):
            offset = a.offsets[row + a.slot_family[s]]
            for c in range(a.cells[q]):
                at = offset + a.maps[a.slot_map[s] + c]
                mean = particles.A[p, at] / particles.A_ij[p, particles.ij[at]]
                out.plain[at], out.log[at] = mean, math.log(mean)


@kernel
def take_in_trees(
    a: TreeArrays,
    cases: IntArray,
    particles: ParticleState,
    least: float,
    scratch: TreeScratch,
    rng: Any,
) -> int:
    """Update by instances of clique trees until fewer than `least` particles are effective."""
    means = TreeWeights(np.empty(particles.A.shape[1]), np.empty(particles.A.shape[1]))
    cell_of = np.empty((a.kind_cliques[1:] - a.kind_cliques[:-1]).max(), dtype=np.int64)
    for n in range(cases.shape[0]):
        kind = int(np.searchsorted(a.kind_instances, cases[n], side="right")) - 1
        row = a.kind_offsets[kind] + (cases[n] - a.kind_instances[kind]) * a.kind_width[kind]
        first = a.kind_cliques[kind]
        for p in range(particles.A.shape[0]):
            load_means(a, kind, row, p, particles, means)
            particles.log_weights[p] += posterior_tables(a, kind, row, means, scratch)
            draw_tree(a, kind, scratch.work, cell_of, rng)
            for q in range(first, a.kind_cliques[kind + 1]):
                for s in range(a.slots[q], a.slots[q + 1]):
                    offset = a.offsets[row + a.slot_family[s]]
                    at = offset + a.maps[a.slot_map[s] + cell_of[q - first]]
                    particles.A[p, at] += 1.0
                    particles.A_ij[p, particles.ij[at]] += 1.0
        if effective(particles.log_weights) < least:
            return n + 1
    return len(cases)
