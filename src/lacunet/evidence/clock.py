"""When to stop: a standard error to reach, and a time not to exceed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from lacunet.errors import OptionError
from lacunet.runtime.checkpoint import FORGETFUL, Kept
from lacunet.runtime.executor import Executor

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
