"""Bounds from both sides, on simulated data (bidirectional Monte Carlo; Grosse et al. 2015).

If parameters were drawn from the prior and the data simulated from them, they are a perfect sample
of the posterior given those data: nobody else has one. Annealing backwards from it bounds the
evidence from above, annealing forwards from below, each up to t nats with probability at least
1 − exp(−t). Where the two meet, both are right.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from lacunet.errors import ModelError
from lacunet.evidence.annealing import GROUP, Annealing, expected
from lacunet.evidence.clock import Clock, Goal, Means
from lacunet.evidence.estimate import LogMean, log_mean
from lacunet.evidence.modes import at_parameters, ranked, widened
from lacunet.evidence.path import Path
from lacunet.evidence.smc import ParticleRounds
from lacunet.evidence.told_apart import told_apart
from lacunet.evidence.travellers import anything
from lacunet.inference.problem import Problem
from lacunet.inference.regions import Regions
from lacunet.inference.sampling.draws import Draws, check_whole
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.tabular import Columns, Grid, Printable, transposed

VALID = (
    "valid if the data were simulated from exactly these parameters, and they were drawn from the "
    "prior"
)
STEPS, GROUPS = 64, 4  # of the first round
STREAM = 5  # of random numbers


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
    means = Means(executor, unhurried)
    particles = ParticleRounds(problem, seed, means)
    best = ranked(problem, particles.found(1), anything, (seed, STREAM), means)[0]
    reference = widened(problem, best.N, anything, (seed, STREAM), means)
    symmetries = told_apart(problem, [reference], (seed, STREAM))
    regions = Regions(symmetries, [reference.exponents])
    annealing = Annealing(Path(problem, reference))
    start = _relabelled(annealing, regions, theta, seed)
    steps, groups, stream = STEPS, range(GROUPS), (seed, STREAM)
    while True:
        began = time.perf_counter()
        executor.say(f"{steps} steps", min(0.99, clock.spent / goal.budget))
        down = annealing.backwards(start, steps, stream, means)
        ended = annealing.forwards(steps, groups, stream, means)
        up = np.where(regions.at_home(0, ended.ends), ended.log_weights, -np.inf)
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


def _relabelled(annealing: Annealing, regions: Regions, theta: FloatArray, seed: int) -> FloatArray:
    """Hidden counts drawn at the perfect parameters, labelled as the reference is, (chains, size).

    All chains start from the one perfect sample that there is.
    """
    problem = annealing.path.problem
    N = at_parameters(problem, theta, (seed, STREAM))
    draws = Draws(problem, np.random.default_rng([seed, STREAM]))
    # The order is judged as annealing judges it: by parameters drawn for the counts.
    (drawn,) = expected(annealing.path, N[None, :], draws)
    return np.tile(regions.bring_home(drawn).apply(N), (GROUPS * GROUP, 1))
