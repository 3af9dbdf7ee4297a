"""The parametric bootstrap: data drawn from a fit, with the holes that the real data have."""

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
            f"a row weighs {fractional[0]:g}: the bootstrap draws whole rows, so "
            "weights must be whole numbers. Round them, or leave the bootstrap out."
        )


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
