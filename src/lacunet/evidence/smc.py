"""Sequential Monte Carlo over the cases: from the prior to the posterior, one case at a time.

It needs no starting mode, and samples labellings, empty states and modes in proportion to their
mass. Every run gives an unbiased estimate of p(D|S) for any order of the cases. The spread of
independent runs is the error bar.

The module also has the fits from which other samplers start, and the checks that they share.
"""

import functools
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import logsumexp

from lacunet.errors import OptionError
from lacunet.evidence.annealing import (
    ANYTHING,
    AnnealingPath,
    Goal,
    OutOfTimeError,
    RunContext,
    TimeLimit,
)
from lacunet.evidence.estimate import LogMean, log_mean
from lacunet.evidence.exact import exact_evidence
from lacunet.evidence.modes import HiddenSample, reference_near
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.maxima import MASS
from lacunet.fitting.objective import Objective, random_starts
from lacunet.fitting.prepare import example, prepare
from lacunet.fitting.schedules import PAPER_ITERATIONS
from lacunet.inference.classes import exchangeable
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.particles import MOST_SEQUENTIAL, Draws, Particles, seconds_to_draw
from lacunet.models.latent_class import classes_of, is_latent_class
from lacunet.models.network import Network
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.runtime.executor import SERIAL, Executor

RESAMPLED = 0.5  # effective part of the particles below which they are resampled
SWEEPS = 2  # Gibbs sweeps over the cases so far that follow
RUNS = 16  # of the first round: enough to estimate their spread
WAVE = 4  # runs between two checks of the clock and of the spread
PARTICLES = 64  # of each run of the first round
WIDE = 0.7  # nats: if runs differ by more, larger runs help more than additional ones
STREAM = 1  # of random numbers
PART = 0.5  # share of the remaining time for fits
MOST_RENEWALS = 50  # of particles in one run, by experience
PROBE = 8  # particles of the run that estimates the number of renewals,
FEW_RENEW_LESS = 1.5  # and its correction: few particles are renewed less often than many
PROBED = 17  # its stream of random numbers


@dataclass(frozen=True, eq=False)
class ParticleRun:
    """The result of one run."""

    log_evidence: float
    exponents: FloatArray  # (particles, size) α + counts at the end: posterior samples
    work: float  # hidden components drawn; unlike seconds, reproducible
    renewals: int  # how often particles were resampled and moved


def run_particles(
    problem: Problem, particles: int, seed: tuple[int, ...], limit: TimeLimit | None = None
) -> ParticleRun:
    """Run particles over all cases; a clock may stop the run."""
    rng = np.random.default_rng(seed)
    population = Particles(problem, particles, rng)
    renewals, log_z = 0, problem.log_seen

    def renew() -> None:
        nonlocal renewals, log_z
        log_z += float(logsumexp(population.log_weights)) - math.log(particles)
        population.renew(resampled(population.log_weights, rng), SWEEPS)
        renewals += 1

    for plan, cases in population.runs():
        taken = 0
        while taken < len(cases):
            if limit:
                limit.check()
            taken += population.take_in(plan, cases[taken:], RESAMPLED * particles)
            if population.effective < RESAMPLED * particles:
                renew()
    renew()
    counts = problem.components.counts
    taken_in, components = sum(float(c.sum()) for c in counts), sum(len(c) for c in counts)
    work = particles * (taken_in + renewals * SWEEPS * components)
    return ParticleRun(log_z, population.exponents, work, renewals)


