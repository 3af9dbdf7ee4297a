"""What numbers are measured in: families see them from an origin, in steps of a size.

A density of what families see is one of the values as they stand in the data after its Jacobian:
so the evidence does not depend on the unit that a family works in, only on that of the data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from lacunet.errors import DataError
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.states import Numbers, State

SQUARABLE = 1e-140  # a float whose square has all digits, with room for factors
SMALLEST = float(np.finfo(np.float64).tiny)  # below it floats lose digits
LARGEST = float(np.finfo(np.float64).max) / 4.0


@dataclass(frozen=True)
class Unit:
    """z = (x − origin)/size, or the same of log x.

    >>> Unit(origin=10.0, size=2.0).numbers((10, 14))
    (0, 2)
    """

    origin: float = 0.0
    size: float = 1.0
    log: bool = False  # whether it is the logarithm of a value that is measured

    @classmethod
    def of_column(cls, values: Sequence[State], share: FloatArray, *, log: bool = False) -> Self:
        """From the mean of values, (values,) of which each has such a share, in their deviations.

        A column without deviations, or with deviations that are no normal floats, has size 0.
        """
        x = _taken(values, log=log)
        # By powers of two nothing is rounded: squares neither overflow nor vanish, whatever the
        # unit of the data, and of a large mean nothing is left in the deviations.
        x, exponent = _near_one(x)
        origin = x[int(np.argmax(share))]
        apart, smaller = _near_one(x - origin)
        mean = float(share @ apart)
        spread = float(np.sqrt(share @ (apart - mean) ** 2))
        size = float(np.ldexp(spread, exponent + smaller))
        origin = float(np.ldexp(origin + np.ldexp(mean, smaller), exponent))
        return cls(origin, size if size >= SMALLEST else 0.0, log)

    def numbers(self, values: Sequence[State]) -> Numbers:
        """What a family sees of values."""
        x = _taken(values, log=self.log)
        # Differences of the largest floats overflow; of their quarters, they do not.
        part = 0.25 if np.abs(x).max(initial=abs(self.origin)) > LARGEST else 1.0
        return Numbers((part * x - part * self.origin) / (part * self.size))

    def values(self, numbers: FloatArray) -> FloatArray:
        """The values that a family sees as these numbers."""
        taken: FloatArray = self.origin + self.size * numbers
        return np.exp(taken) if self.log else taken

    def log_slope(self, values: Sequence[State]) -> FloatArray:
        """Log dz/dx of each value, (values,)."""
        of_log = -_taken(values, log=self.log) if self.log else np.zeros(len(values))
        return of_log - float(np.log(self.size))


def unit_of_squares(name: str, values: Sequence[State], share: FloatArray) -> Unit:
    """Give the unit of a column whose squares are taken in the unit of the data.

    Errors of coefficients and of means are: those of numbers beyond 1e140 would be no floats.
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
    """The same numbers divided by a power of two, so that the largest is near 1; its exponent."""
    exponent = int(np.frexp(np.abs(x).max(initial=0.0))[1])
    return np.ldexp(x, -exponent), exponent
