"""What makes one maximum better than another: its height, or the mass around it.

The highest is the estimate, which people see. Scores of the evidence are taken at the mode of
largest mass: a narrow peak may be higher, and hold less of the posterior.
"""

from collections.abc import Sequence
from enum import Enum
from typing import TypeAlias

import numpy as np

from lacunet.fitting.ascent import Climb, Outcome
from lacunet.fitting.diagnose import state_sizes
from lacunet.fitting.objective import Objective, Point
from lacunet.fitting.variational import at_theta

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
