"""A pool of maxima: which is best, which are the same, and whether there are more.

The highest is the estimate, which people see. Scores of the evidence are taken at the mode of
largest mass: a narrow peak may be higher, and hold less of the posterior.
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

SAME_OPTIMUM = 1e-4  # nats: maxima this near to each other are the same
LEAST_CASES = 1e-9  # of a state: fewer count as this, so that being empty costs some 20 nats
LEFT_BEHIND = 20.0  # nats of mass below the best, where EM slows down, to be given up;
TAIL = 100  # and what so many iterations might bring that pass the paper's test
KEPT = 3  # maxima besides the best that a search remembers
APART = 0.02, 0.1  # nats between maxima that are counted as different, and share of how far they
# are below the best: climbs to them were given up near the top


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
        return point.g if self is HIGHEST else at_theta(objective.problem, point.theta).bound

    def __call__(self, objective: Objective, point: Point) -> float:
        """Value a point, usually a maximum."""
        value = self.measure(objective, point)
        if self is HIGHEST:
            return value
        problem = objective.problem
        sizes = [state_sizes(problem.layout, point.N, h) for h in problem.network.hidden]
        cases = np.maximum(np.concatenate([*sizes, np.empty(0)]), LEAST_CASES)
        return value + float(np.log(-np.expm1(-cases)).sum())  # Poisson: that no state is empty


HIGHEST, HEAVIEST = Rank.HIGHEST, Rank.HEAVIEST
Ranks: TypeAlias = tuple[Rank, ...]
ESTIMATE: Ranks = (HIGHEST,)
MASS: Ranks = (HEAVIEST,)
BOTH: Ranks = (HIGHEST, HEAVIEST)


def best_of(objective: Objective, climbs: Sequence[Climb], rank: Rank) -> tuple[float, Climb]:
    """Find the best maximum, with its value; of those that are the same, the first."""
    (best, first), *others = ((rank(objective, c.point), c) for c in climbs)
    for value, climb in others:
        ended = (
            climb.outcome is Convergence.CONVERGED and first.outcome is not Convergence.CONVERGED
        )
        if is_better(value, best) or (ended and not is_better(best, value)):
            best, first = value, climb
    return best, first


def is_better(one: float, other: float) -> bool:
    """Whether one maximum is better than another, and not the same."""
    return one > other + SAME_OPTIMUM


def climb_all(
    objective: Objective,
    points: Sequence[Point],
    ranks: Ranks,
    winner: Climb | None = None,
    hopeless: tuple[float, float] = HOPELESS,
) -> list[Climb]:
    """Climb from points to their maxima; give up those that a better one, by every rank, precludes.

    `winner` is the best maximum so far.
    """
    climbs = objective.executor.map(partial(em_while_fast, objective), points)
    rivals = [c.point for c in (*climbs, *([winner] if winner else []))]
    rival, hopes = np.inf, [False] * len(climbs)
    if HIGHEST in ranks:
        rival = max(point.g for point in rivals)
    if HEAVIEST in ranks:
        values = objective.executor.map(partial(HEAVIEST, objective), rivals)
        best = max(values)
        size = abs(best - objective.problem.log_base)  # that no unit of a number moves
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
