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
from lacunet.evidence.path import Path
from lacunet.executor import Executor
from lacunet.inference.regions import Regions
from lacunet.inference.sampling.draws import Draws
from lacunet.model import conjugacy

GROUP = 16  # chains that move together: enough to share the price of a call

Allowed: TypeAlias = Callable[[FloatArray], BoolArray]  # which count vectors (chains, size) may be


def anything(N: FloatArray) -> BoolArray:
    """Allow every count vector."""
    return np.ones(len(N), dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class Annealing:
    """One path, cut into steps, to one region of the posterior."""

    path: Path
    regions: Regions
    own: int = 0  # which region is estimated: that of the path's own reference
    allowed: Allowed = anything  # count vectors outside have no mass

    def forwards(
        self, steps: int, groups: Sequence[int], seed: Sequence[int], executor: Executor
    ) -> FloatArray:
        """Log weights of chains from the reference; their mean estimates the region's mass."""
        return np.concatenate(executor.map(partial(_forwards, self, steps, seed), groups))

    def backwards(
        self,
        N: FloatArray,
        steps: int,
        groups: Sequence[int],
        seed: Sequence[int],
        executor: Executor,
    ) -> FloatArray:
        """Log weights of chains from posterior counts N, (size,), down to the reference.

        If N is a perfect sample of the region, the mean of exp(−weight) estimates 1/mass.
        """
        return np.concatenate(executor.map(partial(_backwards, self, N, steps, seed), groups))

    def at_home(self, N: FloatArray, draws: Draws) -> BoolArray:
        """Which chains ended in the own region, by parameters drawn for them."""
        return self.regions.at_home(self.own, expected(self.path, N, draws))


def _forwards(annealing: Annealing, steps: int, seed: Sequence[int], group: int) -> FloatArray:
    path = annealing.path
    draws = Draws(path.problem, np.random.default_rng([*seed, steps, group]))
    N = path.start(GROUP, draws)
    weight = np.where(annealing.allowed(N), 0.0, -np.inf)
    for lower, b in pairwise(temperatures(steps)):
        weight += path.log_density(b, N) - path.log_density(lower, N)
        N = moved(path, b, N, annealing.allowed, draws)
    return np.where(annealing.at_home(N, draws), weight, -np.inf) + path.log_seen


def _backwards(
    annealing: Annealing, N: FloatArray, steps: int, seed: Sequence[int], group: int
) -> FloatArray:
    path = annealing.path
    draws = Draws(path.problem, np.random.default_rng([*seed, steps, group, 1]))
    state = np.tile(N, (GROUP, 1))
    weight = np.zeros(GROUP)
    for b, lower in pairwise(temperatures(steps)[::-1]):
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
    layout, hyper = path.problem.layout, path.exponents(1.0, N)
    theta = conjugacy.parameters(draws.natural(hyper), layout)
    cases = [conjugacy.cases(own, layout) for own in hyper]
    drawn = zip(theta, cases, strict=True)
    return np.stack([conjugacy.expected_statistics(x, n, layout) for x, n in drawn])


def temperatures(steps: int) -> FloatArray:
    """Inverse temperatures from 0 to 1."""
    return np.linspace(0.0, 1.0, steps + 1)
