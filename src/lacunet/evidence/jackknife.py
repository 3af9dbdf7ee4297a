"""Errors of what is made from independent parts, from the same without one of them each."""

import math

import numpy as np

from lacunet.evidence.estimate import SURELY
from lacunet.runtime.arrays import FloatArray


def leave_one_out(parts: FloatArray) -> FloatArray:
    """Add up all parts but one, for each: (R, ...) → (R, ...)."""
    return np.asarray(parts.sum(axis=0) - parts)


def jackknife_covariance(replicates: FloatArray) -> FloatArray:
    """Covariance of values whose leave-one-out versions are given, (R, K) → (K, K)."""
    apart = replicates - replicates.mean(axis=0)
    return np.asarray((len(apart) - 1) / len(apart) * apart.T @ apart)


def jackknife_error(replicates: FloatArray) -> FloatArray:
    """Standard errors of the same, (R, ...) → (...)."""
    return np.asarray(np.std(replicates, axis=0) * np.sqrt(len(replicates) - 1))


def at_most(replicates: FloatArray) -> float:
    """Upper limit of the standard error of one value, (R,): infinite where one is not known.

    Few parts that happen to agree must not look sure.
    """
    n = len(replicates)
    if n < 2 or not np.isfinite(replicates).all():
        return math.inf
    return float(jackknife_error(replicates)) * (1.0 + SURELY / math.sqrt(2 * (n - 1)))
