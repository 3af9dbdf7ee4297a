"""Devices that hold rows and run E steps over them.

Results equal those of the processor up to rounding. Rows that do not fit are refused before any
allocation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lacunet.errors import OptionError
from lacunet.runtime.arrays import CodeArray, FloatArray, IndexArray

# Rows around one hidden variable, packed into few bytes because every E step reads them.

ByteArray: TypeAlias = NDArray[np.uint8]

WIDEST = 8  # bits of a byte
MOST_NUMBERS = 6144  # in the pattern table: 48 KiB, so that several blocks of threads fit


@dataclass(frozen=True, eq=False)
class PackedRows:
    """Packed rows and their code book. G bytes of m rows, P patterns, B blocks of K numbers."""

    cells: int  # K
    bytes: ByteArray  # (G, m)
    first: IndexArray  # (G,) pattern index of value 0 of each byte
    parts: IndexArray  # (P, families of a byte) the blocks of each pattern; -1: none
    shown: IndexArray  # (B, 4) for each block: byte, shift, mask and value
    counts: FloatArray  # (m,) counts of the rows


@dataclass(frozen=True, eq=False)
class Field:
    """The configurations of a family around the hidden variable, by row."""

    values: CodeArray  # (m,) block of each row; -1 without the family
    blocks: int

    @cached_property
    def incomplete(self) -> bool:
        """Whether some rows lack the family."""
        return bool((self.values < 0).any())

    @property
    def bits(self) -> int:
        """Bits of its values; a missing family is one more value."""
        return (self.blocks + self.incomplete - 1).bit_length()


def pack(fields: Sequence[Field], counts: FloatArray, cells: int) -> PackedRows:
    """Pack rows into as few bytes as keep the pattern table small."""
    bits = [field.bits for field in fields]
    if max(bits) > WIDEST:
        raise OptionError(
            f"--device cuda takes columns of at most {1 << WIDEST} states, including missing; one "
            f"has {max(f.blocks for f in fields)}. Use --device cpu, or merge states."
        )
    groups = _groups(bits, cells)
    m, widest = len(counts), max(len(g) for g in groups)
    packed = np.zeros((len(groups), m), dtype=np.uint8)
    starts = np.concatenate([[0], np.cumsum([f.blocks for f in fields])])
    sizes = [1 << sum(bits[i] for i in group) for group in groups]
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    parts = np.full((first[-1], widest), -1, dtype=np.int32)
    shown = np.empty((starts[-1], 4), dtype=np.int32)
    for g, group in enumerate(groups):
        shift, values = 0, np.arange(sizes[g])
        for place, i in enumerate(group):
            field, mask = fields[i], (1 << bits[i]) - 1
            value = (field.values + field.incomplete).astype(np.uint8)
            packed[g] |= (value << shift).astype(np.uint8)
            block = ((values >> shift) & mask) - field.incomplete
            present = (block >= 0) & (block < field.blocks)
            parts[first[g] : first[g + 1], place][present] = starts[i] + block[present]
            blocks = np.arange(field.blocks)
            shown[starts[i] + blocks] = np.stack(
                np.broadcast_arrays(g, shift, mask, blocks + field.incomplete), axis=1
            )
            shift += bits[i]
    return PackedRows(cells, packed, first[:-1], parts, shown, counts)


def _groups(bits: Sequence[int], cells: int) -> list[range]:
    """Group neighbouring fields into bytes, as wide as keeps the pattern table small."""
    for width in range(WIDEST, 0, -1):
        groups = _cut(bits, width)
        if cells * sum(1 << sum(bits[i] for i in g) for g in groups) <= MOST_NUMBERS:
            return groups
    return _cut(bits, 1)


def _cut(bits: Sequence[int], width: int) -> list[range]:
    """Group neighbouring fields greedily up to `width` bits; a wider field is alone."""
    cuts, used = [0], 0
    for i, width_i in enumerate(bits):
        if i > cuts[-1] and used + width_i > width:
            cuts.append(i)
            used = 0
        used += width_i
    return [range(a, b) for a, b in pairwise([*cuts, len(bits)])]


class DeviceName(StrEnum):
    """The device for long E steps."""

    CPU = "cpu"
    CUDA = "cuda"


class DeviceRows(ABC):
    """Rows held by a device. x are log weights of their blocks."""

    @abstractmethod
    def expect(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Expected counts of the blocks, (batch, B, K), and log-likelihoods, (batch,), at x."""

    @abstractmethod
    def move(self, x: FloatArray, along: FloatArray) -> FloatArray:
        """Change of the expected counts at x, (B, K), along a direction."""


