"""Plans whose E steps are run by a device; all else is done here."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from lacunet.inference.devices.device import DenseFeatures, Device, Field, RowsThere, pack
from lacunet.inference.plans.numbers import NumberPlan
from lacunet.inference.plans.patterns import PatternPlan
from lacunet.inference.plans.plan import EStep, LinearMap
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor


@dataclass(frozen=True, eq=False)
class OnDevice(EStep):
    """The same rows as those of a plan of the processor, of which the device holds a copy."""

    stays: ClassVar[type[EStep]]  # the plan of the same rows here
    device: Device = field(kw_only=True)

    @cached_property
    def there(self) -> RowsThere:
        """The rows on the device, from the first E step on."""
        return self.hold()

    @abstractmethod
    def hold(self) -> RowsThere:
        """Put the rows on the device."""

    @abstractmethod
    def taken(self, flat: FloatArray) -> FloatArray:
        """What the device is told of flat vectors, (…, size): (…, blocks, K)."""

    @abstractmethod
    def put_back(self, counts: FloatArray, out: FloatArray) -> None:
        """Add what it gives back, (…, blocks, K), to flat vectors, (…, size)."""

    @property
    def here(self) -> EStep:
        """The same rows with E steps here."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "device"}
        return self.stays(**own)

    def __getstate__(self) -> dict[str, Any]:
        """Travel without what the device holds."""
        return {name: x for name, x in vars(self).items() if name != "there"}

    def expect(
        self,
        log_weights: FloatArray,
        out: FloatArray,
        executor: Executor = SERIAL,  # noqa: ARG002
    ) -> FloatArray:
        """Run the E steps of all vectors at once."""
        counts, log_lik = self.there.expect(self.taken(log_weights))
        self.put_back(counts, out)
        return log_lik

    def expect_one(
        self, log_weights: FloatArray, out: FloatArray, executor: Executor = SERIAL
    ) -> float:
        """Run one E step."""
        return float(self.expect(log_weights[None], out[None], executor)[0])

    def tangent(
        self,
        log_weights: FloatArray,
        executor: Executor = SERIAL,  # noqa: ARG002
    ) -> LinearMap:
        """Posteriors are made anew for each direction, as here."""
        x = self.taken(log_weights)

        def change(direction: FloatArray) -> FloatArray:
            out = np.zeros(len(direction))
            self.put_back(self.there.move(x, self.taken(direction)), out)
            return out

        return change


@dataclass(frozen=True, eq=False)
class DevicePlan(OnDevice, PatternPlan):
    """The same rows as bytes."""

    pace: ClassVar[float] = 5e-4  # on an H200
    stays: ClassVar[type[EStep]] = PatternPlan

    def hold(self) -> RowsThere:
        """Put them there."""
        return self.device.hold(pack(fields_of(self), self.counts, self.cells))

    def taken(self, flat: FloatArray) -> FloatArray:
        """Give what is at their blocks."""
        return np.asarray(flat[..., self.places])

    def put_back(self, counts: FloatArray, out: FloatArray) -> None:
        """Add it there."""
        out[..., self.places] += counts


def fields_of(plan: PatternPlan) -> Sequence[Field]:
    """Which block of each family a row has, from the patterns of the plan."""
    family = np.repeat(np.arange(len(plan.families) - 1), np.diff(plan.families))[plan.entries]
    pattern = np.repeat(np.arange(plan.patterns), np.diff(plan.starts))
    group = np.searchsorted(plan.groups, pattern, side="right") - 1
    found = []
    for f, (first, last) in enumerate(zip(plan.families, plan.families[1:], strict=False)):
        own = family == f
        values = np.full(plan.patterns, -1, dtype=np.int32)
        values[pattern[own]] = plan.entries[own] - first
        found.append(Field(values[plan.index[:, group[own][0]]], int(last - first)))
    return found


@dataclass(frozen=True, eq=False)
class DeviceNumberPlan(OnDevice, NumberPlan):
    """The same rows as a dense matrix of features."""

    pace: ClassVar[float] = 2e-3  # on an H200
    stays: ClassVar[type[EStep]] = NumberPlan

    def hold(self) -> RowsThere:
        """Put them there."""
        cells = self.patterns.cells
        return self.device.hold_dense(
            DenseFeatures(self.features_of, self.features, self.counts, cells)
        )

    def taken(self, flat: FloatArray) -> FloatArray:
        """Give what their features weigh."""
        if flat.ndim == 1:
            return self.weights_of_features(flat)
        return np.stack([self.weights_of_features(one) for one in flat])

    def put_back(self, counts: FloatArray, out: FloatArray) -> None:
        """Add it there."""
        if out.ndim == 1:
            self.spread_features(counts, out)
        else:
            for one, own in zip(counts, out, strict=True):
                self.spread_features(one, own)
