"""Starts that another model gives: climbed from beside the own search, or in place of one."""

import time
from collections.abc import Sequence

from lacunet.fitting.fit import Fit, Options, fit_of
from lacunet.fitting.maxima import climb_from
from lacunet.fitting.neighbours import taken_over
from lacunet.fitting.objective import Objective
from lacunet.fitting.ranks import is_better
from lacunet.fitting.schedules import Search
from lacunet.inference.problem import Problem
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor


def better_from(fit: Fit, starts: Sequence[FloatArray], executor: Executor = SERIAL) -> Fit:
    """Climb from given parameters too, and take the maximum that is best."""
    if fit.problem.exact:
        return fit
    objective = Objective.build(fit.problem, fit.options.estimate, executor)
    rank = fit.rank
    for theta in starts:
        other = taken_over(objective, fit, objective.at(theta), time.perf_counter())
        if is_better(rank(objective, other.point), rank(objective, fit.point)):
            fit = other
    return fit


def climbed_from(
    problem: Problem,
    options: Options,
    theta: FloatArray,
    sources: Sequence[Fit],
    executor: Executor = SERIAL,
) -> Fit:
    """Climb from parameters that other fits gave; it is as sure as the least sure of them."""
    began = time.perf_counter()
    objective = Objective.build(problem, options.estimate, executor)
    climb, curvature = climb_from(objective, objective.at(theta))
    least = min(sources, key=lambda fit: (fit.stable, fit.reached / fit.finalists))
    doubt = max(fit.doubt for fit in sources)
    search = Search(climb, least.finalists, least.reached, curvature, doubt)
    return fit_of(objective, search, options, began, sources[0].rank, by_size=False)
