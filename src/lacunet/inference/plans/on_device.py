"""Plans whose E steps are run by a device; all else is done here."""

from abc import abstractmethod
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from lacunet.inference.devices.device import Device, RowsThere
from lacunet.inference.plans.plan import LinearMap, Plan
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor


@dataclass(frozen=True, eq=False)
class OnDevice(Plan):
    """The same rows as those of a plan of the processor, of which the device holds a copy."""

    stays: ClassVar[type[Plan]]  # the plan of the same rows here
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
    def here(self) -> Plan:
        """The same rows with E steps here."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "device"}
        return self.stays(**own)

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
