"""Classes that covariates predict: the function to climb, its maximum, and how sharp it is.

From a start to a true maximum: EM while it is fast, then Newton's method with the exact A.
Fit classes and what predicts them, together: from starts to the best maximum.
The model that classes and what predicts them make, for rows to be asked of.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from lacunet.fitting.ascent import EM_AT_MOST, LAST_DIGITS, PAPER_CHANGE, TOLERANCE, Outcome
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.logit import ClassObjective, ClassParameters, ClassPoint, whole
from lacunet.fitting.maxima import SAME_OPTIMUM
from lacunet.fitting.objective import Estimate
from lacunet.fitting.schedules import FINALISTS, TASK
from lacunet.inference.regression.classes import ClassProblem
from lacunet.models.conjugacy import random_theta
from lacunet.models.latent_class import classes_of
from lacunet.models.network import Model
from lacunet.models.predictors import Predictors
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor

LONGEST = 4.0  # move of one coordinate in a step
NEWTON_AT_MOST = 100
ESCAPES = 5
NEGATIVE = -1e-6  # curvature, relative to the largest, below which a point is a saddle
ROUNDING = 1e-13  # relative noise of a log-likelihood


@dataclass(frozen=True, eq=False)
class ClassClimb:
    """Where an ascent ended."""

    point: ClassPoint
    steps: int  # E steps, and Newton steps
    outcome: Outcome


def em(objective: ClassObjective, point: ClassPoint, iterations: int) -> ClassPoint:
    """Run EM for a number of iterations, or until it is slow."""
    for _ in range(iterations):
        before, point = point, objective.em_step(point)
        if point.g - before.g < PAPER_CHANGE * abs(point.g) / 10.0:
            break
    return point


def climb(objective: ClassObjective, start: ClassPoint) -> ClassClimb:
    """Climb to a maximum."""
    point, steps = em(objective, start, EM_AT_MOST), 0
    for _ in range(ESCAPES):
        point, more, done = _newton(objective, point)
        steps += more
        way = _way_up(objective, point) if done else None
        if way is None:
            return ClassClimb(point, steps, Outcome.CONVERGED if done else Outcome.MAX_STEPS)
        point = em(objective, way, EM_AT_MOST)
    return ClassClimb(point, steps, Outcome.MAX_STEPS)


def _newton(objective: ClassObjective, point: ClassPoint) -> tuple[ClassPoint, int, bool]:
    """Take Newton steps until no slope is left."""
    tolerance = max(TOLERANCE, LAST_DIGITS * objective.given.problem.cases)
    for steps in range(NEWTON_AT_MOST):
        if objective.steepest(point) <= tolerance:
            return point, steps, True
        free = objective.free(point.theta)
        slope, A = objective.gradient(point, free), objective.negative_hessian(point, free)
        moved = _damped(objective, point, slope, A)
        if moved is None:
            moved = objective.em_step(point)
            if moved.g <= point.g + ROUNDING * abs(point.g):
                return point, steps, objective.steepest(point) <= 10 * tolerance
        point = moved
    return point, NEWTON_AT_MOST, False


def _damped(
    objective: ClassObjective, point: ClassPoint, slope: FloatArray, A: FloatArray
) -> ClassPoint | None:
    """Take the longest step of Newton's that rises: damping grows until one does."""
    free, scale = objective.free(point.theta), np.maximum(A.diagonal(), 1e-12)
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


LAPS = 3  # of a race between random starts: 1, 2 and 4 iterations, the better half goes on


@dataclass(frozen=True, eq=False)
class ClassFit(ClassParameters):
    """The best maximum that was found; classes by size, the largest first."""

    outcome: Outcome
    steps: int  # of Newton's method, in the start that won
    finalists: int  # starts that were run to the end
    reached: int  # how many of them reached the best maximum
    doubt: float  # nats that it is above the next
    gradient: float  # largest component at the end, in cases
    seconds: float


