"""The annealing path from a reference to the posterior, over hidden values and parameters.

At inverse temperature b from 0 to 1

    f_b(θ, z) = [Dir(θ; α_q) q(z)]^(1−b) · [Dir(θ; α*) Π θ^N(z)]^b,

where z are the hidden values, N(z) their counts, α* = α + what was seen whole, and q(z) is the
posterior of the hidden values under weights e^λ in place of θ. Then both conditionals are simple:
hidden values are drawn with the weights e^((1−b)λ) θ^b, parameters from Dirichlets with exponents
(1−b) α_q + b (α* + N). θ is integrated out of f_b in closed form, so a chain's state, and its
weight, is a count vector alone. Where nothing is hidden there is nothing left to estimate.

When to stop: a standard error to reach, and a time not to exceed.
Chains that move along a path of temperatures together, with a generator of their own.
Annealed importance sampling along a path, forwards and backwards (Neal 2001; Jarzynski).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Self, TypeVar

import numpy as np

from lacunet.errors import OptionError
from lacunet.inference.classes import hidden_counts
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.particles import Draws
from lacunet.models import conjugacy
from lacunet.models.layout import Layout
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.runtime.checkpoint import FORGETFUL, Kept
from lacunet.runtime.executor import Executor


@dataclass(frozen=True, eq=False)
class Reference:
    """Where a path starts: an independent distribution of parameters and hidden values."""

    exponents: FloatArray  # (size,) α_q
    log_weights: FloatArray  # (size,) λ
    counts: FloatArray  # (size,) α_q − α: beside a large α they would be lost

    @classmethod
    def around(cls, problem: Problem, N: FloatArray) -> Self:
        """Fit to mean counts (hidden and seen): Dirichlets with α + N, and what goes with them."""
        exponents = problem.alpha + N
        return cls(exponents, conjugacy.expected_natural(exponents, problem.layout), N)

    @classmethod
    def prior(cls, problem: Problem) -> Self:
        """The prior (given what was seen whole); hidden values all the same."""
        return cls(problem.prior, np.zeros(problem.layout.size), problem.seen)


@dataclass(frozen=True, eq=False)
class Path:
    """From one reference to the posterior of one problem."""

    problem: Problem
    reference: Reference

    @property
    def log_seen(self) -> float:
        """Log evidence of what was seen whole: the path estimates the rest."""
        return self.problem.log_seen

    @cached_property
    def constants(self) -> tuple[float, float]:
        """What of log f_b depends on b alone: (at the reference, at the posterior)."""
        problem, q = self.problem, self.reference
        both = np.stack([q.counts, problem.seen])
        at_reference, at_posterior = conjugacy.log_quotient(both, problem.alpha, problem.layout)
        log_z = hidden_counts(problem, q.log_weights).log_lik
        return -log_z - float(at_reference), -float(at_posterior)

    def weights(self, b: float, log_theta: FloatArray) -> FloatArray:
        """Log weights to draw hidden values with, (chains, size)."""
        return (1.0 - b) * self.reference.log_weights + b * log_theta

    def exponents(self, b: float, N: FloatArray) -> FloatArray:
        """Exponents to draw parameters with, (chains, size)."""
        return (1.0 - b) * self.reference.exponents + b * (self.problem.prior + N)

    def log_density(self, b: float, N: FloatArray) -> FloatArray:
        """Log f_b with θ integrated out, (chains,)."""
        at_reference, at_posterior = self.constants
        q = N @ self.reference.log_weights + at_reference
        counts = (1.0 - b) * self.reference.counts + b * (self.problem.seen + N)
        integral = conjugacy.log_quotient(counts, self.problem.alpha, self.problem.layout)
        return (1.0 - b) * q + b * at_posterior + integral

    def start(self, chains: int, draws: Draws) -> FloatArray:
        """Draw hidden values from the reference."""
        return draws.hidden(np.tile(self.reference.log_weights, (chains, 1)))

    def move(self, b: float, N: FloatArray, draws: Draws) -> FloatArray:
        """One Gibbs sweep at b: parameters given the counts, then hidden values given them.

        Over count vectors it is reversible, so that the same move serves both directions.
        """
        return draws.hidden(self.weights(b, draws.natural(self.exponents(b, N))))


A = TypeVar("A")
B = TypeVar("B")
SHORTEST = 1e-9  # seconds: a budget that is over


class OutOfTimeError(Exception):
    """The budget ran out in the middle of a piece of work, which is lost."""


@dataclass(frozen=True)
class Goal:
    """Stop at this standard error, or before this time is over."""

    target: float = 0.1  # nats
    budget: float = 60.0  # seconds

    def __post_init__(self) -> None:
        if not self.target > 0:
            raise OptionError(f"a target of {self.target:g} nats: it must be above 0.")
        if not self.budget > 0:
            raise OptionError(f"a budget of {self.budget:g} seconds: it must be above 0.")


@dataclass(frozen=True)
class Clock:
    """A goal whose time is running."""

    goal: Goal
    began: float = field(default_factory=time.perf_counter)  # from when on it runs

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self.began

    def part(self, share: float) -> Clock:
        """Give one for a share of the time that is left."""
        until = self.spent + share * max(0.0, self.goal.budget - self.spent)
        return replace(self, goal=replace(self.goal, budget=max(until, SHORTEST)))

    def allows(self, seconds: float = 0.0) -> bool:
        """Whether work of that length still fits in."""
        return self.spent + seconds <= self.goal.budget

    def check(self) -> None:
        """End a piece of work that the time does not suffice for."""
        if not self.allows():
            raise OutOfTimeError


@dataclass(frozen=True, eq=False)
class Means:
    """What a piece of work may use."""

    executor: Executor
    clock: Clock
    kept: Kept = FORGETFUL

    def map(self, function: Callable[[A], B], items: Iterable[A]) -> list[B]:
        """Apply to every item, results in order; what is kept already is not done again."""
        return self.kept.map(function, list(items), self.executor)


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
