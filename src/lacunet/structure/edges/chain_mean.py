"""Means of Markov chains with error bars, and whether the chains agree.

Split chains, the variance between and within them, and the effective sample size from their common
autocorrelations, as in Gelman et al., Bayesian Data Analysis (2013), §11.4–5.
"""

import math
from dataclasses import dataclass

import numpy as np

from lacunet.runtime.arrays import FloatArray


@dataclass(frozen=True)
class ChainMean:
    """The mean over all chains."""

    value: float
    stderr: float
    r_hat: float  # √(variance over all chains / variance within one): 1 when they agree


def chain_mean(draws: FloatArray) -> ChainMean:
    """Give the mean of draws (chains, 4 or more draws each), and how far to trust it.

    Each chain is cut into halves: a chain that still drifts disagrees with itself.
    """
    n = draws.shape[1] // 2
    halves = np.concatenate([draws[:, :n], draws[:, -n:]])
    means = halves.mean(axis=1)
    within = float(halves.var(axis=1, ddof=1).mean())
    between = float(means.var(ddof=1))
    total = within * (n - 1) / n + between
    if total == 0.0:  # nothing moves: there is nothing to estimate
        return ChainMean(float(means[0]), 0.0, 1.0)
    correlations = 1.0 - (within - _autocovariances(halves - means[:, None])) / total
    stderr = math.sqrt(total * _time(correlations) / halves.size)
    return ChainMean(
        float(means.mean()), stderr, math.sqrt(total / within) if within > 0 else math.inf
    )


def _autocovariances(x: FloatArray) -> FloatArray:
    """Mean autocovariance of centred chains at every lag, (n,)."""
    n = x.shape[1]
    power = np.abs(np.fft.rfft(x, 2 * n, axis=1)) ** 2  # twice as long: the ends must not meet
    mean: FloatArray = np.fft.irfft(power.mean(axis=0))[:n] / (n - 1)
    return mean


def _time(correlations: FloatArray) -> float:
    """Draws that are worth one independent draw: 1 + 2 Σ ρ_t, as long as they mean anything.

    Sums of neighbouring pairs must be positive and fall (Geyer 1992); what comes after is noise.
    """
    pairs = correlations[1:]
    pairs = pairs[: len(pairs) // 2 * 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0.0)
    kept = pairs[: negative[0]] if len(negative) else pairs
    return max(1.0, 1.0 + 2.0 * float(np.minimum.accumulate(kept).sum()))
