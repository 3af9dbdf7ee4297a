"""The evidence of a smooth model by Laplace's method, from its log posterior density and gradient.

    log p(D) ≈ log p(D, x̂) + (d/2) log 2π − ½ log |A|,   A = −∇² log p(D, x) at the mode x̂

A is taken by central differences of the gradient, so that a model needs nothing but that.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize

from lacunet.runtime.arrays import FloatArray

Density: TypeAlias = Callable[[FloatArray], tuple[float, FloatArray]]  # its log, and the gradient

STEP = 1e-4  # of differences, in coordinates of order 1
MOST_STEPS = 300
POLISH = 2  # Newton steps after the search


@dataclass(frozen=True, eq=False)
class Mode:
    """Where a density is greatest, and what is under it."""

    x: FloatArray  # (d,)
    log_density: float
    log_evidence: float  # NaN where the curvature has no Cholesky factor: there is no clean mode


def mode_of(
    density: Density, start: FloatArray, most: int = MOST_STEPS, *, volume: bool = True
) -> Mode:
    """Climb from a start, and take the volume under the density by its curvature."""

    def negative(x: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = density(x)
        return -value, -gradient

    options: Any = {"maxiter": most, "maxfun": 2 * most, "maxcor": 20, "ftol": 1e-9, "gtol": 1e-3}
    found = minimize(negative, start, jac=True, method="L-BFGS-B", options=options)
    x, value = np.asarray(found.x, dtype=np.float64), -float(found.fun)
    if not volume:
        return Mode(x, value, math.nan)
    for _ in range(POLISH):
        A = _curvature(density, x)
        try:
            factor = cho_factor(A)
        except (LinAlgError, ValueError):
            return Mode(x, value, math.nan)
        move = cho_solve(factor, density(x)[1])
        higher = density(x + move)[0]
        log_det = 2.0 * float(np.log(np.diag(factor[0])).sum())
        if not higher > value:
            break
        gained, x, value = higher - value, x + move, higher
        if gained < 1e-3:  # the curvature has not moved either
            break
    evidence = value + 0.5 * len(x) * math.log(2.0 * math.pi) - 0.5 * log_det
    return Mode(x, value, evidence)


def _curvature(density: Density, x: FloatArray) -> FloatArray:
    rows = []
    for i in range(len(x)):
        step = np.zeros_like(x)
        step[i] = STEP
        rows.append((density(x - step)[1] - density(x + step)[1]) / (2.0 * STEP))
    A = np.array(rows).reshape(len(x), len(x))
    return 0.5 * (A + A.T)
