"""Binomial scores from 0 to m with a Beta prior, and Poisson counts with a Gamma prior.

A score x counts as m observations of two categories: m − x of the first, x of the second. The
Dirichlet formulas therefore apply, with m observations a case.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import digamma, gammaln

from lacunet.likelihoods.categorical import Categorical
from lacunet.likelihoods.conjugate_prior import ConjugatePrior
from lacunet.likelihoods.likelihood import Segment, Vector, move_of_logs
from lacunet.likelihoods.unit import Unit
from lacunet.runtime.arrays import BoolArray, FloatArray
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

    def width(self, states: Sequence[State]) -> int:
        return 2

    def statistics(self, states: Sequence[State]) -> FloatArray:
        x = np.array(states, dtype=np.float64)
        return np.stack([self.most - x, x], axis=1)

    def log_base(self, states: Sequence[State]) -> FloatArray:
        """Log of the binomial coefficient, m over x."""
        below, above = self.statistics(states).T + 1.0
        coefficient: FloatArray = gammaln(self.most + 1.0) - gammaln(below) - gammaln(above)
        return coefficient

    def summary(self, theta: FloatArray, unit: Unit) -> dict[str, FloatArray]:
        return {"mean": unit.values(self.most * theta[:, 1])}

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        below, above = np.moveaxis(theta, -1, 0)
        return self.most * above, self.most * above * below

    def averaged_moments(self, hyper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Moments of the Beta-binomial distribution."""
        total = hyper.sum(axis=-1)
        mean, variance = self.moments(hyper / total[..., None])
        return mean, variance * (total + self.most) / (total + 1.0)

    def draw_values(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        return rng.binomial(self.most, theta[..., 1]).astype(np.float64)

    def mean_statistics(self, theta: Vector, at: Segment) -> Vector:
        return self.most * theta

    def cases(self, N: Vector, at: Segment) -> Vector:
        return at.totals(N) / max(self.most, 1)  # with m = 0 all statistics are 0


@dataclass(frozen=True)
class Poisson(ConjugatePrior):
    """Places are (Σ x, n): θ = (λ, λ), η = (log λ, −λ), hyperparameters (shape, rate)."""

    name: ClassVar[str] = "poisson"
    whole: ClassVar[bool] = True
    rooted: ClassVar[bool] = True
    longest_moves: ClassVar[tuple[float, float]] = 4.0, np.inf  # no limit for √λ
    coordinate_places: ClassVar[tuple[int, ...]] = (0,)
    ends: ClassVar[tuple[float, float]] = 0.0, np.inf
    powers: ClassVar[FloatArray] = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])

    def width(self, states: Sequence[State]) -> int:
        return 2

    def statistics(self, states: Sequence[State]) -> FloatArray:
        x = np.array(states, dtype=np.float64)
        return np.stack([x, np.ones_like(x)], axis=1)

    def log_base(self, states: Sequence[State]) -> FloatArray:
        return np.asarray(-gammaln(np.array(states, dtype=np.float64) + 1.0))

    def summary(self, theta: FloatArray, unit: Unit) -> dict[str, FloatArray]:
        return {"rate": theta[:, 0]}

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        return theta[..., 0], theta[..., 0]

    def draw_values(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        return rng.poisson(theta[..., 0]).astype(np.float64)

    def mean_statistics(self, theta: Vector, at: Segment) -> Vector:
        return np.where(at.k == 0, theta, 1.0)

    def cases(self, N: Vector, at: Segment) -> Vector:
        cases = at.by_place(N)[1]
        return at.at_places(cases, cases)

    def natural(self, theta: Vector, at: Segment) -> Vector:
        rate = at.by_place(theta)[0]
        with np.errstate(divide="ignore"):
            return at.at_places(np.log(rate), -rate)

    # The prior

    def averaged_moments(self, hyper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Moments of the negative binomial distribution."""
        shape, rate = np.moveaxis(hyper, -1, 0)
        return shape / rate, shape / rate * (1.0 + 1.0 / rate)

    def parameters(self, natural: Vector, at: Segment) -> Vector:
        rate = -at.by_place(natural)[1]
        return at.at_places(rate, rate)

    def has_mode(self, hyper: Vector, at: Segment) -> bool:
        """Whether the shape is at least 1; below, the density is infinite at rate 0."""
        return bool((at.by_place(hyper)[0] >= 1.0).all())

    def in_theta(self, hyper: Vector, at: Segment) -> Vector:
        return hyper - np.where(at.k == 0, 1.0, 0.0)

    def log_integrals(self, hyper: Vector, at: Segment) -> FloatArray:
        """Log ∫ λ^shape exp(−rate λ) dlog λ; marginals are negative binomial."""
        shape, rate = at.by_place(hyper)
        return np.asarray(gammaln(shape) - shape * np.log(rate))

    def expected_natural(self, hyper: Vector, at: Segment) -> Vector:
        shape, rate = at.by_place(hyper)
        return at.at_places(digamma(shape) - np.log(rate), -shape / rate)

    def mean(self, hyper: Vector, at: Segment) -> Vector:
        shape, rate = at.by_place(hyper)
        return at.at_places(shape / rate, shape / rate)

    def draw(self, hyper: Vector, at: Segment, rng: Any) -> Vector:
        shape, rate = at.by_place(hyper)
        drawn = np.maximum(rng.standard_gamma(shape), np.finfo(float).tiny) / rate
        return at.at_places(np.log(drawn), -drawn)

    # Maximisation

    def random(self, hyper: Vector, at: Segment, rng: np.random.Generator) -> Vector:
        """Draw rates from an exponential distribution with the prior mean."""
        shape, rate = at.by_place(hyper)
        drawn = shape / rate * rng.standard_exponential(at.configurations)
        return at.at_places(drawn, drawn)

    def maximize(self, N: Vector, pseudo: Vector, theta: Vector, at: Segment) -> Vector:
        total, cases = at.by_place(N + pseudo)
        best = at.by_place(theta)[0].copy()
        np.divide(total, cases, out=best, where=cases > 0)
        return at.at_places(best, best)

    def pull_back(self, theta: Vector, g: Vector, at: Segment) -> Vector:
        first, second = at.by_place(g)
        rate = at.by_place(theta)[0]
        return at.at_places(first - rate * second, np.zeros_like(rate))

    def push(self, theta: Vector, phi: Vector, at: Segment) -> Vector:
        along, rate = at.by_place(phi)[0], at.by_place(theta)[0]
        return at.at_places(along, -rate * along)

    def information(self, theta: Vector, N: Vector, phi: Vector, at: Segment) -> Vector:
        return self.metric(theta, N, at) * phi

    def metric(self, theta: Vector, N: Vector, at: Segment, *, edge: bool = False) -> Vector:
        rate, cases = at.by_place(theta)[0], at.by_place(N)[1]
        sharp = np.where(rate > 0, 4.0 * cases, 0.0) if edge else rate * cases
        return at.at_places(sharp, np.zeros_like(sharp))

    def moved(self, theta: Vector, move: Vector, at: Segment, *, edge: bool = False) -> Vector:
        rate, step = at.by_place(theta)[0], at.by_place(move)[0]
        new = (np.sqrt(rate) + step) ** 2 if edge else rate * np.exp(step)
        return at.at_places(new, new)

    def log_map(self, old: Vector, new: Vector, at: Segment, *, edge: bool) -> Vector:
        step = move_of_logs(*(at.by_place(x)[0] for x in (old, new)), edge=edge)
        return at.at_places(step, np.zeros_like(step))

    def on_log_scale(self, at: Segment) -> BoolArray:
        return np.ones(len(at.ij), dtype=np.bool_)

    def to_interval_scale(self, phi: FloatArray, theta: Vector, at: Segment) -> FloatArray:
        """Convert to changes of log λ, which has two places."""
        along = at.by_place(phi.T)[0]
        return at.at_places(along, along).T

    def log_jacobian(self, theta: Vector, at: Segment) -> float:
        return float(np.sum(np.log(at.by_place(theta)[0])))


POISSON = Poisson()
