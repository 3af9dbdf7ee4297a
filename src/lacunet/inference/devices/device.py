"""What is asked of a device: E steps over rows that it holds.

The numbers are those of the processor up to rounding. Whoever opens a device knows that it is
there; whether rows fit is said before any memory is taken.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import StrEnum
from typing import TYPE_CHECKING

from lacunet.inference.devices.packing import PackedRows
from lacunet.runtime.arrays import FloatArray

if TYPE_CHECKING:
    from lacunet.inference.devices.dense_rows import DenseFeatures


class Place(StrEnum):
    """Where long E steps are run."""

    CPU = "cpu"
    CUDA = "cuda"


class RowsThere(ABC):
    """Rows that a device holds. x are log weights of their blocks."""

    @abstractmethod
    def expect(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Expected counts of the blocks, (batch, B, K), and log-likelihoods, (batch,), of x."""

    @abstractmethod
    def move(self, x: FloatArray, along: FloatArray) -> FloatArray:
        """How the expected counts at x, (B, K), change along a direction."""


class Device(ABC):
    """One that is there. It travels by its name: each process opens its own."""

    @abstractmethod
    def hold(self, packed: PackedRows) -> RowsThere:
        """Put rows on it; an `OptionError` with sizes if they do not fit."""

    @abstractmethod
    def hold_dense(self, rows: DenseFeatures) -> RowsThere:
        """Put rows on it as a dense matrix; an `OptionError` as above."""


def open_device(place: Place) -> Device | None:
    """Find the device; None is the processor. An `OptionError` says what is not there."""
    if place is Place.CPU:
        return None
    from lacunet.inference.devices.cuda import open_cuda

    return open_cuda()
