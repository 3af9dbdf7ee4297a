"""Free coordinates of θ, and the gradient of g(θ) = log p(D|θ) + log p(θ) in two bases.

θ basis: θ_ijk without one reference state per parent configuration. The most probable state is
eliminated: log |A| does not depend on the choice, its rounding errors do.
φ basis: softmax coordinates φ = log θ up to a constant; its gradient stays finite at the boundary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lacunet.arrays import FloatArray, IntArray
from lacunet.model.layout import Layout


@dataclass(frozen=True, eq=False)
class FreeCoordinates:
    """Which positions of a flat vector are free, and what each is measured against."""

    free: IntArray  # (d,) positions that vary, ordered by parent configuration
    reference: IntArray  # (d,) for each, the position that makes up for it: θ_ref = 1 − Σ others

    def eliminate(self, gradient: FloatArray) -> FloatArray:
        """Chain rule θ_ref = 1 − Σ others, over the last axis: (..., size) → (..., d)."""
        return gradient[..., self.free] - gradient[..., self.reference]


def free_coordinates(layout: Layout, theta: FloatArray) -> FreeCoordinates:
    """Eliminate the most probable state of each parent configuration."""
    order = np.lexsort((layout.k, -theta, layout.ij))  # by configuration, most probable first
    ij = layout.ij[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = ij[1:] != ij[:-1]
    references = order[first]  # one per configuration
    free = order[~first]
    return FreeCoordinates(free, references[layout.ij[free]])


def softmax_gradient(
    theta: FloatArray, N: FloatArray, alpha: FloatArray, layout: Layout
) -> FloatArray:
    """Gradient of g in the φ basis: Ñ_ijk − θ_ijk Ñ_ij with Ñ = E N + α − 1, in units of cases.

    It is zero exactly where EM stands still, and never infinite; its largest absolute value is the
    "scaled gradient" of convergence tests.
    """
    return em_residual(theta, N + (alpha - 1.0), layout)


def em_residual(theta: FloatArray, a: FloatArray, layout: Layout) -> FloatArray:
    """How far counts (with what the prior adds) are from those that θ would give back."""
    return a - theta * layout.spread(layout.sum_k(a))


def theta_gradient(
    theta: FloatArray, N: FloatArray, alpha: FloatArray, coordinates: FreeCoordinates
) -> FloatArray:
    """Gradient of g in the free θ coordinates, (d,); infinite or NaN at the boundary."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return coordinates.eliminate((N + (alpha - 1.0)) / theta)
