"""Compare maxima: which is best, which are equal, and whether there may be more.

The highest maximum is the estimate. Scores of the evidence use the mode of largest mass, because a
narrow peak may be higher but hold less of the posterior.
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from lacunet.fitting.ascent import HOPELESS, PAPER_CHANGE, Climb, Convergence, ascend, em_while_fast
from lacunet.fitting.diagnose import at_theta, state_sizes
from lacunet.fitting.objective import Objective, Point

SAME_OPTIMUM = 1e-4  # nats: maxima with a smaller difference are equal
LEAST_CASES = 1e-9  # lower limit for cases of a state, so that an empty one costs some 20 nats
LEFT_BEHIND = 20.0  # a climb is abandoned so many nats of mass below the best after EM,
TAIL = 100  # plus the most that so many iterations gain after the test of CH96 holds
MOST_OTHERS = 3  # maxima besides the best that a search keeps
APART = 0.02, 0.1  # least nats between different maxima, plus a share of their distance to the
# best, because climbs to them may be abandoned near the top


class Rank(Enum):
    """A criterion for maxima, in nats; checkpoint files contain it."""

    HIGHEST = "highest"  # by g, the objective
    # By Cheeseman–Stutz, a bound on the contribution of a mode to p(D|S). An empty state has free
    # parameters, so such a mode has much mass; but that is the mass of a model with fewer states,
    # which occupancy corrections add. So the bound is multiplied by p(no state is empty).
    LARGEST_MASS = "largest_mass"

    def measure(self, objective: Objective, point: Point) -> float:
        """Compute the height of a point, or the mass around it, without regard to empty states."""
        return point.g if self is HIGHEST else at_theta(objective.problem, point.theta).bound

    def __call__(self, objective: Objective, point: Point) -> float:
        """Compute the value of a point, usually a maximum."""
        value = self.measure(objective, point)
        if self is HIGHEST:
            return value
        problem = objective.problem
        sizes = [state_sizes(problem.layout, point.N, h) for h in problem.network.hidden]
        cases = np.maximum(np.concatenate([*sizes, np.empty(0)]), LEAST_CASES)
        return value + float(np.log(-np.expm1(-cases)).sum())  # log p(no state is empty), Poisson


HIGHEST, LARGEST_MASS = Rank.HIGHEST, Rank.LARGEST_MASS
Ranks: TypeAlias = tuple[Rank, ...]
ESTIMATE: Ranks = (HIGHEST,)
MASS: Ranks = (LARGEST_MASS,)
BOTH: Ranks = (HIGHEST, LARGEST_MASS)


def best_of(objective: Objective, climbs: Sequence[Climb], rank: Rank) -> tuple[float, Climb]:
    """Find the best maximum and its value; among equal ones the first."""
    (best, first), *others = ((rank(objective, c.point), c) for c in climbs)
    for value, climb in others:
        ended = (
            climb.outcome is Convergence.CONVERGED and first.outcome is not Convergence.CONVERGED
        )
        if is_better(value, best) or (ended and not is_better(best, value)):
            best, first = value, climb
    return best, first


def is_better(one: float, other: float) -> bool:
    """Whether one maximum is better than another by more than the tolerance."""
    return one > other + SAME_OPTIMUM


def climb_all(
    objective: Objective,
    points: Sequence[Point],
    ranks: Ranks,
    winner: Climb | None = None,
    hopeless: tuple[float, float] = HOPELESS,
) -> list[Climb]:
    """Climb from points to their maxima; abandon those that cannot be best by any rank.

    `winner` is the best maximum so far.
    """
    climbs = objective.executor.map(partial(em_while_fast, objective), points)
    rivals = [c.point for c in (*climbs, *([winner] if winner else []))]
    rival, hopes = np.inf, [False] * len(climbs)
    if HIGHEST in ranks:
        rival = max(point.g for point in rivals)
    if LARGEST_MASS in ranks:
        values = objective.executor.map(partial(LARGEST_MASS, objective), rivals)
        best = max(values)
        size = abs(best - objective.problem.log_base)  # independent of units
        least = best - LEFT_BEHIND - TAIL * PAPER_CHANGE * size
        hopes = [value > least for value in values[: len(climbs)]]
    tasks = [(c, -np.inf if hope else rival) for c, hope in zip(climbs, hopes, strict=True)]
    return objective.executor.map(partial(_ascended, objective, hopeless), tasks)


def _ascended(
    objective: Objective, hopeless: tuple[float, float], task: tuple[Climb, float]
) -> Climb:
    climb, rival = task
    if rival == np.inf:
        return replace(climb, outcome=Convergence.ABANDONED)
    return ascend(objective, climb, rival=rival, hopeless=hopeless)


def reached_by(climbs: Sequence[Climb], winner: Climb) -> int:
    """Count the climbs that ended at the maximum of the winner."""
    return sum(abs(c.point.g - winner.point.g) <= SAME_OPTIMUM for c in climbs)


def agree(reached: int, finalists: int) -> bool:
    """Whether most starts ended at the same maximum, so that the search can end."""
    return reached > 1 and 2 * reached >= finalists


def unseen(climbs: Sequence[Climb]) -> float:
    """Compute the expected share of starts that end at maxima not reached yet.

    With w different maxima after n climbs it is w (w + 1) / (n (n − 1)) (Boender & Rinnooy Kan
    1987).
    """
    n, ends = len(climbs), sorted(c.point.g for c in climbs)
    near, share = APART
    w = 1 + sum(up - low > near + share * (ends[-1] - up) for low, up in pairwise(ends))
    return w * (w + 1) / (n * (n - 1)) if n > 1 else 1.0


def distinct(best: Point, others: Sequence[Point]) -> tuple[Point, ...]:
    """Select a few maxima besides the best, with different g: a relabelling has the same g."""
    distinct_points = [best]
    for point in others:
        if all(abs(point.g - known.g) > SAME_OPTIMUM for known in distinct_points):
            distinct_points.append(point)
    return tuple(distinct_points[1 : 1 + MOST_OTHERS])