def resampled(log_weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """Systematic resampling: indices of the surviving particles."""
    share = np.exp(log_weights - logsumexp(log_weights))
    points = (rng.random() + np.arange(len(share))) / len(share)
    return np.minimum(np.searchsorted(np.cumsum(share), points), len(share) - 1)


def first_round_ends_in(
    problem: Problem, seconds: float, seed: int, limit: TimeLimit, *, probe: bool
) -> bool:
    """Whether the first round fits into so many seconds; a small run may estimate its renewals.

    The estimate does not use measured time, so the choice of a method is reproducible.
    """
    sweep, cases = seconds_to_draw(problem)

    def guess(renewals: float) -> float:
        return RUNS * PARTICLES * (SWEEPS * renewals * sweep + cases)

    parameters, taken_in = problem.network.dimension, problem.cases
    most = guess(min(parameters / 4, MOST_RENEWALS) + math.log2(taken_in + 1))
    if most <= seconds or not probe or most * PROBE / (RUNS * PARTICLES) > seconds:
        return most <= seconds
    try:
        small = run_particles(problem, PROBE, (seed, PROBED), limit)
    except OutOfTimeError:
        return False
    return guess(FEW_RENEW_LESS * small.renewals) <= seconds


class ParticleRounds:
    """Independent runs of one size; a round doubles their number or their size."""

    def __init__(
        self, problem: Problem, seed: int, context: RunContext, *, full_round: bool = True
    ) -> None:
        """Run the first round; without `full_round`, stop after one wave if its spread is wide."""
        self.problem, self.seed, self.context = problem, seed, context
        self.particles, self.runs, self.seconds = PARTICLES, list[ParticleRun](), 0.0
        self._add(WAVE)
        if full_round or not self.wide:
            self.first_round()

    def first_round(self) -> None:
        """Complete the first round if it was stopped early."""
        self._add(max(0, RUNS - len(self.runs)))

    @property
    def _logs(self) -> FloatArray:
        return np.array([run.log_evidence for run in self.runs])

    @property
    def estimate(self) -> LogMean:
        """The average of the runs, over all labellings.

        The error includes the share of one particle, because a mode without particles may have it.
        """
        mean = log_mean(self._logs)
        unseen = 1.0 / max(self.particles * len(self.runs), 1)
        return replace(mean, stderr=math.hypot(mean.stderr, unseen))

    @property
    def wide(self) -> bool:
        """Whether the runs vary too much for a reliable average."""
        return len(self.runs) > 1 and float(np.std(self._logs, ddof=1)) > WIDE

    def price(self) -> float:
        """Estimated work to reach the target: errors shrink with the square root of the work."""
        work = sum(run.work for run in self.runs)
        return work * (self.estimate.stderr / self.context.limit.goal.target) ** 2

    def until_done(self) -> LogMean:
        """Improve until the goal is reached or the time is up."""
        limit = self.context.limit
        while self.estimate.stderr > limit.goal.target:
            if not limit.allows(self.seconds * (2.0 if self.wide else 1.0)):
                break
            self._improve()
        return self.estimate

    def _improve(self) -> None:
        before = self.particles, self.runs, self.seconds
        if self.wide:
            self.particles, self.runs, self.seconds = 2 * self.particles, [], 0.0
        self._add(len(self.runs) or RUNS)
        if len(self.runs) < min(RUNS, len(before[1])):  # the time ran out: keep the larger set
            self.particles, self.runs, self.seconds = before

    def hidden_samples(self, each: int) -> list[HiddenSample]:
        """Hidden counts of `each` particles of every run, the best runs first."""
        prior = self.problem.prior
        ranked = sorted(enumerate(self.runs), key=lambda item: -item[1].log_evidence)
        return [HiddenSample(run.exponents[i] - prior, n) for i in range(each) for n, run in ranked]

    @property
    def shares(self) -> dict[int, float]:
        """Posterior of the number of used classes; empty if classes are not exchangeable."""
        if not (self.runs and exchangeable(self.problem)):
            return {}
        weights = np.exp(self._logs - self._logs.max())
        weights /= weights.sum() * self.particles
        classes = classes_of(self.problem.network)
        block = self.problem.layout.block(classes.root)
        shares = np.zeros(classes.number + 1)
        for run, weight in zip(self.runs, weights, strict=True):
            in_use = (run.exponents[:, block] > self.problem.alpha[block]).sum(axis=1)
            shares += weight * np.bincount(in_use, minlength=len(shares))
        return {m: float(share) for m, share in enumerate(shares) if share > 0}

    def _add(self, runs: int) -> None:
        began, first = time.perf_counter(), len(self.runs)
        for wave in range(first, first + runs, WAVE):
            numbers = range(wave, min(wave + WAVE, first + runs))
            seeds = [(self.seed, STREAM, self.particles, number) for number in numbers]
            one = partial(_run_in_time, self.problem, self.particles, self.context.limit)
            done = self.context.map(one, seeds)
            self.runs += [run for run in done if run]
            if not all(done):
                break
        self.seconds += time.perf_counter() - began


def _run_in_time(
    problem: Problem, particles: int, limit: TimeLimit, seed: tuple[int, ...]
) -> ParticleRun | None:
    with suppress(OutOfTimeError):
        return run_particles(problem, particles, seed, limit)
    return None


def fitted(problem: Problem, seeds: Sequence[int], context: RunContext) -> list[FloatArray]:
    """Parameters of an EM fit with each seed while time remains; always at least one."""
    check = context.limit.part(PART).check
    fit = partial(_fit_in_time, problem, context, check)
    # The first fit runs alone on all workers: side by side, none might finish in time.
    fits = [*context.map(fit, seeds[:1]), *context.map(fit, seeds[1:])]
    return [theta for theta in fits if theta is not None] or [_hurried(problem, seeds[0], context)]


def _fit_in_time(
    problem: Problem, context: RunContext, check: Callable[[], None], seed: int
) -> FloatArray | None:
    with suppress(OutOfTimeError):
        check()
        return _fit(problem, Options(seed=seed), context, check)
    return None


def _hurried(problem: Problem, seed: int, context: RunContext) -> FloatArray:
    """A fit from one start; if that takes too long, as many EM steps as time allows."""
    try:
        options, check = Options(seed=seed, starts=1), context.limit.part(PART).check
        return _fit(problem, options, context, check)
    except OutOfTimeError:
        objective = Objective.build(problem, Options.estimate, context.executor.silent())
        (point,) = random_starts(objective, 1, seed)
        point = objective.em_step(point)  # at least one step, because the start is random
        for _ in range(PAPER_ITERATIONS):
            if not context.limit.allows():
                break
            point = objective.em_step(point)
        return point.theta


def _fit(
    problem: Problem, options: Options, context: RunContext, check: Callable[[], None]
) -> FloatArray:
    executor = context.executor.silent().until(check)
    return learn(problem, options, executor=executor, ranks=MASS).model.theta


def check_sampling(problem: Problem, *, sequential: bool = False) -> None:
    """Refuse priors that absorb single cases, and too many cases for a `sequential` method."""
    if not problem.cases_show:
        raise OptionError(
            f"exponents of the prior add up to {problem.alpha.sum():.2g}: beside them a case is "
            "lost in rounding, so sampling is impossible. Give a smaller alpha, or use method "
            "exact if the sum over all completions is short."
        )
    if sequential and problem.cases > MOST_SEQUENTIAL:
        raise OptionError(
            f"this method takes cases one by one, and {problem.cases:.3g} are more than "
            f"{MOST_SEQUENTIAL:g}. Use --method ais, or auto."
        )


def prepare_sampling(executor: Executor, *networks: Network) -> None:
    """Compile every kernel; the first time on a machine takes some seconds."""
    prepare(executor, *networks)
    _run_all_kernels(trees=not all(is_latent_class(network) for network in networks))


@functools.cache
def _run_all_kernels(*, trees: bool) -> None:
    problem = example(trees=trees)
    exact_evidence(problem)
    run_particles(problem, 4, (0,))
    context = RunContext(SERIAL, TimeLimit(Goal()))
    nothing = np.zeros(problem.layout.size)
    path = AnnealingPath(problem, reference_near(problem, nothing, ANYTHING, (0,), context))
    draws = Draws(problem, np.random.default_rng(0))
    path.log_density(0.5, draws.hidden(np.tile(path.reference.log_weights, (2, 1))))
