"""Sequential Monte Carlo over the cases: from the prior to the posterior, one case at a time.

It needs no mode to start from, and sees all labellings, empty states and modes by itself, each in
proportion to its mass. Every run gives an unbiased estimate of p(D|S), whatever the order of the
cases; runs are independent, each with an order and a generator of its own, and their spread is the
error bar. Tempering the whole likelihood from the same prior was far worse here: it has to choose
among labellings at a temperature where nothing distinguishes them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from lacunet.evidence.clock import Clock
from lacunet.evidence.path import Path, Reference
from lacunet.evidence.travellers import Placed, anything
from lacunet.inference.devices.chains import Who
from lacunet.inference.devices.device import Device
from lacunet.inference.devices.particles import PackedRuns
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.particles import Particles, shuffled_cases
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


def run_there(
    problem: Problem,
    particles: int,
    device: Device,
    seeds: Sequence[tuple[int, ...]],
    clock: Clock | None = None,
) -> list[Run]:
    """Do several runs in step on a device; their seeds differ in the last number only."""
    rngs = [np.random.default_rng(seed) for seed in seeds]
    packed = Placed(Path(problem, Reference.prior(problem)), anything)
    orders = [_all_cases(problem, rng) for rng in rngs]
    numbers = np.array([seed[-1] * particles for seed in seeds])[:, None] + np.arange(particles)
    who = Who.of(seeds[0][:-1], numbers.reshape(-1))
    there = device.run(PackedRuns(packed.path, np.array(orders), particles, who))
    log_z = np.full(len(seeds), problem.log_seen)
    renewals = np.zeros(len(seeds), dtype=np.int64)
    under_way = np.arange(len(seeds))
    while len(under_way):
        if clock:
            clock.check()
        log_weights, taken = there.take_in(RESAMPLED * particles)
        log_z[under_way] += [_log_mean(log_weights[r]) for r in under_way]
        chosen = np.array([resampled(log_weights[r], rngs[r]) for r in under_way])
        there.renew(under_way, chosen, SWEEPS)
        renewals[under_way] += 1
        # A run that took in its last case was renewed as any other: its particles are samples.
        under_way = under_way[taken[under_way] < len(orders[0])]
    exponents = np.tile(problem.prior, (len(seeds), particles, 1))
    exponents[:, :, packed.places] += there.counts
    times = [int(n) for n in renewals]
    works = [_work(problem, particles, n) for n in times]
    return [Run(float(z), *told) for z, *told in zip(log_z, exponents, works, times, strict=True)]


def _all_cases(problem: Problem, rng: np.random.Generator) -> IntArray:
    """Rows of the one plan that a device knows, in random order."""
    return np.concatenate([rows for _, rows in shuffled_cases(problem.components, rng)])


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
