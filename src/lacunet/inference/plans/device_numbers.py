"""Rows with numbers whose E steps are run by a device."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lacunet.inference.devices.dense_rows import DenseFeatures
from lacunet.inference.devices.device import RowsThere
from lacunet.inference.plans.numbers import NumberPlan
from lacunet.inference.plans.on_device import OnDevice
from lacunet.inference.plans.plan import Plan
from lacunet.runtime.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class DeviceNumberPlan(OnDevice, NumberPlan):
    """The same rows as a dense matrix of features."""

    pace: ClassVar[float] = 2e-3  # on an H200
    stays: ClassVar[type[Plan]] = NumberPlan

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
