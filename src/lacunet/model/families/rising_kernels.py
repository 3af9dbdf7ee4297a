"""Γ(a + n)/Γ(a) for loops. Tests compare with `rising.py`, and both with exact arithmetic."""

import math

from lacunet.model.families.rising import LARGE
from lacunet.runtime.jit import kernel


@kernel
def log_gamma_above(a: float, n: float) -> float:
    """Log Γ(a + n) less a number that a alone decides: 0 below LARGE, log Γ(a) from there on.

    Differences for one and the same a are right, however large it is, and cost one log Γ each.
    """
    return math.lgamma(a + n) if a < LARGE else risen_by_stirling(a, n)


@kernel
def log_rising(a: float, n: float) -> float:
    """Log Γ(a + n) − log Γ(a)."""
    return log_gamma_above(a, n) - log_gamma_above(a, 0.0)


@kernel
def risen_by_stirling(a: float, n: float) -> float:
    """The same where a is large."""
    whole = a + n
    grown = (a - 0.5) * math.log1p(n / a) - n + n * math.log(whole)
    return grown + (stirling_rest(whole) - stirling_rest(a))


@kernel
def stirling_rest(x: float) -> float:
    """What Stirling's formula leaves of log Γ(x)."""
    y = 1.0 / x
    z = y * y
    return y * (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z / 1680)))
