"""Counts with a Gamma prior on their rate.

φ = log λ. √λ suits maxima at a rate of 0, where nothing was ever counted: there φ runs off to −∞.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import digamma, gammaln

from lacunet.likelihoods.likelihood import ByIntegral, Segment, slope_of_root
from lacunet.likelihoods.unit import Unit
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.runtime.states import State


@dataclass(frozen=True)
class Poisson(ByIntegral):
    """Places are (Σ x, n): θ = (λ, λ), η = (log λ, −λ), hyperparameters (shape, rate)."""

    name: ClassVar[str] = "poisson"
    whole: ClassVar[bool] = True

    @property
    def ends(self) -> tuple[float, float]:
        return 0.0, np.inf

    def width(self, states: Sequence[State]) -> int:
        return 2

    def statistics(self, states: Sequence[State]) -> FloatArray:
        x = np.array(states, dtype=np.float64)
        return np.stack([x, np.ones_like(x)], axis=1)

    @property
    def powers(self) -> FloatArray:
        return np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])

    def log_base(self, states: Sequence[State]) -> FloatArray:
        ways: FloatArray = -gammaln(np.array(states, dtype=np.float64) + 1.0)
        return ways

    def told(self, theta: FloatArray, unit: Unit) -> dict[str, FloatArray]:
        return {"rate": theta[:, 0]}

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        return theta[..., 0], theta[..., 0]

    def averaged_moments(self, hyper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Those of a negative binomial distribution."""
        shape, rate = np.moveaxis(hyper, -1, 0)
        return shape / rate, shape / rate * (1.0 + 1.0 / rate)

    def draw_values(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        return rng.poisson(theta[..., 0]).astype(np.float64)

    def natural(self, theta: FloatArray, at: Segment) -> FloatArray:
        rate = at.by_place(theta)[0]
        with np.errstate(divide="ignore"):
            return at.at_places(np.log(rate), -rate)

    def parameters(self, natural: FloatArray, at: Segment) -> FloatArray:
        rate = -at.by_place(natural)[1]
        return at.at_places(rate, rate)

    def has_mode(self, hyper: FloatArray, at: Segment) -> bool:
        """Below a shape of 1 the density is infinite at rate 0."""
        return bool((at.by_place(hyper)[0] >= 1.0).all())

    def in_theta(self, hyper: FloatArray, at: Segment) -> FloatArray:
        return hyper - np.where(at.k == 0, 1.0, 0.0)

    def log_integrals(self, hyper: FloatArray, at: Segment) -> FloatArray:
        """See ByIntegral; log marginals are negative binomials."""
        return _log_gamma_integral(*at.by_place(hyper))

    def expected_natural(self, hyper: FloatArray, at: Segment) -> FloatArray:
        shape, rate = at.by_place(hyper)
        return at.at_places(digamma(shape) - np.log(rate), -shape / rate)

    def mean(self, hyper: FloatArray, at: Segment) -> FloatArray:
        shape, rate = at.by_place(hyper)
        return at.at_places(shape / rate, shape / rate)

    def mean_statistics(self, theta: FloatArray, at: Segment) -> FloatArray:
        return np.where(at.k == 0, theta, 1.0)

    def cases(self, N: FloatArray, at: Segment) -> FloatArray:
        cases = at.by_place(N)[1]
        return at.at_places(cases, cases)

    def draw(self, hyper: FloatArray, at: Segment, rng: Any) -> FloatArray:
        shape, rate = at.by_place(hyper)
        drawn = np.maximum(rng.standard_gamma(shape), np.finfo(float).tiny) / rate
        return at.at_places(np.log(drawn), -drawn)

    def random(self, hyper: FloatArray, at: Segment, rng: np.random.Generator) -> FloatArray:
        """Exponential, around the prior's mean."""
        shape, rate = at.by_place(hyper)
        drawn = shape / rate * rng.standard_exponential(at.configurations)
        return at.at_places(drawn, drawn)

    def maximize(
        self, N: FloatArray, pseudo: FloatArray, theta: FloatArray, at: Segment
    ) -> FloatArray:
        total, cases = at.by_place(N + pseudo)
        best = at.by_place(theta)[0].copy()
        np.divide(total, cases, out=best, where=cases > 0)
        return at.at_places(best, best)

    def pull_back(self, theta: FloatArray, g: FloatArray, at: Segment) -> FloatArray:
        first, second = at.by_place(g)
        rate = at.by_place(theta)[0]
        return at.at_places(first - rate * second, np.zeros_like(rate))

    def push(self, theta: FloatArray, phi: FloatArray, at: Segment) -> FloatArray:
        along, rate = at.by_place(phi)[0], at.by_place(theta)[0]
        return at.at_places(along, -rate * along)

    def information(
        self, theta: FloatArray, N: FloatArray, phi: FloatArray, at: Segment
    ) -> FloatArray:
        return self.sharpness(theta, N, at) * phi

    def longest_move(self, *, edge: bool) -> float:
        """Of √λ any: how large it is nobody knows."""
        return np.inf if edge else 4.0

    def slope(
        self, theta: FloatArray, gradient: FloatArray, at: Segment, *, edge: bool
    ) -> FloatArray:
        return slope_of_root(theta, gradient) if edge else gradient

    def sharpness(
        self, theta: FloatArray, N: FloatArray, at: Segment, *, edge: bool = False
    ) -> FloatArray:
        rate, cases = at.by_place(theta)[0], at.by_place(N)[1]
        sharp = np.where(rate > 0, 4.0 * cases, 0.0) if edge else rate * cases
        return at.at_places(sharp, np.zeros_like(sharp))

    def moved(
        self, theta: FloatArray, move: FloatArray, at: Segment, *, edge: bool = False
    ) -> FloatArray:
        rate, step = at.by_place(theta)[0], at.by_place(move)[0]
        there = (np.sqrt(rate) + step) ** 2 if edge else rate * np.exp(step)
        return at.at_places(there, there)

    def between(self, old: FloatArray, new: FloatArray, at: Segment, *, edge: bool) -> FloatArray:
        before, after = at.by_place(old)[0], at.by_place(new)[0]
        if edge:
            step = np.sqrt(after) - np.sqrt(before)
        else:
            alive = (before > 0) & (after > 0)
            step = np.zeros_like(before)
            step[alive] = np.log(after[alive] / before[alive])
        return at.at_places(step, np.zeros_like(step))

    def idle(self, theta: FloatArray, v: FloatArray, at: Segment) -> FloatArray:
        return np.zeros_like(v)

    def free(self, theta: FloatArray, at: Segment) -> tuple[IntArray, IntArray]:
        free = at.positions(0)
        return free, free

    def on_scale(self, phi: FloatArray, theta: FloatArray, at: Segment) -> FloatArray:
        """That of log λ, which stands at two places."""
        along = at.by_place(phi.T)[0]
        return at.at_places(along, along).T

    def off_scale(self, theta: FloatArray, move: FloatArray, at: Segment) -> FloatArray:
        moved: FloatArray = theta * np.exp(move)
        return moved

    def scale_slope(self, theta: FloatArray, at: Segment) -> FloatArray:
        return theta

    def log_jacobian(self, theta: FloatArray, at: Segment) -> float:
        return float(np.sum(np.log(at.by_place(theta)[0])))

    def complete_log_det(self, theta: FloatArray, N: FloatArray, at: Segment) -> float:
        return float(np.sum(np.log(at.by_place(theta)[0] * at.by_place(N)[1])))


def _log_gamma_integral(shape: FloatArray, rate: FloatArray) -> FloatArray:
    """Log ∫ λ^shape exp(−rate λ) dlog λ."""
    integral: FloatArray = gammaln(shape) - shape * np.log(rate)
    return integral


POISSON = Poisson()
