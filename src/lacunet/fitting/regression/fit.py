"""Fit classes and what predicts them, together: from starts to the best maximum."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from lacunet.fitting.ascent import Outcome
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Estimate
from lacunet.fitting.ranks import SAME_OPTIMUM
from lacunet.fitting.regression.climb import ClassClimb, climb, em
from lacunet.fitting.regression.objective import ClassObjective, ClassParameters, ClassPoint
from lacunet.fitting.schedules import FINALISTS, TASK
from lacunet.inference.regression.classes import ClassProblem
from lacunet.models.conjugacy import random_theta
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor

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
