"""Who takes chains along a path: the processor, some at a time, or a device, all at once.

Both do the same things, in distribution: a chain's state is a count vector, its moves are those of
the path, and what is not allowed is refused. Here draws come from a generator; there they are
counted, so that a chain is the same whoever else travels.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lacunet.errors import OptionError
from lacunet.evidence.clock import Clock
from lacunet.evidence.path import Path
from lacunet.inference.devices.chains import Journey, PackedPath, Who
from lacunet.inference.devices.device import Device
from lacunet.inference.plans.plan import LONG
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.draws import Draws
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray

AT_ONCE = (
    1e11  # numbers that a device touches between two looks at the clock: some tenths of a second
)


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


class Traveller(ABC):
    """Chains of one path under way."""

    @abstractmethod
    def start(self, chains: int) -> FloatArray:
        """Draw counts from the reference, (chains, size), allowed or not."""

    @abstractmethod
    def go(self, N: FloatArray, journey: Journey) -> tuple[FloatArray, FloatArray]:
        """Where chains at N end, (chains, size), and what their log weights grow by, (chains,)."""


@dataclass(frozen=True, eq=False)
class Here(Traveller):
    """Chains that the processor moves together."""

    path: Path
    allowed: Allowed
    draws: Draws
    clock: Clock

    def start(self, chains: int) -> FloatArray:
        """Draw from the reference."""
        return self.path.start(chains, self.draws)

    def go(self, N: FloatArray, journey: Journey) -> tuple[FloatArray, FloatArray]:
        """Go step by step."""
        weight = np.zeros(len(N))
        for n, (upper, lower) in enumerate(zip(journey.upper, journey.lower, strict=True)):
            if upper != lower:
                weight += self.path.log_density(upper, N) - self.path.log_density(lower, N)
            if n < len(journey.moves):
                self.clock.check()
                N = self._moved(journey.moves[n], N)
        return N, weight

    def _moved(self, b: float, N: FloatArray) -> FloatArray:
        """A Gibbs sweep; what is not allowed is refused (a Metropolis step)."""
        new = self.path.move(b, N, self.draws)
        may = self.allowed(new)
        return new if may.all() else np.where(may[:, None], new, N)


class There(Traveller):
    """Chains that a device moves."""

    def __init__(
        self,
        path: Path,
        allowed: Allowed,
        device: Device,
        clock: Clock,
        seed: Sequence[int],
        chains: IntArray,
    ) -> None:
        """Take chains by their numbers; with the seed these say what each of them does."""
        self.packed, self.clock = Placed(path, allowed), clock
        self.chains = device.send(self.packed.path)
        self.who = Who.of(seed, chains)

    def start(self, chains: int) -> FloatArray:
        """Draw from the reference."""
        nothing = np.zeros((chains, self.packed.size))
        return self.go(nothing, Journey.staying(0.0, 1))[0]  # at 0 counts say nothing

    def go(self, N: FloatArray, journey: Journey) -> tuple[FloatArray, FloatArray]:
        """Go many steps in one call."""
        at, weight = N[:, self.packed.places], np.zeros(len(N))
        moves = int(max(1.0, AT_ONCE / (len(N) * self.packed.path.touched)))
        for piece in journey.pieces(moves):
            self.clock.check()
            at, more = self.chains.travel(at, piece, self.who)
            weight += more
            self.who = replace(self.who, sweep=self.who.sweep + len(piece.moves))
        out = np.zeros_like(N)
        out[:, self.packed.places] = at
        return out, weight


@dataclass(frozen=True, eq=False)
class Placed:
    """A path as a device sees it: by blocks of numbers around the hidden variable."""

    on: Path
    allowed: Allowed

    @property
    def size(self) -> int:
        """Of a flat vector."""
        return self.on.problem.layout.size

    @property
    def places(self) -> IntArray:
        """Where the numbers of each block stand in one, (B, K)."""
        return self.on.problem.components.plans[0].packed.places

    @cached_property
    def path(self) -> PackedPath:
        """What a device is told. Elsewhere a reference is as the data: no weight changes."""
        problem, q, places = self.on.problem, self.on.reference, self.places
        at_reference, at_posterior = self.on.constants
        owner = np.unique(problem.layout.ij[places], return_inverse=True)[1].reshape(places.shape)
        return PackedPath(
            problem.components.plans[0].packed.rows,
            owner.astype(np.int32),
            problem.alpha[places],
            problem.seen[places],
            q.exponents[places],
            q.counts[places],
            q.log_weights[places],
            at_posterior - at_reference,
            self._watched,
        )

    @property
    def _watched(self) -> int:
        sizes = self.allowed.at_least_one
        return -1 if sizes is None else int(np.flatnonzero(self.places[:, 0] == sizes.start)[0])


def taken_along(problem: Problem) -> tuple[Problem, Device | None]:
    """Give the device that moves the chains of a problem, and the problem with short E steps here.

    An `OptionError` says what a device has no kernel for.
    """
    device, plans = problem.device, problem.components.plans
    if device is None or problem.exact:
        return problem.here, None
    if not (problem.layout.plain and problem.layout.tabular and len(plans) == 1):
        raise OptionError(
            "--device cuda moves chains of latent classes of categories, whose tables are all to "
            "be learned: none known beforehand, or tied to another. Use --device cpu."
        )
    here = problem.here
    return (here if here.components.nanoseconds < LONG else problem), device
