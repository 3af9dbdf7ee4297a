"""CUDA devices through CuPy: rows in device memory, and launches of their kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from threading import Lock
from typing import Any

import numpy as np

from lacunet.errors import OptionError
from lacunet.inference.devices.device import (
    DenseFeatures,
    DenseRows,
    Device,
    DeviceRows,
    PackedRows,
)
from lacunet.optional import require
from lacunet.runtime.arrays import FloatArray

# Launch configuration of the row kernel: threads, tiles and memory.

WARPS = (7, 8, 4, 2)  # of a block of threads: more do not fit into shared memory, or are slower
TILE = 16  # blocks of counts in one operation of the matrix units
MOST_TILES = 8  # of counts in the registers of a warp: more would spill
GRID = 264  # blocks of threads; fixed, so that sums are the same on all devices


@dataclass(frozen=True)
class KernelShape:
    """Compile-time constants and launch parameters of the row kernel."""

    cells: int  # K
    groups: int  # bytes of a row
    parts: int  # families of a byte
    warps: int  # of a block of threads
    tiles: int  # of blocks of counts in a warp
    first: tuple[int, ...]  # the first pattern of each byte
    passes: int  # over the rows, to cover all counts
    tangent: bool
    table_in_shared: bool
    shared: int  # bytes of shared memory of a block of threads

    @property
    def rows(self) -> int:
        """Rows that a block of threads processes at once."""
        return 32 * self.warps

    @property
    def padded(self) -> int:
        """Padded row length of the pattern table."""
        return _padded(self.cells)

    @property
    def defines(self) -> dict[str, int | str]:
        """Macros of the kernel source."""
        return {
            "K": self.cells,
            "WARPS": self.warps,
            "TILES": self.tiles,
            "GROUPS": self.groups,
            "FIRST": ",".join(map(str, self.first)),
            "PARTS": self.parts,
            "TANGENT": int(self.tangent),
            "TABLE_IN_SHARED": int(self.table_in_shared),
        }


def shape_for(packed: PackedRows, most_shared: int, *, tangent: bool) -> KernelShape | None:
    """Choose the launch configuration; None if a few posteriors would not fit."""
    K, (patterns, parts), groups = packed.cells, packed.parts.shape, len(packed.bytes)
    tiles, most = -(-len(packed.shown) // TILE), max(1, MOST_TILES // -(-K // 8))
    table = 8 * (1 + tangent) * patterns * _padded(K)
    for warps in WARPS:
        rows, each = 32 * warps, min(most, -(-tiles // warps))
        scratch = 16 * K * (rows + 2) + groups * 3 * rows  # as the kernel lays out its memory
        if scratch <= most_shared:
            inside, passes = scratch + table <= most_shared, -(-tiles // (warps * each))
            size = scratch + table * inside
            first = tuple(packed.first.tolist())
            return KernelShape(K, groups, parts, warps, each, first, passes, tangent, inside, size)
    return None


def _padded(cells: int) -> int:
    """Pad to an odd number of pairs, so that neighbours lie in different memory banks."""
    return 2 * (((cells + 1) // 2) | 1)


SPARE = 1 << 28  # bytes of device memory left to other processes


class Cuda(Device):
    """The current device of CuPy."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.most_shared = int(cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])

    def hold(self, packed: PackedRows) -> DeviceRows:
        """Copy packed rows to the device."""
        return CudaRows(self, packed)

    def hold_dense(self, rows: DenseFeatures) -> DeviceRows:
        """Copy rows to the device as a dense matrix."""
        self.check_room(rows.bytes, f"a table of {len(rows.counts)} distinct rows")
        return DenseRows(self.cupy, rows)

    def __reduce__(self) -> tuple[Callable[[], Device], tuple[()]]:
        return open_cuda, ()

    def check_room(self, needed: int, what: str) -> None:
        """Refuse an allocation larger than the free memory."""
        free, whole = self.cupy.cuda.Device().mem_info
        pool = self.cupy.get_default_memory_pool()
        free += pool.total_bytes() - pool.used_bytes()
        if needed + SPARE > free:
            raise OptionError(
                f"--device cuda: {what} needs {_gb(needed)} of memory there, and {_gb(free)} of "
                f"{_gb(whole)} are free. Use --device cpu, or a larger device."
            )


