"""Walks over partitions on an NVIDIA device: a warp for each chain."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from lacunet.inference.devices.walks import WalkedCases, Walkers, WalksThere
from lacunet.inference.kernels.splitting import SCANS
from lacunet.inference.kernels.walking import TRIED
from lacunet.model.families.rising import LARGE
from lacunet.optional import require

if TYPE_CHECKING:
    from lacunet.inference.devices.cuda import Cuda
    from lacunet.inference.kernels.blocks import Levels
    from lacunet.inference.kernels.walking import Notes

WARP, WARPS = 32, 2  # chains of a block of threads, as the kernel has it


class CudaWalks(WalksThere):
    """Cases in the memory of a device."""

    def __init__(self, device: Cuda, cases: WalkedCases) -> None:
        self.device, self.each = device, -(-cases.most // WARP)
        leaves, rows, cp = cases.leaves, cases.leaves.rows, device.cupy
        self.cases, self.lines = len(leaves.row), len(leaves.prior)
        device.check_room(4 * (self.cases + 3 * len(rows.cells)), f"{self.cases} cases")
        whole = (leaves.row, rows.starts, rows.cells, rows.owners)
        self.arguments = (
            *(cp.asarray(x.astype(np.int32)) for x in whole),
            *(cp.asarray(x) for x in (cases.log_alone, leaves.prior)),
            np.float64(leaves.a),
            np.float64(leaves.log_empty),
            np.int32(self.cases),
            np.int32(self.lines),
            np.int32(leaves.first[-1]),
        )

    def walk(
        self, walkers: Walkers, levels: Levels, sweeps: int, notes: Notes | None = None
    ) -> Walkers:
        """Let every chain walk, in one call."""
        cp, chains, columns = self.device.cupy, len(walkers.blocks), WARP * self.each + 2
        size = columns + self.lines * columns + 2 * self.cases
        self.device.check_room(4 * chains * (size + self.cases), f"a walk of {chains} chains")
        blocks = cp.asarray(np.ascontiguousarray(walkers.blocks, dtype=np.int32))
        drawn = cp.asarray(walkers.drawn)
        room = cp.empty((chains, size), dtype=np.int32)
        numbers = len(levels.rise)
        noted = None if notes is None else cp.zeros((chains, 3, numbers, 3))
        compiled_walk(self.each)(
            (-(-chains // WARPS),),
            (WARP * WARPS,),
            (
                *self.arguments,
                *(cp.asarray(x) for x in (levels.rise, levels.reference)),
                np.int32(numbers),
                np.int32(sweeps),
                np.int32(chains),
                cp.asarray(walkers.keys),
                drawn,
                blocks,
                np.intp(0) if noted is None else noted,
                room,
            ),
        )
        if notes is not None:
            rates, energy = np.split(cp.asnumpy(noted), [2], axis=1)
            notes.rates[:] += rates
            notes.energy[:] += energy[:, 0]
        ended = cp.asnumpy(blocks).astype(np.int64)
        return replace(walkers, blocks=ended, drawn=cp.asnumpy(drawn))


@cache
def compiled_walk(each: int) -> Any:
    """Compile the kernel for so many columns a lane; CuPy keeps what it compiled on disk."""
    source = files("lacunet.inference.devices").joinpath("partition_walk.cu").read_text("utf-8")
    defines = {"EACH": each, "SCANS": SCANS, "TRIED": TRIED, "LARGE": LARGE}
    options = ("-std=c++17", *(f"-D{name}={value}" for name, value in defines.items()))
    return require("cupy", extra="gpu").RawModule(code=source, options=options).get_function("walk")
