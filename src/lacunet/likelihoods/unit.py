"""Standardisation of numeric columns: likelihoods use z = (x − origin)/size.

Densities of z are multiplied by the Jacobian dz/dx. The evidence therefore depends on the unit of
the data only, not on that of the likelihood.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from lacunet.errors import DataError
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.states import Numbers, State

SQUARABLE = 1e-140  # squares of floats above it are normal, with a margin for factors
SMALLEST = float(np.finfo(np.float64).tiny)  # floats below it lose digits
LARGEST = float(np.finfo(np.float64).max) / 4.0


@dataclass(frozen=True)
class Unit:
    """The transformation z = (x − origin)/size, of x or of log x.

    >>> Unit(origin=10.0, size=2.0).numbers((10, 14))
    (0, 2)
    """

    origin: float = 0.0
    size: float = 1.0
    log: bool = False  # whether z standardises log x

    @classmethod
    def of_column(cls, values: Sequence[State], share: FloatArray, *, log: bool = False) -> Self:
        """Standardise by the mean and standard deviation of values weighted by shares, (values,).

        The size is 0 if the deviations are zero or subnormal.
        """
        x = _taken(values, log=log)
        # Scaling by powers of two is exact: squares neither overflow nor vanish in any unit of the
        # data, and a large mean cancels before squaring.
        x, exponent = _near_one(x)
        origin = x[int(np.argmax(share))]
        apart, smaller = _near_one(x - origin)
        mean = float(share @ apart)
        spread = float(np.sqrt(share @ (apart - mean) ** 2))
        size = float(np.ldexp(spread, exponent + smaller))
        origin = float(np.ldexp(origin + np.ldexp(mean, smaller), exponent))
        return cls(origin, size if size >= SMALLEST else 0.0, log)

    def numbers(self, values: Sequence[State]) -> Numbers:
        """Standardise values."""
        x = _taken(values, log=self.log)
        # Differences of the largest floats overflow; those of their quarters do not.
        part = 0.25 if np.abs(x).max(initial=abs(self.origin)) > LARGEST else 1.0
        return Numbers((part * x - part * self.origin) / (part * self.size))

    def values(self, numbers: FloatArray) -> FloatArray:
        """Convert standardised numbers back to values."""
        taken: FloatArray = self.origin + self.size * numbers
        return np.exp(taken) if self.log else taken

    def log_slope(self, values: Sequence[State]) -> FloatArray:
        """Log dz/dx of each value, (values,)."""
        of_log = -_taken(values, log=self.log) if self.log else np.zeros(len(values))
        return of_log - float(np.log(self.size))


def unit_of_squares(name: str, values: Sequence[State], share: FloatArray) -> Unit:
    """The unit of a column whose squares must be floats in the unit of the data.

    Standard errors of coefficients and of means square values; beyond 1e140 they overflow.
    """
    unit = Unit.of_column(values, share)
    if max(unit.size, abs(unit.origin)) > 1.0 / SQUARABLE or 0.0 < unit.size < SQUARABLE:
        raise DataError(
            f"column '{name}': its values have the mean {unit.origin:.3g} and the standard "
            f"deviation {unit.size:.3g}, whose square no float holds. Write it in another unit, so "
            f"that both lie between {SQUARABLE:g} and {1.0 / SQUARABLE:g}."
        )
    return unit


def _taken(values: Sequence[State], *, log: bool) -> FloatArray:
    x = np.array(values, dtype=np.float64)
    return np.log(x) if log else x


def _near_one(x: FloatArray) -> tuple[FloatArray, int]:
    """Divide numbers by a power of two so that the largest is near 1; also its exponent."""
    exponent = int(np.frexp(np.abs(x).max(initial=0.0))[1])
    return np.ldexp(x, -exponent), exponent