class CudaRows(DeviceRows):
    """Packed rows in device memory."""

    def __init__(self, device: Cuda, packed: PackedRows) -> None:
        self.device, self.packed = device, packed
        self.shapes = [self._shape(tangent) for tangent in (False, True)]
        G, m = packed.bytes.shape
        step = int(np.lcm(self.shapes[0].rows, self.shapes[1].rows))
        self.rows = -(-m // step) * step
        self.blocks = len(packed.shown)
        partial = 8 * GRID * (self.blocks * packed.cells + 1)
        device.check_room((G + 8) * self.rows + 2 * partial, f"a table of {m} distinct rows")
        cp = device.cupy
        room = cp.zeros((G, self.rows), dtype=np.uint8)
        room[:, :m] = cp.asarray(packed.bytes)
        weights = cp.zeros(self.rows)
        weights[:m] = cp.asarray(packed.counts)
        small = [cp.asarray(a) for a in (packed.parts, packed.shown)]
        sizes = np.int64(self.rows), np.int32(len(packed.parts)), np.int32(self.blocks)
        self.arguments = (room, weights, *small, *sizes)
        self.room: DeviceRoom | None = None
        self.lock = Lock()

    def _shape(self, tangent: bool) -> KernelShape:
        shape = shape_for(self.packed, self.device.most_shared, tangent=tangent)
        if shape is None:
            raise OptionError(
                f"--device cuda: {self.packed.cells} classes are too many for the memory that "
                f"threads of this device share ({self.device.most_shared} bytes). "
                "Use --device cpu."
            )
        return shape

    def expect(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Run the E step."""
        return self._run(x, self.shapes[0])

    def move(self, x: FloatArray, along: FloatArray) -> FloatArray:
        """Change of the expected counts along a direction."""
        counts, _ = self._run(np.stack([x, along]), self.shapes[1])
        return np.asarray(counts[0])

    def _run(self, x: FloatArray, shape: KernelShape) -> tuple[FloatArray, FloatArray]:
        with self.lock:  # starts may run in parallel threads; the device runs one at a time
            room = self._room(len(x), shape)
            room.x.set(np.ascontiguousarray(x))
            self.launch(room)
            sums = room.sums.get()
        counts = sums[:, :-1].reshape(-1, self.blocks, self.packed.cells)
        return counts, sums[:, -1]

    def _room(self, vectors: int, shape: KernelShape) -> DeviceRoom:
        """Buffers for so many vectors, reused from the last call if the sizes agree."""
        if self.room is None or (self.room.shape, len(self.room.x)) != (shape, vectors):
            self.room = None  # freed before the next allocation
            batch, numbers = vectors // (1 + shape.tangent), self.blocks * self.packed.cells + 1
            grid = min(GRID, self.rows // shape.rows)
            outside = 0 if shape.table_in_shared else len(self.packed.parts)
            needed = 8 * batch * (grid + 1) * numbers + 8 * vectors * (numbers + outside)
            self.device.check_room(needed, f"an E step of {batch} starts")
            cp = self.device.cupy
            self.room = DeviceRoom(
                shape,
                cp.empty((vectors, self.blocks, self.packed.cells)),
                cp.empty((vectors, outside, shape.padded)),
                cp.empty((batch, grid, numbers)),
                cp.empty((batch, numbers)),
            )
        return self.room

    def launch(self, room: DeviceRoom) -> None:
        """Launch the kernels of an E step at the weights in `room`."""
        shape, kernels = room.shape, compiled(room.shape)
        batch, grid, numbers = room.partial.shape
        if room.tables.size:
            sizes = (64, len(room.x))
            kernels["sum_table"](sizes, (256,), (*self.arguments, room.x, room.tables))
        direction = room.x[1] if shape.tangent else room.x
        kernels["expect_rows"](
            (grid, shape.passes, batch),
            (shape.rows,),
            (*self.arguments, room.x, direction, room.tables, room.partial),
            shared_mem=shape.shared,
        )
        kernels["add_up"](
            (-(-numbers // 32), batch),
            (256,),
            (room.partial, room.sums, np.int32(grid), np.int32(numbers)),
        )


@dataclass(frozen=True, eq=False)
class DeviceRoom:
    """Device buffers for the E steps of a batch of log weights."""

    shape: KernelShape
    x: Any  # (vectors, B, K) log weights, and directions of them
    tables: Any  # (vectors, P, padded) sums by pattern, if in global memory
    partial: Any  # (batch, grid, B K + 1) expected counts and log-likelihood by block of threads
    sums: Any  # (batch, B K + 1) the totals


@cache
def compiled(shape: KernelShape) -> dict[str, Any]:
    """Compile the kernels for one shape; CuPy caches the result on disk."""
    source = files("lacunet.inference.devices").joinpath("latent_rows.cu").read_text("utf-8")
    # Not as options, which a comma would split.
    named = "".join(f"#define {name} {value}\n" for name, value in shape.defines.items())
    module = require("cupy", extra="gpu").RawModule(code=named + source, options=("-std=c++17",))
    functions = {n: module.get_function(n) for n in ("sum_table", "expect_rows", "add_up")}
    functions["expect_rows"].max_dynamic_shared_size_bytes = shape.shared
    return functions


def open_cuda() -> Device:
    """Open the current CUDA device; an `OptionError` if there is none."""
    cupy = require("cupy", extra="gpu", what="--device cuda")
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise OptionError(
            f"--device cuda: there is no device that CUDA can use ({error}). Use --device cpu, or "
            "check the output of nvidia-smi."
        ) from error
    if not count:
        raise OptionError("--device cuda: this machine has no such device. Use --device cpu.")
    return Cuda(cupy)


def _gb(size: float) -> str:
    return f"{size / 1e9:.2f} GB"
