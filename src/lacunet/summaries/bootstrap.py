"""The bootstrap: data drawn from a fit, with the real data's holes; units of a survey."""

import numpy as np

from lacunet.data.distinct import collapse, merge, smallest
from lacunet.data.sampling_design import SamplingDesign
from lacunet.errors import DataError, OptionError
from lacunet.inference.problem import Problem, problem_of_codes
from lacunet.models.network import Model
from lacunet.models.sampling import Drawn, coded, sample_shown
from lacunet.models.surgery import with_shown
from lacunet.runtime.arrays import CodeArray, FloatArray


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


def draw_units(design: SamplingDesign, rows: int, seed: int, replicate: int) -> FloatArray:
    """Draw one unit less than there are in each stratum, with replacement, and scale weights.

    Rao & Wu (1988): so the variance of a total over draws is that of the design. Gives the cases of
    each of so many distinct rows.
    """
    rng = np.random.default_rng([seed, replicate])
    times = np.zeros(len(design.stratum))
    for h in range(design.number_of_strata):
        mine = np.flatnonzero(design.stratum == h)
        units = int(design.copies[mine].sum())
        drawn = rng.multinomial(units - 1, design.copies[mine] / units)
        times[mine] = drawn * (units / (units - 1))
    return design.counts(times, rows)


def resample_units(problem: Problem, seed: int, replicate: int) -> Problem:
    """Draw the units of a survey anew."""
    assert problem.design is not None
    counts = draw_units(problem.design, len(problem.codes), seed, replicate)
    there = counts > 0
    return problem_of_codes(problem.codes[there], counts[there], problem.network, problem.alpha)


def simulate_like(problem: Problem, theta: FloatArray, seed: int, replicate: int) -> Problem:
    """Draw as many rows as the data have from θ, and make the same holes in them.

    Replicate b is the same whatever the number of replicates or threads.
    """
    drawn, counts = simulate_rows(problem, theta, seed, replicate)
    network = with_shown(problem.network, drawn.variables)
    return problem_of_codes(drawn.codes, counts, network, problem.alpha)


def simulate_rows(
    problem: Problem, theta: FloatArray, seed: int, replicate: int, given: int | None = None
) -> tuple[Drawn, FloatArray]:
    """Draw distinct rows, and how often each is there; of a variable `given` rows keep the state.

    Rows have the holes of the data.
    """
    rng = np.random.default_rng([seed, replicate])
    network, copies = problem.network, problem.counts.astype(np.int64)
    holes = np.repeat(problem.codes < 0, copies, axis=0)
    fixed = {}
    if given is not None:
        column = problem.codes[:, network.observed.index(given)]
        fixed[given] = np.repeat(column, copies)
    model = Model(network, theta, problem.alpha)
    cells = sample_shown(model, len(holes), rng, fixed=fixed)
    cells[holes] = np.nan
    drawn = coded([network.variables[i] for i in network.observed], cells)
    kind = smallest(max(len(v.states) for v in drawn.variables))
    codes: CodeArray = drawn.codes.astype(kind)
    rows = merge(codes, np.ones(len(codes)), np.ones(len(codes), dtype=np.int64))
    distinct, counts = collapse(*rows)
    return Drawn(drawn.variables, distinct), counts
