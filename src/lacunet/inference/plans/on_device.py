"""Plans of one hidden variable in each row, whose E steps may run on a device."""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from lacunet.inference.devices.device import Device, RowsThere
from lacunet.inference.plans.plan import LinearMap, SampledEStep
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor


@dataclass(frozen=True, eq=False)
class DeviceableEStep(SampledEStep):
    """Rows here, of which a device may hold a copy for E steps and their tangents."""

    device_pace: ClassVar[float]  # nanoseconds for a cell that is touched, on an H200
    device: Device | None = field(default=None, kw_only=True)

    @abstractmethod
    def hold(self, device: Device) -> RowsThere:
        """Put the rows on a device."""

    @abstractmethod
    def to_blocks(self, flat: FloatArray) -> FloatArray:
        """Gather from flat vectors, (…, size), the weights of the blocks, (…, blocks, K)."""

    @abstractmethod
    def from_blocks(self, counts: FloatArray, out: FloatArray) -> None:
        """Add counts of the blocks, (…, blocks, K), to flat vectors, (…, size)."""

    @abstractmethod
    def expect_here(self, log_weights: FloatArray, out: FloatArray, executor: Executor) -> float:
        """`expect_one` on the processor."""

    @abstractmethod
    def tangent_here(self, log_weights: FloatArray, executor: Executor) -> LinearMap:
        """`tangent` on the processor."""

    @cached_property
    def there(self) -> RowsThere:
        """The rows on the device, from the first E step on."""
        assert self.device is not None
        return self.hold(self.device)

    def __getstate__(self) -> dict[str, Any]:
        return {name: x for name, x in vars(self).items() if name != "there"}

    def on(self, device: Device | None) -> Self:
        return self if device is self.device else replace(self, device=device)

    @property
    def nanoseconds(self) -> float:
        return float(self.touched().sum()) * (self.device_pace if self.device else self.pace)

    def expect(
        self, log_weights: FloatArray, out: FloatArray, executor: Executor = SERIAL
    ) -> FloatArray:
        if self.device is None:
            return super().expect(log_weights, out, executor)
        counts, log_lik = self.there.expect(self.to_blocks(log_weights))
        self.from_blocks(counts, out)
        return log_lik

    def expect_one(
        self, log_weights: FloatArray, out: FloatArray, executor: Executor = SERIAL
    ) -> float:
        if self.device is None:
            return self.expect_here(log_weights, out, executor)
        return float(self.expect(log_weights[None], out[None])[0])

    def tangent(self, log_weights: FloatArray, executor: Executor = SERIAL) -> LinearMap:
        if self.device is None:
            return self.tangent_here(log_weights, executor)
        x = self.to_blocks(log_weights)

        def change(direction: FloatArray) -> FloatArray:
            out = np.zeros(len(direction))
            self.from_blocks(self.there.move(x, self.to_blocks(direction)), out)
            return out

        return change
