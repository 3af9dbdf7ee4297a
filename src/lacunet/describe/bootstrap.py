"""The bootstrap: data drawn from a fit, with the real data's holes; units of a survey."""

import numpy as np

from lacunet.arrays import CodeArray, FloatArray
from lacunet.data.distinct import collapse, merge, smallest
from lacunet.errors import DataError, OptionError
from lacunet.inference.problem import Problem, problem_of_codes
from lacunet.model.network import Model
from lacunet.model.sampling import coded, sample_shown
from lacunet.model.surgery import with_shown


def check_number(replicates: int, fewest: int = 1) -> None:
    """Refuse too few replicates."""
    if replicates < fewest:
        raise OptionError(f"{replicates} bootstrap replicates: there must be at least {fewest}.")


def check_replicates(counts: FloatArray, replicates: int, fewest: int = 1) -> None:
    """Refuse too few replicates, and weights that are not numbers of rows."""
    check_number(replicates, fewest)
    fractional = counts[counts != np.round(counts)]
    if len(fractional):
        raise DataError(
            f"a row weighs {fractional[0]:g}: the bootstrap draws whole rows from a model, and "
            "nobody is drawn so many times. Of a survey (--weights-as survey), units are drawn for "
            "intervals; how many classes there are, lacunet select tells with weights."
        )


def resample_units(problem: Problem, seed: int, replicate: int) -> Problem:
    """Draw one unit less than there are in each stratum, with replacement, and scale weights.

    Rao & Wu (1988): so the variance of a total over draws is that of the design.
    """
    design = problem.design
    assert design is not None
    rng = np.random.default_rng([seed, replicate])
    times = np.zeros(len(design.stratum))
    for h in range(design.number_of_strata):
        mine = np.flatnonzero(design.stratum == h)
        units = int(design.copies[mine].sum())
        drawn = rng.multinomial(units - 1, design.copies[mine] / units)
        times[mine] = drawn * (units / (units - 1))
    counts = design.counts(times, len(problem.codes))
    there = counts > 0
    return problem_of_codes(problem.codes[there], counts[there], problem.network, problem.alpha)


def simulate_like(problem: Problem, theta: FloatArray, seed: int, replicate: int) -> Problem:
    """Draw as many rows as the data have from θ, and make the same holes in them.

    Replicate b is the same whatever the number of replicates or threads.
    """
    rng = np.random.default_rng([seed, replicate])
    holes = np.repeat(problem.codes < 0, problem.counts.astype(np.int64), axis=0)
    network = problem.network
    cells = sample_shown(Model(network, theta, problem.alpha), len(holes), rng)
    cells[holes] = np.nan
    drawn = coded([network.variables[i] for i in network.observed], cells)
    kind = smallest(max(len(v.states) for v in drawn.variables))
    codes: CodeArray = drawn.codes.astype(kind)
    rows = merge(codes, np.ones(len(codes)), np.ones(len(codes), dtype=np.int64))
    return problem_of_codes(*collapse(*rows), with_shown(network, drawn.variables), problem.alpha)
