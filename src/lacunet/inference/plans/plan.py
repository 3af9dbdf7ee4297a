"""Abstract E steps over components, and samplers of their completions.

θ basis: θ_ijk without one reference state per parent configuration, the most probable one. log |A|
does not depend on this choice, but its rounding errors do. φ basis: the same positions, with φ of
the reference fixed.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from operator import methodcaller
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np

from lacunet.errors import OptionError
from lacunet.inference.devices.device import Device, DeviceRows
from lacunet.inference.kernels.draws import ParticleState
from lacunet.models import conjugacy
from lacunet.models.layout import Cells, Layout
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.runtime.executor import SERIAL, Executor


@dataclass(frozen=True, eq=False)
class FreeCoordinates:
    """Free positions of a flat vector, and the reference of each."""

    free: IntArray  # (d,) positions that vary, ordered by parent configuration
    reference: IntArray  # (d,) position of the reference: θ_ref = 1 − Σ others


def free_coordinates(layout: Layout, theta: FloatArray) -> FreeCoordinates:
    """Free parameters of every family at θ."""
    return FreeCoordinates(*conjugacy.free(theta, layout))


T = TypeVar("T")
LinearMap: TypeAlias = Callable[[FloatArray], FloatArray]

# Longer E steps run in parallel pieces, each long enough to justify its own table. The cuts depend
# only on the data, and pieces are added in order, so sums do not depend on the number of threads.
LONG = 8e6  # nanoseconds, about
PIECE = 2e6  # short enough to occupy sixteen cores


def pieces(nanoseconds: FloatArray) -> list[slice]:
    """Cut components into runs of about equal time, for parallel execution."""
    ends = np.cumsum(nanoseconds)
    total = float(ends[-1]) if len(ends) else 0.0
    if total <= LONG:
        return [slice(0, len(ends))]
    cuts = np.searchsorted(ends, np.arange(PIECE, total, PIECE))
    bounds = np.unique(np.concatenate([[0], cuts, [len(ends)]])).tolist()
    return [slice(first, last) for first, last in pairwise(bounds)]


class ComponentRows(NamedTuple):
    """The data rows of a plan's components."""

    rows: IntArray  # (r,)
    component: IntArray  # (r,) component of each


@dataclass(frozen=True, eq=False)
class FeatureCovariance:
    """Covariance of expected statistics. K classes, F features."""

    matrix: FloatArray  # (K·F, K·F)
    read: Callable[[FloatArray], FloatArray]  # flat vector → weights of the features, (K·F,)

    def along(self, directions: Iterable[FloatArray]) -> FloatArray:
        """Covariance of the changes of log weights along some directions, (d, d)."""
        R = np.stack([self.read(direction) for direction in directions])
        return np.asarray(R @ self.matrix @ R.T)


@dataclass(frozen=True, eq=False)
class JointStates:
    """The K joint hidden states of a distinct component."""

    count: int  # w, its cases
    cells: IntArray  # (K, F) positions of a flat vector that each joint state counts


class CompletionSampler(ABC):
    """Completions of m distinct components: Gibbs draws, sequential updates, or lists."""

    @abstractmethod
    def draw(self, log_weights: FloatArray, counts: FloatArray, rng: Any, out: FloatArray) -> None:
        """Draw the hidden cells of `counts` cases of each component, and add them to `out`."""

    @abstractmethod
    def take_in(self, cases: IntArray, particles: ParticleState, least: float, rng: Any) -> int:
        """Update particles by cases until fewer than `least` are effective; return how many.

        Only for tabular layouts, in which each cell has a parameter of its own.
        """

    @abstractmethod
    def choices(self) -> Iterator[JointStates]:
        """Yield the joint states of every component."""


