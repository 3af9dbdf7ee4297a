"""Components with one hidden variable, all over a table: rows as sums of shared patterns.

Where a component is a single hidden variable with K states whose families all keep it as their last
axis, its log weight is a sum of contiguous blocks of log θ, one for each family around it (a latent
class model is the case in which that is every row). Rows share more than that: over any few
families only a handful of value combinations occur. So families are put into groups, the blocks of
each combination ("pattern") are summed once per E step, and a row adds up one pattern per group
instead of one block per family. A family that a row does not have adds nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lacunet.arrays import CodeArray, FloatArray, IndexArray, IntArray
from lacunet.inference.kernels.lanes import padded

CACHE_CELLS = 1 << 15  # pattern tables beyond 256 KiB fall out of the second-level cache
WIDTHS = (1, 8, 16, 32, 64, 128, 256, 512, 1024)  # candidate bounds on the patterns of one group


@dataclass(frozen=True, eq=False)
class Slot:
    """One family around the hidden variable."""

    first: int  # position of its first block in a flat vector
    blocks: int  # configurations of the other variables of the family
    codes: CodeArray  # (m,) the configuration of each row; -1: the row does not have the family
    holes: bool  # whether some rows do not have it


@dataclass(frozen=True, eq=False)
class PatternPlan:
    """Rows as sums of patterns, patterns as sums of blocks of a flat vector."""

    variable: int  # the hidden one
    cells: int  # K, its states
    positions: IntArray  # (B,) where each block of K numbers starts in a flat vector
    starts: IndexArray  # (P + 1,) where the entries of each pattern start
    entries: IndexArray  # (E,) the blocks of the patterns
    index: IndexArray  # (m, G) the patterns of each row
    counts: FloatArray  # (m,) how often each row stands in the data

    @property
    def patterns(self) -> int:
        """Number of patterns, over all groups."""
        return len(self.starts) - 1

    @property
    def width(self) -> int:
        """Columns of every table: the cells, padded to whole lanes."""
        return padded(self.cells)


def pattern_plan(
    variable: int, cells: int, slots: Sequence[Slot], counts: FloatArray
) -> PatternPlan:
    """Group the slots and list the patterns that occur."""
    radix = np.array(
        [s.blocks + s.holes for s in slots], dtype=np.int64
    )  # a hole is one more value
    block_start = np.concatenate([[0], np.cumsum([s.blocks for s in slots])])
    positions = np.concatenate([s.first + cells * np.arange(s.blocks) for s in slots])
    groups = _choose_groups(radix, len(counts), cells)
    index = np.empty((len(counts), len(groups)), dtype=np.int32)
    starts: list[IntArray] = [np.zeros(1, dtype=np.int64)]
    entries: list[IntArray] = []
    patterns = 0
    for g, group in enumerate(groups):
        values, index[:, g] = _patterns(slots[group], radix[group])
        index[:, g] += patterns
        used = values >= 0
        entries.append((block_start[:-1][group] + values)[used])
        starts.append(starts[-1][-1] + np.cumsum(used.sum(axis=1)))
        patterns += len(values)
    return PatternPlan(
        variable,
        cells,
        positions.astype(np.int64),
        np.concatenate(starts).astype(np.int32),
        np.concatenate(entries).astype(np.int32),
        index,
        counts,
    )


def _choose_groups(radix: IntArray, rows: int, cells: int) -> list[slice]:
    """Take the grouping with the least work: patterns of rows, plus blocks of patterns."""

    def work(groups: Sequence[slice]) -> float:
        patterns = [min(rows, math.prod(radix[g].tolist())) for g in groups]
        choices = [int(np.sum(radix[g] > 1)) for g in groups]  # a root adds one block to all
        blocks = sum(p * c for p, c in zip(patterns, choices, strict=True))
        spill = max(1.0, cells * sum(patterns) / CACHE_CELLS)  # slower memory, all the time
        # A block or a pattern costs about twice a row's pattern: it is summed, spread and cleared.
        adds: int = rows * len(groups) + 2 * (blocks + sum(patterns))
        return adds * math.sqrt(math.sqrt(spill))

    return min((list(_group(radix, width)) for width in WIDTHS), key=work)


def _group(radix: IntArray, width: int) -> Iterator[slice]:
    """Cut neighbouring slots into groups of at most `width` value combinations."""
    first, combinations = 0, 1
    for j, r in enumerate(radix):
        if j > first and combinations * r > width:
            yield slice(first, j)
            first, combinations = j, 1
        combinations *= int(r)
    yield slice(first, len(radix))


def _patterns(slots: Sequence[Slot], radix: IntArray) -> tuple[IntArray, IntArray]:
    """Find the value combinations that occur in a group of slots, and each row's."""
    number = np.zeros(len(slots[0].codes), dtype=np.int64)  # the combination, in mixed radix
    for slot, r in zip(slots, radix, strict=True):
        number *= r
        number += slot.codes
        number += slot.holes
    combinations = math.prod(radix.tolist())
    if combinations > 4 * len(number):  # a lookup table would be mostly air: sort instead
        seen, index = np.unique(number, return_inverse=True)
    else:
        occurs = np.zeros(combinations, dtype=bool)
        occurs[number] = True
        seen = np.flatnonzero(occurs)
        index = (np.cumsum(occurs) - 1)[number]
    values = np.empty((len(seen), len(radix)), dtype=np.int64)
    rest = seen.copy()
    for j in reversed(range(len(radix))):
        rest, values[:, j] = np.divmod(rest, radix[j])
    return values - np.array([s.holes for s in slots]), index