class Device(ABC):
    """An open device. It pickles by name, so that each process opens the device again."""

    @abstractmethod
    def hold(self, packed: PackedRows) -> DeviceRows:
        """Copy rows to the device; an `OptionError` with sizes if they do not fit."""

    @abstractmethod
    def hold_dense(self, rows: DenseFeatures) -> DeviceRows:
        """Copy rows as a dense matrix; an `OptionError` as in `hold`."""


def open_device(place: DeviceName) -> Device | None:
    """Open a device by name; None is the processor. An `OptionError` if it is unavailable."""
    if place is DeviceName.CPU:
        return None
    from lacunet.inference.devices.cuda import open_cuda

    return open_cuda()


# Rows as a dense matrix of features on a device, for products of matrices.

LEAST = -1e290  # replaces −∞, because 0 · −∞ is NaN
IMPOSSIBLE = -1e280  # lower sums contain such a term
AT_ONCE = 1 << 27  # posteriors computed at once, 1 GiB
ROWS_AT_ONCE = 1 << 16  # copied to the device at once


@dataclass(frozen=True, eq=False)
class DenseFeatures:
    """Features of rows. m rows, F features."""

    of: Callable[[slice], FloatArray]  # some rows: (n, F)
    features: int  # F
    counts: FloatArray  # (m,) counts of the rows
    cells: int  # K

    @property
    def bytes(self) -> int:
        """Device memory of the rows and the posteriors of one vector."""
        return 8 * len(self.counts) * (self.features + 3 * self.cells + 1)


class DenseRows(DeviceRows):
    """Dense rows in device memory; xp is the array library."""

    def __init__(self, xp: Any, rows: DenseFeatures) -> None:
        self.xp, self.cells, m = xp, rows.cells, len(rows.counts)
        self.matrix = xp.empty((m, rows.features))
        for first in range(0, m, ROWS_AT_ONCE):
            some = slice(first, min(first + ROWS_AT_ONCE, m))
            self.matrix[some] = xp.asarray(rows.of(some))
        self.counts = xp.asarray(rows.counts)
        self.lock = Lock()  # starts may run in parallel threads; the device runs one at a time

    def expect(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Run the E steps of all vectors, as many at once as fit into memory."""
        step = max(1, AT_ONCE // (len(self.counts) * self.cells))
        with self.lock:
            parts = [self._expect(x[n : n + step]) for n in range(0, len(x), step)]
        counts, log_lik = zip(*parts, strict=True)
        return np.concatenate(counts), np.concatenate(log_lik)

    def move(self, x: FloatArray, along: FloatArray) -> FloatArray:
        """Change of the expected counts along a direction."""
        with self.lock:
            posterior, _ = self._posteriors(x[None])
            change = self._weights(along[None])
            mean = (posterior * change).sum(axis=2, keepdims=True)
            moved = self.counts[:, None, None] * posterior * (change - mean)
            return np.asarray(self._gathered(moved)[0])

    def _expect(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        xp = self.xp
        posterior, log_z = self._posteriors(x)
        counts = self.counts[:, None]
        log_lik = xp.where(counts > 0, counts * log_z, 0.0).sum(axis=0)
        return self._gathered(posterior * counts[:, :, None]), self._to_host(log_lik)

    def _weights(self, x: FloatArray) -> Any:
        """Log weights of all cells, (m, batch, K)."""
        flat = np.maximum(x, LEAST).transpose(1, 0, 2).reshape(x.shape[1], -1)
        weights = self.matrix @ self.xp.asarray(np.ascontiguousarray(flat))
        return weights.reshape(len(self.counts), len(x), self.cells)

    def _posteriors(self, x: FloatArray) -> tuple[Any, Any]:
        """Posteriors of the cells, (m, batch, K), and log-likelihoods of rows, (m, batch)."""
        xp, weights = self.xp, self._weights(x)
        top = weights.max(axis=2, keepdims=True)
        posterior = xp.exp(weights - top)
        total = posterior.sum(axis=2, keepdims=True)
        log_z = (top + xp.log(total))[:, :, 0]
        return posterior / total, xp.where(log_z < IMPOSSIBLE, -np.inf, log_z)

    def _gathered(self, cells: Any) -> FloatArray:
        """Sum cell weights by feature: (m, batch, K) → (batch, F, K)."""
        sums = self._to_host(self.matrix.T @ cells.reshape(len(cells), -1))
        return np.asarray(sums.reshape(len(sums), -1, self.cells).transpose(1, 0, 2))

    def _to_host(self, x: Any) -> FloatArray:
        return np.asarray(x if isinstance(x, np.ndarray) else self.xp.asnumpy(x))
