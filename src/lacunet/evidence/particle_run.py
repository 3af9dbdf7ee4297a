"""Sequential Monte Carlo over the cases: from the prior to the posterior, one case at a time.

It needs no mode to start from, and sees all labellings, empty states and modes by itself, each in
proportion to its mass. Every run gives an unbiased estimate of p(D|S), whatever the order of the
cases; runs are independent, each with an order and a generator of its own, and their spread is the
error bar. Tempering the whole likelihood from the same prior was far worse here: it has to choose
among labellings at a temperature where nothing distinguishes them.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from lacunet.evidence.clock import Clock
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.particles import Particles
from lacunet.runtime.arrays import FloatArray, IntArray

RESAMPLED = 0.5  # effective part of the particles below which they are resampled
SWEEPS = 2  # Gibbs sweeps over the cases so far that follow


@dataclass(frozen=True, eq=False)
class Run:
    """What one run found."""

    log_evidence: float
    exponents: FloatArray  # (particles, size) α + counts at the end: posterior samples
    work: float  # hidden components drawn; unlike seconds, the same every time
    renewals: int  # how often particles were resampled, and refreshed


def run_particles(
    problem: Problem, particles: int, seed: tuple[int, ...], clock: Clock | None = None
) -> Run:
    """Take in every case once; a clock may end it."""
    rng = np.random.default_rng(seed)
    swarm = Particles(problem, particles, rng)
    least = RESAMPLED * particles
    renewals = 1
    log_z = problem.log_seen
    for plan, cases in swarm.runs():
        taken = 0
        while taken < len(cases):
            if clock:
                clock.check()
            taken += swarm.take_in(plan, cases[taken:], least)
            if swarm.effective < least:
                log_z += _log_mean(swarm.log_weights)
                swarm.renew(resampled(swarm.log_weights, rng), SWEEPS)
                renewals += 1
    log_z += _log_mean(swarm.log_weights)
    swarm.renew(resampled(swarm.log_weights, rng), SWEEPS)
    return Run(log_z, swarm.exponents, _work(problem, particles, renewals), renewals)


def _work(problem: Problem, particles: int, renewals: int) -> float:
    counts = problem.components.counts
    taken_in, components = sum(float(c.sum()) for c in counts), sum(len(c) for c in counts)
    return particles * (taken_in + renewals * SWEEPS * components)


def _log_mean(log_weights: FloatArray) -> float:
    return float(logsumexp(log_weights)) - math.log(len(log_weights))


def resampled(log_weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """Systematic resampling: indices of the particles that go on."""
    share = np.exp(log_weights - logsumexp(log_weights))
    points = (rng.random() + np.arange(len(share))) / len(share)
    return np.minimum(np.searchsorted(np.cumsum(share), points), len(share) - 1)
