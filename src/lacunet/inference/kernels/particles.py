"""Kernels that take in one case after the other, for many particles (Kong, Liu & Wong 1994).

A particle knows the hidden values of the cases so far by their counts, so its parameters are
Dirichlet. A case touches every family at most once, so its probability given the particle, with the
parameters integrated out, is its probability at their means. A particle is weighed by that, then
draws the hidden values of the case and counts them: exponents A_ijk and their sums A_ij.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from lacunet.inference.kernels.numbers import count_tree, draw_cell, draw_tree
from lacunet.inference.kernels.rows import PatternArrays
from lacunet.inference.kernels.trees import (
    TreeArrays,
    TreeScratch,
    posterior_tables,
    spread_cliques,
)
from lacunet.runtime.arrays import BoolArray, FloatArray, IndexArray, IntArray
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


# One pass over the cases, each of which moves the Dirichlets.

NEGLIGIBLE = 1e-12  # part of a case from which a hidden state learns nothing that would show


class RowArrays(NamedTuple):
    """Components of one hidden variable, with the blocks of each written out. R rows."""

    starts: IntArray  # (R + 1,) where the blocks of each row start
    blocks: IntArray  # first position of each block in a flat vector
    cells: int  # K


class PosteriorState(NamedTuple):
    """Dirichlets, and what is known of them; all but the first three are as long as needed."""

    eta: FloatArray  # (size,) exponents
    total: FloatArray  # (configurations,) their sums
    log_mean: FloatArray  # (size,) log of the mean of θ
    ij: IndexArray  # (size,) parent configuration of each position
    starts: IntArray  # (configurations + 1,) where the positions of each are listed
    listed: IntArray  # (size,) all positions, by configuration
    N: FloatArray  # (size,) expected counts of the case at hand; zero between cases
    touched: IntArray  # (configurations,) those that it touches
    is_touched: BoolArray  # (configurations,)


@kernel
def touch(b: PosteriorState, position: int, found: int) -> int:
    """Note the configuration of a position; return how many are noted."""
    q = b.ij[position]
    if not b.is_touched[q]:
        b.is_touched[q] = True
        b.touched[found] = q
        found += 1
    return found


@kernel
def see_row(
    rows: RowArrays, row: int, b: PosteriorState, drawn: bool, rng: Any, w: FloatArray
) -> tuple[float, int]:
    """Count a case of one hidden variable; return its log probability and what is touched."""
    cells, x = rows.cells, w
    x[:] = 0.0
    for n in range(rows.starts[row], rows.starts[row + 1]):
        for c in range(cells):
            x[c] += b.log_mean[rows.blocks[n] + c]
    top = x.max()
    total = 0.0
    for c in range(cells):
        x[c] = math.exp(x[c] - top)
        total += x[c]
    first, last = 0, cells
    if drawn:
        first = draw_cell(x, total, cells, rng)
        last = first + 1
        x[first] = total
    found = 0
    for c in range(first, last):
        share = x[c] / total
        if share > NEGLIGIBLE:
            for n in range(rows.starts[row], rows.starts[row + 1]):
                b.N[rows.blocks[n] + c] += share
                found = touch(b, rows.blocks[n] + c, found)
    return math.log(total) + top, found


@kernel
def see_tree(
    a: TreeArrays, instance: int, b: PosteriorState, drawn: bool, scratch: TreeScratch, rng: Any
) -> tuple[float, int]:
    """Do the same for an instance of a clique tree."""
    kind = int(np.searchsorted(a.kind_instances, instance, side="right")) - 1
    row = a.kind_offsets[kind] + (instance - a.kind_instances[kind]) * a.kind_width[kind]
    log_p = posterior_tables(a, kind, row, b.log_mean, scratch)
    if drawn:
        cell_of = np.empty(a.kind_cliques[kind + 1] - a.kind_cliques[kind], dtype=np.int64)
        draw_tree(a, kind, scratch.work, cell_of, rng)
        count_tree(a, kind, row, cell_of, 1.0, b.N)
    else:
        spread_cliques(a, kind, row, 1.0, scratch.work, b.N)
    found = 0
    for q in range(a.kind_cliques[kind], a.kind_cliques[kind + 1]):
        for s in range(a.slots[q], a.slots[q + 1]):
            offset = a.offsets[row + a.slot_family[s]]
            for c in range(a.cells[q]):
                found = touch(b, offset + a.maps[a.slot_map[s] + c], found)
    return log_p, found


@kernel
def match_moments(b: PosteriorState, q: int, used: float) -> None:
    """Give a Dirichlet the means, and the mean variance, of the mixture that a case makes of it.

    With probability N_k the case adds one to exponent k, with 1 − `used` it adds nothing. Variances
    are averaged with the means as weights.
    """
    if b.starts[q + 1] - b.starts[q] == 1:  # one state: nothing to learn, 0/0 to be had
        return
    s = b.total[q]
    numerator, denominator = 0.0, 0.0
    for n in range(b.starts[q], b.starts[q + 1]):
        k = b.listed[n]
        eta, r = b.eta[k], b.N[k]
        mean = (1.0 - used) * eta / s + (used * eta + r) / (s + 1.0)
        square = (1.0 - used) * eta * (eta + 1.0) / (s * (s + 1.0))
        square += (eta + 1.0) * (used * eta + 2.0 * r) / ((s + 1.0) * (s + 2.0))
        b.log_mean[k] = mean
        numerator += mean * mean * (1.0 - mean)
        denominator += mean * (square - mean * mean)
    precision = numerator / denominator - 1.0 if denominator > 0.0 else s
    for n in range(b.starts[q], b.starts[q + 1]):
        k = b.listed[n]
        b.eta[k] = b.log_mean[k] * precision


@kernel
def learn_case(b: PosteriorState, found: int, moments: bool) -> None:
    """Move the Dirichlets that a case touches, and forget the case."""
    for t in range(found):
        q = b.touched[t]
        used = 0.0
        for n in range(b.starts[q], b.starts[q + 1]):
            used += b.N[b.listed[n]]
        if moments:
            match_moments(b, q, used)
        else:
            for n in range(b.starts[q], b.starts[q + 1]):
                b.eta[b.listed[n]] += b.N[b.listed[n]]
        total = 0.0
        for n in range(b.starts[q], b.starts[q + 1]):
            total += b.eta[b.listed[n]]
            b.N[b.listed[n]] = 0.0
        b.total[q] = total
        for n in range(b.starts[q], b.starts[q + 1]):
            b.log_mean[b.listed[n]] = math.log(b.eta[b.listed[n]] / total)
        b.is_touched[q] = False


@kernel
def pass_over_rows(
    rows: RowArrays, cases: IntArray, drawn: int, b: PosteriorState, rng: Any
) -> float:
    """Predict each row from those before it, then learn from it; return Σ log predictions.

    The hidden values of the first `drawn` cases are drawn; from the others exponents learn by
    moments.
    """
    w = np.empty(rows.cells)
    total = 0.0
    for n in range(cases.shape[0]):
        log_p, found = see_row(rows, cases[n], b, n < drawn, rng, w)
        total += log_p
        learn_case(b, found, n >= drawn)
    return total


@kernel
def pass_over_trees(
    a: TreeArrays, cases: IntArray, drawn: int, b: PosteriorState, scratch: TreeScratch, rng: Any
) -> float:
    """Do the same for instances of clique trees."""
    total = 0.0
    for n in range(cases.shape[0]):
        log_p, found = see_tree(a, cases[n], b, n < drawn, scratch, rng)
        total += log_p
        learn_case(b, found, n >= drawn)
    return total
