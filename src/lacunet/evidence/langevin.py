"""The evidence of classes that covariates predict: approximated at the mode, or sampled.

CSL combines Cheeseman–Stutz for items, Laplace for coefficients, and their joint curvature.
Sampling is annealed importance sampling from the Gaussian at the mode, by Langevin steps. The K!
orders of the classes have equal mass, so only draws in the order of the mode count.
"""

import math
import time
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import linear_sum_assignment
from scipy.special import gammaln

from lacunet.errors import OptionError
from lacunet.evidence.annealing import TimeLimit
from lacunet.evidence.estimate import RELIABLE_SPREAD, Measurement, Method, Verdict, log_mean
from lacunet.fitting.ascent import Climb, Convergence
from lacunet.fitting.fit import softmax_climb
from lacunet.fitting.objective import Estimate, Objective, Point
from lacunet.flags import Flag, Kind
from lacunet.inference.classes import dot
from lacunet.inference.predicted import PredictedClasses
from lacunet.inference.problem import Problem
from lacunet.models import conjugacy
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores import Evidence
from lacunet.scores.softmax import CholeskyFactor, factorise

NAME = "csl"
DRAWS = 400  # from the Gaussian, for its share in the order of the mode
CHAINS = 50  # in a round
TEMPERATURES = 25  # of the first round; more if weights vary too much
MOST = 3200
STRIDE = 1.3  # length of a Langevin step in u, times d^(−1/6) (Roberts & Rosenthal 1998)


