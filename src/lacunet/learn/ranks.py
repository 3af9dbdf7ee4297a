"""What makes one maximum better than another."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from lacunet.learn.ascent import Climb
from lacunet.learn.diagnose import EMPTY, state_sizes
from lacunet.learn.objective import Objective, Point
from lacunet.learn.variational import at_theta

SAME_OPTIMUM = 1e-4  # nats: maxima this near to each other are the same

Value: TypeAlias = tuple[int, float]  # the second number decides where the first are equal
Rank: TypeAlias = Callable[[Objective, Point], Value]


def density(_objective: Objective, point: Point) -> Value:
    """Rank by g, what learning climbs."""
    return 0, point.g


def mass(objective: Objective, point: Point) -> Value:
    """Rank by Cheeseman–Stutz: a bound on what the surroundings of a point add to p(D|S).

    Points with more hidden states in use come first. A state without cases is free to be anything,
    so there is much mass around such a point; but it is that of a model with fewer states, which
    corrections for occupancy add, and Laplace's approximation means nothing there.
    """
    return states_in_use(objective, point), at_theta(objective.problem, point.theta).bound


def states_in_use(objective: Objective, point: Point) -> int:
    """Count the states of hidden variables that hold some cases."""
    problem = objective.problem
    sizes = (state_sizes(problem.layout, point.N, h) for h in problem.network.hidden)
    return sum(int((cases >= EMPTY).sum()) for cases in sizes)


def best_of(objective: Objective, climbs: Sequence[Climb], rank: Rank) -> tuple[Value, Climb]:
    """Find the best maximum, with its value; of equal ones the first."""
    valued = [(rank(objective, c.point), c) for c in climbs]
    return max(valued, key=lambda v: v[0])


def is_better(one: Value, other: Value) -> bool:
    """Whether one maximum is better than another, and not the same."""
    return one > (other[0], other[1] + SAME_OPTIMUM)
