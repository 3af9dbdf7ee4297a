"""Walks through the posterior around a point, to look for better modes in its neighbourhood."""

import numpy as np

from lacunet.fitting.objective import Objective, Point
from lacunet.models.conjugacy import draw_theta

SWEEPS = 10  # shorter walks end where they began, longer ones lose what was good
CHILD = 1 << 30  # child seeds of the walks begin here: the random starts have those below


def wander(objective: Objective, point: Point, seed: int, index: int) -> Point:
    """Draw parameters given counts, take expected counts given parameters, and again.

    That is Gibbs sampling with expected in place of drawn hidden values, so weights of rows need
    not be whole. The parameters that generated the data are one draw from the posterior: EM from a
    few other draws should reach what EM from them reaches.
    """
    layout, alpha = objective.problem.layout, objective.problem.alpha
    # Exponents near 0 would draw nothing but zeros.
    prior = np.where(layout.in_tables, np.maximum(alpha, 1.0), alpha)
    rng = np.random.default_rng([seed, layout.size, CHILD + index])
    for _ in range(SWEEPS):
        point = objective.at(draw_theta(prior + point.N, layout, rng))
    return point
