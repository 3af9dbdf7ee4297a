"""How the rows of a table are summed: the central idea of the design, turned into index arrays.

A row of a latent class model is one component: its hidden cells are the classes, and its log weight
is the sum of one block of log θ (contiguous over classes) for the root and one for each observed
leaf. Rows share more than that: over any few columns only a handful of value combinations occur. So
columns are put into groups, the blocks of each combination ("pattern") are summed once per E step,
and a row adds up one pattern per group instead of one block per column. A missing cell adds
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lacunet.arrays import BoolArray, CodeArray, FloatArray, IndexArray, IntArray
from lacunet.inference.lanes import padded
from lacunet.model.layout import Layout

CACHE_CELLS = 1 << 15  # pattern tables beyond 256 KiB fall out of the second-level cache
WIDTHS = (1, 8, 16, 32, 64, 128, 256, 512, 1024)  # candidate bounds on the patterns of one group


@dataclass(frozen=True, eq=False)
class Plan:
    """Rows as sums of patterns, patterns as sums of blocks of a flat vector."""

    cells: int  # K, joint states of the hidden variables of a component
    starts: IndexArray  # (P + 1,) where the entries of each pattern start
    entries: IndexArray  # (E,) blocks: block b is positions b·K to b·K + K − 1 of a flat vector
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


def empty_plan() -> Plan:
    """Give the plan of data with no hidden part at all."""
    none = np.zeros(0, dtype=np.int32)
    return Plan(1, np.zeros(1, np.int32), none, np.zeros((0, 1), np.int32), np.zeros(0))


def latent_class_plan(layout: Layout, codes: CodeArray, counts: FloatArray) -> Plan:
    """Plan the rows of a latent class model; the root is variable 0, leaf j is column j − 1."""
    cells = layout.cards[0]
    holes: BoolArray = np.any(codes < 0, axis=0)
    radix = np.array(layout.cards[1:], dtype=np.int64) + holes  # a missing cell is one more value
    groups = _choose_groups(radix, len(codes), cells)
    index = np.empty((len(codes), len(groups)), dtype=np.int32)
    starts: list[IntArray] = [np.zeros(1, dtype=np.int64)]
    entries: list[IntArray] = []
    patterns = 0
    for g, group in enumerate(groups):
        values, index[:, g] = _patterns(codes[:, group], radix[group], holes[group])
        index[:, g] += patterns
        first = layout.offsets[1:-1][group] // cells + values  # (patterns, columns of the group)
        used = values >= 0
        if g == 0:  # the root joins the first group, so that it costs the rows nothing
            first = np.column_stack([np.zeros(len(values), dtype=np.int64), first])
            used = np.column_stack([np.ones(len(values), dtype=bool), used])
        entries.append(first[used])
        starts.append(starts[-1][-1] + np.cumsum(used.sum(axis=1)))
        patterns += len(values)
    return Plan(
        cells,
        np.concatenate(starts).astype(np.int32),
        np.concatenate(entries).astype(np.int32),
        index,
        counts,
    )


def _choose_groups(radix: IntArray, rows: int, cells: int) -> list[slice]:
    """Take the grouping with the least work: patterns of rows, plus blocks of patterns."""

    def work(groups: Sequence[slice]) -> float:
        patterns = [min(rows, int(np.prod(radix[g]))) for g in groups]
        blocks = sum(p * len(radix[g]) for p, g in zip(patterns, groups, strict=True))
        spill = max(1.0, cells * sum(patterns) / CACHE_CELLS)  # slower memory, all the time
        # A block or a pattern costs about twice a row's pattern: it is summed, spread and cleared.
        adds: int = rows * len(groups) + 2 * (blocks + sum(patterns))
        return adds * math.sqrt(math.sqrt(spill))

    return min((list(_group(radix, width)) for width in WIDTHS), key=work)


def _group(radix: IntArray, width: int) -> Iterator[slice]:
    """Cut neighbouring columns into groups of at most `width` value combinations."""
    first, combinations = 0, 1
    for j, r in enumerate(radix):
        if j > first and combinations * r > width:
            yield slice(first, j)
            first, combinations = j, 1
        combinations *= int(r)
    yield slice(first, len(radix))


def _patterns(codes: CodeArray, radix: IntArray, holes: BoolArray) -> tuple[IntArray, IntArray]:
    """Find the value combinations that occur in a group of columns, and each row's."""
    number = np.zeros(len(codes), dtype=np.int64)  # the combination as one number, mixed radix
    for column, r, hole in zip(codes.T, radix, holes, strict=True):
        number *= r
        number += column
        number += hole
    combinations = int(np.prod(radix))
    if combinations > 4 * len(codes):  # a lookup table would be mostly air: sort instead
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
    return values - holes, index