def fit_classes(
    given: ClassProblem,
    options: Options,
    *,
    executor: Executor = SERIAL,
    beside: tuple[FloatArray, ...] = (),
) -> ClassFit:
    """Search from the maxima without covariates, from random starts, and from items `beside`.

    Each start has coefficients 0 but for class sizes; `beside` are (size of plain,) parameters.
    """
    began = time.perf_counter()
    objective = ClassObjective.build(given, options.estimate)
    plain = learn(given.plain, options, executor=executor)
    known = [plain.model.theta, *(p.theta for p in plain.others), *beside]
    raced = _race(objective, options, executor)
    starts = [*(_start(objective, theta) for theta in known), *raced]
    climbs = executor.map(partial(climb, objective), starts)
    best = max(climbs, key=lambda one: one.point.g)
    below = [best.point.g - one.point.g for one in climbs]
    executor.say(TASK, 1.0)
    return _by_size(_fit_of(objective, best, below, began))


def climb_on(given: ClassProblem, start: ClassPoint, estimate: Estimate) -> ClassFit:
    """Climb from a point to the maximum of an estimate; classes keep their numbers."""
    began = time.perf_counter()
    objective = ClassObjective.build(given, estimate)
    return _fit_of(objective, climb(objective, objective.at(start.beta, start.theta)), [0.0], began)


def _fit_of(
    objective: ClassObjective, best: ClassClimb, below: Sequence[float], began: float
) -> ClassFit:
    """Say what was found; `below` the best by so much are the maxima of all starts."""
    others = [nats for nats in below if nats >= SAME_OPTIMUM]
    return ClassFit(
        objective,
        best.point,
        best.outcome,
        steps=best.steps,
        finalists=len(below),
        reached=len(below) - len(others),
        doubt=min(others, default=0.0),
        gradient=objective.steepest(best.point),
        seconds=time.perf_counter() - began,
    )


def _start(objective: ClassObjective, theta: FloatArray) -> ClassPoint:
    """Take items and class sizes of a model without covariates."""
    given = objective.given
    sizes = np.maximum(given.plain.layout.table(theta, given.root), 1e-6)
    coefficients = np.zeros((given.states, given.design.matrix.shape[1]))
    coefficients[:, 0] = np.log(sizes / sizes[0])
    return objective.at(coefficients[1:].reshape(-1), given.from_plain(theta))


def _race(objective: ClassObjective, options: Options, executor: Executor) -> list[ClassPoint]:
    """Draw starts, and give the best after a few iterations."""
    survivors = executor.map(partial(_random_start, objective, options.seed), range(options.starts))
    for lap in range(LAPS):
        ranked = sorted(
            executor.map(partial(em, objective, iterations=2**lap), survivors), key=lambda p: -p.g
        )
        survivors = ranked[: max(FINALISTS, len(ranked) // 2)]
    return survivors[:FINALISTS]


def _random_start(objective: ClassObjective, seed: int, index: int) -> ClassPoint:
    given = objective.given
    layout, alpha = given.plain.layout, given.plain.alpha
    rng = np.random.default_rng([seed, layout.size, index])
    return _start(objective, random_theta(layout, rng, alpha))


def _by_size(fit: ClassFit) -> ClassFit:
    """Number classes by their expected cases."""
    cases = fit.given.class_table(fit.point.N).sum(axis=0)
    return fit.renumbered(np.argsort(-cases, kind="stable").tolist())


def model_of(fit: ClassParameters, mode: ClassParameters | None = None) -> Model:
    """Give the latent class model of the items, and what predicts its classes.

    Class sizes are those over all rows. At the mode of (β, φ), if it is known, are the coefficients
    that rows are asked with, and the expected counts of the posterior of items, as in
    `learn.predictive`.
    """
    given, asked = fit.given, fit if mode is None else mode
    columns = given.design.matrix.shape[1]
    predictors = Predictors(
        given.design.covariates,
        classes_of(given.plain.network).variable.name,
        whole(fit.point.beta, columns),
        whole(asked.point.beta, columns),
        given.coefficient_sd,
    )
    return Model(
        given.plain.network,
        given.to_plain(fit.point.theta),
        given.plain.alpha,
        None if mode is None else given.plain.alpha + given.to_plain_counts(mode.point.N),
        predictors=predictors,
    )
