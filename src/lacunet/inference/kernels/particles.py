"""Kernels that take in one case after the other, for many particles (Kong, Liu & Wong 1994).

A particle knows the hidden values of the cases so far by their counts, so its parameters are
Dirichlet. A case touches every family at most once, so its probability given the particle, with the
parameters integrated out, is its probability at their means. A particle is weighed by that, then
draws the hidden values of the case and counts them: exponents A_ijk and their sums A_ij.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from lacunet.inference.kernels.numbers import draw_cell, draw_tree
from lacunet.inference.kernels.rows import PatternArrays
from lacunet.inference.kernels.trees import TreeArrays, TreeScratch, posterior_tables
from lacunet.runtime.arrays import FloatArray, IndexArray, IntArray
from lacunet.runtime.jit import kernel

SMALL = 1e-100  # products are scaled up again before they leave the range of a float
OFTEN = 8  # families between two looks at that


class ParticleState(NamedTuple):
    """Particles: what each knows of the parameters, as exponents, and what it weighs."""

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
    """Scale weights up if they are small; return the log of what was taken out."""
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
    plan: PatternArrays, cases: IntArray, swarm: ParticleState, least: float, rng: Any
) -> int:
    """Take in rows of one plan until fewer than `least` particles count; return how many."""
    A, A_ij, ij = swarm.A, swarm.A_ij, swarm.ij
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
            swarm.log_weights[p] += math.log(total) + log_scale
            cell = draw_cell(w, total, plan.cells, rng)
            for g in range(groups):
                for e in range(plan.starts[row[g]], plan.starts[row[g] + 1]):
                    at = plan.positions[plan.entries[e]] + cell
                    A[p, at] += 1.0
                    A_ij[p, ij[at]] += 1.0
        if effective(swarm.log_weights) < least:
            return n + 1
    return len(cases)


@kernel
def load_log_means(
    a: TreeArrays, kind: int, row: int, p: int, swarm: ParticleState, out: Any
) -> None:
    """Fill in the log mean parameters of a particle that an instance touches, and no others."""
    for q in range(a.kind_cliques[kind], a.kind_cliques[kind + 1]):
        for s in range(a.slots[q], a.slots[q + 1]):
            offset = a.offsets[row + a.slot_family[s]]
            for c in range(a.cells[q]):
                at = offset + a.maps[a.slot_map[s] + c]
                out[at] = math.log(swarm.A[p, at] / swarm.A_ij[p, swarm.ij[at]])


@kernel
def take_in_trees(
    a: TreeArrays,
    cases: IntArray,
    swarm: ParticleState,
    least: float,
    scratch: TreeScratch,
    rng: Any,
) -> int:
    """Do the same for cases that are instances of clique trees."""
    log_mean = np.empty(swarm.A.shape[1])
    cell_of = np.empty((a.kind_cliques[1:] - a.kind_cliques[:-1]).max(), dtype=np.int64)
    for n in range(cases.shape[0]):
        kind = int(np.searchsorted(a.kind_instances, cases[n], side="right")) - 1
        row = a.kind_offsets[kind] + (cases[n] - a.kind_instances[kind]) * a.kind_width[kind]
        first = a.kind_cliques[kind]
        for p in range(swarm.A.shape[0]):
            load_log_means(a, kind, row, p, swarm, log_mean)
            swarm.log_weights[p] += posterior_tables(a, kind, row, log_mean, scratch)
            draw_tree(a, kind, scratch.work, cell_of, rng)
            for q in range(first, a.kind_cliques[kind + 1]):
                for s in range(a.slots[q], a.slots[q + 1]):
                    offset = a.offsets[row + a.slot_family[s]]
                    at = offset + a.maps[a.slot_map[s] + cell_of[q - first]]
                    swarm.A[p, at] += 1.0
                    swarm.A_ij[p, swarm.ij[at]] += 1.0
        if effective(swarm.log_weights) < least:
            return n + 1
    return len(cases)
