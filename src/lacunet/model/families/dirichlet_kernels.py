"""Loops over Dirichlets: their mode, draws, and normalising integral. Tests compare with SciPy."""

import math
from typing import Any

import numpy as np

from lacunet.model.families.rising_kernels import log_gamma_above
from lacunet.runtime.arrays import FloatArray, IndexArray
from lacunet.runtime.jit import kernel


@kernel
def maximize(
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
    """Draw a gamma variate with a shape of at least 1 (Marsaglia & Tsang 2000)."""
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

    Exponents below 1 are drawn in logs, for their gamma variates may be smaller than any float.
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
def log_beta(eta: FloatArray, ij: IndexArray, totals: FloatArray, out: FloatArray) -> None:
    """Log of the normalising integral of Dirichlets with exponents η, a row for each chain."""
    for chain in range(eta.shape[0]):
        totals[:] = 0.0
        value = 0.0
        for p in range(eta.shape[1]):
            totals[ij[p]] += eta[chain, p]
            value += math.lgamma(eta[chain, p])
        for q in range(totals.shape[0]):
            value -= math.lgamma(totals[q])
        out[chain] = value


@kernel
def log_quotient(
    N: FloatArray, alpha: FloatArray, ij: IndexArray, sums: FloatArray, out: FloatArray
) -> None:
    """Log of what that integral grows by from exponents α, of these sums, to α + N."""
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
