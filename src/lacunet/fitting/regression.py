"""Latent class regression: joint fits of coefficients and items.

The objective is the likelihood with covariates, times the prior density of coefficients and items.
EM, with Newton's method in the M step, runs while it is fast; then Newton's method with the exact
Hessian.
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
LAPS = 3  # of successive halving of random starts, with 1, 2 and 4 iterations


@dataclass(frozen=True, eq=False)
class ClassPoint:
    """Coefficients and items, with the results of an E step."""

    beta: FloatArray  # (free,) coefficients of standardised columns: see `ClassProblem.free`
    theta: FloatArray  # (size,) items, with the class sizes given by β
    N: FloatArray  # (size,) expected counts
    log_lik: float  # log p(items | covariates, β, θ)
    g: float  # the objective


@dataclass(frozen=True, eq=False)
class ClassObjective:
    """The objective as a function of (β, θ of items), with its M step, gradient and Hessian.

    Coordinates are β, then φ of the items (`models.conjugacy`), both unconstrained.
    """

    given: ClassProblem
    estimate: Estimate
    pseudo: FloatArray  # (size,) pseudo-counts of items in the M step; 0 elsewhere
    constant: float  # of the log prior of items and coefficients
    precision: FloatArray  # (free, free) of the Gaussian prior; zeros for the ML

    @classmethod
    def build(cls, given: ClassProblem, estimate: Estimate) -> "ClassObjective":
        """The objective with the prior of items as without covariates, and the prior of β."""
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
        """Run the E step at β and the items of any θ."""
        given, design = self.given, self.given.design.matrix
        theta = given.with_coefficients(items, whole(beta, design.shape[1]))
        expected = expect(given.problem, theta)
        # The problem has uniform probabilities of covariate patterns: remove them.
        log_lik = expected.log_lik + given.problem.cases * float(np.log(len(design)))
        g = log_lik + self.constant - float(beta @ self.precision @ beta) / 2.0
        return ClassPoint(beta, theta, expected.N, log_lik, g + dot(self.pseudo, expected.natural))

    def em_step(self, point: ClassPoint) -> ClassPoint:
        """One iteration of EM: items in closed form, coefficients by Newton's method."""
        given = self.given
        theta = conjugacy.maximize(point.N, self.pseudo, point.theta, given.layout)
        N = given.class_table(point.N)
        beta = maximize_logit(given.design.matrix, N, point.beta, self.precision)
        return self.at(beta, np.where(given.of_items, theta, point.theta))

    def free(self, theta: FloatArray) -> IntArray:
        """(d of items,) positions of the free item parameters, at θ."""
        free = free_coordinates(self.given.layout, theta).free
        return np.asarray(free[self.given.of_items[free]])

    def gradient(self, point: ClassPoint, free: IntArray) -> FloatArray:
        """Gradient by (β, φ of items at `free`), in cases."""
        given = self.given
        p, N = given.class_table(point.theta), given.class_table(point.N)
        of_beta = logit_gradient(given.design.matrix, N, p) - self.precision @ point.beta
        of_items = conjugacy.pull_back(point.theta, point.N + self.pseudo, given.layout)
        return np.concatenate([of_beta, of_items[free]])

    def steepest(self, point: ClassPoint) -> float:
        """Largest component of the gradient over all coordinates, also dependent ones."""
        every = np.flatnonzero(self.given.of_items)
        return float(np.abs(self.gradient(point, every)).max(initial=0.0))

    def moved(self, point: ClassPoint, move: FloatArray, free: IntArray) -> ClassPoint:
        """The point after a step in (β, φ of items at `free`)."""
        coefficients = len(point.beta)
        along = np.zeros(self.given.layout.size)
        along[free] = move[coefficients:]
        theta = conjugacy.moved(point.theta, along, self.given.layout)
        return self.at(point.beta + move[:coefficients], theta)

    def negative_hessian(self, point: ClassPoint, free: IntArray) -> FloatArray:
        """A by (β, φ of items at `free`), (d, d): complete less missing information."""
        return self.complete(point, free) - self._missing(point, free)

    def complete(self, point: ClassPoint, free: IntArray) -> FloatArray:
        """A′, (d, d): the information of complete data with expected counts of the classes."""
        given, n = self.given, len(point.beta)
        A, p = np.zeros((n + len(free),) * 2), given.class_table(point.theta)
        of_beta = logit_information(given.design.matrix, given.cases, p)
        A[:n, :n] = self.precision + of_beta
        for column, phi in enumerate(self._directions_of_items(free), start=n):
            known = point.N + self.pseudo
            A[n:, column] = conjugacy.information(point.theta, known, phi, given.layout)[free]
        return A

    def _missing(self, point: ClassPoint, free: IntArray) -> FloatArray:
        """Missing information, (d, d): the covariance of the complete-data score. Louis (1982)."""
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
        """Derivatives of log probabilities by each coordinate, (size,)."""
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
    """Coefficients and items, with their objective and the outcome of the search."""

    objective: ClassObjective
    point: ClassPoint
    outcome: Convergence = Convergence.CONVERGED
    steps: int = 0  # of Newton's method, in the start that won
    finalists: int = 1  # starts that were run to the end
    reached: int = 1  # how many of them reached the best maximum
    doubt: float = 0.0  # nats between the best and the next maximum
    seconds: float = 0.0

    @property
    def given(self) -> ClassProblem:
        """The problem."""
        return self.objective.given

    @property
    def free(self) -> IntArray:
        """Positions of the free item parameters."""
        return self.objective.free(self.point.theta)

    @property
    def dimension(self) -> int:
        """Number of free parameters."""
        return self.given.free + len(self.free)

    @cached_property
    def gradient(self) -> float:
        """Largest component of the gradient at the end, in cases."""
        return self.objective.steepest(self.point)

    def held_to(self, estimate: Estimate) -> "ClassFit":
        """The same parameters under the objective of another estimate."""
        objective = ClassObjective.build(self.given, estimate)
        return ClassFit(objective, objective.at(self.point.beta, self.point.theta))

    def renumbered(self, order: Sequence[int]) -> "ClassFit":
        """The fit with classes permuted: new class k is old class order[k]."""
        given, point = self.given, self.point
        relabelled = Relabelling(given.layout, orders={given.root: order})
        if list(order) == sorted(order) or not relabelled.keeps(given.problem.alpha):
            return self
        coefficients = whole(point.beta, given.design.matrix.shape[1])[list(order)]
        free = (coefficients - coefficients[0])[1:].reshape(-1)
        return replace(self, point=self.objective.at(free, relabelled.apply(point.theta)))


