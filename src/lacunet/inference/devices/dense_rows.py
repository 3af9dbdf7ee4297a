"""Rows as a dense matrix on a device: what numbers say of them, by products of matrices.

The log weights of a row's hidden cells are linear in what it shows: marks of blocks and powers of
numbers. So an E step is a product with that matrix and one with its transpose. It is written for
any library whose arrays are like NumPy's: CuPy's on a device, and NumPy's own in the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from lacunet.inference.devices.device import RowsThere
from lacunet.runtime.arrays import FloatArray

LEAST = -1e290  # for −∞: 0 · −∞ would be no number, and 0 times this is 0
IMPOSSIBLE = -1e280  # sums that are lower have such an addend
AT_ONCE = 1 << 27  # posteriors that are there at once, 1 GiB: more vectors wait
ROWS_AT_ONCE = 1 << 16  # that are written down here on their way


@dataclass(frozen=True, eq=False)
class DenseFeatures:
    """What rows show. m rows, F features."""

    of: Callable[[slice], FloatArray]  # some rows: (n, F)
    features: int  # F
    counts: FloatArray  # (m,) how often each row stands in the data
    cells: int  # K

    @property
    def bytes(self) -> int:
        """What they take on a device, with the posteriors of one vector."""
        return 8 * len(self.counts) * (self.features + 3 * self.cells + 1)


class DenseRows(RowsThere):
    """Rows in the memory of a device; xp is the library of its arrays."""

    def __init__(self, xp: Any, rows: DenseFeatures) -> None:
        self.xp, self.cells, m = xp, rows.cells, len(rows.counts)
        self.matrix = xp.empty((m, rows.features))
        for first in range(0, m, ROWS_AT_ONCE):
            some = slice(first, min(first + ROWS_AT_ONCE, m))
            self.matrix[some] = xp.asarray(rows.of(some))
        self.counts = xp.asarray(rows.counts)
        self.lock = Lock()  # starts may be fitted side by side; the device has one after the other

    def expect(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Run the E steps of some vectors at a time."""
        step = max(1, AT_ONCE // (len(self.counts) * self.cells))
        with self.lock:
            parts = [self._expect(x[n : n + step]) for n in range(0, len(x), step)]
        counts, log_lik = zip(*parts, strict=True)
        return np.concatenate(counts), np.concatenate(log_lik)

    def move(self, x: FloatArray, along: FloatArray) -> FloatArray:
        """Run the same along a direction."""
        with self.lock:
            posterior, _ = self._posteriors(x[None])
            change = self._weights(along[None])
            mean = (posterior * change).sum(axis=2, keepdims=True)
            moved = self.counts[:, None, None] * posterior * (change - mean)
            return np.asarray(self._gathered(moved)[0])

    def _expect(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        xp = self.xp
        posterior, log_z = self._posteriors(x)
        there = self.counts[:, None]
        log_lik = xp.where(there > 0, there * log_z, 0.0).sum(axis=0)
        return self._gathered(posterior * there[:, :, None]), self._here(log_lik)

    def _weights(self, x: FloatArray) -> Any:
        """What rows weigh in every cell, (m, batch, K)."""
        flat = np.maximum(x, LEAST).transpose(1, 0, 2).reshape(x.shape[1], -1)
        weights = self.matrix @ self.xp.asarray(np.ascontiguousarray(flat))
        return weights.reshape(len(self.counts), len(x), self.cells)

    def _posteriors(self, x: FloatArray) -> tuple[Any, Any]:
        """Those of the cells, (m, batch, K), and log-likelihoods of rows, (m, batch)."""
        xp, weights = self.xp, self._weights(x)
        top = weights.max(axis=2, keepdims=True)
        posterior = xp.exp(weights - top)
        total = posterior.sum(axis=2, keepdims=True)
        log_z = (top + xp.log(total))[:, :, 0]
        return posterior / total, xp.where(log_z < IMPOSSIBLE, -np.inf, log_z)

    def _gathered(self, cells: Any) -> FloatArray:
        """Add up what rows have at their cells, by feature: (m, batch, K) → (batch, F, K)."""
        sums = self._here(self.matrix.T @ cells.reshape(len(cells), -1))
        return np.asarray(sums.reshape(len(sums), -1, self.cells).transpose(1, 0, 2))

    def _here(self, x: Any) -> FloatArray:
        return np.asarray(x if isinstance(x, np.ndarray) else self.xp.asnumpy(x))
