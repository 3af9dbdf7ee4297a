"""Particles on an NVIDIA device: a block of threads is a run, whose warps take its particles."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from lacunet.inference.devices.chains import Journey
from lacunet.inference.devices.cuda_chains import WARP, CudaChains, sources
from lacunet.inference.devices.particles import PackedRuns, RunsThere
from lacunet.optional import require
from lacunet.runtime.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from lacunet.inference.devices.cuda import Cuda

WARPS = 16  # of a run


class CudaRuns(RunsThere):
    """Particles in the memory of a device."""

    def __init__(self, device: Cuda, runs: PackedRuns) -> None:
        self.device, self.runs, path, cp = device, runs, runs.path, device.cupy
        (R, cases), P, (blocks, K) = runs.orders.shape, runs.particles, path.owner.shape
        starts, members = path.members
        self.each = -(-K // WARP)
        size = R * P * (4 * path.owner.size + 4 * len(starts) + 8)
        device.check_room(size + 4 * R * cases, f"{R} runs of {P} particles")
        self.chains = CudaChains(device, path)
        self.N = cp.zeros((R, P, path.owner.size), dtype=np.int32)
        self.totals = cp.empty((R, P, len(starts) - 1), dtype=np.int32)
        self.log_weights = cp.zeros((R, P))
        self.taken = cp.zeros(R, dtype=np.int32)
        self.renewals: IntArray = np.zeros(R, dtype=np.int64)
        _, blocks_of = path.written_out
        whole = (blocks_of, path.owner, runs.exponents, runs.sums)
        self.arguments = (
            *map(cp.asarray, whole),
            np.int32(blocks_of.shape[1]),
            np.int32(K),
            *map(cp.asarray, (starts, members)),
            np.int32(blocks),
            np.int32(len(starts) - 1),
            cp.asarray(np.ascontiguousarray(runs.orders, dtype=np.int32)),
            np.int32(cases),
            np.int32(P),
        )
        self.first = cp.asarray(runs.who.chains[::P].astype(np.uint32))

    def take_in(self, least: float) -> tuple[FloatArray, IntArray]:
        """Let all runs go on, in one call."""
        cp, (R, P) = self.device.cupy, self.log_weights.shape
        compiled_particles(self.each)(
            (R,),
            (WARP * WARPS,),
            (
                *self.arguments,
                np.float64(least),
                self.first,
                *map(np.uint32, self.runs.who.key),
                self.taken,
                self.N,
                self.totals,
                self.log_weights,
            ),
            shared_mem=8 * P,
        )
        return cp.asnumpy(self.log_weights), cp.asnumpy(self.taken).astype(np.int64)

    def renew(self, runs: IntArray, chosen: IntArray, sweeps: int) -> None:
        """Choose and move them where they are."""
        cp, P = self.device.cupy, self.runs.particles
        there = self.N[cp.asarray(runs)[:, None], cp.asarray(chosen)].reshape(len(runs) * P, -1)
        often = cp.asarray(self.runs.so_far(cp.asnumpy(self.taken), runs))
        who = replace(self.runs.who, chains=self.runs.who.chains.reshape(-1, P)[runs].reshape(-1))
        next_ones = np.repeat(self.renewals[runs] * sweeps, P).astype(np.uint32)
        tables_of = np.repeat(np.arange(len(runs), dtype=np.int32), P)
        journey = Journey.staying(1.0, sweeps)
        self.chains.move(there, journey, who, next_ones, tables_of, often)
        self.N[cp.asarray(runs)] = there.reshape(len(runs), P, -1)
        self.log_weights[cp.asarray(runs)] = 0.0
        self.renewals[runs] += 1

    @property
    def counts(self) -> FloatArray:
        """What particles have counted."""
        R, P = self.log_weights.shape
        N = self.device.cupy.asnumpy(self.N).astype(np.float64)
        return np.asarray(N.reshape(R, P, *self.runs.path.owner.shape))


@cache
def compiled_particles(each: int) -> Any:
    """Compile the kernel for so many classes a lane; CuPy keeps what it compiled on disk."""
    options = ("-std=c++17", f"-DEACH={each}", f"-DWARPS={WARPS}")
    module = require("cupy", extra="gpu").RawModule(
        code=sources("counted_random.cu", "particles.cu"), options=options
    )
    return module.get_function("take_in")
