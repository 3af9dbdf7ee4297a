"""Bounds of the evidence from both sides, and checks of a measured evidence against them.

A variational bound is below log p(D|S). The empirical distribution bounds the likelihood of
discrete rows from above: Σ n log(n/N) over the distinct rows of each set of observed columns. On
simulated data, chains bound the evidence from both sides (bidirectional Monte Carlo; Grosse et al.
2015).
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunet.errors import ImpossibleNumberError, ModelError
from lacunet.evidence.annealing import (
    ANYTHING,
    GROUP,
    AnnealingPath,
    Goal,
    RunContext,
    TimeLimit,
    expected_cases,
)
from lacunet.evidence.estimate import LogMean, Measurement, Verdict, log_mean
from lacunet.evidence.modes import distinct_symmetries, ranked, reference_near, sample_at
from lacunet.evidence.smc import ParticleRounds
from lacunet.fitting.diagnose import at_hyperparameters, vary
from lacunet.flags import Flag, Kind
from lacunet.inference.problem import Problem
from lacunet.inference.regions import Regions
from lacunet.inference.sampling.particles import Draws, check_whole
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.tabular import Columns, Grid, Printable, transposed

BOUND_STEPS = 50  # of variational Bayes: the last digits of the bound do not matter
STARTS = 8  # starts whose bounds are compared before the best is raised
ERRORS = 3.0  # standard errors by which an estimate may be outside of a bound
MOST_ROWS = 1 << 17  # distinct rows for which the upper bound is computed
ROUNDING = 1e-6  # relative tolerance of an exact value outside of its bounds
STEPS, GROUPS = 64, 4  # of the first round of chains
STREAM = 5  # of random numbers


def lower_bound(problem: Problem, counts: Sequence[FloatArray]) -> float:
    """A variational bound, raised from the best of several starts: hidden counts, (size,) each."""
    prior = problem.prior
    starts = [prior, *(prior + N for N in counts[:STARTS])]
    best = max((at_hyperparameters(problem, x) for x in starts), key=lambda q: q.bound)
    return vary(best, max_steps=BOUND_STEPS).bound


def upper_bound(problem: Problem) -> float:
    """Log likelihood of the empirical distribution of each set of observed columns.

    It is infinite for continuous columns, very many rows, and rows held by other parties.
    """
    if (
        not problem.layout.discrete
        or problem.place.holder is not None
        or len(problem.counts) > MOST_ROWS
    ):
        return math.inf
    n, rows = _alike(problem.codes, problem.counts)
    cases, patterns = _alike(problem.codes >= 0, problem.counts)
    each = np.zeros(len(n), dtype=np.int64)
    each[rows] = patterns
    counted = n > 0
    return float(n[counted] @ np.log(n[counted] / cases[each[counted]]))


def _alike(rows: NDArray[Any], counts: FloatArray) -> tuple[FloatArray, IntArray]:
    """Counts of the distinct rows, and the index of the distinct row of each row."""
    _, which = np.unique(rows, axis=0, return_inverse=True)
    which = np.asarray(which.reshape(-1), dtype=np.int64)
    return np.bincount(which, counts).astype(np.float64), which


def within_bounds(
    measured: Measurement, lower: float = -math.inf, upper: float = math.inf
) -> Measurement:
    """Make a measurement consistent with bounds of the same evidence.

    A value outside by less than its error is moved to the bound. If it is outside by more, the
    lower bound replaces it.
    """
    if measured.verdict is Verdict.EXACT:
        slack = ROUNDING * max(1.0, abs(measured.value))
        if not lower - slack <= measured.value <= upper + slack:
            raise ImpossibleNumberError(
                f"the exact evidence is {measured.value:.6g}, outside its bounds "
                f"{lower:.6g} and {upper:.6g}. It is not reported: this is a defect of lacunet."
            )
        return measured
    slack, value = ERRORS * (measured.stderr or 0.0), min(max(measured.value, lower), upper)
    notes, sure = measured.notes, measured.verdict is Verdict.RELIABLE
    if sure and measured.value < lower - slack:
        sure, notes = False, (*notes, Flag(Kind.UNDER_LOWER_BOUND, detail={"value": lower}))
    elif sure and measured.value > upper + slack:
        sure, notes = False, (*notes, Flag(Kind.OVER_UPPER_BOUND, detail={"value": upper}))
        value = lower
    one = measured.one_labelling + (value - measured.value)
    corrected = replace(measured, value=value, one_labelling=one, notes=notes)
    return corrected if sure else replace(corrected, verdict=Verdict.LOWER_BOUND, stderr=None)


def widened_error(estimate: LogMean, other: LogMean) -> LogMean:
    """Widen the error of an estimate to cover an independent one.

    Chains that miss the same mass agree with each other, and their averages are too low. So a
    higher estimate always widens the error, a lower one only beyond the stated errors.
    """
    above = other.value - estimate.value
    allowed = above < 0.0 and -above <= math.hypot(estimate.stderr, other.stderr)
    if allowed or not math.isfinite(above):
        return estimate
    return replace(estimate, stderr=math.hypot(estimate.stderr, above))


VALID = (
    "valid if the data were simulated from exactly these parameters, and they were drawn from the "
    "prior"
)


@dataclass(frozen=True, repr=False)
class Sandwich(Printable):
    """log p(D|S), all labellings, from both sides."""

    KEYS = "lower lower_stderr upper upper_stderr gap steps chains seconds"

    lower: float
    lower_stderr: float
    upper: float
    upper_stderr: float
    steps: int
    chains: int  # in each direction
    seconds: float = field(compare=False)

    @property
    def gap(self) -> float:
        """Nats between the bounds."""
        return self.upper - self.lower

    def tidy(self) -> Columns:
        """A row for each side."""
        below = ("lower", self.lower, self.lower_stderr)
        above = ("upper", self.upper, self.upper_stderr)
        return transposed(("side", "bound", "stderr"), (below, above))

    def grids(self) -> Sequence[Grid]:
        """The bounds as `print` and notebooks show them."""
        lower, upper = f"{self.lower:.3f}", f"{self.upper:.3f}"
        rows = (
            ("forwards", lower, f"{self.lower_stderr:.2g}"),
            ("backwards", upper, f"{self.upper_stderr:.2g}"),
        )
        notes = (
            f"they are {self.gap:.2g} nats apart",
            f"{self.chains} chains of {self.steps} steps each way; {self.seconds:.1f} s",
            VALID,
        )
        title = f"log p(D|S): from below {lower}, from above {upper}"
        return [Grid(title, ("direction", "bound", "stderr"), rows, notes=notes)]


def sandwich(
    problem: Problem,
    theta: FloatArray,
    goal: Goal | None = None,
    *,
    seed: int = 0,
    executor: Executor = SERIAL,
) -> Sandwich:
    """Bound the evidence of simulated data, given the parameters of the simulation."""
    goal = goal or Goal()
    limit = TimeLimit(goal)
    if problem.exact:
        value = problem.log_seen
        return Sandwich(value, 0.0, value, 0.0, 0, 0, limit.spent)
    check_whole(problem)
    if not (theta[problem.layout.learned] > 0).all():
        raise ModelError("a probability of the model is 0, so it was not drawn from the prior.")
    problem = problem.where_faster
    executor.report("looking for a reference", 0.0)
    # The reference must be independent of the perfect sample, or the upper bound would not hold.
    unhurried = replace(limit, goal=replace(goal, budget=math.inf))
    context, stream = RunContext(executor, unhurried), (seed, STREAM)
    particles = ParticleRounds(problem, seed, context)
    best = ranked(problem, particles.hidden_samples(1), ANYTHING, stream, context)[0]
    reference = reference_near(problem, best.N, ANYTHING, stream, context)
    symmetries = distinct_symmetries(problem, reference, stream)
    regions = Regions(symmetries, [reference.exponents])
    path = AnnealingPath(problem, reference)
    # All chains start from the one perfect sample, labelled as the reference. As in annealing,
    # parameters drawn given the counts determine the labels.
    N = sample_at(problem, theta, stream)
    draws = Draws(problem, np.random.default_rng(stream))
    (drawn,) = expected_cases((problem.prior + N)[None, :], draws)
    start = np.tile(regions.to_reference_region(drawn).apply(N), (GROUPS * GROUP, 1))
    steps = STEPS
    while True:
        began = time.perf_counter()
        executor.report(f"{steps} steps", min(0.99, limit.spent / goal.budget))
        down = path.backwards(start, steps, stream, context)
        log_weights, ends = path.forwards(steps, range(GROUPS), stream, context)
        up = np.where(regions.in_region(0, ends), log_weights, -np.inf)
        lower, upper = log_mean(up), _upper(down, up)
        seconds = time.perf_counter() - began
        narrow = upper.value - lower.value <= goal.target
        if (narrow and lower.stderr <= goal.target) or not limit.allows(2 * seconds):
            break
        steps *= 2
    lower, upper = lower.plus(symmetries.log_count), upper.plus(symmetries.log_count)
    bounds = (lower.value, lower.stderr, upper.value, upper.stderr)
    return Sandwich(*bounds, steps, len(up), limit.spent)


def _upper(down: FloatArray, up: FloatArray) -> LogMean:
    """−log of the mean of 1/weight, corrected for forward chains that leave the region.

    Backward chains start inside the region, so the mean estimates the share of forward chains that
    end inside, divided by the mass.
    """
    inverse = log_mean(-down)
    share = float(np.isfinite(up).mean())
    if share == 0.0:
        return replace(inverse, value=math.inf)
    stderr = math.hypot(inverse.stderr, math.sqrt((1 - share) / (share * len(up))))
    return replace(inverse, value=math.log(share) - inverse.value, stderr=stderr)
