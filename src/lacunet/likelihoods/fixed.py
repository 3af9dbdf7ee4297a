"""Cells of a table that nobody learns: numbers that are known, and structural zeros.

Their natural parameters are constants, so statistics weigh what they weigh and move nothing: no
prior, no free coordinate, no gradient. Hyperparameters there are statistics alone.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import xlogy

from lacunet.likelihoods.categorical import Categorical
from lacunet.likelihoods.likelihood import Segment
from lacunet.runtime.arrays import FloatArray, IntArray

# Log weight of what cannot be, where log weights are mixed: a path between two distributions takes
# multiples of them. Finite, and its exponential is 0 all the same.
NEVER = -1e30


@dataclass(frozen=True, eq=False)
class Fixed(Categorical):
    """Probabilities that are as they are."""

    rooted: ClassVar[bool] = False
    longest_moves: ClassVar[tuple[float, float]] = np.inf, np.inf
    theta: FloatArray  # (s,)

    @cached_property
    def _log_weights(self) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(self.theta), NEVER)

    def log_density(self, N: FloatArray, theta: FloatArray, at: Segment) -> float:
        return float(np.sum(xlogy(N, self.theta)))

    def keeps_off_zero(self, pseudo: FloatArray, at: Segment) -> bool:
        return True

    def on_boundary(self, theta: FloatArray, at: Segment) -> bool:
        return False

    # Nothing is summed over

    def parameters(self, natural: FloatArray, at: Segment) -> FloatArray:
        return np.broadcast_to(self.theta, natural.shape)

    def has_mode(self, hyper: FloatArray, at: Segment) -> bool:
        return True

    def in_theta(self, hyper: FloatArray, at: Segment) -> FloatArray:
        return np.zeros_like(hyper)

    def log_prior(self, theta: FloatArray, hyper: FloatArray, at: Segment) -> float:
        return 0.0

    def log_constant(self, hyper: FloatArray, at: Segment) -> float:
        return 0.0

    def log_marginal(self, N: FloatArray, hyper: FloatArray, at: Segment) -> FloatArray:
        return at.by_variable(np.asarray(xlogy(N, self.theta)), np.zeros(at.configurations))

    def log_integral(self, hyper: FloatArray, at: Segment) -> FloatArray:
        return hyper @ self._log_weights

    def log_quotient(self, N: FloatArray, hyper: FloatArray, at: Segment) -> FloatArray:
        return N @ self._log_weights

    def expected_natural(self, hyper: FloatArray, at: Segment) -> FloatArray:
        return self._log_weights

    def mean(self, hyper: FloatArray, at: Segment) -> FloatArray:
        return self.theta

    def draw(self, hyper: FloatArray, at: Segment, rng: Any) -> FloatArray:
        return np.broadcast_to(self._log_weights, hyper.shape)

    def draw_theta(self, hyper: FloatArray, at: Segment, rng: np.random.Generator) -> FloatArray:
        return self.theta

    # Nothing moves

    def random(self, hyper: FloatArray, at: Segment, rng: np.random.Generator) -> FloatArray:
        return self.theta

    def maximize(
        self, N: FloatArray, pseudo: FloatArray, theta: FloatArray, at: Segment
    ) -> FloatArray:
        return self.theta

    def moved(
        self, theta: FloatArray, move: FloatArray, at: Segment, *, edge: bool = False
    ) -> FloatArray:
        return self.theta

    def between(self, old: FloatArray, new: FloatArray, at: Segment, *, edge: bool) -> FloatArray:
        return np.zeros_like(old)

    def pull_back(self, theta: FloatArray, g: FloatArray, at: Segment) -> FloatArray:
        return np.zeros_like(g)

    def push(self, theta: FloatArray, phi: FloatArray, at: Segment) -> FloatArray:
        return np.zeros_like(phi)

    def slope(
        self, theta: FloatArray, gradient: FloatArray, at: Segment, *, edge: bool
    ) -> FloatArray:
        return np.zeros_like(gradient)

    def information(
        self, theta: FloatArray, N: FloatArray, phi: FloatArray, at: Segment
    ) -> FloatArray:
        return np.zeros_like(phi)

    def sharpness(
        self, theta: FloatArray, N: FloatArray, at: Segment, *, edge: bool = False
    ) -> FloatArray:
        return np.zeros_like(theta)

    def idle(self, theta: FloatArray, v: FloatArray, at: Segment) -> FloatArray:
        return np.zeros_like(v)

    def free(self, theta: FloatArray, at: Segment) -> tuple[IntArray, IntArray]:
        none = np.zeros(0, dtype=np.int64)
        return none, none

    def log_jacobian(self, theta: FloatArray, at: Segment) -> float:
        return 0.0

    def complete_log_det(self, theta: FloatArray, N: FloatArray, at: Segment) -> float:
        return 0.0
