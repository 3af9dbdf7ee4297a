"""Rows as sums of patterns whose E steps are run by a device; all else is done here."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.executor import SERIAL, Executor
from lacunet.inference.devices.device import Device, RowsThere
from lacunet.inference.devices.packing import Field
from lacunet.inference.plans.patterns import PatternPlan
from lacunet.inference.plans.plan import LinearMap


@dataclass(frozen=True, eq=False)
class DevicePlan(PatternPlan):
    """The same rows, of which the device holds a copy."""

    pace: ClassVar[float] = 5e-4  # on an H200
    device: Device = field(kw_only=True)

    @cached_property
    def there(self) -> RowsThere:
        """The rows on the device, from the first E step on."""
        return self.device.hold(self.packed.rows)

    @property
    def here(self) -> PatternPlan:
        """The same rows with E steps here."""
        return PatternPlan(**{f.name: getattr(self, f.name) for f in fields(PatternPlan)})

    def __getstate__(self) -> dict[str, Any]:
        """Travel without what the device holds."""
        return {name: x for name, x in vars(self).items() if name not in ("there", "packed")}

    def expect(
        self,
        log_weights: FloatArray,
        out: FloatArray,
        executor: Executor = SERIAL,  # noqa: ARG002
    ) -> FloatArray:
        """Run the E steps of all vectors at once."""
        counts, log_lik = self.there.expect(log_weights[:, self.places])
        out[:, self.places] += counts
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
        x = log_weights[self.places]

        def change(direction: FloatArray) -> FloatArray:
            out = np.zeros(len(direction))
            out[self.places] = self.there.move(x, direction[self.places])
            return out

        return change


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
