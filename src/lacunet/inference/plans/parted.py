"""Components of rows that are held elsewhere, in parts: statistics of each part come, and add up.

Every part has its own `Components`, made where its rows are. What looks at cases one after the
other asks for rows that are here, and is refused.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from lacunet.errors import OptionError
from lacunet.inference.kernels.particles import ParticleState, PosteriorState
from lacunet.inference.plans.builder import Builder
from lacunet.inference.plans.plan import (
    ComponentRows,
    Components,
    EStep,
    FreeCoordinates,
    JointStates,
    LinearMap,
)
from lacunet.models.layout import Cells
from lacunet.models.network import Network
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.runtime.rows import Held, SomeRows

T = TypeVar("T")


def parted_components(
    rows: Held[SomeRows], network: Network, cells: Cells, *, fill: bool = False
) -> Components:
    """Take rows apart where they are; what was seen whole is counted once, and comes here."""
    held = rows.then(partial(_build, network, cells, fill))
    told = held.each(_about)
    seen = _added([part.seen for part in told])
    members = tuple(sorted({v for part in told for v in part.members}))
    if not members:
        return Components(seen, (), cells)
    return Components(
        seen, (PartitionedEStep(held, members, sum(t.nanoseconds for t in told)),), cells
    )


@dataclass(frozen=True, eq=False)
class _Told:
    """What is to be known here of the components of a part."""

    seen: FloatArray
    members: tuple[int, ...]
    nanoseconds: float


def _build(network: Network, cells: Cells, fill: bool, rows: SomeRows) -> Components:
    return Builder(network, rows.codes, rows.counts, cells=cells, fill=fill).build()


def _about(part: Components) -> _Told:
    return _Told(part.seen, tuple(part.members), part.nanoseconds)


@dataclass(frozen=True, eq=False)
class PartitionedEStep(EStep):
    """All components of a table, in parts that are held elsewhere."""

    held: Held[Components]
    hides: tuple[int, ...]  # variables
    takes: float  # nanoseconds, for one after the other
    rows: ComponentRows | None = None

    @property
    def members(self) -> tuple[int, ...]:
        """Variables that some part hides."""
        return self.hides

    @property
    def nanoseconds(self) -> float:
        """How long an E step takes, about, on one core."""
        return self.takes

    @cached_property
    def counts(self) -> FloatArray:  # type: ignore[override]
        """How often each component stands in the data, from all parts."""
        return np.concatenate(self.held.each(_counts))

    def by_part(self, function: Callable[[EStep], T]) -> list[T]:
        """Apply to the plans of each part, where they are."""
        return [one for part in self.held.each(partial(_by_plan, function)) for one in part]

    def touched(self) -> FloatArray:
        """How many cells each touches, from all parts."""
        return np.concatenate(self.held.each(_touched))

    def sizes(self) -> IntArray:
        """Joint hidden cells of each, from all parts."""
        return np.concatenate(self.held.each(_sizes))

    def expect_one(
        self, log_weights: FloatArray, out: FloatArray, executor: Executor = SERIAL
    ) -> float:
        """Run the E step of each part where it is."""
        found = self.held.each(partial(_expect, log_weights), executor)
        out += _added([N for N, _ in found])
        return math.fsum(log_lik for _, log_lik in found)

    def tangent(self, log_weights: FloatArray, executor: Executor = SERIAL) -> LinearMap:
        """Every direction is asked of all parts."""

        def change(direction: FloatArray) -> FloatArray:
            return _added(self.held.each(partial(_tangent, log_weights, direction), executor))

        return change

    def less_covariance(
        self, A: FloatArray, theta: FloatArray, coordinates: FreeCoordinates
    ) -> FloatArray:
        """Subtract the covariances of all parts."""
        lower = partial(_less_covariance, theta, coordinates, A.shape)
        for part in self.held.in_turn(lower):
            A += part
        return A

    def posterior(
        self, log_weights: FloatArray, first: int, last: int
    ) -> tuple[FloatArray, FloatArray]:
        """Ask all parts, and put what they say together."""
        found = self.held.each(partial(_posterior, log_weights, first, last))
        log_z, N = zip(*found, strict=True)
        return np.concatenate(log_z), np.concatenate(N)

    def weighted(self, counts: FloatArray) -> EStep:  # noqa: ARG002
        """Refuse: counts are held with their rows."""
        raise _not_here()

    def draw(self, log_weights: FloatArray, counts: FloatArray, rng: Any, out: FloatArray) -> None:  # noqa: ARG002
        """Refuse: draws go from case to case."""
        raise _not_here()

    def take_in(self, cases: IntArray, swarm: ParticleState, least: float, rng: Any) -> int:  # noqa: ARG002
        """Refuse: particles go from case to case."""
        raise _not_here()

    def pass_over(self, cases: IntArray, drawn: int, beliefs: PosteriorState, rng: Any) -> float:  # noqa: ARG002
        """Refuse: a pass goes from case to case."""
        raise _not_here()

    def choices(self) -> Iterator[JointStates]:
        """Refuse: sums are over completions of all cases."""
        raise _not_here()


def _not_here() -> OptionError:
    return OptionError(
        "what samples hidden values goes from case to case, and these rows are held in parts, on "
        "workers or on disk. Leave out --evidence and --calibrate, and scores that sample; or "
        "leave out --cluster, --workers or --memory."
    )


def _added(parts: list[FloatArray]) -> FloatArray:
    """Add in order."""
    return sum(parts[1:], parts[0].copy())


def _expect(log_weights: FloatArray, part: Components) -> tuple[FloatArray, float]:
    out = np.zeros(len(log_weights))
    return out, part.add_expected(log_weights, out)


def _tangent(log_weights: FloatArray, direction: FloatArray, part: Components) -> FloatArray:
    out = np.zeros(len(direction))
    for plan in part.plans:
        out += plan.tangent(log_weights)(direction)
    return out


def _less_covariance(
    theta: FloatArray, coordinates: FreeCoordinates, shape: tuple[int, int], part: Components
) -> FloatArray:
    A = np.zeros(shape, order="F")
    for plan in part.plans:
        A = plan.less_covariance(A, theta, coordinates)
    return A


def _posterior(
    log_weights: FloatArray, first: int, last: int, part: Components
) -> tuple[FloatArray, FloatArray]:
    found = [plan.posterior(log_weights, first, last) for plan in part.plans]
    return np.concatenate([z for z, _ in found]), np.concatenate([N for _, N in found])


def _by_plan(function: Callable[[EStep], T], part: Components) -> list[T]:
    return [function(plan) for plan in part.plans]


def _counts(part: Components) -> FloatArray:
    return np.concatenate([np.zeros(0), *part.counts])


def _touched(part: Components) -> FloatArray:
    return np.concatenate([np.zeros(0), *(p.touched() for p in part.plans)])


def _sizes(part: Components) -> IntArray:
    return np.concatenate([np.zeros(0, np.int64), *(p.sizes() for p in part.plans)])
