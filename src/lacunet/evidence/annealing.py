"""Annealed importance sampling along a path, forwards and backwards (Neal 2001; Jarzynski).

Chains are run in groups of a fixed size, each with a generator of its own: the numbers do not
depend on the number of threads, and more chains never change those that there are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from lacunet.arrays import BoolArray, FloatArray
from lacunet.evidence.clock import Clock, Means
from lacunet.evidence.path import Path
from lacunet.inference.sampling.draws import Draws
from lacunet.model import conjugacy
from lacunet.model.layout import Layout

GROUP = 16  # chains that move together: enough to share the price of a call

Allowed: TypeAlias = Callable[[FloatArray], BoolArray]  # which count vectors (chains, size) may be


def anything(N: FloatArray) -> BoolArray:
    """Allow every count vector."""
    return np.ones(len(N), dtype=np.bool_)


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

    def forwards(
        self, steps: int, groups: Sequence[int], seed: Sequence[int], means: Means
    ) -> Ended:
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


def _forwards(
    annealing: Annealing, steps: int, seed: Sequence[int], clock: Clock, group: int
) -> tuple[FloatArray, FloatArray]:
    path = annealing.path
    draws = Draws(path.problem, np.random.default_rng([*seed, steps, group]))
    N = path.start(GROUP, draws)
    weight = np.where(annealing.allowed(N), 0.0, -np.inf)
    for lower, b in pairwise(temperatures(steps)):
        clock.check()
        weight += path.log_density(b, N) - path.log_density(lower, N)
        N = moved(path, b, N, annealing.allowed, draws)
    return weight + path.log_seen, expected(path, N, draws)


def _backwards(
    annealing: Annealing,
    steps: int,
    seed: Sequence[int],
    clock: Clock,
    group: tuple[int, FloatArray],
) -> FloatArray:
    path, (number, state) = annealing.path, group
    draws = Draws(path.problem, np.random.default_rng([*seed, steps, number, 1]))
    weight = np.zeros(len(state))
    for b, lower in pairwise(temperatures(steps)[::-1]):
        clock.check()
        state = moved(path, b, state, annealing.allowed, draws)
        weight += path.log_density(b, state) - path.log_density(lower, state)
    return weight + path.log_seen


def moved(path: Path, b: float, N: FloatArray, allowed: Allowed, draws: Draws) -> FloatArray:
    """A Gibbs sweep; what is not allowed is refused (a Metropolis step)."""
    new = path.move(b, N, draws)
    may = allowed(new)
    return new if may.all() else np.where(may[:, None], new, N)


def expected(path: Path, N: FloatArray, draws: Draws) -> FloatArray:
    """Parameters drawn given counts, times the cases of their configurations, (chains, size)."""
    return drawn_cases(path.exponents(1.0, N), path.problem.layout, draws)


def drawn_cases(hyper: FloatArray, layout: Layout, draws: Draws) -> FloatArray:
    """The same given hyperparameters, (chains, size)."""
    theta = conjugacy.parameters(draws.natural(hyper), layout)
    cases = [conjugacy.cases(own, layout) for own in hyper]
    drawn = zip(theta, cases, strict=True)
    return np.stack([conjugacy.expected_statistics(x, n, layout) for x, n in drawn])


def temperatures(steps: int) -> FloatArray:
    """Inverse temperatures from 0 to 1."""
    return np.linspace(0.0, 1.0, steps + 1)
