"""Intervals by the bootstrap: how far parameters of refits to drawn data are apart."""

from dataclasses import replace
from functools import partial

import numpy as np

from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Estimate, Objective
from lacunet.flags import Flag, Kind
from lacunet.inference.problem import Problem
from lacunet.models.network import Model
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.summaries.bootstrap import (
    check_number,
    check_replicates,
    resample_units,
    simulate_like,
)
from lacunet.summaries.intervals import (
    LEAST,
    LEVEL,
    MOST,
    Intervals,
    anywhere,
    check_maximum,
    counted,
    on_boundary,
)
from lacunet.summaries.matching import matched

FEWEST = 2  # replicates that have a standard deviation
RESCALED = "bootstrap replicates of units within strata, rescaled as by Rao & Wu"


def bootstrap_intervals(
    problem: Problem,
    model: Model,
    options: Options,
    replicates: int,
    level: float = LEVEL,
    *,
    executor: Executor = SERIAL,
) -> Intervals:
    """Give percentile intervals from refits to data drawn from the model, with the same holes.

    Where it is known how rows were drawn, the units of the sample are drawn anew instead. Each
    refit starts at the model's parameters; its hidden states are then numbered like the model's.
    The seed is that of the options.
    """
    if problem.design is None:
        check_replicates(problem.counts, replicates, FEWEST)
    check_number(replicates, FEWEST)
    objective = Objective.build(problem, options.estimate)
    point = check_maximum(objective, model)
    held = on_boundary(point.N, objective.pseudo, problem.layout)
    executor = executor.if_worth(problem.components.nanoseconds)
    refit = partial(_refit, problem, model, options, executor.silent())
    refits = executor.count(refit, range(replicates), "bootstrap", 0, replicates)
    thetas = np.array([theta for theta, _ in refits])
    stopped = sum(not finished for _, finished in refits)
    told = objective.estimate, level, thetas, held
    return replicated(problem, model, *told, stopped=stopped, seed=options.seed)


def replicated(
    problem: Problem,
    model: Model,
    estimate: Estimate,
    level: float,
    thetas: FloatArray,
    held: BoolArray,
    *,
    stopped: int,
    seed: int,
) -> Intervals:
    """Give percentile intervals from the parameters of refits, (replicates, size).

    `held` are those on the boundary, which have none; `stopped` refits did not reach a maximum.
    """
    replicates, tail = len(thetas), (1.0 - level) / 2.0
    ends = np.quantile(thetas, [tail, 1.0 - tail], axis=0)
    vague = anywhere(problem.layout, *ends) & ~held
    none = held | vague
    stderr, low, high = (np.where(none, np.nan, x) for x in (thetas.std(axis=0, ddof=1), *ends))
    flags = [
        *counted(Kind.HELD_AT_BOUNDARY, held),
        *counted(Kind.ANYWHERE, vague, least=LEAST, most=MOST),
    ]
    if stopped:
        detail = {"stopped": stopped, "replicates": replicates}
        flags.append(Flag(Kind.REFITS_STOPPED, detail=detail))
    if replicates * tail < 1:
        few = {"replicates": replicates, "tail": 100 * tail, "enough": int(np.ceil(10 / tail))}
        flags.append(Flag(Kind.FEW_REPLICATES, detail=few))
    kind = "parametric bootstrap replicates" if problem.design is None else RESCALED
    how = f"From {replicates} {kind} (percentiles), seed {seed}."
    return Intervals(model, estimate, level, how, stderr, low, high, tuple(flags), replicates)


def _refit(
    problem: Problem, model: Model, options: Options, executor: Executor, replicate: int
) -> tuple[FloatArray, bool]:
    """Give the parameters that a replicate leads to, and whether the search came to its end."""
    if problem.design is None:
        drawn = simulate_like(problem, model.theta, options.seed, replicate)
    else:
        drawn = resample_units(problem, options.seed, replicate)
    fit = learn(drawn, replace(options, starts=1), executor=executor, start=model)
    finished = not any(flag.kind is Kind.NOT_CONVERGED for flag in fit.flags)
    return matched(fit.model, model).theta, finished
