"""√θ, the coordinates of maxima on the boundary."""

import numpy as np

from lacunet.runtime.arrays import FloatArray


def slope_of_root(theta: FloatArray, gradient: FloatArray) -> FloatArray:
    """Turn the gradient in φ = log θ into that of √θ, dφ/d√θ = 2/√θ; at 0 nothing moves."""
    slope = np.zeros_like(gradient)
    np.divide(2.0 * gradient, np.sqrt(theta), out=slope, where=theta > 0)
    return slope
