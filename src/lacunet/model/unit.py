"""What numbers are measured in: families see them from an origin, in steps of a size.

A density of what families see is one of the values as they stand in the data after its Jacobian:
so the evidence does not depend on the unit that a family works in, only on that of the data.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.state import Numbers, State


@dataclass(frozen=True)
class Unit:
    """z = (x − origin)/size, or the same of log x.

    >>> Unit(origin=10.0, size=2.0).numbers((10, 14))
    (0, 2)
    """

    origin: float = 0.0
    size: float = 1.0
    log: bool = False  # whether it is the logarithm of a value that is measured

    def numbers(self, values: Sequence[State]) -> Numbers:
        """What a family sees of values."""
        return Numbers((self._taken(values) - self.origin) / self.size)

    def values(self, numbers: FloatArray) -> FloatArray:
        """The values that a family sees as these numbers."""
        taken: FloatArray = self.origin + self.size * numbers
        return np.exp(taken) if self.log else taken

    def log_slope(self, values: Sequence[State]) -> FloatArray:
        """Log dz/dx of each value, (values,)."""
        of_log = -self._taken(values) if self.log else np.zeros(len(values))
        return of_log - float(np.log(self.size))

    def _taken(self, values: Sequence[State]) -> FloatArray:
        x = np.array(values, dtype=np.float64)
        return np.log(x) if self.log else x
