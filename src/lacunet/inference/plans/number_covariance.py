"""The covariance of the statistics of rows with many different numbers, by products of matrices.

A row has the same *features* in every class: blocks of its patterns, and powers of its numbers. Log
weights are linear in them, so the covariance of all statistics is one matrix over classes and
features: the second moment, class by class, less the outer product of means, one product over rows.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsyrk

from lacunet.runtime.arrays import FloatArray

CHUNK_NUMBERS = 1 << 22  # rows are taken in chunks of about 32 MiB
MOST_FEATURES = 4096  # times classes: more of them are better asked one direction at a time


@dataclass(frozen=True, eq=False)
class FeatureCovariance:
    """Covariance of expected statistics. K classes, F features."""

    matrix: FloatArray  # (K·F, K·F)
    read: Callable[[FloatArray], FloatArray]  # what features weigh in a flat vector, → (K·F,)

    def along(self, directions: Iterable[FloatArray]) -> FloatArray:
        """Covariance of how log weights move along some directions, (d, d)."""
        R = np.stack([self.read(direction) for direction in directions])
        return np.asarray(R @ self.matrix @ R.T)


def covariance_of_features(
    features: Callable[[slice], FloatArray], posterior: FloatArray, counts: FloatArray
) -> FloatArray:
    """Add up over rows: (n, F) features of some rows, (m, K) posteriors → (K·F, K·F)."""
    m, K = posterior.shape
    F = features(slice(0, 0)).shape[1]
    of_means: FloatArray = np.zeros((K * F, K * F), order="F")
    second = np.zeros((K, F, F))
    step = max(1, CHUNK_NUMBERS // (K * F))
    for first in range(0, m, step):
        rows = slice(first, min(first + step, m))
        t, p, root = features(rows), posterior[rows], np.sqrt(counts[rows])
        means = (p * root[:, None])[:, :, None] * t[:, None, :]
        of_means = dsyrk(
            1.0, means.reshape(len(t), -1).T, beta=1.0, c=of_means, lower=1, overwrite_c=1
        )
        for c in range(K):
            second[c] += (t * (p[:, c] * counts[rows])[:, None]).T @ t
    found = -(of_means + np.tril(of_means, -1).T)
    for c in range(K):
        found[c * F : (c + 1) * F, c * F : (c + 1) * F] += second[c]
    return found
