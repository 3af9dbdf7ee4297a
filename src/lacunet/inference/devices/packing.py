"""Rows around one hidden variable as few bytes, for a device that reads them in every E step.

A family of a row has one of a few values: a field of bits. Neighbouring fields share a byte, and
the values of a byte are patterns: a device sums the blocks of each once per E step, as
`plans.patterns` does, and a row adds up one pattern per byte. What a byte shows of a block is a
comparison of bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lacunet.errors import OptionError
from lacunet.runtime.arrays import CodeArray, FloatArray, IndexArray

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
