"""Scores from 0 to m with a Beta prior: ordered answers, of which p says how far up they are.

Like two states, of which the second is seen x times and the first m − x times: all that is
Dirichlet holds for them, but a case counts m times.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln

from lacunet.likelihoods.categorical import Categorical
from lacunet.likelihoods.likelihood import Segment
from lacunet.likelihoods.unit import Unit
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.states import State


@dataclass(frozen=True)
class Binomial(Categorical):
    """Places are (m − x, x): θ = (1 − p, p), hyperparameters the exponents of a Beta."""

    name: ClassVar[str] = "binomial"
    tabular: ClassVar[bool] = False
    whole: ClassVar[bool] = True
    on_a_scale: ClassVar[bool] = True
    most: int = 1  # m, the highest score

    @property
    def ends(self) -> tuple[float, float]:
        return 0.0, float(self.most)

    @property
    def written(self) -> dict[str, Any]:
        return {"family": self.name, "most": self.most}

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

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        below, above = np.moveaxis(theta, -1, 0)
        return self.most * above, self.most * above * below

    def averaged_moments(self, hyper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Those of a Beta-binomial distribution."""
        known = hyper.sum(axis=-1)
        mean, variance = self.moments(hyper / known[..., None])
        return mean, variance * (known + self.most) / (known + 1.0)

    def draw_values(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        return rng.binomial(self.most, theta[..., 1]).astype(np.float64)

    def mean_statistics(self, theta: FloatArray, at: Segment) -> FloatArray:
        return self.most * theta

    def cases(self, N: FloatArray, at: Segment) -> FloatArray:
        return at.totals(N) / max(self.most, 1)  # of a single answer statistics are 0
