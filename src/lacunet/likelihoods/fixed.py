"""Cells of a table that nobody learns: numbers that are known, and structural zeros.

Their natural parameters are constants, so statistics weigh what they weigh and move nothing: no
prior, no free coordinate, no gradient. Hyperparameters there are statistics alone.

Tables of several children that are one table: their counts add up, their parameters are equal.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import xlogy

from lacunet.likelihoods.categorical import CATEGORICAL, Categorical
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


@dataclass(frozen=True, eq=False)
class Tied(Categorical):
    """Shared categories; t places of leaders among the s of all children."""

    inner: Segment  # of the leaders alone
    slot: IntArray  # (s,) which place of the leaders each place shares
    lead: IntArray  # (t,) where these places are

    @cached_property
    def _by_slot(self) -> IntArray:
        return np.argsort(self.slot, kind="stable")

    @cached_property
    def _starts(self) -> IntArray:
        return np.searchsorted(self.slot[self._by_slot], np.arange(len(self.lead)))

    def _pooled(self, x: FloatArray) -> FloatArray:
        """Add up what all children say, (…, s) → (…, t)."""
        return np.add.reduceat(x[..., self._by_slot], self._starts, axis=-1)

    def _shared(self, x: FloatArray) -> FloatArray:
        """Give every child what the leaders have, (…, t) → (…, s)."""
        return x[..., self.slot]

    def _led(self, x: FloatArray) -> FloatArray:
        """Put numbers at the places of the leaders, (t,) → (s,)."""
        whole = np.zeros(len(self.slot))
        whole[self.lead] = x
        return whole

    def on_scale(self, phi: FloatArray, theta: FloatArray, at: Segment) -> FloatArray:
        """Tables that are one change together."""
        own = CATEGORICAL.on_scale(phi[self.lead], theta[self.lead], self.inner)
        return own[self.slot]

    def has_mode(self, hyper: FloatArray, at: Segment) -> bool:
        return CATEGORICAL.has_mode(self._pooled(hyper), self.inner)

    def keeps_off_zero(self, pseudo: FloatArray, at: Segment) -> bool:
        return CATEGORICAL.keeps_off_zero(self._pooled(pseudo), self.inner)

    def in_theta(self, hyper: FloatArray, at: Segment) -> FloatArray:
        return self._led(CATEGORICAL.in_theta(self._pooled(hyper), self.inner))

    def log_prior(self, theta: FloatArray, hyper: FloatArray, at: Segment) -> float:
        return CATEGORICAL.log_prior(theta[self.lead], self._pooled(hyper), self.inner)

    def log_constant(self, hyper: FloatArray, at: Segment) -> float:
        return CATEGORICAL.log_constant(self._pooled(hyper), self.inner)

    def log_marginal(self, N: FloatArray, hyper: FloatArray, at: Segment) -> FloatArray:
        """All of it is the leader's."""
        found = np.zeros(len(at.variables))
        own = CATEGORICAL.log_marginal(self._pooled(N), self._pooled(hyper), self.inner)
        found[np.searchsorted(at.variables, self.inner.variables)] = own
        return found

    def log_integral(self, hyper: FloatArray, at: Segment) -> FloatArray:
        return CATEGORICAL.log_integral(self._pooled(hyper), self.inner)

    def log_quotient(self, N: FloatArray, hyper: FloatArray, at: Segment) -> FloatArray:
        return CATEGORICAL.log_quotient(self._pooled(N), self._pooled(hyper), self.inner)

    def expected_natural(self, hyper: FloatArray, at: Segment) -> FloatArray:
        return self._shared(CATEGORICAL.expected_natural(self._pooled(hyper), self.inner))

    def mean(self, hyper: FloatArray, at: Segment) -> FloatArray:
        return self._shared(CATEGORICAL.mean(self._pooled(hyper), self.inner))

    def draw(self, hyper: FloatArray, at: Segment, rng: Any) -> FloatArray:
        return self._shared(CATEGORICAL.draw(self._pooled(hyper), self.inner, rng))

    def draw_theta(self, hyper: FloatArray, at: Segment, rng: np.random.Generator) -> FloatArray:
        return self._shared(CATEGORICAL.draw_theta(self._pooled(hyper), self.inner, rng))

    def random(self, hyper: FloatArray, at: Segment, rng: np.random.Generator) -> FloatArray:
        return self._shared(CATEGORICAL.random(self._pooled(hyper), self.inner, rng))

    def maximize(
        self, N: FloatArray, pseudo: FloatArray, theta: FloatArray, at: Segment
    ) -> FloatArray:
        pooled = self._pooled(N), self._pooled(pseudo)
        return self._shared(CATEGORICAL.maximize(*pooled, theta[self.lead], self.inner))

    def pull_back(self, theta: FloatArray, g: FloatArray, at: Segment) -> FloatArray:
        return self._led(CATEGORICAL.pull_back(theta[self.lead], self._pooled(g), self.inner))

    def push(self, theta: FloatArray, phi: FloatArray, at: Segment) -> FloatArray:
        return self._shared(CATEGORICAL.push(theta[self.lead], phi[self.lead], self.inner))

    def information(
        self, theta: FloatArray, N: FloatArray, phi: FloatArray, at: Segment
    ) -> FloatArray:
        own = theta[self.lead], self._pooled(N), phi[self.lead]
        return self._led(CATEGORICAL.information(*own, self.inner))

    def slope(
        self, theta: FloatArray, gradient: FloatArray, at: Segment, *, edge: bool
    ) -> FloatArray:
        own = theta[self.lead], gradient[self.lead]
        return self._led(CATEGORICAL.slope(*own, self.inner, edge=edge))

    def sharpness(
        self, theta: FloatArray, N: FloatArray, at: Segment, *, edge: bool = False
    ) -> FloatArray:
        own = theta[self.lead], self._pooled(N)
        return self._led(CATEGORICAL.sharpness(*own, self.inner, edge=edge))

    def idle(self, theta: FloatArray, v: FloatArray, at: Segment) -> FloatArray:
        return self._led(CATEGORICAL.idle(theta[self.lead], v[self.lead], self.inner))

    def moved(
        self, theta: FloatArray, move: FloatArray, at: Segment, *, edge: bool = False
    ) -> FloatArray:
        own = theta[self.lead], move[self.lead]
        return self._shared(CATEGORICAL.moved(*own, self.inner, edge=edge))

    def between(self, old: FloatArray, new: FloatArray, at: Segment, *, edge: bool) -> FloatArray:
        own = old[self.lead], new[self.lead]
        return self._led(CATEGORICAL.between(*own, self.inner, edge=edge))

    def free(self, theta: FloatArray, at: Segment) -> tuple[IntArray, IntArray]:
        own, reference = CATEGORICAL.free(theta[self.lead], self.inner)
        return self.lead[own], self.lead[reference]

    def log_jacobian(self, theta: FloatArray, at: Segment) -> float:
        return CATEGORICAL.log_jacobian(theta[self.lead], self.inner)

    def complete_log_det(self, theta: FloatArray, N: FloatArray, at: Segment) -> float:
        return CATEGORICAL.complete_log_det(theta[self.lead], self._pooled(N), self.inner)
