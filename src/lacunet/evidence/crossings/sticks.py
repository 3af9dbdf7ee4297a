"""Tables as sticks: of what is left, each state breaks off a share.

A row of a table with K states is K − 1 shares v in (0, 1), θ_k = v_k Π_{l<k} (1 − v_l). If the row
is Dirichlet, its shares are independent, and each is Beta: coordinates without constraints between
them.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from lacunet.models.layout import Layout
from lacunet.runtime.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Sticks:
    """Where the d shares of all tables are."""

    own: IntArray  # (d,) the position whose state breaks it off
    later: FloatArray  # (d, size) 1 at the states of the same row that come after it

    @classmethod
    def of(cls, layout: Layout) -> Self:
        """Find the shares of a layout that has nothing but tables."""
        last = np.zeros(layout.configurations, dtype=np.int64)
        np.maximum.at(last, layout.ij, layout.k)
        own = np.flatnonzero(layout.k < last[layout.ij])
        same_row = layout.ij[own][:, None] == layout.ij
        return cls(own, (same_row & (layout.k > layout.k[own][:, None])).astype(np.float64))

    def betas(self, exponents: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Both exponents of every share where rows are Dirichlet, (..., size) → 2 × (..., d)."""
        return exponents[..., self.own], exponents @ self.later.T

    def broken(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Every share, and what it leaves: (..., size) → 2 × (..., d)."""
        off, left = self.betas(theta)
        whole = off + left
        return off / whole, left / whole

    def log_theta(self, log_share: FloatArray, log_left: FloatArray) -> FloatArray:
        """The same the other way, in logs: 2 × (..., d) → (..., size)."""
        found = log_left @ self.later
        found[..., self.own] += log_share
        return np.asarray(found)
