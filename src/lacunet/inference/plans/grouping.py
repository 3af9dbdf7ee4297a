"""Which families to put together, and the combinations of values that occur in a group."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunet.runtime.arrays import CodeArray, IntArray

CACHE_CELLS = 1 << 15  # pattern tables beyond 256 KiB fall out of the second-level cache
WIDTHS = (1, 8, 16, 32, 64, 128, 256, 512, 1024)  # candidate bounds on the patterns of one group


@dataclass(frozen=True, eq=False)
class Slot:
    """One family around the hidden variable."""

    first: int  # position of its first block in a flat vector
    blocks: int  # configurations of the other variables of the family
    codes: CodeArray  # (m,) the configuration of each row; -1: the row does not have the family
    holes: bool  # whether some rows do not have it


def choose_groups(radix: IntArray, rows: int, cells: int) -> list[slice]:
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


def find_patterns(slots: Sequence[Slot], radix: IntArray) -> tuple[IntArray, IntArray]:
    """Find the value combinations that occur in a group of slots, and each row's."""
    combinations = math.prod(radix.tolist())
    kind: Any = np.int32 if combinations < 1 << 31 else np.int64  # there may be millions of rows
    number: NDArray[Any] = np.zeros(
        len(slots[0].codes), dtype=kind
    )  # the combination, in mixed radix
    for slot, r in zip(slots, radix, strict=True):
        number *= kind(r)
        number += slot.codes
        number += slot.holes
    if combinations > 4 * len(number):  # a lookup table would be mostly air: sort instead
        seen, index = np.unique(number, return_inverse=True)
    else:
        occurs = np.zeros(combinations, dtype=bool)
        occurs[number] = True
        seen = np.flatnonzero(occurs)
        index = (np.cumsum(occurs, dtype=kind) - kind(1))[number]
    values = np.empty((len(seen), len(radix)), dtype=np.int64)
    rest = seen.copy()
    for j in reversed(range(len(radix))):
        rest, values[:, j] = np.divmod(rest, radix[j])
    return values - np.array([s.holes for s in slots]), index
