"""Measured: chains from the Gaussian at the mode to the posterior, weighed as they go (AIS).

In coordinates u in which that Gaussian is standard, a chain draws u, and walks along densities
∝ q^(1−t) f^t with Langevin steps (Roberts & Tweedie 1996). The average weight is the evidence
whatever the steps do (Neal 2001); how much the weights vary says how sure that is. The evidence is
K! times that of one order of the classes: a chain counts if the order that fits the mode best is
the mode's own, which cuts the space into K! parts of equal mass.
"""

import time
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from scipy.linalg import solve_triangular

from lacunet.errors import OptionError
from lacunet.evidence.clock import Clock
from lacunet.evidence.estimate import RELIABLE_SPREAD, LogMean, Verdict, log_mean
from lacunet.evidence.measurement import Measurement, Method
from lacunet.evidence.regression.at_mode import ClassMode
from lacunet.evidence.regression.orders import OwnOrder
from lacunet.fitting.regression.objective import ClassPoint
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor

CHAINS = 50  # in a round
TEMPERATURES = 25  # of the first round; more where weights vary too much
MOST = 3200
STRIDE = 1.3  # length of a Langevin step in u, times d^(−1/6) (Roberts & Rosenthal 1998)


@dataclass(frozen=True, eq=False)
class Place:
    """Where a chain is."""

    u: FloatArray  # (d,)
    log_f: float  # of the density of u
    slope: FloatArray  # (d,) its gradient
    point: ClassPoint


@dataclass(frozen=True, eq=False)
class Path:
    """From the Gaussian at a mode to the posterior."""

    mode: ClassMode
    L: FloatArray  # (d, d) Cholesky's factor of A: u = Lᵀ x
    order: OwnOrder

    def at(self, u: FloatArray) -> Place:
        """Look at a point."""
        objective, free = self.mode.fit.objective, self.mode.free
        x = solve_triangular(self.L, u, trans="T", lower=True)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            point = objective.moved(self.mode.fit.point, x, free)
            slope = objective.gradient(point, free)
        log_f = point.g - float(np.log(self.L.diagonal()).sum())
        if not (np.isfinite(log_f) and np.isfinite(slope).all()):  # far out, where nothing is
            return Place(u, -np.inf, np.zeros_like(u), point)
        return Place(u, log_f, solve_triangular(self.L, slope, lower=True), point)

    def chain(self, temperatures: int, seed: int, index: int) -> float:
        """Give the log weight of one chain; −inf if it ended in another order of the classes."""
        rng = np.random.default_rng([seed, temperatures, index])
        d = len(self.L)
        place = self.at(rng.standard_normal(d))
        total = 0.0
        for before, t in pairwise(np.linspace(0.0, 1.0, temperatures + 1).tolist()):
            total += (t - before) * (place.log_f - _log_gauss(place.u))
            if t < 1.0:
                place = self._step(place, t, rng)
        return total if self.order(place.point.theta) else -np.inf

    def _step(self, place: Place, t: float, rng: np.random.Generator) -> Place:
        """One Langevin step that leaves q^(1−t) f^t as it is."""
        stride = STRIDE * max(1, len(place.u)) ** (-1 / 6)

        def drift(at: Place) -> FloatArray:
            return np.asarray(at.u + stride**2 / 2.0 * (t * at.slope - (1.0 - t) * at.u))

        proposed = self.at(drift(place) + stride * rng.standard_normal(len(place.u)))
        there = float(((proposed.u - drift(place)) ** 2).sum())
        back = float(((place.u - drift(proposed)) ** 2).sum())
        gain = (
            t * (proposed.log_f - place.log_f)
            + (1.0 - t) * (_log_gauss(proposed.u) - _log_gauss(place.u))
            + (there - back) / (2.0 * stride**2)
        )
        return proposed if np.log(rng.random()) < gain else place


def _log_gauss(u: FloatArray) -> float:
    return -(float(u @ u) + len(u) * float(np.log(2.0 * np.pi))) / 2.0


def measure(mode: ClassMode, clock: Clock, seed: int, executor: Executor = SERIAL) -> Measurement:
    """Measure log p(items | covariates) until the goal is reached, or the time is up.

    Chains of one length are all that counts: where they vary too much, longer ones begin anew.
    """
    if mode.factor is None:
        raise OptionError(
            "the evidence cannot be measured: the search ended at no maximum. Raise --starts, or "
            "take fewer classes."
        )
    path = Path(mode, np.tril(mode.factor.L), OwnOrder.at(mode.fit))
    temperatures, weights, last = TEMPERATURES, np.empty(0), 0.0
    while True:
        began = time.perf_counter()
        chain = partial(path.chain, temperatures, seed)
        more = executor.map(chain, range(len(weights), len(weights) + CHAINS))
        weights, last = np.append(weights, more), time.perf_counter() - began
        found = log_mean(weights)
        executor.say("evidence", min(1.0, clock.goal.target / max(found.stderr, 1e-9)))
        done = found.stderr <= clock.goal.target and found.verdict is Verdict.RELIABLE
        if done or not clock.allows(last):
            break
        wide = found.spread > RELIABLE_SPREAD or found.stderr > 4.0 * clock.goal.target
        if wide and temperatures < MOST and clock.allows(2.0 * last):
            temperatures, weights = 2 * temperatures, np.empty(0)
    return _measured(mode, found, temperatures, clock.spent)


def _measured(mode: ClassMode, found: LogMean, temperatures: int, seconds: float) -> Measurement:
    sure = found.verdict is Verdict.RELIABLE
    return Measurement(
        found.value + mode.log_labellings,
        found.value,
        found.stderr if sure else None,
        found.size,
        found.verdict,
        Method.AIS,
        seconds,
        {},
        {"chains": found.chains, "temperatures": temperatures},
    )
