"""Devices that hold rows and run E steps over them.

Results are those of the processor up to rounding. Rows that do not fit are refused before any
memory is allocated.
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

# Rows around one hidden variable as few bytes, for a device that reads them in every E step.

ByteArray: TypeAlias = NDArray[np.uint8]

WIDEST = 8  # bits of a byte
MOST_NUMBERS = 6144  # in the table of patterns: 48 KiB, so that several blocks of threads have room


@dataclass(frozen=True, eq=False)
class PackedRows:
    """Bytes, and what they mean. G bytes of m rows, P patterns, B blocks of K numbers."""

    cells: int  # K
    bytes: ByteArray  # (G, m)
    first: IndexArray  # (G,) the first pattern of each byte; its value is added to that
    parts: IndexArray  # (P, families of a byte) the blocks of each pattern; -1: none
    shown: IndexArray  # (B, 4) of each block: its byte, shift and mask there, and its value
    counts: FloatArray  # (m,) how often each row stands in the data


@dataclass(frozen=True, eq=False)
class Field:
    """A family around the hidden variable, as rows show it."""

    values: CodeArray  # (m,) which of its blocks; -1: a row does not have the family
    blocks: int

    @cached_property
    def holes(self) -> bool:
        """Whether some rows do not have it."""
        return bool((self.values < 0).any())

    @property
    def bits(self) -> int:
        """How many tell its values apart; a hole is one more."""
        return (self.blocks + self.holes - 1).bit_length()


def pack(fields: Sequence[Field], counts: FloatArray, cells: int) -> PackedRows:
    """Write rows as bytes: as few of them as keep the table of patterns small."""
    bits = [field.bits for field in fields]
    if max(bits) > WIDEST:
        raise OptionError(
            f"--device cuda takes columns of at most {1 << WIDEST} states, holes among them; one "
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
            packed[g] |= ((field.values + field.holes).astype(np.uint8) << shift).astype(np.uint8)
            own = ((values >> shift) & mask) - field.holes
            there = (own >= 0) & (own < field.blocks)
            parts[first[g] : first[g + 1], place][there] = starts[i] + own[there]
            blocks = np.arange(field.blocks)
            shown[starts[i] + blocks] = np.stack(
                np.broadcast_arrays(g, shift, mask, blocks + field.holes), axis=1
            )
            shift += bits[i]
    return PackedRows(cells, packed, first[:-1], parts, shown, counts)


def _groups(bits: Sequence[int], cells: int) -> list[range]:
    """Cut neighbouring fields into bytes of the most bits that keep the table small."""
    for width in range(WIDEST, 0, -1):
        groups = _cut(bits, width)
        if cells * sum(1 << sum(bits[i] for i in g) for g in groups) <= MOST_NUMBERS:
            return groups
    return _cut(bits, 1)


def _cut(bits: Sequence[int], width: int) -> list[range]:
    """Put as many fields together as have at most so many bits; a wide one is alone."""
    cuts, used = [0], 0
    for i, own in enumerate(bits):
        if i > cuts[-1] and used + own > width:
            cuts.append(i)
            used = 0
        used += own
    return [range(a, b) for a, b in pairwise([*cuts, len(bits)])]


class DeviceName(StrEnum):
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


def open_device(place: DeviceName) -> Device | None:
    """Find the device; None is the processor. An `OptionError` says what is not there."""
    if place is DeviceName.CPU:
        return None
    from lacunet.inference.devices.cuda import open_cuda

    return open_cuda()


# Rows as a dense matrix on a device: what numbers say of them, by products of matrices.

LEAST = -1e290  # for −∞: 0 · −∞ would be no number, and 0 times this is 0
IMPOSSIBLE = -1e280  # sums that are lower have such an addend
AT_ONCE = 1 << 27  # posteriors that are there at once, 1 GiB: more vectors wait
ROWS_AT_ONCE = 1 << 16  # that are written down here on their way


@dataclass(frozen=True, eq=False)
class DenseFeatures:
    """What rows show. m rows, F features."""

    of: Callable[[slice], FloatArray]  # some rows: (n, F)
    features: int  # F
    counts: FloatArray  # (m,) how often each row stands in the data
    cells: int  # K

    @property
    def bytes(self) -> int:
        """What they take on a device, with the posteriors of one vector."""
        return 8 * len(self.counts) * (self.features + 3 * self.cells + 1)


class DenseRows(RowsThere):
    """Rows in the memory of a device; xp is the library of its arrays."""

    def __init__(self, xp: Any, rows: DenseFeatures) -> None:
        self.xp, self.cells, m = xp, rows.cells, len(rows.counts)
        self.matrix = xp.empty((m, rows.features))
        for first in range(0, m, ROWS_AT_ONCE):
            some = slice(first, min(first + ROWS_AT_ONCE, m))
            self.matrix[some] = xp.asarray(rows.of(some))
        self.counts = xp.asarray(rows.counts)
        self.lock = Lock()  # starts may be fitted side by side; the device has one after the other

    def expect(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Run the E steps of some vectors at a time."""
        step = max(1, AT_ONCE // (len(self.counts) * self.cells))
        with self.lock:
            parts = [self._expect(x[n : n + step]) for n in range(0, len(x), step)]
        counts, log_lik = zip(*parts, strict=True)
        return np.concatenate(counts), np.concatenate(log_lik)

    def move(self, x: FloatArray, along: FloatArray) -> FloatArray:
        """Run the same along a direction."""
        with self.lock:
            posterior, _ = self._posteriors(x[None])
            change = self._weights(along[None])
            mean = (posterior * change).sum(axis=2, keepdims=True)
            moved = self.counts[:, None, None] * posterior * (change - mean)
            return np.asarray(self._gathered(moved)[0])

    def _expect(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        xp = self.xp
        posterior, log_z = self._posteriors(x)
        there = self.counts[:, None]
        log_lik = xp.where(there > 0, there * log_z, 0.0).sum(axis=0)
        return self._gathered(posterior * there[:, :, None]), self._here(log_lik)

    def _weights(self, x: FloatArray) -> Any:
        """What rows weigh in every cell, (m, batch, K)."""
        flat = np.maximum(x, LEAST).transpose(1, 0, 2).reshape(x.shape[1], -1)
        weights = self.matrix @ self.xp.asarray(np.ascontiguousarray(flat))
        return weights.reshape(len(self.counts), len(x), self.cells)

    def _posteriors(self, x: FloatArray) -> tuple[Any, Any]:
        """Those of the cells, (m, batch, K), and log-likelihoods of rows, (m, batch)."""
        xp, weights = self.xp, self._weights(x)
        top = weights.max(axis=2, keepdims=True)
        posterior = xp.exp(weights - top)
        total = posterior.sum(axis=2, keepdims=True)
        log_z = (top + xp.log(total))[:, :, 0]
        return posterior / total, xp.where(log_z < IMPOSSIBLE, -np.inf, log_z)

    def _gathered(self, cells: Any) -> FloatArray:
        """Add up what rows have at their cells, by feature: (m, batch, K) → (batch, F, K)."""
        sums = self._here(self.matrix.T @ cells.reshape(len(cells), -1))
        return np.asarray(sums.reshape(len(sums), -1, self.cells).transpose(1, 0, 2))

    def _here(self, x: Any) -> FloatArray:
        return np.asarray(x if isinstance(x, np.ndarray) else self.xp.asnumpy(x))
