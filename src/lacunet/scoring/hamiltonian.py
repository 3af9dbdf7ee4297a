"""Hamiltonian Monte Carlo with a diagonal metric (Neal 2011), tuned in a warm-up.

The step size follows the acceptance rate by dual averaging (Hoffman & Gelman 2014); the metric is
a guess of the precisions first, then that of the draws of the warm-up.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from lacunet.runtime.arrays import FloatArray

ACCEPTED = 0.8  # part of the proposals that the step size aims at
TRAJECTORY = math.pi / 2  # in units of the metric: a quarter turn of a Gaussian forgets its start
LONGEST = 50  # steps in one trajectory
PULL = 5.0  # draws that the first guess of the metric counts for

# Gives the log density at a point, its gradient, and a number to be kept.
Density: TypeAlias = Callable[[FloatArray], tuple[float, FloatArray, float]]


@dataclass(frozen=True, eq=False)
class Place:
    """A point, and what the density says of it."""

    u: FloatArray
    log_density: float
    gradient: FloatArray
    kept: float


class Chain:
    """One chain; it can be continued at any time."""

    def __init__(
        self, density: Density, start: FloatArray, precision: FloatArray, rng: np.random.Generator
    ) -> None:
        self.density, self.rng = density, rng
        self.precision = precision  # (size,) the metric
        self.place = self._at(start)
        self.step = 0.5 * len(start) ** -0.25  # how a good step scales with the dimension

    def warm_up(self, draws: int) -> None:
        """Tune: the step, the metric, then the step for that metric. Nothing is kept."""
        third = draws // 3
        self._tune_step(third)
        points = self._tune_step(third)
        weight = len(points) / (len(points) + PULL)
        variance = weight * points.var(axis=0) + (1.0 - weight) / self.precision
        self.precision = 1.0 / variance
        self._tune_step(draws - 2 * third)

    def draw(self, draws: int) -> FloatArray:
        """Give what is to be kept of the next draws, (draws,)."""
        kept = np.empty(draws)
        for n in range(draws):
            self._move()
            kept[n] = self.place.kept
        return kept

    def _tune_step(self, draws: int) -> FloatArray:
        """Adapt the step size; give the points, (draws, size)."""
        points = np.empty((draws, len(self.place.u)))
        centre, error, smooth = math.log(10.0 * self.step), 0.0, 0.0
        for n in range(draws):
            t = n + 1
            error += (ACCEPTED - self._move() - error) / (t + 10.0)
            log_step = centre - math.sqrt(t) / 0.05 * error
            self.step = math.exp(log_step)
            smooth += (log_step - smooth) * t**-0.75
            points[n] = self.place.u
        self.step = math.exp(smooth)
        return points

    def _move(self) -> float:
        """Make one trajectory; give the probability of accepting it."""
        momentum = self.rng.standard_normal(len(self.place.u)) * np.sqrt(self.precision)
        before = self._energy(self.place, momentum)
        # Trajectories of one length may come back to where they began.
        length = TRAJECTORY * self.rng.uniform(0.5, 1.5)
        steps = int(min(max(1.0, length / self.step), LONGEST))
        with np.errstate(over="ignore", invalid="ignore"):  # too long a step may end anywhere
            end, momentum = self._leap(steps, momentum)
            gain = before - self._energy(end, momentum)
        accepted = math.exp(min(0.0, gain)) if math.isfinite(gain) else 0.0
        if self.rng.random() < accepted:
            self.place = end
        return accepted

    def _leap(self, steps: int, momentum: FloatArray) -> tuple[Place, FloatArray]:
        """Follow the flow by the leapfrog method."""
        end = self.place
        for _ in range(steps):
            momentum = momentum + self.step / 2 * end.gradient
            end = self._at(end.u + self.step * momentum / self.precision)
            if not math.isfinite(end.log_density):
                break
            momentum = momentum + self.step / 2 * end.gradient
        return end, momentum

    def _energy(self, place: Place, momentum: FloatArray) -> float:
        return float(momentum @ (momentum / self.precision)) / 2 - place.log_density

    def _at(self, u: FloatArray) -> Place:
        return Place(u, *self.density(u))
