"""Weighted sums of independent χ² variables with one degree of freedom, Q = Σ λ_j χ²_j."""

import numpy as np
from scipy.optimize import minimize_scalar

from lacunet.runtime.arrays import FloatArray

STEP = 0.01  # of the trapezoidal rule: its error falls exponentially
FAR = 60.0  # cosh of it is beyond anything
NOTHING = 1e-12  # weights below this part of the largest change nothing


def exceeds(weights: FloatArray, x: float) -> float:
    """P(Q > x) for x ≥ 0, by inverting the moment generating function M(t) = Π (1 − 2 λ_j t)^(−½).

    P = 1/(2πi) ∫ M(t) exp(−t x)/t dt along a hyperbola that crosses the real axis at its saddle
    point and bends to the right, where the integrand vanishes: no oscillation is left, and small
    probabilities keep their digits.

    >>> round(exceeds(np.ones(3), 7.815), 4), round(exceeds(np.array([1.0, 1.0, -1.0, -1.0]), 2), 4)
    (0.05, 0.1839)
    """
    own = weights[np.abs(weights) > NOTHING * np.abs(weights).max(initial=0.0)]
    largest = own.max(initial=0.0)
    if not largest > 0:
        return 0.0
    own, x = own / largest, x / largest

    def exponent(t: float) -> float:
        return float(-0.5 * np.log1p(-2.0 * own * t).sum() - x * t - np.log(t))

    tiny = 1e-9
    saddle = float(minimize_scalar(exponent, bounds=(tiny, 0.5 - tiny), method="bounded").x)
    u = STEP * (np.arange(int(FAR / STEP)) + 0.5)
    with np.errstate(over="ignore", invalid="ignore"):
        t = saddle * (np.cosh(u) + 1j * np.sinh(u))
        log_m = -0.5 * np.log(1.0 - 2.0 * own[:, None] * t).sum(axis=0)
        slope = saddle * (np.sinh(u) + 1j * np.cosh(u))
        parts = (np.exp(log_m - x * t) * slope / t).imag
    total = float(np.where(np.isfinite(parts), parts, 0.0).sum()) * STEP / np.pi
    return min(1.0, max(0.0, total))
