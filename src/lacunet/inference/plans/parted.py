"""Placement of rows in memory, on disk or on workers, and E steps over their parts."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from operator import attrgetter, methodcaller
from typing import Any, TypeVar

import numpy as np

from lacunet.errors import OptionError
from lacunet.inference.devices.device import Device
from lacunet.inference.plans.builder import Builder
from lacunet.inference.plans.plan import (
    CompletionSampler,
    ComponentRows,
    Components,
    EStep,
    FreeCoordinates,
    LinearMap,
)
from lacunet.models.layout import Cells
from lacunet.models.network import Network
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.runtime.rows import Partitions, RowStorage, SomeRows

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Placement:
    """Storage of the rows, and the device of their E steps."""

    holder: RowStorage | None = None  # a disk or workers; None: the memory of this process
    device: Device | None = None  # None: the processor

    def components(
        self,
        rows: SomeRows,
        network: Network,
        cells: Cells,
        change: Callable[[SomeRows], SomeRows] | None = None,
    ) -> Components:
        """Decompose rows, after a change, where they are held; parts return only summaries."""
        if self.holder is None:
            return _build(network, cells, change(rows) if change else rows).on(self.device)
        partitions = self.holder.hold(rows)
        parts = (partitions.then(change) if change else partitions).then(
            partial(_build, network, cells)
        )
        seen, members, nanoseconds = zip(
            *parts.each(attrgetter("seen", "members", "nanoseconds")), strict=True
        )
        hidden = tuple(sorted(frozenset().union(*members)))
        plans = (PartitionedEStep(parts, hidden, sum(nanoseconds)),) if hidden else ()
        return Components(_added(seen), plans, cells)


def _build(network: Network, cells: Cells, rows: SomeRows) -> Components:
    return Builder(network, rows.codes, rows.counts, cells=cells).build()


IN_MEMORY = Placement()


@dataclass(frozen=True, eq=False)
class PartitionedEStep(EStep):
    """All components of a table, in parts held on disk or on workers."""

    partitions: Partitions[Components]
    hidden: tuple[int, ...]  # variables hidden in some part
    cost: float  # nanoseconds of an E step, one part after the other
    rows: ComponentRows | None = None

    @property
    def members(self) -> tuple[int, ...]:
        """Variables hidden in some part."""
        return self.hidden

    @property
    def nanoseconds(self) -> float:
        """Estimated time of an E step on one core."""
        return self.cost

    @property
    def completions(self) -> CompletionSampler:
        """Raise: sampling needs random access to cases."""
        raise _rows_elsewhere()

    def weighted(self, counts: FloatArray) -> EStep:  # noqa: ARG002
        """Raise: counts are held with their rows."""
        raise _rows_elsewhere()

    @cached_property
    def counts(self) -> FloatArray:  # type: ignore[override]
        """Weight of each component, from all parts."""
        return np.concatenate(self.by_part(attrgetter("counts")))

    def touched(self) -> FloatArray:
        """Number of cells each component touches, from all parts."""
        return np.concatenate(self.by_part(methodcaller("touched")))

    def sizes(self) -> IntArray:
        """Number of joint hidden states of each component, from all parts."""
        return np.concatenate(self.by_part(methodcaller("sizes")))

    def by_part(self, function: Callable[[EStep], T]) -> list[T]:
        """Apply a function to the plans of each part, where they are held."""
        return [one for part in self.partitions.each(partial(_by_plan, function)) for one in part]

    def expect_one(
        self, log_weights: FloatArray, out: FloatArray, executor: Executor = SERIAL
    ) -> float:
        """Run the E step of each part where it is held."""
        results = self.partitions.each(partial(_expect, log_weights), executor)
        out += _added([N for N, _ in results])
        return math.fsum(log_lik for _, log_lik in results)

    def tangent(self, log_weights: FloatArray, executor: Executor = SERIAL) -> LinearMap:
        """Tangent map; each direction is sent to all parts."""
        return lambda direction: _added(
            self.partitions.each(partial(_tangent, log_weights, direction), executor)
        )

    def subtract_covariance(
        self, A: FloatArray, theta: FloatArray, coordinates: FreeCoordinates
    ) -> FloatArray:
        """Subtract the covariances of all parts."""
        for part in self.partitions.in_turn(
            partial(_subtract_covariance, theta, coordinates, A.shape)
        ):
            A += part
        return A

    def posterior(
        self, log_weights: FloatArray, first: int, last: int
    ) -> tuple[FloatArray, FloatArray]:
        """Concatenate the posteriors of all parts."""
        posteriors = self.by_part(methodcaller("posterior", log_weights, first, last))
        log_z, N = zip(*posteriors, strict=True)
        return np.concatenate(log_z), np.concatenate(N)


def _rows_elsewhere() -> OptionError:
    return OptionError(
        "sampling hidden values needs access to single cases, but these rows are held in parts, on "
        "workers or on disk. Leave out --evidence and --calibrate, and scores that sample; or "
        "leave out --cluster, --workers or --memory."
    )


def _added(parts: Any) -> FloatArray:
    """Sum of arrays, added in order."""
    return np.asarray(sum(parts[1:], parts[0].copy()))


def _by_plan(function: Callable[[EStep], T], part: Components) -> list[T]:
    return [function(plan) for plan in part.plans]


def _expect(log_weights: FloatArray, part: Components) -> tuple[FloatArray, float]:
    out = np.zeros(len(log_weights))
    return out, part.add_expected(log_weights, out)


def _tangent(log_weights: FloatArray, direction: FloatArray, part: Components) -> FloatArray:
    out = np.zeros(len(direction))
    for plan in part.plans:
        out += plan.tangent(log_weights)(direction)
    return out


def _subtract_covariance(
    theta: FloatArray, coordinates: FreeCoordinates, shape: tuple[int, int], part: Components
) -> FloatArray:
    A = np.zeros(shape, order="F")
    for plan in part.plans:
        A = plan.subtract_covariance(A, theta, coordinates)
    return A
