"""The evidence as well as it can be known of data whose parameters are known.

Exactly, where a sum does it. Else by the highest of three estimates, each of which is too high by t
nats with probability exp(−t) at most, so that the highest is the one that missed least: a long run
of particles; annealing from the very place where the data came from, which nobody else knows, and
from those that particles found; and the lower of the bounds from both sides. The upper one says how
much all three may have missed: it is too low by t nats with probability exp(−t) at most.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from lacunet.errors import LacunetError
from lacunet.evidence.ais import AnnealingRounds
from lacunet.evidence.annealing import Goal, RunContext, TimeLimit
from lacunet.evidence.consistency import sandwich
from lacunet.evidence.exact import exact_evidence
from lacunet.evidence.modes import HiddenSample, sample_at
from lacunet.evidence.smc import ParticleRounds
from lacunet.inference.problem import Problem
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL

EXACT_STEPS = 30_000_000  # additions of an exact sum: a few seconds
NARROWER = 0.5  # the judge's target, as a part of that of the judged
LONGER = 2.0  # times the budget of the judged, for each estimate
APART = 0.5  # nats between the bounds that are near enough: they only say what may be missing
SAMPLES = 4  # of hidden values, at the parameters that made the data
ERRORS = 3.0  # combined standard errors by which one estimate must be above another to count first

Estimate: TypeAlias = tuple[str, float, float]  # how it was made, its value, its standard error


@dataclass(frozen=True)
class BestKnown:
    """A judge's opinion of log p(D|S), all labellings."""

    by: str  # "exact", or the estimate that was taken
    value: float
    stderr: float
    upper: float  # bound from above; infinite, where there is none
    seconds: float


def best_known(problem: Problem, theta: FloatArray, goal: Goal, seed: int) -> BestKnown:
    """Find out what can be known of the evidence, given the parameters that made the data."""
    began = time.perf_counter()
    try:
        value = exact_evidence(problem, largest=EXACT_STEPS).value
    except LacunetError:
        pass
    else:
        return BestKnown("exact", value, 0.0, value, time.perf_counter() - began)
    bounds = sandwich(problem, theta, Goal(APART, goal.budget), seed=seed)
    goal = Goal(NARROWER * goal.target, LONGER * goal.budget)
    best: Estimate = ("bound", bounds.lower, bounds.lower_stderr)
    for estimate in _estimates(problem, theta, goal, seed):
        if _knows_more(estimate, best):
            best = estimate
    return BestKnown(*best, bounds.upper, time.perf_counter() - began)


def _knows_more(one: Estimate, other: Estimate) -> bool:
    """Whether an estimate is clearly above another, or not clearly below and sharper."""
    if not math.isfinite(other[1]):
        return True
    apart, both = one[1] - other[1], ERRORS * math.hypot(one[2], other[2])
    return apart > both or (apart > -both and one[2] < other[2])


def _estimates(problem: Problem, theta: FloatArray, goal: Goal, seed: int) -> Iterator[Estimate]:
    particles = ParticleRounds(problem, seed, RunContext(SERIAL, TimeLimit(goal)))
    runs = particles.until_done()
    yield "particles", runs.value, runs.stderr
    # Numbers of used classes besides those at the origin of the data are known to particles alone.
    made = [HiddenSample(sample_at(problem, theta, (seed, n)), -1 - n) for n in range(SAMPLES)]
    places = [*made, *particles.hidden_samples(SAMPLES)]
    rounds = AnnealingRounds(problem, places, seed, RunContext(SERIAL, TimeLimit(goal)))
    rounds.until_done()
    yield "annealing", rounds.sampled.value, rounds.sampled.stderr
