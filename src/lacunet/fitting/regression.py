"""Latent class regression: coefficients and items fitted together.

What is climbed is the likelihood with covariates, times the density of coefficients and items:
EM with Newton's method inside while it is fast, then Newton's method with the exact curvature.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import gammaln

from lacunet.fitting.ascent import EM_AT_MOST, LAST_DIGITS, PAPER_CHANGE, TOLERANCE, Convergence
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.logit import logit_gradient, logit_information, maximize_logit, whole
from lacunet.fitting.maxima import SAME_OPTIMUM
from lacunet.fitting.objective import Estimate, Objective
from lacunet.fitting.schedules import FINALISTS, TASK
from lacunet.inference.classes import Tangent, dot, expect
from lacunet.inference.covariates import ClassProblem
from lacunet.inference.plans.plan import free_coordinates
from lacunet.models import conjugacy
from lacunet.models.known import Relabelling
from lacunet.models.latent_class import classes_of
from lacunet.models.network import Model
from lacunet.models.predictors import Predictors
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.runtime.executor import SERIAL, Executor

LONGEST = 4.0  # move of one coordinate in a step
NEWTON_AT_MOST = 100
ESCAPES = 5
NEGATIVE = -1e-6  # curvature, relative to the largest, below which a point is a saddle
ROUNDING = 1e-13  # relative noise of a log-likelihood
LAPS = 3  # of a race between random starts: 1, 2 and 4 iterations, the better half goes on


@dataclass(frozen=True, eq=False)
class ClassPoint:
    """Coefficients and items, and what one pass over the data says of them."""

    beta: FloatArray  # (free,) coefficients of standardised columns: see `ClassProblem.free`
    theta: FloatArray  # (size,) with the class sizes that they give
    N: FloatArray  # (size,) expected counts
    log_lik: float  # log p(items | covariates, β, θ)
    g: float  # what is climbed


@dataclass(frozen=True, eq=False)
class ClassObjective:
    """The function of (β, θ of items) to climb, with its M step, gradient and curvature.

    Coordinates are β, then φ of the items (`models.conjugacy`): steps never leave the range.
    """

    given: ClassProblem
    estimate: Estimate
    pseudo: FloatArray  # (size,) what the M step adds to statistics of items; 0 elsewhere
    constant: float  # of the log prior of items and coefficients
    precision: FloatArray  # (free, free) of the Gaussian prior; zeros for the ML

    @classmethod
    def build(cls, given: ClassProblem, estimate: Estimate) -> "ClassObjective":
        """Take the prior of items that a search without covariates has, and that of β."""
        plain, free = Objective.build(given.plain, estimate), given.free
        estimate, alpha, layout = plain.estimate, given.problem.alpha, given.layout
        if estimate is Estimate.ML:
            return cls(given, estimate, np.zeros(layout.size), 0.0, np.zeros((free, free)))
        added = alpha if estimate is Estimate.SOFTMAX else conjugacy.in_theta(alpha, layout)
        # The constant of the plain prior without that of class sizes, which β replaces.
        sizes = given.plain.layout.table(given.plain.alpha, given.root)
        of_sizes = float(gammaln(sizes.sum()) - gammaln(sizes).sum())
        log_det = np.linalg.slogdet(given.precision)[1] if free else 0.0
        of_beta = (log_det - free * np.log(2.0 * np.pi)) / 2.0
        pseudo = np.where(given.of_items, added, 0.0)
        return cls(given, estimate, pseudo, plain.constant - of_sizes + of_beta, given.precision)

    def at(self, beta: FloatArray, items: FloatArray) -> ClassPoint:
        """Run the E step, for items as they stand in any θ."""
        given, design = self.given, self.given.design.matrix
        theta = given.with_coefficients(items, whole(beta, design.shape[1]))
        found = expect(given.problem, theta)
        # The problem has all patterns as likely as each other, which says nothing.
        log_lik = found.log_lik + given.problem.cases * float(np.log(len(design)))
        g = log_lik + self.constant - float(beta @ self.precision @ beta) / 2.0
        return ClassPoint(beta, theta, found.N, log_lik, g + dot(self.pseudo, found.natural))

    def em_step(self, point: ClassPoint) -> ClassPoint:
        """One iteration of EM: items in closed form, coefficients by Newton's method inside."""
        given = self.given
        theta = conjugacy.maximize(point.N, self.pseudo, point.theta, given.layout)
        N = given.class_table(point.N)
        beta = maximize_logit(given.design.matrix, N, point.beta, self.precision)
        return self.at(beta, np.where(given.of_items, theta, point.theta))

    def free(self, theta: FloatArray) -> IntArray:
        """(d of items,) positions of items that vary, at θ."""
        free = free_coordinates(self.given.layout, theta).free
        return np.asarray(free[self.given.of_items[free]])

    def gradient(self, point: ClassPoint, free: IntArray) -> FloatArray:
        """Slope by (β, φ of items at `free`), in cases."""
        given = self.given
        p, N = given.class_table(point.theta), given.class_table(point.N)
        of_beta = logit_gradient(given.design.matrix, N, p) - self.precision @ point.beta
        of_items = conjugacy.pull_back(point.theta, point.N + self.pseudo, given.layout)
        return np.concatenate([of_beta, of_items[free]])

    def steepest(self, point: ClassPoint) -> float:
        """Largest component of the gradient by any coordinate, whichever makes up for others."""
        every = np.flatnonzero(self.given.of_items)
        return float(np.abs(self.gradient(point, every)).max(initial=0.0))

    def moved(self, point: ClassPoint, move: FloatArray, free: IntArray) -> ClassPoint:
        """Go a step in (β, φ of items at `free`)."""
        coefficients = len(point.beta)
        along = np.zeros(self.given.layout.size)
        along[free] = move[coefficients:]
        theta = conjugacy.moved(point.theta, along, self.given.layout)
        return self.at(point.beta + move[:coefficients], theta)

    def negative_hessian(self, point: ClassPoint, free: IntArray) -> FloatArray:
        """A by (β, φ of items at `free`), (d, d): that of complete data less what is missing."""
        return self.complete(point, free) - self._missing(point, free)

    def complete(self, point: ClassPoint, free: IntArray) -> FloatArray:
        """A′, (d, d): what A would be if the classes had been seen in their expected numbers."""
        given, n = self.given, len(point.beta)
        A, p = np.zeros((n + len(free),) * 2), given.class_table(point.theta)
        of_beta = logit_information(given.design.matrix, given.cases, p)
        A[:n, :n] = self.precision + of_beta
        for column, phi in enumerate(self._directions_of_items(free), start=n):
            known = point.N + self.pseudo
            A[n:, column] = conjugacy.information(point.theta, known, phi, given.layout)[free]
        return A

    def _missing(self, point: ClassPoint, free: IntArray) -> FloatArray:
        """Information that hidden classes take away, (d, d). Louis (1982).

        It is the covariance of the complete-data score: a tangent for each coordinate.
        """
        given, layout, theta = self.given, self.given.layout, point.theta
        design, tangent = given.design.matrix, Tangent(given.problem, theta)
        columns = []
        for eta in self._log_slopes(point, free):
            change = tangent(eta)
            of_beta = np.asarray(given.class_table(change)[:, 1:].T @ design).reshape(-1)
            of_items = conjugacy.pull_back(theta, change, layout)[free]
            columns.append(np.concatenate([of_beta, of_items]))
        missing: FloatArray = np.array(columns).reshape(len(point.beta) + len(free), -1)
        return (missing + missing.T) / 2.0

    def _log_slopes(self, point: ClassPoint, free: IntArray) -> Iterator[FloatArray]:
        """How log probabilities change with each coordinate, (size,)."""
        given, layout = self.given, self.given.layout
        p = given.class_table(point.theta)
        for c in range(1, given.states):
            slope = (np.arange(given.states) == c) - p[:, [c]]
            for column in given.design.matrix.T:
                eta = np.zeros(layout.size)
                eta[layout.block(given.root)] = (column[:, None] * slope).reshape(-1)
                yield eta
        for phi in self._directions_of_items(free):
            yield np.where(given.of_items, conjugacy.push(point.theta, phi, layout), 0.0)

    def _directions_of_items(self, free: IntArray) -> Iterator[FloatArray]:
        for position in free:
            phi = np.zeros(self.given.layout.size)
            phi[position] = 1.0
            yield phi


