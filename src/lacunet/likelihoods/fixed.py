"""Fixed tables, and tables that several children share.

Known cells and structural zeros have constant natural parameters: no prior, no free coordinate and
no gradient. Their hyperparameters are statistics alone.

Tied tables pool the counts of all children; the parameters stand at the leader.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import xlogy

from lacunet.likelihoods.categorical import CATEGORICAL, Categorical
from lacunet.likelihoods.likelihood import Segment, Vector
from lacunet.runtime.arrays import FloatArray, IntArray

# Log weight of impossible states, with exponential 0. It is finite because paths between two
# distributions take multiples of log weights.
NEVER = -1e30


@dataclass(frozen=True, eq=False)
class Fixed(Categorical):
    """Known probabilities."""

    rooted: ClassVar[bool] = False
    longest_moves: ClassVar[tuple[float, float]] = np.inf, np.inf
    theta: FloatArray  # (s,)

    @cached_property
    def _log_weights(self) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(self.theta), NEVER)

    def _as_given(self, *_: Any, **__: Any) -> FloatArray:
        return self.theta

    def _no_move(self, *vectors: Any, **__: Any) -> FloatArray:
        return np.zeros_like(vectors[0])

    def _nothing(self, *_: Any, **__: Any) -> float:
        return 0.0

    def _always(self, *_: Any, **__: Any) -> bool:
        return True

    random = maximize = moved = mean = draw_theta = _as_given
    pull_back = push = slope = information = in_theta = _no_move
    metric = null_projection = log_map = _no_move
    log_prior = log_constant = log_jacobian = complete_log_det = _nothing
    keeps_off_zero = has_mode = _always

    def on_boundary(self, theta: Vector, at: Segment) -> bool:
        return False

    def parameters(self, natural: Vector, at: Segment) -> Vector:
        return np.broadcast_to(self.theta, natural.shape)

    def free(self, theta: Vector, at: Segment) -> tuple[IntArray, IntArray]:
        none = np.zeros(0, dtype=np.int64)
        return none, none

    def log_density(self, N: Vector, theta: Vector, at: Segment) -> float:
        return float(np.sum(xlogy(N, self.theta)))

    def log_marginal(self, N: Vector, hyper: Vector, at: Segment) -> FloatArray:
        return at.by_variable(np.asarray(xlogy(N, self.theta)), np.zeros(at.configurations))

    def log_integral(self, hyper: Vector, at: Segment) -> FloatArray:
        return hyper @ self._log_weights

    def log_quotient(self, N: Vector, hyper: Vector, at: Segment) -> FloatArray:
        return N @ self._log_weights

    def expected_natural(self, hyper: Vector, at: Segment) -> Vector:
        return self._log_weights

    def draw(self, hyper: Vector, at: Segment, rng: Any) -> Vector:
        return np.broadcast_to(self._log_weights, hyper.shape)


def _by_leaders(name: str, vectors: str, result: str = "") -> Any:
    """Apply a method of `CATEGORICAL` to the leaders' tables.

    `vectors` has a letter for each vector argument: N for counts, which are pooled; t for others.
    The result is "shared" by all children, placed at the leaders ("led"), or is not a vector.
    """

    def method(self: "Tied", *given: Any, **options: Any) -> Any:
        leading = [
            self.pooled(x) if kind == "N" else x[self.lead]
            for kind, x in zip(vectors, given, strict=False)
        ]
        rest = given[len(vectors) + 1 :]  # after the segment
        value = getattr(CATEGORICAL, name)(*leading, self.inner, *rest, **options)
        if result == "shared":
            return value[..., self.slot]
        return self.led(value) if result == "led" else value

    return method


@dataclass(frozen=True, eq=False)
class Tied(Categorical):
    """Tied categorical tables: the leaders have t of the s positions of all children."""

    inner: Segment  # of the leaders alone
    slot: IntArray  # (s,) index among the leaders' positions of each shared parameter
    lead: IntArray  # (t,) positions of the leaders

    @cached_property
    def _by_slot(self) -> tuple[IntArray, IntArray]:
        """Positions sorted by shared parameter, and the start of each group."""
        order = np.argsort(self.slot, kind="stable")
        return order, np.searchsorted(self.slot[order], np.arange(len(self.lead)))

    def pooled(self, x: FloatArray) -> FloatArray:
        """Pool the counts of all children, (…, s) → (…, t)."""
        order, starts = self._by_slot
        return np.add.reduceat(x[..., order], starts, axis=-1)

    def led(self, x: FloatArray) -> FloatArray:
        """Place numbers at the leaders, zero elsewhere, (t,) → (s,)."""
        whole = np.zeros(len(self.slot))
        whole[self.lead] = x
        return whole

    has_mode = _by_leaders("has_mode", "N")
    keeps_off_zero = _by_leaders("keeps_off_zero", "N")
    in_theta = _by_leaders("in_theta", "N", "led")
    log_prior = _by_leaders("log_prior", "tN")
    log_constant = _by_leaders("log_constant", "N")
    log_integral = _by_leaders("log_integral", "N")
    log_quotient = _by_leaders("log_quotient", "NN")
    expected_natural = _by_leaders("expected_natural", "N", "shared")
    mean = _by_leaders("mean", "N", "shared")
    draw = _by_leaders("draw", "N", "shared")
    draw_theta = _by_leaders("draw_theta", "N", "shared")
    random = _by_leaders("random", "N", "shared")
    maximize = _by_leaders("maximize", "NNt", "shared")
    pull_back = _by_leaders("pull_back", "tN", "led")
    push = _by_leaders("push", "tt", "shared")
    information = _by_leaders("information", "tNt", "led")
    slope = _by_leaders("slope", "tt", "led")
    metric = _by_leaders("metric", "tN", "led")
    null_projection = _by_leaders("null_projection", "tt", "led")
    moved = _by_leaders("moved", "tt", "shared")
    log_map = _by_leaders("log_map", "tt", "led")
    log_jacobian = _by_leaders("log_jacobian", "t")
    complete_log_det = _by_leaders("complete_log_det", "tN")

    def log_marginal(self, N: Vector, hyper: Vector, at: Segment) -> FloatArray:
        """Log marginal likelihood of the pooled counts, assigned to the leaders."""
        pooled = CATEGORICAL.log_marginal(self.pooled(N), self.pooled(hyper), self.inner)
        terms = np.zeros(len(at.variables))
        terms[np.searchsorted(at.variables, self.inner.variables)] = pooled
        return terms

    def to_interval_scale(self, phi: FloatArray, theta: Vector, at: Segment) -> FloatArray:
        """Changes of logits, the same for all tied tables."""
        return CATEGORICAL.to_interval_scale(phi[self.lead], theta[self.lead], self.inner)[
            self.slot
        ]

    def free(self, theta: Vector, at: Segment) -> tuple[IntArray, IntArray]:
        free, reference = CATEGORICAL.free(theta[self.lead], self.inner)
        return self.lead[free], self.lead[reference]
