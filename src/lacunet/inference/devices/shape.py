"""How the kernel of rows is laid out on a device: threads, tiles and memory."""

from __future__ import annotations

from dataclasses import dataclass

from lacunet.inference.devices.packing import PackedRows

WARPS = (7, 8, 4, 2)  # of a block of threads: more have no room for their posteriors, or are slower
TILE = 16  # blocks of counts that the matrix units sum at once
MOST_TILES = 8  # of counts in the registers of a warp: more would be spilled
GRID = 264  # blocks of threads, whatever the device: sums are the same on all


@dataclass(frozen=True)
class Shape:
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


def shape_for(packed: PackedRows, most_shared: int, *, tangent: bool) -> Shape | None:
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
            return Shape(K, groups, parts, warps, each, first, passes, tangent, inside, size)
    return None


def _padded(cells: int) -> int:
    """An odd number of pairs: neighbours stand in other banks of the memory."""
    return 2 * (((cells + 1) // 2) | 1)