class EStep(ABC):
    """Expectations over m distinct components of one shape, and their derivatives."""

    pace: ClassVar[float] = 1.0  # estimated nanoseconds for each cell touched
    counts: FloatArray  # (m,) weight of each component
    rows: ComponentRows | None  # their data rows, if kept

    @property
    @abstractmethod
    def members(self) -> tuple[int, ...]:
        """Variables that are hidden in some component."""

    @property
    @abstractmethod
    def completions(self) -> CompletionSampler:
        """The sampler of these components; an `OptionError` if rows are not in this process."""

    @abstractmethod
    def touched(self) -> FloatArray:
        """Number of cells that each component touches, (m,): the cost of a sweep."""

    @abstractmethod
    def sizes(self) -> IntArray:
        """Number of joint hidden states of each component, (m,), without listing them."""

    @abstractmethod
    def weighted(self, counts: FloatArray) -> "EStep":
        """Replace the counts, (m,); components of count 0 may be dropped."""

    def on(self, device: Device | None) -> "EStep":
        """Move E steps to a device (None: the processor); an `OptionError` without a kernel."""
        if device is None:
            return self
        raise OptionError(
            "--device cuda is for models in which each row leaves one variable open: latent "
            "classes. In this model several open variables are connected. Use --device cpu."
        )

    def by_part(self, function: Callable[["EStep"], T]) -> list[T]:
        """Apply a function to the plan, or to the plans of each part where they are held."""
        return [function(self)]

    @property
    def nanoseconds(self) -> float:
        """Estimated time of an E step on one core."""
        return float(self.touched().sum()) * self.pace

    @cached_property
    def pieces(self) -> list[slice]:
        """Runs of components for parallel execution."""
        return pieces(self.touched() * self.pace)

    def expect(
        self, log_weights: FloatArray, out: FloatArray, executor: Executor = SERIAL
    ) -> FloatArray:
        """Add the expected counts to `out`, (batch, cells); return log-likelihoods, (batch,)."""
        each = zip(log_weights, out, strict=True)
        return np.array([self.expect_one(x, N, executor) for x, N in each])

    @abstractmethod
    def expect_one(
        self, log_weights: FloatArray, out: FloatArray, executor: Executor = SERIAL
    ) -> float:
        """Run `expect` for one vector, (cells,), without the overhead of a batch."""

    @abstractmethod
    def tangent(self, log_weights: FloatArray, executor: Executor = SERIAL) -> LinearMap:
        """The map from a direction of the log weights, (cells,), to the change of E[N]."""

    def missing_numbers(self, log_weights: FloatArray) -> float:  # noqa: ARG002
        """Sum ½ (d + log |C|) over rows, with C the covariance of the d missing numbers.

        Only partly observed blocks count; a plan without blocks has none.
        """
        return 0.0

    def covariance(self, log_weights: FloatArray) -> FeatureCovariance | None:  # noqa: ARG002
        """Covariance of the expected statistics; None if only tangents are available."""
        return None

    @abstractmethod
    def subtract_covariance(
        self, A: FloatArray, theta: FloatArray, coordinates: FreeCoordinates
    ) -> FloatArray:
        """Subtract the covariance of the complete-data score in free θ (lower triangle only)."""

    @abstractmethod
    def posterior(
        self, log_weights: FloatArray, first: int, last: int
    ) -> tuple[FloatArray, FloatArray]:
        """Log-likelihood of each component, (m,), and its E[N] in families first to last."""


class SampledEStep(EStep, CompletionSampler):
    """An E step that is its own sampler: components in the memory of this process."""

    @property
    def completions(self) -> CompletionSampler:
        """The plan itself."""
        return self


