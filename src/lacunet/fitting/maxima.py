"""What makes one maximum better than another: its height, or the mass around it.

The highest is the estimate, which people see. Scores of the evidence are taken at the mode of
largest mass: a narrow peak may be higher, and hold less of the posterior.

From points to true maxima; which of these are the same, and whether there are more.
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from lacunet.fitting import ascent
from lacunet.fitting.ascent import (
    HOPELESS,
    Climb,
    Curvature,
    Outcome,
    ascend,
    em_while_fast,
    least_curvature,
)
from lacunet.fitting.diagnose import at_theta, state_sizes
from lacunet.fitting.objective import Objective, Point
from lacunet.models import conjugacy

SAME_OPTIMUM = 1e-4  # nats: maxima this near to each other are the same
LEAST_CASES = 1e-9  # of a state: fewer count as this, so that being empty costs some 20 nats


class Rank(Enum):
    """A way to value maxima, in nats: a file of `--resume` keeps which it was."""

    HIGHEST = "highest"  # by g, what learning climbs
    # By Cheeseman–Stutz, a bound on what the surroundings of a point add to p(D|S). A state without
    # cases is free to be anything, so there is much mass around such a point; but it is that of a
    # model with fewer states, which corrections for occupancy add. So it counts with the
    # probability that no state is empty.
    HEAVIEST = "heaviest"

    def measure(self, objective: Objective, point: Point) -> float:
        """Give the height of a point, or the mass around it, whether states are empty or not."""
        if self is Rank.HIGHEST:
            return point.g
        return at_theta(objective.problem, point.theta).bound

    def __call__(self, objective: Objective, point: Point) -> float:
        """Value a point, usually a maximum."""
        value = self.measure(objective, point)
        return value + log_all_used(objective, point) if self is Rank.HEAVIEST else value


HIGHEST, HEAVIEST = Rank.HIGHEST, Rank.HEAVIEST
Ranks: TypeAlias = tuple[Rank, ...]
ESTIMATE: Ranks = (HIGHEST,)
MASS: Ranks = (HEAVIEST,)
BOTH: Ranks = (HIGHEST, HEAVIEST)


def log_all_used(objective: Objective, point: Point) -> float:
    """Log probability that no state of a hidden variable is empty, cases coming by themselves."""
    problem = objective.problem
    sizes = [state_sizes(problem.layout, point.N, h) for h in problem.network.hidden]
    cases = np.maximum(np.concatenate([*sizes, np.empty(0)]), LEAST_CASES)
    return float(np.log(-np.expm1(-cases)).sum())


def best_of(objective: Objective, climbs: Sequence[Climb], rank: Rank) -> tuple[float, Climb]:
    """Find the best maximum, with its value; of those that are the same, the first."""
    (best, first), *others = ((rank(objective, c.point), c) for c in climbs)
    for value, climb in others:
        ended = climb.outcome is Outcome.CONVERGED and first.outcome is not Outcome.CONVERGED
        if is_better(value, best) or (ended and not is_better(best, value)):
            best, first = value, climb
    return best, first


def is_better(one: float, other: float) -> bool:
    """Whether one maximum is better than another, and not the same."""
    return one > other + SAME_OPTIMUM


LEFT_BEHIND = 20.0  # nats of mass below the best, where EM slows down, to be given up;
TAIL = 100  # and what so many iterations might bring that pass the paper's test
KEPT = 3  # maxima besides the best that a search remembers
SADDLE = -1e-4  # least relative curvature below which a point is taken for a saddle
CLEAR = 0.1  # least curvature of a part of the rows that chance alone would not show at a saddle
ESCAPES = 20  # saddles to leave before giving up
APART = 0.02, 0.1  # nats between maxima that are counted as different, and share of how far they
# are below the best: climbs to them were given up near the top


def climb_all(
    objective: Objective,
    points: Sequence[Point],
    ranks: Ranks,
    winner: Climb | None = None,
    hopeless: tuple[float, float] = HOPELESS,
) -> list[Climb]:
    """Bring points to their maxima, but for those that a better one, by every rank, leaves behind.

    `winner` is the best maximum so far.
    """
    climbs = objective.executor.map(partial(em_while_fast, objective), points)
    rivals = [*climbs, *([winner] if winner else [])]
    rival, hopes = np.inf, [False] * len(climbs)
    if HIGHEST in ranks:
        rival = max(c.point.g for c in rivals)
    if HEAVIEST in ranks:
        values = objective.executor.map(partial(value_of, objective, HEAVIEST), rivals)
        best = max(values)
        size = abs(best - objective.problem.log_base)  # that no unit of a number moves
        least = best - LEFT_BEHIND - TAIL * ascent.PAPER_CHANGE * size
        hopes = [value > least for value in values[: len(climbs)]]
    tasks = [(c, -np.inf if hope else rival) for c, hope in zip(climbs, hopes, strict=True)]
    return objective.executor.map(partial(_ascended, objective, hopeless), tasks)


def _ascended(
    objective: Objective, hopeless: tuple[float, float], task: tuple[Climb, float]
) -> Climb:
    climb, rival = task
    if rival == np.inf:
        return replace(climb, outcome=Outcome.ABANDONED)
    return ascend(objective, climb, rival=rival, hopeless=hopeless)


def value_of(objective: Objective, rank: Rank, climb: Climb) -> float:
    """Value the point where a climb ended."""
    return rank(objective, climb.point)


def reached_by(climbs: Sequence[Climb], winner: Climb) -> int:
    """Count the climbs that ended at a maximum."""
    return sum(abs(c.point.g - winner.point.g) <= SAME_OPTIMUM for c in climbs)


def agree(reached: int, finalists: int) -> bool:
    """Whether most starts ended at the same maximum: then there is nothing to look for."""
    return reached > 1 and 2 * reached >= finalists


def unseen(climbs: Sequence[Climb]) -> float:
    """Expected share of starts that end at maxima which none has reached yet.

    With w different maxima after n climbs that is w (w + 1) / (n (n − 1)) (Boender & Rinnooy Kan
    1987).
    """
    n, ends = len(climbs), sorted(c.point.g for c in climbs)
    near, share = APART
    w = 1 + sum(up - low > near + share * (ends[-1] - up) for low, up in pairwise(ends))
    return w * (w + 1) / (n * (n - 1)) if n > 1 else 1.0


def distinct(best: Point, others: Sequence[Point]) -> tuple[Point, ...]:
    """Give a few maxima besides the best; a relabelling of one has the same g, and is the same."""
    kept = [best]
    for point in others:
        if all(abs(point.g - known.g) > SAME_OPTIMUM for known in kept):
            kept.append(point)
    return tuple(kept[1 : 1 + KEPT])


def climb_from(objective: Objective, point: Point) -> tuple[Climb, Curvature]:
    """Climb to the maximum that is uphill from a point."""
    return leave_saddles(objective, ascend(objective, em_while_fast(objective, point)))


def leave_saddles(objective: Objective, climb: Climb) -> tuple[Climb, Curvature]:
    """Go on uphill from a saddle until the point is a maximum."""
    for _ in range(ESCAPES):
        curvature = _least(objective, climb.point)
        if curvature.least >= SADDLE:
            break
        if (higher := _along(objective, climb.point, curvature)) is None:
            break
        climb = ascend(objective, Climb(higher, climb.steps, climb.outcome))
    return climb, curvature


def _least(objective: Objective, point: Point) -> Curvature:
    """The least curvature; where a part of very many rows shows that there is enough, its own."""
    part = objective.problem.part
    if part is not None:
        there = Objective.build(part, objective.estimate, objective.executor)
        seen = least_curvature(there, there.at(point.theta))
        if seen.least > CLEAR:
            return seen
    return least_curvature(objective, point)


def _along(objective: Objective, point: Point, curvature: Curvature) -> Point | None:
    """Walk both ways along a direction, ever longer while it rises; None if it never does."""
    direction = curvature.direction / np.abs(curvature.direction).max()
    layout = objective.problem.layout
    highest = point
    for sign in (1.0, -1.0):
        length = 0.25
        while length < 64:
            there = objective.at(conjugacy.moved(point.theta, sign * length * direction, layout))
            if not there.g > highest.g:
                break
            highest, length = there, 2 * length
    return highest if highest is not point else None
