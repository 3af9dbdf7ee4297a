"""Scores from 0 to m with a Beta prior: ordered answers, of which p says how far up they are.

Like two states, of which the second is seen x times and the first m − x times: all that is
Dirichlet holds for them, but a case counts m times.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaln

from lacunet.arrays import FloatArray
from lacunet.model.families.categorical import Categorical
from lacunet.model.families.family import Segment
from lacunet.model.unit import Unit
from lacunet.state import State


@dataclass(frozen=True)
class Binomial(Categorical):
    """Places are (m − x, x): θ = (1 − p, p), hyperparameters the exponents of a Beta."""

    name: ClassVar[str] = "binomial"
    tabular: ClassVar[bool] = False
    most: int = 1  # m, the highest score

    def width(self, states: Sequence[State]) -> int:
        return 2

    def statistics(self, states: Sequence[State]) -> FloatArray:
        x = np.array(states, dtype=np.float64)
        return np.stack([self.most - x, x], axis=1)

    def log_base(self, states: Sequence[State]) -> FloatArray:
        """Log of m over x."""
        below, above = self.statistics(states).T + 1.0
        ways: FloatArray = gammaln(self.most + 1.0) - gammaln(below) - gammaln(above)
        return ways

    def told(self, theta: FloatArray, unit: Unit) -> dict[str, FloatArray]:
        return {"mean": unit.values(self.most * theta[:, 1])}

    def mean_statistics(self, theta: FloatArray, at: Segment) -> FloatArray:
        return self.most * theta

    def cases(self, N: FloatArray, at: Segment) -> FloatArray:
        return at.totals(N) / self.most
