"""Gradients of log p(D|θ) + log p(θ), written out for categories: what tests hold families to."""

import numpy as np


def em_residual(theta, a, layout):
    """How far counts (with what the prior adds) are from those that θ would give back."""
    return a - theta * layout.spread(layout.sum_k(a))


def softmax_gradient(theta, N, alpha, layout):
    """In the φ basis: Ñ_ijk − θ_ijk Ñ_ij with Ñ = E N + α − 1, in units of cases."""
    return em_residual(theta, N + (alpha - 1.0), layout)


def theta_gradient(theta, N, alpha, coordinates):
    """In the free θ coordinates, (d,); infinite or NaN at the boundary."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gradient = (N + (alpha - 1.0)) / theta
    return gradient[coordinates.free] - gradient[coordinates.reference]
