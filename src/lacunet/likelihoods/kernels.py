"""Compiled loops over Dirichlet distributions and blocks of jointly normal numbers."""

import math
from typing import Any, NamedTuple

import numpy as np

from lacunet.likelihoods.gamma_functions import log_gamma_above
from lacunet.runtime.arrays import FloatArray, IndexArray, IntArray
from lacunet.runtime.jit import kernel


@kernel
def maximize_tables(
    N: FloatArray, pseudo: FloatArray, ij: IndexArray, totals: FloatArray, theta: FloatArray
) -> None:
    """M step: θ_ijk = (N_ijk + pseudo_ijk) / Σ_k; where a configuration has no cases, θ stays."""
    totals[:] = 0.0
    for q in range(theta.shape[0]):
        totals[ij[q]] += N[q] + pseudo[q]
    for q in range(theta.shape[0]):
        if totals[ij[q]] > 0.0:
            theta[q] = (N[q] + pseudo[q]) / totals[ij[q]]


@kernel
def draw_gamma(shape: float, rng: Any) -> float:
    """Draw a gamma variate of shape at least 1 (Marsaglia & Tsang 2000)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = rng.standard_normal()
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = 1.0 - rng.random()
        if u < 1.0 - 0.0331 * (x * x) * (x * x) or (
            math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v))
        ):
            return float(d * v)


@kernel
def draw_log_theta(
    eta: FloatArray, ij: IndexArray, rng: Any, totals: FloatArray, out: FloatArray
) -> None:
    """Draw log θ from Dirichlets with exponents η, a row for each chain.

    Exponents below 1 are drawn in logs because their gamma variates may underflow.
    """
    for chain in range(eta.shape[0]):
        x = out[chain]
        totals[:] = 0.0
        for p in range(eta.shape[1]):
            a = eta[chain, p]
            if a >= 1.0:
                g = draw_gamma(a, rng)
                totals[ij[p]] += g
                x[p] = math.log(g)
            else:
                x[p] = math.log(draw_gamma(a + 1.0, rng)) + math.log(1.0 - rng.random()) / a
                totals[ij[p]] += math.exp(x[p])
        lost = False
        for q in range(totals.shape[0]):
            lost = lost or not totals[q] > 0.0
            totals[q] = math.log(totals[q])
        if lost:
            log_totals(x, ij, totals)
        for p in range(eta.shape[1]):
            x[p] -= totals[ij[p]]


@kernel
def log_totals(x: FloatArray, ij: IndexArray, totals: FloatArray) -> None:
    """Log Σ exp(x) of each parent configuration, with the largest taken out first."""
    top = np.full(totals.shape[0], -np.inf)
    for p in range(x.shape[0]):
        top[ij[p]] = max(top[ij[p]], x[p])
    totals[:] = 0.0
    for p in range(x.shape[0]):
        totals[ij[p]] += math.exp(x[p] - top[ij[p]])
    for q in range(totals.shape[0]):
        totals[q] = math.log(totals[q]) + top[q]


@kernel
def log_beta_quotient(
    N: FloatArray, alpha: FloatArray, ij: IndexArray, sums: FloatArray, out: FloatArray
) -> None:
    """Log ratio of normalising integrals at exponents α + N and α; `sums` are those of α."""
    at_rest, totals = np.empty(alpha.shape[0]), np.empty(sums.shape[0])
    empty = 0.0
    for p in range(alpha.shape[0]):
        at_rest[p] = log_gamma_above(alpha[p], 0.0)
    for q in range(sums.shape[0]):
        empty += log_gamma_above(sums[q], 0.0)
    for chain in range(N.shape[0]):
        totals[:] = 0.0
        value = empty
        for p in range(alpha.shape[0]):
            n = N[chain, p]
            if n != 0.0:
                totals[ij[p]] += n
                value += log_gamma_above(alpha[p], n) - at_rest[p]
        for q in range(sums.shape[0]):
            value -= log_gamma_above(sums[q], totals[q])
        out[chain] = value


# Blocks of numbers with missing values: loops over missing-value patterns and classes


class Precision(NamedTuple):
    """Natural parameters of a block in each of K classes."""

    h: FloatArray  # (K, d) Λμ
    constant: FloatArray  # (K,) −½ μᵀΛμ + ½ log |Λ|
    precise: FloatArray  # (K, d, d) Λ


class ObservedSplit(NamedTuple):
    """P missing-value patterns with equal numbers of observed values."""

    shown: IntArray  # (P, o) indices of observed numbers
    missing: IntArray  # (P, d − o) indices of missing numbers


class Room(NamedTuple):
    """Work space for missing given observed numbers: normal, mean A x + b, covariance C."""

    A: FloatArray  # (m, o)
    b: FloatArray  # (m,)
    C: FloatArray  # (m, m)
    root: FloatArray  # (m, m) Cholesky factor of the precision of missing numbers
    back: FloatArray  # (m, m) its inverse


@kernel
def make_room(split: ObservedSplit, kind: Any) -> Room:
    """Allocate work space for one pattern and class, with the dtype of the array `kind`."""
    o, m = split.shown.shape[1], split.missing.shape[1]
    return Room(
        np.empty((m, o), dtype=kind.dtype),
        np.empty(m, dtype=kind.dtype),
        np.empty((m, m), dtype=kind.dtype),
        np.empty((m, m), dtype=kind.dtype),
        np.empty((m, m), dtype=kind.dtype),
    )


@kernel
def invert(precise: FloatArray, missing: IntArray, room: Room) -> Any:
    """Invert the precision of missing numbers; return log |C|."""
    root, back, m = room.root, room.back, len(missing)
    log_det = 0.0 * precise[0, 0]
    for i in range(m):
        for j in range(i + 1):
            left = precise[missing[i], missing[j]]
            for t in range(j):
                left -= root[i, t] * root[j, t]
            root[i, j] = np.sqrt(left) if i == j else left / root[j, j]
        log_det -= 2.0 * np.log(root[i, i])
    for j in range(m):
        back[j, j] = 1.0 / root[j, j]
        for i in range(j + 1, m):
            left = 0.0 * log_det
            for t in range(j, i):
                left -= root[i, t] * back[t, j]
            back[i, j] = left / root[i, i]
    for i in range(m):
        for j in range(i + 1):
            total = 0.0 * log_det
            for t in range(i, m):
                total += back[t, i] * back[t, j]
            room.C[i, j] = room.C[j, i] = total
    return log_det


@kernel
def condition(eta: Precision, k: int, shown: IntArray, missing: IntArray, room: Room) -> Any:
    """Condition missing on observed numbers in class k; return log |C|."""
    precise, h = eta.precise[k], eta.h[k]
    log_det = invert(precise, missing, room)
    for i in range(len(missing)):
        total = 0.0 * log_det
        for j in range(len(missing)):
            total += room.C[i, j] * h[missing[j]]
        room.b[i] = total
        for a in range(len(shown)):
            total = 0.0 * log_det
            for j in range(len(missing)):
                total -= room.C[i, j] * precise[missing[j], shown[a]]
            room.A[i, a] = total
    return log_det


@kernel
def write_marginal(eta: Precision, split: ObservedSplit, out: FloatArray) -> None:
    """Natural parameters of observed products by pattern, (P, K, products)."""
    o, m = split.shown.shape[1], split.missing.shape[1]
    room = make_room(split, eta.h)
    for p in range(split.shown.shape[0]):
        shown, missing = split.shown[p], split.missing[p]
        for k in range(eta.h.shape[0]):
            log_det = condition(eta, k, shown, missing, room)
            precise, h, row = eta.precise[k], eta.h[k], out[p, k]
            filled = log_det
            for i in range(m):
                filled += h[missing[i]] * room.b[i]
            row[o] = eta.constant[k] + 0.5 * filled
            at = 2 * o + 1
            for a in range(o):
                left = h[shown[a]]
                for i in range(m):
                    left -= precise[shown[a], missing[i]] * room.b[i]
                row[a] = left
                for b in range(a, o):
                    entry = precise[shown[a], shown[b]]
                    for i in range(m):
                        entry += precise[shown[a], missing[i]] * room.A[i, b]
                    if a == b:
                        row[o + 1 + a] = -0.5 * entry
                    else:
                        row[at] = -entry
                        at += 1


@kernel
def complete_moments(
    room: Room, split: tuple[IntArray, IntArray], n: Any, first: FloatArray, second: FloatArray
) -> None:
    """Fill in expected sums (d,) and products (d, d) of missing numbers."""
    shown, missing = split
    for i in range(len(missing)):
        total = n * room.b[i]
        for a in range(len(shown)):
            total += room.A[i, a] * first[shown[a]]
        first[missing[i]] = total
    for i in range(len(missing)):
        for a in range(len(shown)):
            total = room.b[i] * first[shown[a]]
            for b in range(len(shown)):
                total += room.A[i, b] * second[shown[b], shown[a]]
            second[missing[i], shown[a]] = second[shown[a], missing[i]] = total
    for i in range(len(missing)):
        for j in range(i + 1):
            total = n * room.C[i, j] + first[missing[i]] * room.b[j]
            for a in range(len(shown)):
                total += second[missing[i], shown[a]] * room.A[j, a]
            second[missing[i], missing[j]] = second[missing[j], missing[i]] = total


@kernel
def write_completed(eta: Precision, split: ObservedSplit, S: FloatArray, out: FloatArray) -> None:
    """Expected statistics given observed products: (P, K, products) → (P, K, width)."""
    o, d = split.shown.shape[1], eta.h.shape[1]
    room = make_room(split, eta.h)
    first, second = np.empty(d, dtype=eta.h.dtype), np.empty((d, d), dtype=eta.h.dtype)
    for p in range(split.shown.shape[0]):
        shown, missing = split.shown[p], split.missing[p]
        for k in range(eta.h.shape[0]):
            condition(eta, k, shown, missing, room)
            given, row = S[p, k], out[p, k]
            n, at = given[o], 2 * o + 1
            for a in range(o):
                first[shown[a]] = given[a]
                second[shown[a], shown[a]] = given[o + 1 + a]
                for b in range(a + 1, o):
                    second[shown[a], shown[b]] = second[shown[b], shown[a]] = given[at]
                    at += 1
            complete_moments(room, (shown, missing), n, first, second)
            row[d] = row[-1] = n
            at = 2 * d + 1
            for a in range(d):
                row[a], row[d + 1 + a] = first[a], second[a, a]
                for b in range(a + 1, d):
                    row[at] = second[a, b]
                    at += 1


# Complete blocks of numbers: η(θ) and the M step


@kernel
def write_natural(theta: FloatArray, out: FloatArray, d: int) -> None:
    """η of each configuration, (q, width) → (q, width)."""
    every = np.arange(d)
    covariance = np.empty((d, d))
    room = make_room(ObservedSplit(every[None, :0], every[None, :]), covariance)
    precise = room.C
    for j in range(theta.shape[0]):
        mean, row = theta[j, :d], out[j]
        at = 2 * d + 1
        for a in range(d):
            covariance[a, a] = theta[j, d + 1 + a]
            for b in range(a + 1, d):
                covariance[a, b] = covariance[b, a] = theta[j, at]
                at += 1
        log_det = invert(covariance, every, room)
        square, at = 0.0, 2 * d + 1
        for a in range(d):
            h = 0.0
            for b in range(d):
                h += precise[a, b] * mean[b]
            row[a] = h
            square += h * mean[a]
            row[d + 1 + a] = -0.5 * precise[a, a]
            for b in range(a + 1, d):
                row[at] = -precise[a, b]
                at += 1
        row[d] = -0.5 * square
        row[-1] = 0.5 * log_det


@kernel
def write_best(N: FloatArray, theta: FloatArray, d: int) -> None:
    """Overwrite θ by the maximum-likelihood θ of statistics N, (q, width), given cases."""
    for j in range(N.shape[0]):
        n, of_variance, row = N[j, d], N[j, -1], theta[j]
        if not n > 0.0:
            continue
        at = 2 * d + 1
        for a in range(d):
            mean = N[j, a] / n
            row[a] = mean
            row[d + 1 + a] = (N[j, d + 1 + a] - N[j, a] * mean) / of_variance
            for b in range(a + 1, d):
                row[at] = (N[j, at] - N[j, b] * mean) / of_variance
                at += 1
        row[d] = row[-1] = 1.0