@dataclass(frozen=True, eq=False)
class ClassFit:
    """Coefficients and items, the function that they are held to, and how they were found."""

    objective: ClassObjective
    point: ClassPoint
    outcome: Convergence = Convergence.CONVERGED
    steps: int = 0  # of Newton's method, in the start that won
    finalists: int = 1  # starts that were run to the end
    reached: int = 1  # how many of them reached the best maximum
    doubt: float = 0.0  # nats that it is above the next
    seconds: float = 0.0

    @property
    def given(self) -> ClassProblem:
        """What they are parameters of."""
        return self.objective.given

    @property
    def free(self) -> IntArray:
        """Positions of items that vary."""
        return self.objective.free(self.point.theta)

    @property
    def dimension(self) -> int:
        """Free parameters."""
        return self.given.free + len(self.free)

    @cached_property
    def gradient(self) -> float:
        """Largest component at the end, in cases."""
        return self.objective.steepest(self.point)

    def held_to(self, estimate: Estimate) -> "ClassFit":
        """Hold the same parameters to another estimate."""
        objective = ClassObjective.build(self.given, estimate)
        return ClassFit(objective, objective.at(self.point.beta, self.point.theta))

    def renumbered(self, order: Sequence[int]) -> "ClassFit":
        """Give the new class k what the old class order[k] had."""
        given, point = self.given, self.point
        relabelled = Relabelling(given.layout, orders={given.root: order})
        if list(order) == sorted(order) or not relabelled.keeps(given.problem.alpha):
            return self
        coefficients = whole(point.beta, given.design.matrix.shape[1])[list(order)]
        free = (coefficients - coefficients[0])[1:].reshape(-1)
        return replace(self, point=self.objective.at(free, relabelled.apply(point.theta)))


