"""Annealed importance sampling along a path, forwards and backwards (Neal 2001; Jarzynski).

Chains are run in groups of a fixed size, each with a generator of its own: the numbers do not
depend on the number of threads, and more chains never change those that there are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from lacunet.evidence.clock import Clock, Means
from lacunet.evidence.path import Path
from lacunet.evidence.travellers import Allowed, AnnealedChains, Temperatures, anything
from lacunet.inference.sampling.draws import Draws
from lacunet.models import conjugacy
from lacunet.models.layout import Layout
from lacunet.runtime.arrays import FloatArray

GROUP = 16  # chains that move together here: enough to share the price of a call


@dataclass(frozen=True, eq=False)
class Ended:
    """Chains that came from the reference to the posterior."""

    log_weights: FloatArray  # (chains,) their mean estimates the mass that is allowed
    ends: FloatArray  # (chains, size) expected counts at the end: they say in which region it is


@dataclass(frozen=True, eq=False)
class Annealing:
    """One path, cut into steps."""

    path: Path
    allowed: Allowed = anything  # count vectors outside have no mass

    def forwards(self, steps: int, groups: range, seed: Sequence[int], means: Means) -> Ended:
        """Run groups of chains from the reference."""
        found = means.map(partial(_forwards, self, steps, seed, means.clock), groups)
        weights, ends = zip(*found, strict=True)
        return Ended(np.concatenate(weights), np.concatenate(ends))

    def backwards(self, N: FloatArray, steps: int, seed: Sequence[int], means: Means) -> FloatArray:
        """Log weights of chains from posterior counts N, (chains, size), down to the reference.

        If these are perfect samples of a region, the mean of exp(−weight) estimates 1/mass.
        """
        groups = [(n, N[n * GROUP : (n + 1) * GROUP]) for n in range(-(-len(N) // GROUP))]
        task = partial(_backwards, self, steps, seed, means.clock)
        return np.concatenate(means.map(task, groups))

    def chains(self, rng: np.random.Generator, clock: Clock) -> AnnealedChains:
        """Chains that draw from one generator."""
        return AnnealedChains(self.path, self.allowed, Draws(self.path.problem, rng), clock)

    def gone_up(
        self, moving: AnnealedChains, steps: int, chains: int
    ) -> tuple[FloatArray, FloatArray]:
        """Log weights of chains from the reference, (chains,), and where they end."""
        start = moving.start(chains)
        N, weight = moving.go(start, Temperatures.upwards(steps))
        may = np.where(self.allowed(start), 0.0, -np.inf)
        return may + weight + self.path.log_seen, N

    def gone_down(self, moving: AnnealedChains, steps: int, N: FloatArray) -> FloatArray:
        """Log weights of chains from the posterior, (chains,)."""
        return moving.go(N, Temperatures.downwards(steps))[1] + self.path.log_seen


def _forwards(
    annealing: Annealing, steps: int, seed: Sequence[int], clock: Clock, group: int
) -> tuple[FloatArray, FloatArray]:
    moving = annealing.chains(np.random.default_rng([*seed, steps, group]), clock)
    weights, N = annealing.gone_up(moving, steps, GROUP)
    return weights, expected(annealing.path, N, moving.draws)


def _backwards(
    annealing: Annealing,
    steps: int,
    seed: Sequence[int],
    clock: Clock,
    group: tuple[int, FloatArray],
) -> FloatArray:
    number, state = group
    moving = annealing.chains(np.random.default_rng([*seed, steps, number, 1]), clock)
    return annealing.gone_down(moving, steps, state)


def expected(path: Path, N: FloatArray, draws: Draws) -> FloatArray:
    """Parameters drawn given counts, times the cases of their configurations, (chains, size)."""
    return drawn_cases(path.exponents(1.0, N), path.problem.layout, draws)


def drawn_cases(hyper: FloatArray, layout: Layout, draws: Draws) -> FloatArray:
    """The same given hyperparameters, (chains, size)."""
    theta = conjugacy.parameters(draws.natural(hyper), layout)
    cases = [conjugacy.cases(own, layout) for own in hyper]
    drawn = zip(theta, cases, strict=True)
    return np.stack([conjugacy.expected_statistics(x, n, layout) for x, n in drawn])
