"""Rounds of particle runs, until their spread is small enough."""

import math
import time
from dataclasses import replace
from functools import partial

import numpy as np

from lacunet.evidence.clock import Clock, Means, OutOfTimeError
from lacunet.evidence.estimate import LogMean, log_mean
from lacunet.evidence.modes import Found
from lacunet.evidence.particle_run import Run, run_particles
from lacunet.inference.classes import exchangeable
from lacunet.inference.problem import Problem
from lacunet.models.latent_class import classes_of
from lacunet.runtime.arrays import FloatArray

RUNS = 16  # of the first round: enough to judge their spread
WAVE = 4  # runs between two looks at the clock, and at whether they are of any use
PARTICLES = 64  # of each run of the first round
WIDE = 0.7  # nats: where runs differ by more, larger ones help better than more of them
STREAM = 1  # of random numbers


class ParticleRounds:
    """Independent runs of one size; a round doubles their number, or their size."""

    def __init__(self, problem: Problem, seed: int, means: Means, *, hopeful: bool = True) -> None:
        """Run the first round; with little hope, only as much as shows that there is none."""
        self.problem, self.seed, self.means = problem, seed, means
        self.particles, self.runs, self.seconds = PARTICLES, list[Run](), 0.0
        self._add(WAVE)
        if hopeful or not self.wide:
            self.first_round()

    def first_round(self) -> None:
        """Complete the first round, if it was broken off."""
        self._add(max(0, RUNS - len(self.runs)))

    @property
    def _logs(self) -> FloatArray:
        return np.array([run.log_evidence for run in self.runs])

    @property
    def estimate(self) -> LogMean:
        """The average of the runs, over all labellings.

        Where no particle went there may still be as much as one would have told.
        """
        told = log_mean(self._logs)
        unseen = 1.0 / max(self.particles * len(self.runs), 1)
        return replace(told, stderr=math.hypot(told.stderr, unseen))

    @property
    def wide(self) -> bool:
        """Whether the runs are too far apart for an average to mean much."""
        return len(self.runs) > 1 and float(np.std(self._logs, ddof=1)) > WIDE

    def cost(self) -> float:
        """Seconds that the next round will take, about."""
        return self.seconds * (2.0 if self.wide else 1.0)

    def price(self) -> float:
        """Work to the target, about: errors shrink with its square root."""
        work = sum(run.work for run in self.runs)
        return work * (self.estimate.stderr / self.means.clock.goal.target) ** 2

    def improve(self) -> None:
        """One more round."""
        before = self.particles, self.runs, self.seconds
        if self.wide:
            self.particles, self.runs, self.seconds = 2 * self.particles, [], 0.0
        self._add(len(self.runs) or RUNS)
        if len(self.runs) < min(RUNS, len(before[1])):  # the time ran out: a few tell less
            self.particles, self.runs, self.seconds = before

    def until_done(self) -> LogMean:
        """Improve until the goal is reached or the time is up."""
        clock = self.means.clock
        while self.estimate.stderr > clock.goal.target and clock.allows(self.cost()):
            self.improve()
        return self.estimate

    def found(self, each: int) -> list[Found]:
        """Hidden counts of some particles of every run, those of the best runs first."""
        prior = self.problem.prior
        best_first = sorted(enumerate(self.runs), key=lambda item: -item[1].log_evidence)
        return [Found(run.exponents[i] - prior, n) for i in range(each) for n, run in best_first]

    @property
    def shares(self) -> dict[int, float]:
        """Posterior of the number of used classes; empty where that has no meaning."""
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
            one = partial(_run, self.problem, self.particles, self.means.clock)
            done = self.means.map(one, seeds)
            self.runs += [run for run in done if run]
            if not all(done):
                break
        self.seconds += time.perf_counter() - began


def _run(problem: Problem, particles: int, clock: Clock, seed: tuple[int, ...]) -> Run | None:
    """One run; none if the time does not suffice."""
    try:
        return run_particles(problem, particles, seed, clock)
    except OutOfTimeError:
        return None
