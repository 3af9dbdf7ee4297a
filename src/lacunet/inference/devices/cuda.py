"""The one door to CuPy: rows on an NVIDIA device, and the kernels that read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from threading import Lock
from typing import Any

import numpy as np

from lacunet.errors import OptionError
from lacunet.inference.devices.device import DenseFeatures, DenseRows, Device, PackedRows, RowsThere
from lacunet.optional import require
from lacunet.runtime.arrays import FloatArray

# How the kernel of rows is laid out on a device: threads, tiles and memory.

WARPS = (7, 8, 4, 2)  # of a block of threads: more have no room for their posteriors, or are slower
TILE = 16  # blocks of counts that the matrix units sum at once
MOST_TILES = 8  # of counts in the registers of a warp: more would be spilled
GRID = 264  # blocks of threads, whatever the device: sums are the same on all


@dataclass(frozen=True)
class KernelShape:
    """What the kernel is compiled for, and how it is started."""

    cells: int  # K
    groups: int  # bytes of a row
    parts: int  # families of a byte
    warps: int  # of a block of threads
    tiles: int  # of blocks of counts, that a warp keeps
    first: tuple[int, ...]  # the first pattern of each byte
    passes: int  # over the rows, until all counts have had a warp
    tangent: bool
    table_in_shared: bool
    shared: int  # bytes of memory that a block of threads has for itself

    @property
    def rows(self) -> int:
        """Rows that a block of threads takes at once."""
        return 32 * self.warps

    @property
    def padded(self) -> int:
        """Numbers of a row of the table of patterns."""
        return _padded(self.cells)

    @property
    def defines(self) -> dict[str, int | str]:
        """The names that the kernel is compiled with."""
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
    """Choose; None if the posteriors of a few rows would not fit."""
    K, (patterns, parts), groups = packed.cells, packed.parts.shape, len(packed.bytes)
    tiles, most = -(-len(packed.shown) // TILE), max(1, MOST_TILES // -(-K // 8))
    table = 8 * (1 + tangent) * patterns * _padded(K)
    for warps in WARPS:
        rows, each = 32 * warps, min(most, -(-tiles // warps))
        own = 16 * K * (rows + 2) + groups * 3 * rows  # as the kernel divides its memory
        if own <= most_shared:
            inside, passes = own + table <= most_shared, -(-tiles // (warps * each))
            size = own + table * inside
            first = tuple(packed.first.tolist())
            return KernelShape(K, groups, parts, warps, each, first, passes, tangent, inside, size)
    return None


def _padded(cells: int) -> int:
    """An odd number of pairs: neighbours stand in other banks of the memory."""
    return 2 * (((cells + 1) // 2) | 1)


SPARE = 1 << 28  # bytes of the device that are left to others


class Cuda(Device):
    """The current device of CuPy."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.most_shared = int(cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])

    def hold(self, packed: PackedRows) -> RowsThere:
        """Put rows on it."""
        return CudaRows(self, packed)

    def hold_dense(self, rows: DenseFeatures) -> RowsThere:
        """Put rows on it as a dense matrix."""
        self.check_room(rows.bytes, f"a table of {len(rows.counts)} distinct rows")
        return DenseRows(self.cupy, rows)

    def __reduce__(self) -> tuple[Callable[[], Device], tuple[()]]:
        return open_cuda, ()

    def check_room(self, needed: int, what: str) -> None:
        """Refuse what is larger than what is free, before anything is allocated."""
        free, whole = self.cupy.cuda.Device().mem_info
        pool = self.cupy.get_default_memory_pool()
        free += pool.total_bytes() - pool.used_bytes()
        if needed + SPARE > free:
            raise OptionError(
                f"--device cuda: {what} needs {_gb(needed)} of memory there, and {_gb(free)} of "
                f"{_gb(whole)} are free. Use --device cpu, or a larger device."
            )


class CudaRows(RowsThere):
    """Rows in the memory of a device."""

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
        found = shape_for(self.packed, self.device.most_shared, tangent=tangent)
        if found is None:
            raise OptionError(
                f"--device cuda: {self.packed.cells} classes are too many for the memory that "
                f"threads of this device share ({self.device.most_shared} bytes). "
                "Use --device cpu."
            )
        return found

    def expect(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Run the E step."""
        return self._run(x, self.shapes[0])

    def move(self, x: FloatArray, along: FloatArray) -> FloatArray:
        """Run the same along a direction."""
        counts, _ = self._run(np.stack([x, along]), self.shapes[1])
        return np.asarray(counts[0])

    def _run(self, x: FloatArray, shape: KernelShape) -> tuple[FloatArray, FloatArray]:
        with self.lock:  # starts may be fitted side by side; the device has one after the other
            room = self._room(len(x), shape)
            room.x.set(np.ascontiguousarray(x))
            self.launch(room)
            sums = room.sums.get()
        counts = sums[:, :-1].reshape(-1, self.blocks, self.packed.cells)
        return counts, sums[:, -1]

    def _room(self, vectors: int, shape: KernelShape) -> DeviceRoom:
        """Memory for so many vectors: what the last call had, if it suffices."""
        if self.room is None or (self.room.shape, len(self.room.x)) != (shape, vectors):
            self.room = None  # freed before there is another
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
        """Start the kernels of an E step at the weights that are in its room."""
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
    """Memory of a device for the E steps of some vectors of log weights."""

    shape: KernelShape
    x: Any  # (vectors, B, K) log weights, and directions of them
    tables: Any  # (vectors, P, padded) sums by pattern, if they are kept there
    partial: Any  # (batch, grid, B K + 1) expected counts and log-likelihood by block of threads,
    sums: Any  # (batch, B K + 1) and of all of them


@cache
def compiled(shape: KernelShape) -> dict[str, Any]:
    """Compile the kernels for one shape; CuPy keeps what it compiled on disk."""
    source = files("lacunet.inference.devices").joinpath("latent_rows.cu").read_text("utf-8")
    # Not as options: there a comma would part one from the next.
    named = "".join(f"#define {name} {value}\n" for name, value in shape.defines.items())
    module = require("cupy", extra="gpu").RawModule(code=named + source, options=("-std=c++17",))
    found = {n: module.get_function(n) for n in ("sum_table", "expect_rows", "add_up")}
    found["expect_rows"].max_dynamic_shared_size_bytes = shape.shared
    return found


def open_cuda() -> Device:
    """Find the device."""
    cupy = require("cupy", extra="gpu", what="--device cuda")
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise OptionError(
            f"--device cuda: there is no device that CUDA can use ({error}). Use --device cpu, or "
            "see what nvidia-smi says."
        ) from error
    if not count:
        raise OptionError("--device cuda: this machine has no such device. Use --device cpu.")
    return Cuda(cupy)


def _gb(size: float) -> str:
    return f"{size / 1e9:.2f} GB"
