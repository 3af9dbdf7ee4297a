"""The two ways to look for the maximum: as the paper did, and to the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from lacunet.learn.ascent import (
    PAPER_CHANGE,
    Climb,
    Outcome,
    ascend,
    em_while_fast,
    relative_change,
)
from lacunet.learn.basis import LogBasis
from lacunet.learn.curvature import Curvature, least_curvature
from lacunet.learn.objective import Objective, Point
from lacunet.learn.starts import Map, halving, random_starts

FINALISTS = 8  # most starts that the default schedule brings to their maximum
RACED = 4  # starts raced for each of them
PAPER_ITERATIONS = 200  # CH96 §3
SADDLE = -1e-4  # least relative curvature below which a point is taken for a saddle
ESCAPES = 20  # saddles to leave before giving up
SAME_OPTIMUM = 1e-4  # nats: finalists this near to the best reached the same optimum


class Schedule(StrEnum):
    """How to search."""

    DEFAULT = "default"
    PAPER = "paper"


@dataclass(frozen=True, eq=False)
class Search:
    """What a schedule found."""

    climb: Climb
    finalists: int  # starts that were run to the end
    reached: int  # how many of them reached the best optimum
    curvature: Curvature | None  # at the end; None where the schedule does not look


Report = Callable[[float], None]  # told how far the search is, 0 to 1


def search_paper(
    objective: Objective, starts: int, seed: int, spread: Map, report: Report
) -> Search:
    """Follow CH96 §3: halve until one is left, then 200 iterations, whatever they bring."""
    points = random_starts(objective, starts, seed, spread)
    for survivors in halving(objective, points, spread, finalists=1):
        points = survivors
        report(0.5 * (1 - len(points) / starts))
    (point,) = points
    converged = False
    for _ in range(PAPER_ITERATIONS):
        before, point = point, objective.em_step(point)
        converged |= relative_change(before, point) < PAPER_CHANGE
    outcome = Outcome.PAPER_CONVERGED if converged else Outcome.PAPER_STOPPED
    return Search(Climb(point, PAPER_ITERATIONS, outcome), 1, 1, None)


def search_default(
    objective: Objective, starts: int, seed: int, spread: Map, report: Report
) -> Search:
    """Halve to a handful, climb with each to its maximum, and leave the best if it is a saddle."""
    points = random_starts(objective, starts, seed, spread)
    for survivors in halving(
        objective, points, spread, finalists=min(FINALISTS, max(starts // RACED, min(2, starts)))
    ):
        points = survivors
        report(0.3 * (1 - len(points) / starts))
    climbs = list(spread(lambda p: em_while_fast(objective, p), points))
    report(0.5)
    rival = max(c.point.g for c in climbs)
    climbs = list(spread(lambda c: ascend(objective, c, rival=rival), climbs))
    report(0.9)
    winner = max(climbs, key=lambda c: c.point.g)
    climb, curvature = leave_saddles(objective, winner)
    near = climb.point.g - SAME_OPTIMUM
    reached = sum(c.point.g >= near for c in climbs if c is not winner) + 1
    return Search(climb, len(climbs), reached, curvature)


def leave_saddles(objective: Objective, climb: Climb) -> tuple[Climb, Curvature]:
    """Go on uphill from a saddle until the point is a maximum."""
    for _ in range(ESCAPES):
        curvature = least_curvature(objective, climb.point)
        if curvature.least >= SADDLE:
            break
        higher = _along(objective, climb.point, curvature)
        if higher is None:
            break
        climb = ascend(objective, Climb(higher, climb.steps, climb.outcome))
    return climb, curvature


def _along(objective: Objective, point: Point, curvature: Curvature) -> Point | None:
    """Walk both ways along a direction, ever longer while it rises; None if it never does."""
    direction = curvature.direction / np.abs(curvature.direction).max()
    basis, layout = LogBasis(), objective.problem.layout
    highest = point
    for sign in (1.0, -1.0):
        length = 0.25
        while length < 64:
            there = objective.at(basis.moved(point.theta, sign * length * direction, layout))
            if not there.g > highest.g:
                break
            highest, length = there, 2 * length
    return highest if highest is not point else None
