"""Random starts, and the race between them. CH96 §3."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

import numpy as np

from lacunet.learn.objective import Objective, Point
from lacunet.model.sampling import random_theta

A = TypeVar("A")
B = TypeVar("B")


class Map(Protocol):
    """How independent work is spread: the built-in `map`, or a thread pool's."""

    def __call__(self, function: Callable[[A], B], items: Iterable[A], /) -> Iterable[B]:
        """Apply to every item, results in order."""


def random_starts(objective: Objective, starts: int, seed: int, spread: Map) -> list[Point]:
    """Draw the starts; start i is the same whatever the number of starts or threads."""
    layout = objective.problem.layout

    def draw(i: int) -> Point:
        return objective.at(random_theta(layout, np.random.default_rng([seed, layout.size, i])))

    return list(spread(draw, range(starts)))


def halving(
    objective: Objective, points: Sequence[Point], spread: Map, *, finalists: int
) -> Iterator[list[Point]]:
    """Run 1, 2, 4, … EM iterations, keeping the better half (by g) each time.

    Yields the survivors after each round; the last list has `finalists` points.
    """
    survivors, iterations = list(points), 1
    while len(survivors) > finalists:
        race = functools.partial(em, objective, iterations=iterations)
        survivors = list(spread(race, survivors))
        survivors = best(survivors, max(finalists, len(survivors) // 2))
        iterations *= 2
        yield survivors


def em(objective: Objective, point: Point, *, iterations: int) -> Point:
    """Run a number of EM iterations."""
    for _ in range(iterations):
        point = objective.em_step(point)
    return point


def best(points: Sequence[Point], keep: int) -> list[Point]:
    """Keep the points with the largest g; equal ones in the order of their starts."""
    return sorted(points, key=lambda p: -p.g)[:keep]
