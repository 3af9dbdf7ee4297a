"""Random starts, and the race between them. CH96 §3."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from lacunet.fitting.objective import Objective, Point
from lacunet.models.conjugacy import random_theta
from lacunet.runtime.arrays import FloatArray


def random_starts(objective: Objective, starts: int, seed: int, first: int = 0) -> list[Point]:
    """Draw starts; start i is the same whatever the number of starts or threads."""
    numbers = range(first, first + starts)
    return objective.at_all([_drawn(objective, seed, index) for index in numbers])


def random_start(objective: Objective, seed: int, index: int) -> Point:
    """Draw one start."""
    return objective.at(_drawn(objective, seed, index))


def _drawn(objective: Objective, seed: int, index: int) -> FloatArray:
    layout, alpha = objective.problem.layout, objective.problem.alpha
    rng = np.random.default_rng([seed, layout.size, index])
    return random_theta(layout, rng, alpha)


class Round(NamedTuple):
    """How a round of a race ended, the better points first."""

    survivors: list[Point]  # who go on
    beaten: list[Point]


def halving(objective: Objective, points: Sequence[Point], *, finalists: int) -> Iterator[Round]:
    """Run 1, 2, 4, … EM iterations, keeping the better half (by g, then by start) each time.

    Of the last round `finalists` points survive.
    """
    survivors, iterations = list(points), 1
    while len(survivors) > finalists:
        ranked = sorted(race(objective, survivors, iterations), key=lambda p: -p.g)
        kept = max(finalists, len(survivors) // 2)
        survivors = ranked[:kept]
        iterations *= 2
        yield Round(survivors, ranked[kept:])


def race(objective: Objective, points: Sequence[Point], iterations: int) -> list[Point]:
    """Run a number of EM iterations from each point: side by side, or in step on a device."""
    if objective.problem.device is None:
        return objective.executor.map(partial(em, objective, iterations=iterations), points)
    for _ in range(iterations):
        points = objective.at_all([objective.m_step(point) for point in points])
    return list(points)


def em(objective: Objective, point: Point, *, iterations: int) -> Point:
    """Run a number of EM iterations."""
    for _ in range(iterations):
        point = objective.em_step(point)
    return point
