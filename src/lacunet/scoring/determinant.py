"""The determinant of a negative Hessian, with what tells whether to trust it."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf

from lacunet.flags import Flag, Kind
from lacunet.runtime.arrays import FloatArray

NEARLY_SINGULAR = 1e-8  # part of a parameter's curvature that is its own


@dataclass(frozen=True, eq=False)
class Factor:
    """The Cholesky factor of A."""

    L: FloatArray  # (d, d) lower triangle; what is above it has no meaning
    flags: tuple[Flag, ...]

    @property
    def pivots(self) -> FloatArray:
        """Its diagonal, (d,)."""
        return self.L.diagonal()

    @property
    def log_det(self) -> float:
        """Log |A|."""
        return 2.0 * float(np.sum(np.log(self.pivots)))


def factorise(A: FloatArray) -> Factor | None:
    """Factor A, which is overwritten; None where it is not positive definite.

    Only its lower triangle is read. Two negative curvatures would hide from a determinant's sign,
    not from Cholesky.
    """
    curvature = A.diagonal().copy()
    L, failed = dpotrf(A, lower=1, overwrite_a=1, clean=0)
    if failed or not np.isfinite(curvature).all():
        return None
    pivots = L.diagonal()
    doubtful = len(A) and (pivots**2 / curvature).min() < NEARLY_SINGULAR
    return Factor(L, (Flag(Kind.NEARLY_SINGULAR),) if doubtful else ())
