"""Chains on an NVIDIA device: a block of threads for each, sweep after sweep in one call."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from lacunet.inference.devices.chains import ChainsThere, Journey, PackedPath, Who
from lacunet.optional import require
from lacunet.runtime.arrays import FloatArray

if TYPE_CHECKING:
    from lacunet.inference.devices.cuda import Cuda

WARP = 32
MOST_THREADS = 512  # of a chain: two of them are at once on a processor of an H200
FEWEST_THREADS = 64


@dataclass(frozen=True)
class ChainShape:
    """What the kernel is compiled for; several numbers of classes share it."""

    lanes: int  # that share a row,
    each: int  # and classes that each of them has
    threads: int  # of a chain
    in_shared: bool  # whether its table of patterns and its counts are in memory of their own

    @property
    def defines(self) -> dict[str, int]:
        """The names that the kernel is compiled with."""
        return {
            "LANES": self.lanes,
            "EACH": self.each,
            "THREADS": self.threads,
            "IN_SHARED": int(self.in_shared),
        }


def chain_shape(path: PackedPath, most_shared: int) -> tuple[ChainShape, int]:
    """Choose; and how many bytes of memory a chain's threads share."""
    K, patterns, m = path.rows.cells, len(path.rows.parts), path.rows.bytes.shape[1]
    lanes = min(WARP, 1 << (K - 1).bit_length())
    wanted = max(m * lanes, path.owner.size)
    threads = FEWEST_THREADS
    while threads < min(wanted / 4, MOST_THREADS):
        threads *= 2
    shared = 8 * patterns * K + 4 * len(path.owner) * (K | 1)
    fits = shared + 1024 <= most_shared
    return ChainShape(lanes, -(-K // lanes), threads, fits), shared * fits


class CudaChains(ChainsThere):
    """Chains in the memory of a device."""

    def __init__(self, device: Cuda, path: PackedPath) -> None:
        self.device, self.path = device, path
        self.shape, self.shared = chain_shape(path, device.most_shared)
        rows, (starts, members), cp = path.rows, path.members, device.cupy
        self.configurations = len(starts) - 1
        (groups, m), (patterns, wide) = rows.bytes.shape, rows.parts.shape
        needed = 4 * m * (groups * (1 + wide) + 1) + 48 * path.owner.size
        device.check_room(needed, f"a table of {m} distinct rows")
        patterns_of, blocks_of = path.written_out
        sizes = (m, groups, blocks_of.shape[1], patterns, wide, len(path.owner), rows.cells)
        by_block = (path.seen, path.exponents, path.counts, path.log_weights)
        self.rows = tuple(map(cp.asarray, (patterns_of, blocks_of)))
        self.often = cp.asarray(path.often[None])
        self.arguments = (
            cp.asarray(rows.parts),
            *map(np.int32, sizes),
            *(cp.asarray(a) for a in (path.owner, starts, members, path.alpha, path.sums)),
            *map(cp.asarray, by_block),
            np.float64(path.slope),
            np.int32(self.configurations),
            np.int32(path.watched),
        )

    def travel(self, N: FloatArray, journey: Journey, who: Who) -> tuple[FloatArray, FloatArray]:
        """Go all the way in one call."""
        cp, chains, size = self.device.cupy, len(N), self.path.owner.size
        there = cp.asarray(np.ascontiguousarray(N.reshape(chains, size), dtype=np.int32))
        nothing = np.zeros(chains, dtype=np.int32)
        sweeps = np.full(chains, who.sweep, dtype=np.uint32)
        log_weights = self.move(there, journey, who, sweeps, nothing, self.often)
        ended = cp.asnumpy(there).reshape(N.shape).astype(np.float64)
        return ended, np.asarray(cp.asnumpy(log_weights))

    def move(
        self, there: Any, journey: Journey, who: Who, sweeps: Any, tables_of: Any, often: Any
    ) -> Any:
        """Move chains that are on the device, (chains, size); give what their weights grow by.

        Each chain has the number of its next sweep, and sees one of the tables whose rows stand
        there `often`, (tables, m).
        """
        cp, chains, size = self.device.cupy, len(there), self.path.owner.size
        m, table = self.path.rows.bytes.shape[1], len(self.path.rows.parts) * self.path.rows.cells
        outside = chains * (not self.shape.in_shared)
        room = chains * (12 * size + 8 * (self.configurations + m + 2))
        room += outside * (8 * table + 8 * size)
        self.device.check_room(room, f"moving {chains} chains")
        scratch = [cp.empty((chains, n)) for n in (size, self.configurations, m)]
        wide = len(self.path.owner) * (self.path.rows.cells | 1)
        tables, fresh = cp.empty((outside, table)), cp.empty((outside, wide), dtype=np.int32)
        log_weights = cp.empty(chains)
        way = (cp.asarray(x) for x in (journey.moves, journey.upper, journey.lower))
        kernel = compiled_chains(self.shape)
        kernel(
            (chains,),
            (self.shape.threads,),
            (
                *self.rows,
                often,
                *self.arguments,
                *way,
                np.int32(len(journey.moves)),
                cp.asarray(sweeps),
                cp.asarray(who.chains.astype(np.uint32)),
                cp.asarray(tables_of),
                *map(np.uint32, who.key),
                there,
                *scratch,
                tables,
                fresh,
                log_weights,
            ),
            shared_mem=self.shared,
        )
        return log_weights


def sources(*names: str) -> str:
    """Put files of kernels one after the other."""
    folder = files("lacunet.inference.devices")
    return "\n".join(folder.joinpath(name).read_text("utf-8") for name in names)


@cache
def compiled_chains(shape: ChainShape) -> Any:
    """Compile the kernel for one shape; CuPy keeps what it compiled on disk."""
    source = sources("counted_random.cu", "gibbs_chains.cu")
    options = ("-std=c++17", *(f"-D{name}={value}" for name, value in shape.defines.items()))
    cupy = require("cupy", extra="gpu")
    travel = cupy.RawModule(code=source, options=options).get_function("travel")
    if shape.in_shared:
        most = cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
        travel.max_dynamic_shared_size_bytes = most - 1024  # what is not dynamic has its place
    return travel
