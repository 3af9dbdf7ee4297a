"""Bootstrap: simulated data with the same missing cells, and intervals from refits."""

from dataclasses import replace
from functools import partial

import numpy as np

from lacunet.data.design import SamplingDesign
from lacunet.data.distinct import collapse, merge, smallest
from lacunet.errors import DataError, OptionError
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Estimate, Objective
from lacunet.flags import Flag, Kind
from lacunet.inference.predicted import predicted_classes
from lacunet.inference.problem import Problem, problem_of_codes
from lacunet.models.network import Model
from lacunet.models.surgery import coded, predicted, sample_shown, with_shown
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.summaries.intervals import (
    LEAST,
    LEVEL,
    MOST,
    Intervals,
    check_maximum,
    counted,
    on_boundary,
    uninformative,
)
from lacunet.summaries.matching import matched

FEWEST = 2  # least replicates for a standard deviation


def check_number(replicates: int, fewest: int = 1) -> None:
    """Refuse too few replicates."""
    if replicates < fewest:
        raise OptionError(f"{replicates} bootstrap replicates: there must be at least {fewest}.")


def check_replicates(counts: FloatArray, replicates: int, fewest: int = 1) -> None:
    """Refuse too few replicates, and fractional weights."""
    check_number(replicates, fewest)
    fractional = counts[counts != np.round(counts)]
    if len(fractional):
        raise DataError(
            f"a row weighs {fractional[0]:g}: the bootstrap draws whole rows from a model, which "
            "have no fractional weights. For a survey (--weights-as survey), intervals resample "
            "units; lacunet select compares numbers of classes with weights."
        )


def check_possible_replicates(problem: Problem, replicates: int) -> None:
    """Refuse too few replicates for errors, and fractional weights without a survey design."""
    if problem.design is None:
        check_replicates(problem.counts, replicates, FEWEST)
    check_number(replicates, FEWEST)


def draw_units(design: SamplingDesign, rows: int, seed: int, replicate: int) -> FloatArray:
    """Draw n − 1 of n units with replacement in each stratum, and return rescaled row counts.

    The variance of a total over draws is then that of the design (Rao & Wu 1988).
    """
    rng = np.random.default_rng([seed, replicate])
    times = np.zeros(len(design.stratum))
    for h in range(design.number_of_strata):
        mine = np.flatnonzero(design.stratum == h)
        units = int(design.copies[mine].sum())
        drawn = rng.multinomial(units - 1, design.copies[mine] / units)
        times[mine] = drawn * (units / (units - 1))
    return design.counts(times, rows)


def resample(problem: Problem, theta: FloatArray, seed: int, replicate: int) -> Problem:
    """Return a bootstrap sample: units of a survey, else rows drawn from θ."""
    if problem.design is None:
        return simulate_like(problem, theta, seed, replicate)
    return resample_units(problem, seed, replicate)


def resample_units(problem: Problem, seed: int, replicate: int) -> Problem:
    """Return a bootstrap sample of the units of a survey."""
    assert problem.design is not None
    counts = draw_units(problem.design, len(problem.codes), seed, replicate)
    drawn = counts > 0
    return problem_of_codes(problem.codes[drawn], counts[drawn], problem.network, problem.alpha)


def simulate_like(problem: Problem, theta: FloatArray, seed: int, replicate: int) -> Problem:
    """Draw as many rows from θ as the data have, with the same missing cells.

    Patterns of covariates are those of the data. Replicate b does not depend on the number of
    replicates or threads.
    """
    rng, network = np.random.default_rng([seed, replicate]), problem.network
    every = np.repeat(problem.codes, problem.counts.astype(np.int64), axis=0)
    model, fixed = Model(network, theta, problem.alpha), dict[int, CodeArray]()
    if (classes := predicted_classes(problem)) is not None:
        model = predicted(classes.model(theta), classes.logit.design)
        fixed = {network.observed[-1]: every[:, -1]}
    cells = sample_shown(model, len(every), rng, fixed=fixed)
    cells[every < 0] = np.nan
    drawn = coded([network.variables[i] for i in network.observed], cells)
    kind = smallest(max(len(v.states) for v in drawn.variables))
    codes: CodeArray = drawn.codes.astype(kind)
    rows = merge(codes, np.ones(len(codes)), np.ones(len(codes), dtype=np.int64))
    distinct, counts = collapse(*rows)
    return problem_of_codes(distinct, counts, with_shown(network, drawn.variables), problem.alpha)


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
    """Compute percentile intervals by the parametric bootstrap, with the same missing cells.

    With a sampling design, resample its units instead. Each refit starts at the model's parameters;
    its hidden states are then matched to the model's. The seed is that of the options.
    """
    check_possible_replicates(problem, replicates)
    objective = Objective.build(problem, options.estimate)
    point = check_maximum(objective, model)
    at_boundary = on_boundary(point.N, objective.pseudo, problem.layout)
    executor = executor.if_worth(problem.components.nanoseconds)
    refit = partial(_refit, problem, model, options, executor.silent())
    refits = executor.count(refit, range(replicates), "bootstrap", 0, replicates)
    thetas = np.array([theta for theta, _ in refits])
    stopped = sum(not finished for _, finished in refits)
    estimate, seed = objective.estimate, options.seed
    return replicated(
        problem, model, estimate, level, thetas, at_boundary, stopped=stopped, seed=seed
    )


def replicated(
    problem: Problem,
    model: Model,
    estimate: Estimate,
    level: float,
    thetas: FloatArray,
    at_boundary: BoolArray,
    *,
    stopped: int,
    seed: int,
) -> Intervals:
    """Compute percentile intervals from the parameters of refits, (replicates, size).

    Parameters on the boundary, `at_boundary`, have none; `stopped` refits did not reach a maximum.
    """
    replicates, tail = len(thetas), (1.0 - level) / 2.0
    ends = np.quantile(thetas, [tail, 1.0 - tail], axis=0)
    vague = uninformative(problem.layout, *ends) & ~at_boundary
    without = at_boundary | vague
    stderr, low, high = (np.where(without, np.nan, x) for x in (thetas.std(axis=0, ddof=1), *ends))
    flags = [
        *counted(Kind.HELD_AT_BOUNDARY, at_boundary),
        *counted(Kind.ANYWHERE, vague, least=LEAST, most=MOST),
    ]
    if stopped:
        detail = {"stopped": stopped, "replicates": replicates}
        flags.append(Flag(Kind.REFITS_STOPPED, detail=detail))
    if replicates * tail < 1:
        few = {"replicates": replicates, "tail": 100 * tail, "enough": int(np.ceil(10 / tail))}
        flags.append(Flag(Kind.FEW_REPLICATES, detail=few))
    kind = "parametric bootstrap replicates" if problem.design is None else RESCALED
    method = f"From {replicates} {kind} (percentiles), seed {seed}."
    return Intervals(model, estimate, level, method, stderr, low, high, tuple(flags), replicates)


def _refit(
    problem: Problem, model: Model, options: Options, executor: Executor, replicate: int
) -> tuple[FloatArray, bool]:
    """Return the parameters of a refit, and whether it converged."""
    drawn = resample(problem, model.theta, options.seed, replicate)
    fit = learn(drawn, replace(options, starts=1), executor=executor, start=model)
    finished = not any(flag.kind is Kind.NOT_CONVERGED for flag in fit.flags)
    return matched(fit.model, model).theta, finished
