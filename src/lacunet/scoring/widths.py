"""A Gaussian that is nowhere much wider than the prior's.

At a mode that lies on a ridge between others the posterior may be so flat in some direction that
its quadratic is wider than that of the prior itself: it would count parameters that no data and no
prior give such a probability. There the width is held.
"""

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular

from lacunet.runtime.arrays import FloatArray

WIDEST = 2.0  # variance in any direction, as a multiple of the prior's


def held(A: FloatArray, prior: FloatArray) -> tuple[float, FloatArray]:
    """Hold a curvature, (d, d), to that of the prior: log of what is left of the volume, and it."""
    if not len(A) or _definite(A - prior / WIDEST):
        return 0.0, A
    try:
        L = cholesky(prior, lower=True)
    except LinAlgError:  # the prior says next to nothing there
        return 0.0, A
    half = solve_triangular(L, A, lower=True)
    relative = solve_triangular(L, half.T, lower=True)
    values, vectors = eigh(relative, subset_by_value=[-np.inf, 1.0 / WIDEST])
    if (values <= 0.0).any():  # not a maximum, up to rounding
        return 0.0, A
    back = L @ vectors
    narrowed = A + (back * (1.0 / WIDEST - values)) @ back.T
    return 0.5 * float(np.sum(np.log(values * WIDEST))), narrowed


def _definite(A: FloatArray) -> bool:
    try:
        cholesky(A, lower=True)
    except LinAlgError:
        return False
    return True