@dataclass(frozen=True, eq=False)
class DeviceableEStep(SampledEStep):
    """Rows in memory; a device may hold a copy for E steps and tangents."""

    device_pace: ClassVar[float]  # nanoseconds for each cell touched, on an H200
    device: Device | None = field(default=None, kw_only=True)

    @abstractmethod
    def hold(self, device: Device) -> DeviceRows:
        """Copy the rows to a device."""

    @abstractmethod
    def to_blocks(self, flat: FloatArray) -> FloatArray:
        """Gather from flat vectors, (…, size), the weights of the blocks, (…, blocks, K)."""

    @abstractmethod
    def from_blocks(self, counts: FloatArray, out: FloatArray) -> None:
        """Add counts of the blocks, (…, blocks, K), to flat vectors, (…, size)."""

    @abstractmethod
    def expect_on_host(self, log_weights: FloatArray, out: FloatArray, executor: Executor) -> float:
        """`expect_one` on the processor."""

    @abstractmethod
    def tangent_on_host(self, log_weights: FloatArray, executor: Executor) -> LinearMap:
        """`tangent` on the processor."""

    @cached_property
    def device_rows(self) -> DeviceRows:
        """The rows on the device, from the first E step on."""
        assert self.device is not None
        return self.hold(self.device)

    def __getstate__(self) -> dict[str, Any]:
        return {name: x for name, x in vars(self).items() if name != "device_rows"}

    def on(self, device: Device | None) -> Self:
        """Move E steps to a device; None is the processor."""
        return self if device is self.device else replace(self, device=device)

    @property
    def nanoseconds(self) -> float:
        """Estimated time of an E step where it runs."""
        return float(self.touched().sum()) * (self.device_pace if self.device else self.pace)

    def expect(
        self, log_weights: FloatArray, out: FloatArray, executor: Executor = SERIAL
    ) -> FloatArray:
        """Run E steps of all vectors, in one batch on a device."""
        if self.device is None:
            return super().expect(log_weights, out, executor)
        counts, log_lik = self.device_rows.expect(self.to_blocks(log_weights))
        self.from_blocks(counts, out)
        return log_lik

    def expect_one(
        self, log_weights: FloatArray, out: FloatArray, executor: Executor = SERIAL
    ) -> float:
        """Run one E step."""
        if self.device is None:
            return self.expect_on_host(log_weights, out, executor)
        return float(self.expect(log_weights[None], out[None])[0])

    def tangent(self, log_weights: FloatArray, executor: Executor = SERIAL) -> LinearMap:
        """Tangent map; each direction recomputes the posteriors."""
        if self.device is None:
            return self.tangent_on_host(log_weights, executor)
        x = self.to_blocks(log_weights)

        def change(direction: FloatArray) -> FloatArray:
            out = np.zeros(len(direction))
            self.from_blocks(self.device_rows.move(x, self.to_blocks(direction)), out)
            return out

        return change


@dataclass(frozen=True, eq=False)
class Components:
    """Sufficient summary of the data for θ, with equal components merged."""

    seen: FloatArray  # (cells,) counts of the fully observed families
    plans: tuple[EStep, ...]  # of the hidden components, without barren variables
    cells: Cells  # layout of the cells

    @property
    def hidden(self) -> bool:
        """Whether any variable that is not barren is hidden."""
        return bool(self.plans)

    @cached_property
    def nanoseconds(self) -> float:
        """Estimated time of an E step."""
        return sum(plan.nanoseconds for plan in self.plans)

    @property
    def counts(self) -> list[FloatArray]:
        """Weight of each component: an array for each plan."""
        return [plan.counts for plan in self.plans]

    @property
    def members(self) -> frozenset[int]:
        """Hidden variables that are not barren in every row."""
        return frozenset(v for plan in self.plans for v in plan.members)

    def on(self, device: Device | None) -> "Components":
        """Move E steps to a device; None is the processor."""
        return replace(self, plans=tuple(plan.on(device) for plan in self.plans))

    def add_expected(
        self, log_weights: FloatArray, out: FloatArray, executor: Executor = SERIAL
    ) -> float:
        """Add expected counts of all components to `out`, (cells,); return the log-likelihood."""
        return sum((plan.expect_one(log_weights, out, executor) for plan in self.plans), 0.0)

    def missing_numbers(self, log_weights: FloatArray) -> float:
        """Sum over plans of `EStep.missing_numbers`."""
        each = methodcaller("missing_numbers", log_weights)
        return math.fsum(part for plan in self.plans for part in plan.by_part(each))
