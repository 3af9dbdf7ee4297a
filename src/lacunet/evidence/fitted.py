"""Fits to start from, in a part of the time that there is."""

from collections.abc import Callable, Sequence
from functools import partial

from lacunet.evidence.clock import Means, OutOfTimeError
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Objective
from lacunet.fitting.ranks import MASS
from lacunet.fitting.schedules import PAPER_ITERATIONS
from lacunet.fitting.starts import random_starts
from lacunet.inference.problem import Problem
from lacunet.runtime.arrays import FloatArray

PART = 0.5  # of the time left that fits may take


def fitted(problem: Problem, seeds: Sequence[int], means: Means) -> list[FloatArray]:
    """Parameters that EM finds with each seed, while there is time; something, if there is none."""
    check = means.clock.part(PART).check
    fit = partial(_in_time, problem, means, check)
    # One by itself, on all workers: of many side by side none might come to its end.
    fits = [*means.map(fit, seeds[:1]), *means.map(fit, seeds[1:])]
    return [theta for theta in fits if theta is not None] or [_hurried(problem, seeds[0], means)]


def _in_time(
    problem: Problem, means: Means, check: Callable[[], None], seed: int
) -> FloatArray | None:
    """One fit; none if the time does not suffice."""
    try:
        check()
        return _fit(problem, Options(seed=seed), means, check)
    except OutOfTimeError:
        return None


def _hurried(problem: Problem, seed: int, means: Means) -> FloatArray:
    """From one start; if even that takes too long, so many steps as there is time for."""
    try:
        return _fit(problem, Options(seed=seed, starts=1), means, means.clock.part(PART).check)
    except OutOfTimeError:
        executor = means.executor.silent()
        objective = Objective.build(problem, Options.estimate, executor)
        (point,) = random_starts(objective, 1, seed)
        point = objective.em_step(point)  # one in any case: a start is anywhere
        for _ in range(PAPER_ITERATIONS):
            if not means.clock.allows():
                break
            point = objective.em_step(point)
        return point.theta


def _fit(problem: Problem, options: Options, means: Means, check: Callable[[], None]) -> FloatArray:
    executor = means.executor.silent().until(check)
    return learn(problem, options, executor=executor, ranks=MASS).model.theta
