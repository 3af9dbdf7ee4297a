"""Chains that move along a path of temperatures together, with a generator of their own."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from lacunet.evidence.clock import Clock
from lacunet.evidence.path import Path
from lacunet.inference.sampling.draws import Draws
from lacunet.runtime.arrays import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class Temperatures:
    """What chains do: weigh, move, weigh, move, …, weigh. S moves."""

    moves: FloatArray  # (S,) inverse temperatures of the sweeps
    # (S + 1,) before each and after the last a log weight grows by log f_upper − log f_lower
    upper: FloatArray
    lower: FloatArray

    @classmethod
    def upwards(cls, steps: int) -> Self:
        """From the reference to the posterior: a chain is weighed, then moved."""
        b = np.linspace(0.0, 1.0, steps + 1)
        return cls(b[1:], np.append(b[1:], 1.0), b)

    @classmethod
    def downwards(cls, steps: int) -> Self:
        """From the posterior to the reference: a chain is moved, then weighed."""
        b = np.linspace(0.0, 1.0, steps + 1)[::-1]
        return cls(b[:-1], np.append(1.0, b[:-1]), b)

    @classmethod
    def constant(cls, b: float, sweeps: int) -> Self:
        """So many sweeps at one temperature; nothing is weighed."""
        same = np.full(sweeps + 1, b)
        return cls(same[1:], same, same)


@dataclass(frozen=True)
class Allowed:
    """Count vectors that have any mass: all, or those with a case wherever there must be one."""

    at_least_one: slice | None = None

    def __call__(self, N: FloatArray) -> BoolArray:
        """Tell which of them, (chains, size), are allowed."""
        if self.at_least_one is None:
            return np.ones(len(N), dtype=np.bool_)
        return np.asarray((N[:, self.at_least_one] > 0).all(axis=1))


anything = Allowed()


@dataclass(frozen=True, eq=False)
class AnnealedChains:
    """Chains of one path that move together."""

    path: Path
    allowed: Allowed
    draws: Draws
    clock: Clock

    def start(self, chains: int) -> FloatArray:
        """Draw counts from the reference, (chains, size), allowed or not."""
        return self.path.start(chains, self.draws)

    def go(self, N: FloatArray, temperatures: Temperatures) -> tuple[FloatArray, FloatArray]:
        """Where chains at N end, (chains, size), and what their log weights grow by, (chains,)."""
        weight = np.zeros(len(N))
        for n, (upper, lower) in enumerate(
            zip(temperatures.upper, temperatures.lower, strict=True)
        ):
            if upper != lower:
                weight += self.path.log_density(upper, N) - self.path.log_density(lower, N)
            if n < len(temperatures.moves):
                self.clock.check()
                N = self._moved(temperatures.moves[n], N)
        return N, weight

    def _moved(self, b: float, N: FloatArray) -> FloatArray:
        """A Gibbs sweep; what is not allowed is refused (a Metropolis step)."""
        new = self.path.move(b, N, self.draws)
        may = self.allowed(new)
        return new if may.all() else np.where(may[:, None], new, N)
