"""The log rising factorial log Γ(a + n) − log Γ(a), a term of the BD score, and Gamma densities.

At large a the difference of two log Γ loses all digits to cancellation. From LARGE on, Stirling's
series of both is used, and the common terms cancel analytically. The kernels are scalar versions.
"""

import math
from typing import TypeVar

import numpy as np
from scipy.special import gammaln

from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.jit import kernel

Number = TypeVar("Number", float, FloatArray)

LARGE = 32.0  # above it four terms of Stirling's series are exact to 1e-17


def log_rising(a: FloatArray | float, n: FloatArray | float) -> FloatArray:
    """Log Γ(a + n) − log Γ(a), for any a > 0 and a + n > 0.

    >>> float(np.exp(log_rising(2.0, 3.0))).__round__(9)
    24.0
    >>> float(log_rising(1e17, 1.0) - np.log(1e17)).__round__(9)
    0.0
    """
    a, n = np.broadcast_arrays(np.asarray(a, dtype=np.float64), np.asarray(n, dtype=np.float64))
    large = a >= LARGE
    risen = np.empty(a.shape)
    risen[~large] = gammaln(a[~large] + n[~large]) - gammaln(a[~large])
    a, n = a[large], n[large]
    grown = (a - 0.5) * np.log1p(n / a) - n + n * np.log(a + n)
    risen[large] = grown + (_rest(a + n) - _rest(a))
    return risen


def log_gamma_density(a: FloatArray, x: FloatArray) -> FloatArray:
    """Log x^a e^−x / Γ(a), for a > 0 and x > 0, without cancellation at large a and x near a."""
    large = a >= LARGE
    density = np.empty(a.shape)
    density[~large] = a[~large] * np.log(x[~large]) - x[~large] - gammaln(a[~large])
    b, off = a[large], x[large] / a[large] - 1.0
    near = np.abs(off) < 0.5
    log_ratio = np.where(near, np.log1p(np.where(near, off, 0.0)), np.log(x[large] / b))
    density[large] = b * (log_ratio - off) + 0.5 * np.log(b / (2.0 * np.pi)) - _rest(b)
    return density


def _rest(x: Number) -> Number:
    """Remainder of Stirling's formula for log Γ(x)."""
    y = 1.0 / x
    z = y * y
    return y * (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z / 1680)))


# Scalar kernels


_rest_of_one = kernel(_rest)


@kernel
def log_gamma_above(a: float, n: float) -> float:
    """Log Γ(a + n) less an offset that depends on a alone: 0 below LARGE, log Γ(a) from it on.

    Differences at the same a are accurate however large a is, and cost one log Γ each.
    """
    if a < LARGE:
        return math.lgamma(a + n)
    whole = a + n
    grown = (a - 0.5) * math.log1p(n / a) - n + n * math.log(whole)
    return grown + (_rest_of_one(whole) - _rest_of_one(a))


@kernel
def log_rising_scalar(a: float, n: float) -> float:
    """Log Γ(a + n) − log Γ(a)."""
    return log_gamma_above(a, n) - log_gamma_above(a, 0.0)
