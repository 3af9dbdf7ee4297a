"""Fits to start from, in a part of the time that there is."""

from collections.abc import Sequence

from lacunet.arrays import FloatArray
from lacunet.evidence.clock import Means, OutOfTimeError
from lacunet.inference.problem import Problem
from lacunet.learn.fit import Options, learn

PART = 0.5  # of the time left that fits may take


def fitted(problem: Problem, seeds: Sequence[int], means: Means) -> list[FloatArray]:
    """Parameters that EM finds with each seed, while there is time; from one start, if none."""
    check = means.clock.part(PART).check
    executor, found = means.executor.silent().until(check), list[FloatArray]()
    for seed in seeds:
        try:
            found.append(learn(problem, Options(seed=seed), executor=executor).model.theta)
            check()
        except OutOfTimeError:
            break
    if not found:
        short = Options(seed=seeds[0], starts=1)
        found.append(learn(problem, short, executor=means.executor.silent()).model.theta)
    return found