def parameters_of(model: Model, given: ClassProblem, estimate: Estimate) -> ClassFit:
    """The coefficients and items of a model, for any rows and design."""
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

    Starts have coefficients 0, except intercepts; `beside` are (size of plain,) parameters. Classes
    are numbered by their expected cases, the largest first.
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
    executor.report(TASK, 1.0)
    fit = replace(
        best,
        finalists=len(below),
        reached=len(below) - len(others),
        doubt=min(others, default=0.0),
        seconds=time.perf_counter() - began,
    )
    cases = given.class_table(best.point.N).sum(axis=0)
    return fit.renumbered(np.argsort(-cases, kind="stable").tolist())


def climb_on(given: ClassProblem, start: ClassPoint, estimate: Estimate) -> ClassFit:
    """Climb from a point to a maximum of the objective of an estimate; classes keep their order."""
    objective = ClassObjective.build(given, estimate)
    return climb(objective, objective.at(start.beta, start.theta))


def _start(objective: ClassObjective, theta: FloatArray) -> ClassPoint:
    """A start with the items and class sizes of a model without covariates."""
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
    """Run EM for a number of iterations, or until its gain is small."""
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
        higher = _uphill_from_saddle(objective, point) if done else None
        if higher is None:
            outcome = Convergence.CONVERGED if done else Convergence.MAX_STEPS
            return ClassFit(objective, point, outcome, steps)
        point = _em(objective, higher, EM_AT_MOST)
    return ClassFit(objective, point, Convergence.MAX_STEPS, steps)


def _newton(objective: ClassObjective, point: ClassPoint) -> tuple[ClassPoint, int, bool]:
    """Take Newton steps until the gradient is 0 within tolerance; point, steps, and success."""
    tolerance = max(TOLERANCE, LAST_DIGITS * objective.given.problem.cases)
    for steps in range(NEWTON_AT_MOST):
        if objective.steepest(point) <= tolerance:
            return point, steps, True
        moved = _damped_newton_step(objective, point)
        if moved is None:
            moved = objective.em_step(point)
            if moved.g <= point.g + ROUNDING * abs(point.g):
                return point, steps, objective.steepest(point) <= 10 * tolerance
        point = moved
    return point, NEWTON_AT_MOST, False


def _damped_newton_step(objective: ClassObjective, point: ClassPoint) -> ClassPoint | None:
    """The Newton step with the least damping that does not decrease the objective."""
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


def _uphill_from_saddle(objective: ClassObjective, point: ClassPoint) -> ClassPoint | None:
    """A higher point along the direction of negative curvature; None at a maximum."""
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
    """The latent class model of the items, with the predictors of its classes.

    Class sizes are averages over all rows. The mode of (β, φ), if given, has the coefficients of
    the posterior predictive and the expected counts of the posterior of items.
    """
    given, predictive = fit.given, mode or fit
    columns = given.design.matrix.shape[1]
    predictors = Predictors(
        given.design.covariates,
        classes_of(given.plain.network).variable.name,
        whole(fit.point.beta, columns),
        whole(predictive.point.beta, columns),
        given.coefficient_sd,
    )
    plain = given.plain
    posterior = None if mode is None else plain.alpha + given.to_plain_counts(mode.point.N)
    theta = given.to_plain(fit.point.theta)
    return Model(plain.network, theta, plain.alpha, posterior, predictors=predictors)