def parameters_of(model: Model, given: ClassProblem, estimate: Estimate) -> ClassFit:
    """Take coefficients and items as a model has them, for rows and a design that may be others."""
    predictors, objective = model.predictors, ClassObjective.build(given, estimate)
    assert predictors is not None
    beta = predictors.coefficients[1:].reshape(-1)
    return ClassFit(objective, objective.at(beta, given.from_plain(model.theta)))


def fit_classes(
    given: ClassProblem,
    options: Options,
    *,
    executor: Executor = SERIAL,
    beside: tuple[FloatArray, ...] = (),
) -> ClassFit:
    """Search from the maxima without covariates, from random starts, and from items `beside`.

    Each start has coefficients 0 but for class sizes; `beside` are (size of plain,) parameters.
    Classes are numbered by their expected cases, the largest first.
    """
    began = time.perf_counter()
    objective = ClassObjective.build(given, options.estimate)
    plain = learn(given.plain, options, executor=executor)
    known = [plain.model.theta, *(p.theta for p in plain.others), *beside]
    raced = executor.map(partial(_random_start, objective, options.seed), range(options.starts))
    for lap in range(LAPS):
        further = executor.map(partial(_em, objective, iterations=2**lap), raced)
        ranked = sorted(further, key=lambda p: -p.g)
        raced = ranked[: max(FINALISTS, len(ranked) // 2)]
    starts = [*(_start(objective, theta) for theta in known), *raced[:FINALISTS]]
    climbs = executor.map(partial(climb, objective), starts)
    best = max(climbs, key=lambda one: one.point.g)
    below = [best.point.g - one.point.g for one in climbs]
    others = [nats for nats in below if nats >= SAME_OPTIMUM]
    executor.say(TASK, 1.0)
    found = replace(
        best,
        finalists=len(below),
        reached=len(below) - len(others),
        doubt=min(others, default=0.0),
        seconds=time.perf_counter() - began,
    )
    cases = given.class_table(best.point.N).sum(axis=0)
    return found.renumbered(np.argsort(-cases, kind="stable").tolist())


def climb_on(given: ClassProblem, start: ClassPoint, estimate: Estimate) -> ClassFit:
    """Climb from a point to the maximum of an estimate; classes keep their numbers."""
    objective = ClassObjective.build(given, estimate)
    return climb(objective, objective.at(start.beta, start.theta))


def _start(objective: ClassObjective, theta: FloatArray) -> ClassPoint:
    """Take items and class sizes of a model without covariates."""
    given = objective.given
    sizes = np.maximum(given.plain.layout.table(theta, given.root), 1e-6)
    coefficients = np.zeros((given.states, given.design.matrix.shape[1]))
    coefficients[:, 0] = np.log(sizes / sizes[0])
    return objective.at(coefficients[1:].reshape(-1), given.from_plain(theta))


def _random_start(objective: ClassObjective, seed: int, index: int) -> ClassPoint:
    layout, alpha = objective.given.plain.layout, objective.given.plain.alpha
    rng = np.random.default_rng([seed, layout.size, index])
    return _start(objective, conjugacy.random_theta(layout, rng, alpha))


def _em(objective: ClassObjective, point: ClassPoint, iterations: int) -> ClassPoint:
    """Run EM for a number of iterations, or until it is slow."""
    for _ in range(iterations):
        before, point = point, objective.em_step(point)
        if point.g - before.g < PAPER_CHANGE * abs(point.g) / 10.0:
            break
    return point


def climb(objective: ClassObjective, start: ClassPoint) -> ClassFit:
    """Climb to a maximum."""
    point, steps = _em(objective, start, EM_AT_MOST), 0
    for _ in range(ESCAPES):
        point, more, done = _newton(objective, point)
        steps += more
        way = _way_up(objective, point) if done else None
        if way is None:
            outcome = Convergence.CONVERGED if done else Convergence.MAX_STEPS
            return ClassFit(objective, point, outcome, steps)
        point = _em(objective, way, EM_AT_MOST)
    return ClassFit(objective, point, Convergence.MAX_STEPS, steps)


def _newton(objective: ClassObjective, point: ClassPoint) -> tuple[ClassPoint, int, bool]:
    """Take Newton steps until no slope is left."""
    tolerance = max(TOLERANCE, LAST_DIGITS * objective.given.problem.cases)
    for steps in range(NEWTON_AT_MOST):
        if objective.steepest(point) <= tolerance:
            return point, steps, True
        moved = _damped(objective, point)
        if moved is None:
            moved = objective.em_step(point)
            if moved.g <= point.g + ROUNDING * abs(point.g):
                return point, steps, objective.steepest(point) <= 10 * tolerance
        point = moved
    return point, NEWTON_AT_MOST, False


def _damped(objective: ClassObjective, point: ClassPoint) -> ClassPoint | None:
    """Take the longest step of Newton's that rises: damping grows until one does."""
    free = objective.free(point.theta)
    slope, A = objective.gradient(point, free), objective.negative_hessian(point, free)
    scale = np.maximum(A.diagonal(), 1e-12)
    for damping in (0.0, *10.0 ** np.arange(-6, 3)):
        try:
            factor = cho_factor(A + np.diag(damping * scale), lower=True)
        except LinAlgError:
            continue
        move = cho_solve(factor, slope)
        move *= min(1.0, LONGEST / max(float(np.abs(move).max()), 1e-300))
        moved = objective.moved(point, move, free)
        if moved.g >= point.g - ROUNDING * abs(point.g):
            return moved
    return None


def _way_up(objective: ClassObjective, point: ClassPoint) -> ClassPoint | None:
    """Leave a saddle; None from a maximum, or where no way leads up."""
    free = objective.free(point.theta)
    A = objective.negative_hessian(point, free)
    if not len(A):
        return None
    scale = np.sqrt(np.maximum(A.diagonal(), 1e-12))
    values, vectors = np.linalg.eigh(A / np.outer(scale, scale))
    if values[0] >= NEGATIVE:
        return None
    direction = vectors[:, 0] / scale
    direction /= np.abs(direction).max()
    tried = (objective.moved(point, s * direction, free) for s in (1.0, -1.0, 0.1, -0.1))
    return max((p for p in tried if p.g > point.g), key=lambda p: p.g, default=None)


def model_of(fit: ClassFit, mode: ClassFit | None = None) -> Model:
    """Give the latent class model of the items, and what predicts its classes.

    Class sizes are those over all rows. At the mode of (β, φ), if it is known, are the coefficients
    of the posterior predictive, and the expected counts of the posterior of items.
    """
    given, asked = fit.given, mode or fit
    columns = given.design.matrix.shape[1]
    predictors = Predictors(
        given.design.covariates,
        classes_of(given.plain.network).variable.name,
        whole(fit.point.beta, columns),
        whole(asked.point.beta, columns),
        given.coefficient_sd,
    )
    plain = given.plain
    posterior = None if mode is None else plain.alpha + given.to_plain_counts(mode.point.N)
    theta = given.to_plain(fit.point.theta)
    return Model(plain.network, theta, plain.alpha, posterior, predictors=predictors)
