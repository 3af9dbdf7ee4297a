"""Bounds of an evidence from both sides, and what a measured evidence is held to.

A variational bound is below log p(D|S) at any start. No parameters make rows more probable than
their own shares do, so those of discrete rows bound it from above: for each set of columns that is
shown, Σ n log(n/N) over its distinct rows. On simulated data chains bound it from both sides
(bidirectional Monte Carlo; Grosse et al. 2015).
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
    Clock,
    Goal,
    RunContext,
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

BOUND_STEPS = 50  # of variational Bayes: towards the best bound, not to its last digit
STARTS = 8  # places whose bounds are compared, before the best is raised
ERRORS = 3.0  # standard errors by which an estimate may be outside of a bound
MOST_ROWS = 1 << 17  # distinct rows whose shares are looked up
ROUNDING = 1e-6  # of an exact value, by which it may be outside
STEPS, GROUPS = 64, 4  # of the first round of chains
STREAM = 5  # of random numbers


def lower_bound(problem: Problem, counts: Sequence[FloatArray]) -> float:
    """A variational bound uphill from the best of some places, hidden counts (size,) each."""
    prior = problem.prior
    starts = [prior, *(prior + N for N in counts[:STARTS])]
    best = max((at_hyperparameters(problem, x) for x in starts), key=lambda q: q.bound)
    return vary(best, max_steps=BOUND_STEPS).bound


def upper_bound(problem: Problem) -> float:
    """Log probability of the rows if each set of columns that is shown had its own shares.

    Densities have no such bound; of very many rows, or rows that others hold, none is worked out.
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
    """How often each different row is there, and which of them each row is."""
    _, which = np.unique(rows, axis=0, return_inverse=True)
    which = np.asarray(which.reshape(-1), dtype=np.int64)
    return np.bincount(which, counts).astype(np.float64), which


def between(
    measured: Measurement, lower: float = -math.inf, upper: float = math.inf
) -> Measurement:
    """Hold a measurement to bounds of the same evidence.

    What is outside by more than its error allows is the lower bound, and no more than that; what is
    outside by less is moved to the bound.
    """
    if measured.verdict is Verdict.EXACT:
        slack = ROUNDING * max(1.0, abs(measured.value))
        if not lower - slack <= measured.value <= upper + slack:
            raise ImpossibleNumberError(
                f"the exact evidence came out as {measured.value:.6g}, outside of its bounds "
                f"{lower:.6g} and {upper:.6g}. It is kept back: this is a defect of lacunet."
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
    held = replace(measured, value=value, one_labelling=one, notes=notes)
    return held if sure else replace(held, verdict=Verdict.LOWER_BOUND, stderr=None)


def less_sure(estimate: LogMean, other: LogMean) -> LogMean:
    """The same with an error that covers an independent estimate.

    Chains can miss mass, and then they agree with each other; averages of weights are too low
    rather than too high. So a difference upwards always counts, one downwards if it is too large.
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
        """Give a row for each side."""
        below = ("lower", self.lower, self.lower_stderr)
        above = ("upper", self.upper, self.upper_stderr)
        return transposed(("side", "bound", "stderr"), (below, above))

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
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
    """Bound the evidence of simulated data, given the parameters that they were simulated from."""
    goal = goal or Goal()
    clock = Clock(goal)
    if problem.exact:
        value = problem.log_seen
        return Sandwich(value, 0.0, value, 0.0, 0, 0, clock.spent)
    check_whole(problem)
    if not (theta[problem.layout.learned] > 0).all():
        raise ModelError("a probability of the model is 0: it was not drawn from the prior.")
    problem = problem.where_faster
    executor.say("looking for a reference", 0.0)
    # The reference must know nothing of the perfect sample, or the upper bound would not hold.
    unhurried = replace(clock, goal=replace(goal, budget=math.inf))
    context, stream = RunContext(executor, unhurried), (seed, STREAM)
    particles = ParticleRounds(problem, seed, context)
    best = ranked(problem, particles.found(1), ANYTHING, stream, context)[0]
    reference = reference_near(problem, best.N, ANYTHING, stream, context)
    symmetries = distinct_symmetries(problem, reference, stream)
    regions = Regions(symmetries, [reference.exponents])
    path = AnnealingPath(problem, reference)
    # All chains start from the one perfect sample that there is, labelled as the reference is; the
    # order is judged as annealing judges it: by parameters drawn for the counts.
    N = sample_at(problem, theta, stream)
    draws = Draws(problem, np.random.default_rng(stream))
    (drawn,) = expected_cases((problem.prior + N)[None, :], draws)
    start = np.tile(regions.bring_home(drawn).apply(N), (GROUPS * GROUP, 1))
    steps = STEPS
    while True:
        began = time.perf_counter()
        executor.say(f"{steps} steps", min(0.99, clock.spent / goal.budget))
        down = path.backwards(start, steps, stream, context)
        log_weights, ends = path.forwards(steps, range(GROUPS), stream, context)
        up = np.where(regions.at_home(0, ends), log_weights, -np.inf)
        lower, upper = log_mean(up), _upper(down, up)
        seconds = time.perf_counter() - began
        narrow = upper.value - lower.value <= goal.target
        if (narrow and lower.stderr <= goal.target) or not clock.allows(2 * seconds):
            break
        steps *= 2
    lower, upper = lower.plus(symmetries.log_count), upper.plus(symmetries.log_count)
    bounds = (lower.value, lower.stderr, upper.value, upper.stderr)
    return Sandwich(*bounds, steps, len(up), clock.spent)


def _upper(down: FloatArray, up: FloatArray) -> LogMean:
    """Give −log of the mean of 1/weight.

    Forward chains may leave the region, backward chains start inside it: the mean estimates 1/mass
    times the part of forward chains that end inside.
    """
    inverse = log_mean(-down)
    home = float(np.isfinite(up).mean())
    if home == 0.0:
        return replace(inverse, value=math.inf)
    stderr = math.hypot(inverse.stderr, math.sqrt((1 - home) / (home * len(up))))
    return replace(inverse, value=math.log(home) - inverse.value, stderr=stderr)