@dataclass(frozen=True, eq=False)
class ClassMode:
    """The mode of the density of coefficients and φ of items, with its curvature."""

    objective: Objective  # of the softmax estimate
    climb: Climb
    free: IntArray  # positions of coefficients, and of items that vary
    A: FloatArray  # (d, d) negative Hessian

    @property
    def point(self) -> Point:
        """The mode."""
        return self.climb.point

    @cached_property
    def classes(self) -> PredictedClasses:
        """The parts of the problem."""
        return PredictedClasses(self.objective.problem)

    @cached_property
    def factor(self) -> CholeskyFactor | None:
        """The Cholesky factor of A; None if the point is not a maximum."""
        return factorise(np.array(self.A, order="F"))

    @property
    def log_labellings(self) -> float:
        """Log K!, the number of orders of the classes."""
        return float(gammaln(self.classes.states + 1.0))

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Warnings about the mode."""
        if self.factor is None:
            return (Flag(Kind.NOT_POSITIVE_DEFINITE, detail={"point": "φ"}),)
        outcome = self.climb.outcome
        stopped = (Flag(Kind.NOT_CONVERGED, detail={"outcome": outcome}),)
        return (*(stopped if outcome is not Convergence.CONVERGED else ()), *self.factor.flags)

    @cached_property
    def profiles(self) -> FloatArray:
        """(K, parameters) signed square roots of the item parameters of each class."""
        return self._profiles(self.point.theta)

    def _profiles(self, theta: FloatArray) -> FloatArray:
        layout, items = self.objective.problem.layout, self.classes.items
        every = np.hstack([layout.table(theta, i).reshape(self.classes.states, -1) for i in items])
        return np.asarray(np.sign(every) * np.sqrt(np.abs(every)))

    def has_mode_order(self, theta: FloatArray) -> bool:
        """Whether the order of the classes that is nearest to the mode is the identity.

        Any distance of classes is valid: it partitions the space into K! relabelled copies.
        """
        profiles = self._profiles(theta)
        apart = ((profiles[:, None, :] - self.profiles[None, :, :]) ** 2).sum(axis=2)
        _, order = linear_sum_assignment(apart)
        return bool((order == np.arange(len(order))).all())

    def moved(self, x: FloatArray) -> FloatArray:
        """Parameters at a distance x from the mode, in free coordinates."""
        along = np.zeros(len(self.point.theta))
        along[self.free] = x
        return conjugacy.moved(self.point.theta, along, self.objective.problem.layout)


def mode_of(problem: Problem, theta: FloatArray) -> ClassMode:
    """Climb from θ to the nearest mode."""
    objective, climb = Objective.build(problem, Estimate.SOFTMAX), softmax_climb(problem, theta)
    coordinates = PredictedClasses(problem).coordinates(climb.point.theta)
    A = objective.negative_hessian(climb.point, coordinates)
    return ClassMode(objective, climb, coordinates.free, A)


def csl_of(mode: ClassMode) -> Evidence:
    """Approximate log p(items | covariates), over all orders of the classes."""
    if mode.factor is None:
        return Evidence(NAME, {}, mode.flags)
    classes, point, free = mode.classes, mode.point, mode.classes.free
    problem, plain, N = mode.objective.problem, classes.network.layout, classes.counts(point.N)
    marginals = conjugacy.log_marginal(N, classes.alpha, plain)[list(classes.items)]
    natural = conjugacy.natural(classes.to_plain(point.theta), plain)
    statistics = point.N + problem.alpha
    of_all = conjugacy.complete_log_det(point.theta, statistics, problem.layout)
    of_beta = _log_det(classes.curvature(point.theta, statistics))
    precision = classes.logit.precision
    beta = classes.coefficients(point.theta)[1:].reshape(-1)
    quadratic = float(beta @ precision @ beta)
    terms = {
        "log p(items of D′|S)": float(marginals.sum()),
        "−log p(items of D′|φ)": -dot(np.where(plain.owner == classes.root, 0.0, N), natural),
        "log p(D|β, φ)": point.log_lik,
        "log p(β)": (_log_det(precision) - free * math.log(2 * math.pi) - quadratic) / 2,
        "dβ/2 log 2π": free / 2 * math.log(2 * math.pi),
        "½ log|A′ of items|": (of_all - of_beta) / 2,
        "−½ log|A|": -mode.factor.log_det / 2,
        "log K!": mode.log_labellings,
        "log of the part with its own order": _log_mode_order(mode, mode.factor),
    }
    return Evidence(NAME, terms, mode.flags)


def _log_mode_order(mode: ClassMode, factor: CholeskyFactor) -> float:
    """Log of the share of the Gaussian in which classes have the order of the mode, by draws."""
    d = len(mode.A)
    u = np.random.default_rng(d).standard_normal((DRAWS, d))
    moves: FloatArray = solve_triangular(np.tril(factor.L), u.T, trans="T", lower=True)
    in_order = sum(mode.has_mode_order(mode.moved(move)) for move in moves.T)
    return math.log(max(in_order, 1) / DRAWS)


def _log_det(A: FloatArray) -> float:
    return float(np.linalg.slogdet(A)[1]) if len(A) else 0.0


@dataclass(frozen=True, eq=False)
class LangevinState:
    """The state of a chain."""

    u: FloatArray  # (d,)
    log_f: float  # of the density of u
    slope: FloatArray  # (d,) gradient of log_f
    point: Point

    @property
    def log_gauss(self) -> float:
        """Log density of the Gaussian."""
        d = len(self.u)
        return -(float(self.u @ self.u) + d * float(np.log(2.0 * np.pi))) / 2.0


@dataclass(frozen=True, eq=False)
class LangevinPath:
    """The annealing path from the Gaussian at a mode to the posterior."""

    mode: ClassMode
    L: FloatArray  # (d, d) Cholesky factor of A: u = Lᵀ x

    def at(self, u: FloatArray) -> LangevinState:
        """The state at a point u."""
        objective = self.mode.objective
        x = solve_triangular(self.L, u, trans="T", lower=True)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            point = objective.at(self.mode.moved(x))
            slope = objective.gradient(point)[self.mode.free]
        log_f = point.g - float(np.log(self.L.diagonal()).sum())
        if not (np.isfinite(log_f) and np.isfinite(slope).all()):  # overflow far from the mode
            return LangevinState(u, -np.inf, np.zeros_like(u), point)
        return LangevinState(u, log_f, solve_triangular(self.L, slope, lower=True), point)

    def chain(self, temperatures: int, seed: int, index: int) -> float:
        """The log weight of one chain; −inf if it ended in another order of the classes."""
        rng = np.random.default_rng([seed, temperatures, index])
        state = self.at(rng.standard_normal(len(self.L)))
        total = 0.0
        for before, t in pairwise(np.linspace(0.0, 1.0, temperatures + 1).tolist()):
            total += (t - before) * (state.log_f - state.log_gauss)
            if t < 1.0:
                state = self._step(state, t, rng)
        return total if self.mode.has_mode_order(state.point.theta) else -np.inf

    def _step(self, state: LangevinState, t: float, rng: np.random.Generator) -> LangevinState:
        """One Metropolis-adjusted Langevin step that leaves q^(1−t) f^t invariant."""
        stride = STRIDE * max(1, len(state.u)) ** (-1 / 6)

        def drift(at: LangevinState) -> FloatArray:
            return np.asarray(at.u + stride**2 / 2.0 * (t * at.slope - (1.0 - t) * at.u))

        proposed = self.at(drift(state) + stride * rng.standard_normal(len(state.u)))
        forward = float(((proposed.u - drift(state)) ** 2).sum())
        back = float(((state.u - drift(proposed)) ** 2).sum())
        gain = (
            t * (proposed.log_f - state.log_f)
            + (1.0 - t) * (proposed.log_gauss - state.log_gauss)
            + (forward - back) / (2.0 * stride**2)
        )
        return proposed if np.log(rng.random()) < gain else state


def measure(
    mode: ClassMode, limit: TimeLimit, seed: int, executor: Executor = SERIAL
) -> Measurement:
    """Estimate log p(items | covariates) until the goal is reached or the time is up.

    All chains have the same length. If their weights vary too much, longer chains replace them.
    """
    if mode.factor is None:
        raise OptionError(
            "the evidence cannot be measured, because the search did not end at a maximum. Raise "
            "--starts, or take fewer classes."
        )
    path, target = LangevinPath(mode, np.tril(mode.factor.L)), limit.goal.target
    temperatures, weights, last = TEMPERATURES, np.empty(0), 0.0
    while True:
        began = time.perf_counter()
        chain = partial(path.chain, temperatures, seed)
        more = executor.map(chain, range(len(weights), len(weights) + CHAINS))
        weights, last = np.append(weights, more), time.perf_counter() - began
        estimate = log_mean(weights)
        executor.report("evidence", min(1.0, target / max(estimate.stderr, 1e-9)))
        sure = estimate.verdict is Verdict.RELIABLE
        if (estimate.stderr <= target and sure) or not limit.allows(last):
            break
        wide = estimate.spread > RELIABLE_SPREAD or estimate.stderr > 4.0 * target
        if wide and temperatures < MOST and limit.allows(2.0 * last):
            temperatures, weights = 2 * temperatures, np.empty(0)
    return Measurement(
        estimate.value + mode.log_labellings,
        estimate.value,
        estimate.stderr if sure else None,
        estimate.size,
        estimate.verdict,
        Method.AIS,
        limit.spent,
        {},
        {"chains": estimate.chains, "temperatures": temperatures},
    )
