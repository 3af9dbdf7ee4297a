"""Plain NumPy twins of the kernels: obvious, slow, and what tests hold the kernels to."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from lacunet.runtime.arrays import FloatArray, IndexArray, IntArray


def gather_blocks(x: FloatArray, positions: IntArray, cells: int, padding: float) -> FloatArray:
    """Twin of `kernels.gather_blocks`, padded by one column."""
    blocks = x[positions[:, None] + np.arange(cells)]
    return np.column_stack([blocks, np.full(len(blocks), padding)])


def scatter_blocks(blocks: FloatArray, positions: IntArray, cells: int, size: int) -> FloatArray:
    """Twin of `kernels.scatter_blocks`, from zero."""
    out = np.zeros(size)
    np.add.at(out, positions[:, None] + np.arange(cells), blocks[:, :cells])
    return out


def sum_blocks(starts: IndexArray, entries: IndexArray, x: FloatArray) -> FloatArray:
    """Twin of `kernels.sum_blocks`."""
    bounds = itertools.pairwise(starts)
    return np.array([x[entries[a:b]].sum(axis=0) for a, b in bounds]).reshape(-1, x.shape[1])


def spread_patterns(
    starts: IndexArray, entries: IndexArray, patterns: FloatArray, blocks: int
) -> FloatArray:
    """Twin of `kernels.spread_patterns`, from zero."""
    out = np.zeros((blocks, patterns.shape[1]))
    owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    np.add.at(out, entries, patterns[owner])
    return out


def sum_patterns(table: FloatArray, index: IndexArray) -> FloatArray:
    """Twin of `kernels.sum_patterns`."""
    return np.asarray(table[index].sum(axis=1))


def spread_rows(rows: FloatArray, index: IndexArray, patterns: int) -> FloatArray:
    """Twin of `kernels.spread_rows`, from zero."""
    out = np.zeros((patterns, rows.shape[1]))
    np.add.at(out, index, rows[:, None, :])
    return out


def posterior_rows(table: FloatArray, index: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Twin of `kernels.posterior_rows`: posterior and log-likelihood of each row."""
    x = sum_patterns(table, index)
    log_z = np.asarray(logsumexp(x, axis=1))
    possible = np.isfinite(log_z)[:, None]
    shift = np.where(possible, log_z[:, None], 0.0)
    return np.where(possible, np.exp(x - shift), 0.0), log_z


def expect_rows(
    table: FloatArray, index: IndexArray, counts: FloatArray
) -> tuple[FloatArray, float]:
    """Twin of `kernels.expect_rows`: expected counts of the patterns, and log-likelihood."""
    r, log_z = posterior_rows(table, index)
    log_lik = np.sum(counts[counts > 0] * log_z[counts > 0])
    return spread_rows(counts[:, None] * r, index, len(table)), float(log_lik)


def tangent_rows(
    table: FloatArray, direction: FloatArray, index: IndexArray, counts: FloatArray
) -> FloatArray:
    """Twin of `kernels.tangent_rows`, from zero."""
    posterior, _ = posterior_rows(table, index)
    t = sum_patterns(direction, index)
    mean = np.sum(posterior * t, axis=1, keepdims=True)
    return spread_rows(counts[:, None] * posterior * (t - mean), index, len(direction))


def mark_blocks(
    starts: IndexArray, entries: IndexArray, index: IndexArray, blocks: int
) -> FloatArray:
    """Twin of `kernels.mark_blocks`: 0/1, which block a row touches."""
    out = np.zeros((len(index), blocks))
    for i, patterns in enumerate(index):
        for p in patterns:
            out[i, entries[starts[p] : starts[p + 1]]] = 1.0
    return out


def pair_rows(
    starts: IndexArray,
    entries: IndexArray,
    index: IndexArray,
    posterior: FloatArray,
    counts: FloatArray,
    blocks: int,
) -> FloatArray:
    """Twin of `pairs.pair_rows`, of all pairs of blocks."""
    touched = mark_blocks(starts, entries, index, blocks)
    return np.einsum("i,ia,ib,ic,id->abcd", counts, touched, touched, posterior, posterior)


def maximize(N: FloatArray, pseudo: FloatArray, ij: IndexArray, theta: FloatArray) -> FloatArray:
    """Twin of `kernels.maximize`."""
    total = np.bincount(ij, weights=N + pseudo)[ij]
    return np.where(total > 0, (N + pseudo) / np.where(total > 0, total, 1.0), theta)


def two_loop(moves: FloatArray, changes: FloatArray, curvature: FloatArray) -> FloatArray:
    """Twin of `kernels.two_loop`: the whole inverse curvature by BFGS updates, oldest first."""
    inverse = np.diag(1.0 / curvature)
    for move, change in zip(moves, changes, strict=True):
        keep = np.eye(len(move)) - np.outer(move, change) / (move @ change)
        inverse = keep @ inverse @ keep.T + np.outer(move, move) / (move @ change)
    return inverse


def log_bd_of_family(
    codes: IntArray, counts: FloatArray, cards: list[int], family: list[int], alpha: FloatArray
) -> float:
    """Twin of `graphs.counting.log_bd`: whole tables of (parents, child), CH96 eq. 5."""
    N = np.zeros([cards[v] for v in family])
    np.add.at(N, tuple(codes[:, family].T), counts)
    N_ij, a_ij = N.sum(axis=-1), alpha.sum(axis=-1)
    cells = gammaln(alpha + N) - gammaln(alpha)
    return float(cells.sum() - (gammaln(a_ij + N_ij) - gammaln(a_ij)).sum())


class Normal(NamedTuple):
    """A class's Λ, Λμ and constant, and which numbers a row shows."""

    precise: FloatArray
    h: FloatArray
    constant: complex
    shown: list[int]

    @property
    def missing(self):
        return [j for j in range(len(self.h)) if j not in self.shown]

    @property
    def given(self):
        """A, b and C of what is missing given what is shown."""
        C = np.linalg.inv(self.precise[np.ix_(self.missing, self.missing)])
        across = self.precise[np.ix_(self.missing, self.shown)]
        return -C @ across, C @ self.h[self.missing], C


def weight_of_shown(normal: Normal, x: FloatArray) -> complex:
    """Twin of `write_marginal`: log ∫ exp(h·x − ½ x·Λ·x + constant) over what is missing."""
    whole, (A, b, C) = np.zeros(len(normal.h), dtype=normal.h.dtype), normal.given
    whole[normal.shown], whole[normal.missing] = x, A @ x + b
    log_det = np.log(np.linalg.det(C))
    top = normal.h @ whole - 0.5 * whole @ normal.precise @ whole
    return top + normal.constant + 0.5 * log_det  # but for powers of 2π


def completed_square(normal: Normal, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Twin of `write_completed` for one row: E[x] and E[x xᵀ] given what it shows."""
    first, (A, b, C) = np.zeros(len(normal.h), dtype=normal.h.dtype), normal.given
    first[normal.shown], first[normal.missing] = x, A @ x + b
    second = np.outer(first, first)
    second[np.ix_(normal.missing, normal.missing)] += C
    return first, second


def best_normal(first: FloatArray, n: float, second: FloatArray, m: float) -> FloatArray:
    """Twin of `write_best` for one configuration: mean and covariance of statistics."""
    mean = first / n
    return mean, (second - np.outer(first, mean)) / m


def log_gamma_above(a: FloatArray, n: FloatArray) -> FloatArray:
    """Twin of `log_gamma_above`, where a is not large."""
    return gammaln(a + n)
