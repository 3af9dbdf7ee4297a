"""Annealed importance sampling from a reference to the posterior (Neal 2001; Jarzynski 1997).

At inverse temperature b from 0 to 1, for parameters θ and hidden values z with counts N(z),

    f_b(θ, z) = [Dir(θ; α_q) q(z)]^(1−b) · [Dir(θ; α*) Π θ^N(z)]^b,

where α* = α + the counts of complete families, and q(z) is the posterior of the hidden values under
weights e^λ. Both conditionals are simple. With θ integrated out of f_b, a chain is a count vector.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Self, TypeVar

import numpy as np

from lacunet.errors import OptionError
from lacunet.inference.classes import hidden_counts
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.particles import Draws
from lacunet.models import conjugacy
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.runtime.checkpoint import NULL_CHECKPOINT, Checkpoint
from lacunet.runtime.executor import Executor

A = TypeVar("A")
B = TypeVar("B")
SHORTEST = 1e-9  # seconds: an exhausted budget
GROUP = 16  # chains that move together, to amortise the cost of a call


def _now() -> float:
    return time.perf_counter()  # looked up in each call, so that tests can put another clock there


class OutOfTimeError(Exception):
    """The time budget ran out before a task was complete; its work is lost."""


@dataclass(frozen=True)
class Goal:
    """Stop at this standard error, or when the time budget is spent."""

    target: float = 0.1  # nats
    budget: float = 60.0  # seconds

    def __post_init__(self) -> None:
        if not self.target > 0:
            raise OptionError(f"a target of {self.target:g} nats: it must be above 0.")
        if not self.budget > 0:
            raise OptionError(f"a budget of {self.budget:g} seconds: it must be above 0.")


@dataclass(frozen=True)
class TimeLimit:
    """A goal with its start time."""

    goal: Goal
    began: float = field(default_factory=_now)

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return _now() - self.began

    def part(self, share: float) -> TimeLimit:
        """A clock for a share of the remaining time."""
        until = self.spent + share * max(0.0, self.goal.budget - self.spent)
        return replace(self, goal=replace(self.goal, budget=max(until, SHORTEST)))

    def allows(self, seconds: float = 0.0) -> bool:
        """Whether so many more seconds fit into the budget."""
        return self.spent + seconds <= self.goal.budget

    def check(self) -> None:
        """Raise `OutOfTimeError` if the budget is spent."""
        if not self.allows():
            raise OutOfTimeError


@dataclass(frozen=True, eq=False)
class RunContext:
    """The workers, time and checkpoint of a sampling run."""

    executor: Executor
    limit: TimeLimit
    checkpoint: Checkpoint = NULL_CHECKPOINT

    def map(self, function: Callable[[A], B], items: Iterable[A]) -> list[B]:
        """Apply a function to every item, in order; results in the checkpoint are reused."""
        return self.checkpoint.map(function, list(items), self.executor)


@dataclass(frozen=True)
class Allowed:
    """The support: all count vectors, or those with a case at each of some positions."""

    at_least_one: slice | None = None

    def __call__(self, N: FloatArray) -> BoolArray:
        """Whether each count vector is in the support, (chains, size) → (chains,)."""
        if self.at_least_one is None:
            return np.ones(len(N), dtype=np.bool_)
        return np.asarray((N[:, self.at_least_one] > 0).all(axis=1))

    def step(self, old: FloatArray, new: FloatArray) -> FloatArray:
        """Reject moves out of the support (a Metropolis step)."""
        inside = self(new)
        return new if inside.all() else np.where(inside[:, None], new, old)


ANYTHING = Allowed()


@dataclass(frozen=True, eq=False)
class Reference:
    """The start of a path: a distribution in which parameters and hidden values are independent."""

    exponents: FloatArray  # (size,) α_q
    log_weights: FloatArray  # (size,) λ
    counts: FloatArray  # (size,) α_q − α, kept apart because a large α would absorb them

    @classmethod
    def around(cls, problem: Problem, N: FloatArray) -> Self:
        """Fit Dirichlets with α + N to mean counts N, hidden and seen."""
        exponents = problem.alpha + N
        return cls(exponents, conjugacy.expected_natural(exponents, problem.layout), N)


@dataclass(frozen=True, eq=False)
class AnnealingPath:
    """The annealing path from a reference to the posterior of a problem."""

    problem: Problem
    reference: Reference
    allowed: Allowed = ANYTHING

    @property
    def log_seen(self) -> float:
        """Log evidence of the complete families: the path estimates the rest."""
        return self.problem.log_seen

    @cached_property
    def constants(self) -> tuple[float, float]:
        """Normalising constants of log f_b: (at the reference, at the posterior)."""
        problem, q = self.problem, self.reference
        both = np.stack([q.counts, problem.seen])
        at_reference, at_posterior = conjugacy.log_quotient(both, problem.alpha, problem.layout)
        log_z = hidden_counts(problem, q.log_weights).log_lik
        return -log_z - float(at_reference), -float(at_posterior)

    def log_density(self, b: float, N: FloatArray) -> FloatArray:
        """Log f_b with θ integrated out, (chains,)."""
        at_reference, at_posterior = self.constants
        q = N @ self.reference.log_weights + at_reference
        counts = (1.0 - b) * self.reference.counts + b * (self.problem.seen + N)
        integral = conjugacy.log_quotient(counts, self.problem.alpha, self.problem.layout)
        return (1.0 - b) * q + b * at_posterior + integral

    def move(self, b: float, N: FloatArray, draws: Draws) -> FloatArray:
        """One Gibbs sweep at b: parameters given the counts, then hidden values given them.

        It is reversible over count vectors, so chains in both directions use it.
        """
        exponents = (1.0 - b) * self.reference.exponents + b * (self.problem.prior + N)
        log_theta = draws.natural(exponents)
        weights = (1.0 - b) * self.reference.log_weights + b * log_theta
        return self.allowed.step(N, draws.hidden(weights))

    def forwards(
        self, steps: int, groups: range, seed: Sequence[int], context: RunContext
    ) -> tuple[FloatArray, FloatArray]:
        """Run groups of chains from the reference to the posterior.

        Gives log weights, (chains,), whose mean is the mass of the support, and expected counts at
        the end, (chains, size), which determine the region.
        """
        task = partial(self._group_forwards, steps, seed, context.limit)
        weights, ends = zip(*context.map(task, groups), strict=True)
        return np.concatenate(weights), np.concatenate(ends)

    def backwards(
        self, N: FloatArray, steps: int, seed: Sequence[int], context: RunContext
    ) -> FloatArray:
        """Log weights of chains from posterior counts N, (chains, size), down to the reference.

        If these are perfect samples of a region, the mean of exp(−weight) estimates 1/mass.
        """
        groups = [(n, N[n * GROUP : (n + 1) * GROUP]) for n in range(-(-len(N) // GROUP))]
        task = partial(self._group_backwards, steps, seed, context.limit)
        return np.concatenate(context.map(task, groups))

    def _group_forwards(
        self, steps: int, seed: Sequence[int], limit: TimeLimit, group: int
    ) -> tuple[FloatArray, FloatArray]:
        draws = Draws(self.problem, np.random.default_rng([*seed, steps, group]))
        N = draws.hidden(np.tile(self.reference.log_weights, (GROUP, 1)))
        support, weight = np.where(self.allowed(N), 0.0, -np.inf), np.zeros(len(N))
        for low, high in pairwise(np.linspace(0.0, 1.0, steps + 1)):
            weight += self.log_density(high, N) - self.log_density(low, N)
            limit.check()
            N = self.move(high, N, draws)
        return support + weight + self.log_seen, expected_cases(self.problem.prior + N, draws)

    def _group_backwards(
        self, steps: int, seed: Sequence[int], limit: TimeLimit, group: tuple[int, FloatArray]
    ) -> FloatArray:
        number, N = group
        draws = Draws(self.problem, np.random.default_rng([*seed, steps, number, 1]))
        weight = np.zeros(len(N))
        for high, low in pairwise(np.linspace(0.0, 1.0, steps + 1)[::-1]):
            limit.check()
            N = self.move(high, N, draws)
            weight += self.log_density(high, N) - self.log_density(low, N)
        return weight + self.log_seen


def gibbs(
    N: FloatArray, sweeps: int, allowed: Allowed, draws: Draws, limit: TimeLimit
) -> FloatArray:
    """Gibbs sweeps over the posterior, (chains, size)."""
    for _ in range(sweeps):
        limit.check()
        log_theta = draws.natural(draws.problem.prior + N)
        N = allowed.step(N, draws.hidden(log_theta))
    return N


def expected_cases(hyper: FloatArray, draws: Draws) -> FloatArray:
    """Expected counts, (chains, size), that determine the labels of a sample.

    Parameters are drawn given the hyperparameters, and multiplied by the cases of configurations.
    """
    layout = draws.layout
    theta = conjugacy.parameters(draws.natural(hyper), layout)
    cases = [conjugacy.cases(each, layout) for each in hyper]
    drawn = zip(theta, cases, strict=True)
    return np.stack([conjugacy.expected_statistics(x, n, layout) for x, n in drawn])
