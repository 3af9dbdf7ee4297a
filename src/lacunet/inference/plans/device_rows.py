"""Rows as sums of patterns whose E steps are run by a device."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lacunet.inference.devices.device import RowsThere
from lacunet.inference.devices.packing import Field
from lacunet.inference.plans.on_device import OnDevice
from lacunet.inference.plans.patterns import PatternPlan
from lacunet.inference.plans.plan import Plan
from lacunet.runtime.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class DevicePlan(OnDevice, PatternPlan):
    """The same rows as bytes."""

    pace: ClassVar[float] = 5e-4  # on an H200
    stays: ClassVar[type[Plan]] = PatternPlan

    def hold(self) -> RowsThere:
        """Put them there."""
        return self.device.hold(self.packed.rows)

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
