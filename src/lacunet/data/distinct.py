"""Find the distinct rows of coded data, in canonical order, with bounded memory.

Rows of small codes are packed into as few 64-bit words as they need, some bits for each code, and
sorted as numbers; the order of the words is the lexicographic order of the codes. Distinct rows
that do not fit into memory become sorted runs on disk, and these are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IntArray
from lacunet.runtime.processes import give_back
from lacunet.runtime.rows import FileRange, Scratch

Merged: TypeAlias = tuple[CodeArray, FloatArray, IntArray]

WORD = 62  # bits of a word that are used: the sign of int64 is left alone
CHUNK = 1 << 14  # rows that are packed at once: their codes stay in the cache, column by column
MANY = 1 << 16  # rows from which freeing memory pays
FIRST_MERGE = 1 << 14  # rows to gather before the first merge


def smallest(states: int) -> type[np.int8 | np.int16 | np.int32]:
    """Give the smallest integer type that holds the codes -1 .. states - 1."""
    if states <= 2**7:
        return np.int8
    return np.int16 if states <= 2**15 else np.int32


def pack(codes: CodeArray) -> list[IntArray]:
    """Pack rows of codes (m, n) into words (m,), the most significant word first.

    >>> pack(np.array([[-1, 1], [0, -1]]))
    [array([2, 4])]
    """
    return [_packed(codes, first, bits) for first, bits in _words(_bits(codes.max(axis=0)))]


def _bits(top: CodeArray) -> list[int]:
    """Count the bits that the codes of each column need, including that of a missing cell."""
    return [max(1, (largest + 1).bit_length()) for largest in top.tolist()]


def _words(bits: Sequence[int]) -> list[tuple[int, list[int]]]:
    """Give the first column of each word, and the bits of its columns."""
    words: list[tuple[int, list[int]]] = []
    room = 0
    for column, wide in enumerate(bits):
        if wide > room:
            words.append((column, []))
            room = WORD
        words[-1][1].append(wide)
        room -= wide
    return words


def _packed(codes: CodeArray, first: int, bits: Sequence[int]) -> IntArray:
    """Pack the columns from `first` on into one word."""
    word = np.zeros(len(codes), np.int64)
    for start in range(0, len(codes), CHUNK):
        part, some = word[start : start + CHUNK], codes[start : start + CHUNK]
        for j, wide in enumerate(bits, start=first):
            part <<= wide
            part += some[:, j]
            part += 1
    return word


def _unpacked(word: IntArray, bits: Sequence[int], codes: CodeArray) -> None:
    """Write the codes (m, n) that were packed into one word."""
    for start in range(0, len(word), CHUNK):
        part, some = word[start : start + CHUNK].copy(), codes[start : start + CHUNK]
        for j in range(len(bits) - 1, -1, -1):
            np.subtract(part & ((1 << bits[j]) - 1), 1, out=some[:, j], casting="unsafe")
            part >>= bits[j]


def merge(codes: CodeArray, weight: FloatArray, copies: IntArray) -> Merged:
    """Sort rows and merge those that are equal in codes *and* weight, adding their copies.

    Rows of different weight stay apart until `collapse`, so that sums of weights do not depend on
    the order of the rows: floating-point addition is not associative.
    The result reuses the memory of `codes`.
    """
    bits = _bits(codes.max(axis=0))
    if sum(bits) <= WORD and weight.min() == weight.max():
        return _merged_words(codes, bits, weight, copies)
    keys: list[NDArray[Any]] = [*pack(codes), weight]
    order = np.lexsort(keys[::-1])
    first = firsts(len(codes), (key[order] for key in keys))
    copies = np.add.reduceat(copies[order], np.flatnonzero(first))
    unique = order[first]
    return _taken(codes, unique), weight[unique], copies


def _merged_words(
    codes: CodeArray, bits: Sequence[int], weight: FloatArray, copies: IntArray
) -> Merged:
    """Merge rows that fit one word each and have equal weights."""
    word = _packed(codes, 0, bits)
    several = np.flatnonzero(copies > 1)
    more = word[several], copies[several] - 1
    word.sort()  # in place, and faster than argsort
    starts = np.flatnonzero(firsts(len(word), [word]))
    if len(starts) < len(word) or len(several):
        copies = np.empty(len(starts), np.int64)
        np.subtract(starts[1:], starts[:-1], out=copies[:-1])
        copies[-1] = len(word) - starts[-1]
        for first in range(0, len(starts), CHUNK):  # in place: words only move forward
            some = slice(first, first + CHUNK)
            word[: len(starts)][some] = word[starts[some]]
        word = word[: len(starts)]
        del starts
        np.add.at(copies, np.searchsorted(word, more[0]), more[1])
    _unpacked(word, bits, codes[: len(word)])
    return _first_rows(codes, len(word)), alike(weight[0].item(), len(word)), copies


def places(codes: CodeArray) -> IntArray:
    """Give the index of each row among the sorted distinct rows, (rows,).

    >>> places(np.array([[1, 0], [0, 0], [1, 0]]))
    array([1, 0, 1])
    """
    keys = pack(codes)
    order = np.lexsort(keys[::-1])
    ranks = np.empty(len(codes), np.int64)
    ranks[order] = np.cumsum(firsts(len(codes), (key[order] for key in keys))) - 1
    return ranks


def collapse(
    codes: CodeArray, weight: FloatArray, copies: IntArray
) -> tuple[CodeArray, FloatArray]:
    """Merge sorted rows equal in codes; their count is the sum of weight × copies."""
    first = firsts(len(codes), codes.T)
    counts: FloatArray = np.add.reduceat(weight * copies, np.flatnonzero(first))
    return (codes if first.all() else codes[first]), counts


def firsts(rows: int, columns: Iterable[NDArray[Any]]) -> BoolArray:
    """Mark the first of each run of equal rows; a row is one entry of each column (rows,)."""
    first = np.zeros(rows, np.bool_)
    first[0] = True
    for column in columns:
        first[1:] |= column[1:] != column[:-1]
    return first


def _taken(codes: CodeArray, unique: IntArray) -> CodeArray:
    """Give codes[kept] in the memory of `codes`, column by column."""
    for j in range(codes.shape[1]):
        codes[: len(unique), j] = codes[unique, j]
    return _first_rows(codes, len(unique))


def _first_rows(codes: CodeArray, rows: int) -> CodeArray:
    """Give the first rows of an array, in place if its memory can be resized."""
    if rows < len(codes) and codes.flags.owndata and codes.flags.c_contiguous:
        codes.resize((rows, codes.shape[1]), refcheck=False)
    return codes if len(codes) == rows else codes[:rows].copy()


def alike(value: float, rows: int, kind: Any = np.float64) -> NDArray[Any]:
    """Repeat one number for each row without taking memory.

    >>> alike(1.0, 3)
    array([1., 1., 1.])
    """
    return np.broadcast_to(np.array(value, kind), rows)


def _put_together(arrays: Sequence[NDArray[Any]], rows: int) -> NDArray[Any]:
    """Concatenate the numbers of several blocks; if all are equal, repeat by `alike`."""
    first = arrays[0][0].item()
    if all(array.strides == (0,) and array[0].item() == first for array in arrays):
        return alike(first, rows, arrays[0].dtype)
    return np.concatenate(arrays)


class DistinctRows:
    """Gather batches of coded rows and keep only the distinct ones.

    Rows are merged each time their number has doubled. Memory is a small multiple of the distinct
    rows, and work a small multiple of one sort.
    """

    def __init__(self) -> None:
        self._blocks: list[Merged] = []
        self._waiting = 0
        self._limit = FIRST_MERGE

    def add(self, codes: CodeArray, weight: FloatArray, copies: IntArray) -> None:
        """Add a batch: codes (rows, n), the weight and the copies of each row, (rows,)."""
        self._blocks.append((codes, weight, copies))
        self._waiting += len(codes)
        if self._waiting >= self._limit:
            self._merge()

    def joined(self) -> Merged:
        """Join all rows into one block, which may still hold equal rows."""
        rows = sum(len(codes) for codes, _, _ in self._blocks)
        widest = np.result_type(*(codes.dtype for codes, _, _ in self._blocks))
        weight = _put_together([weight for _, weight, _ in self._blocks], rows)
        copies = _put_together([copies for _, _, copies in self._blocks], rows)
        codes = self._blocks.pop(0)[0].astype(widest, order="C", copy=False)
        row = len(codes)
        if not (codes.flags.owndata and codes.flags.writeable):
            codes = codes.copy()
        # The first block is the largest; it grows in place, without a second table.
        codes.resize((rows, codes.shape[1]), refcheck=False)
        while self._blocks:
            block = self._blocks.pop(0)[0]
            codes[row : row + len(block)] = block
            row += len(block)
        return codes, weight, copies

    def _merge(self) -> None:
        block = merge(*self.joined())
        if len(block[0]) > MANY:
            give_back()
        self._blocks.append(block)
        self._waiting = len(block[0])
        self._limit = max(2 * self._waiting, FIRST_MERGE)


SHARE = 8  # a run takes 1/SHARE of the memory: merging takes several times as much
SAMPLED = 256  # rows of a run per sampled word, where a range may end


class _Run(NamedTuple):
    """Distinct rows in a file: consecutive arrays that can be read in part."""

    scratch: Scratch
    rows: int
    wide: tuple[tuple[Any, int], ...]  # type and columns of each array: codes, copies, first words
    places: tuple[FileRange, ...]  # of the arrays
    sampled: IntArray  # every SAMPLED-th first word, if the rows are sorted

    @classmethod
    def written(cls, scratch: Scratch, *arrays: NDArray[Any]) -> _Run:
        wide = tuple((a.dtype, a.size // len(a)) for a in arrays)
        places = tuple(scratch.append(np.ascontiguousarray(a)) for a in arrays)
        sampled = arrays[-1][SAMPLED - 1 :: SAMPLED].copy()
        return cls(scratch, len(arrays[0]), wide, places, sampled)

    def read(self, which: int, first: int, last: int) -> NDArray[Any]:
        """Read some rows of an array."""
        (kind, columns), start = self.wide[which], self.places[which].first
        size = columns * kind.itemsize
        data = self.scratch.read(FileRange(start + first * size, (last - first) * size))
        array = np.frombuffer(data, kind)
        return array.reshape(-1, columns) if which == 0 else array

    def first_from(self, word: int) -> int:
        """Find the first row whose word is at least `word`, with one short read."""
        first = SAMPLED * int(np.searchsorted(self.sampled, word))
        near = self.read(2, first, min(first + SAMPLED, self.rows))
        return first + int(np.searchsorted(near, word))


class SpillingRows(DistinctRows):
    """`DistinctRows` that writes rows to disk when they exceed the memory."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room, self.scratch, self.runs = room, Scratch(), list[_Run]()

    def _merge(self) -> None:
        super()._merge()
        codes, weight, copies = self._blocks[0]
        if codes.nbytes + weight.nbytes + copies.nbytes > self.room // SHARE:
            self.spill()

    def spill(self) -> None:
        """Write the rows in memory as a run."""
        if not self._blocks:
            return
        codes, _, copies = self.joined()
        self.runs.append(_Run.written(self.scratch, codes, copies))
        self._waiting, self._limit = 0, len(codes)  # rows that do not repeat are sorted once
        give_back()


class Spilled(NamedTuple):
    """All distinct rows in order, mapped from files."""

    codes: CodeArray
    counts: FloatArray
    rows: int  # in the source
    empty: int  # rows without an observed value


def in_order(
    spilled: SpillingRows, recode: Callable[[CodeArray], CodeArray], cards: Sequence[int]
) -> Spilled:
    """Recode, merge and sort all rows; `cards` are the numbers of states of the columns."""
    scratch, runs = Scratch(), []
    first, bits = _words(_bits(np.array(cards) - 1))[0]  # one word for the rows of all runs
    while spilled.runs:
        run = spilled.runs.pop(0)
        codes, copies = (run.read(which, 0, run.rows) for which in (0, 1))
        codes, _, copies = _merged(recode(codes.copy()), copies)
        runs.append(_Run.written(scratch, codes, copies, _packed(codes, first, bits)))
    spilled.scratch = Scratch()  # deletes the old runs
    codes_file, counts_file = Scratch(), Scratch()
    rows = empty = 0
    for together in _ranges(runs, spilled.room):
        codes, _, copies = _merged(*together)
        rows += int(copies.sum())
        empty += int(copies[(codes < 0).all(axis=1)].sum())
        codes_file.append(np.ascontiguousarray(codes))
        counts_file.append(copies.astype(np.float64))
    mapped = codes_file.mapped(*runs[0].wide[0]), counts_file.mapped(np.float64)
    return Spilled(*mapped, rows, empty)


def _merged(codes: CodeArray, copies: IntArray) -> Merged:
    return merge(codes, alike(1.0, len(codes)), copies)


def _ranges(runs: Sequence[_Run], room: int) -> Iterator[tuple[CodeArray, IntArray]]:
    """Yield the rows of all runs, by ascending ranges of their first word."""
    sampled = np.sort(np.concatenate([run.sampled for run in runs]))
    kind, columns = runs[0].wide[0]
    step = max(1, room // (SHARE * (columns * kind.itemsize + 16) * SAMPLED))
    ends = np.unique(sampled[step::step])
    bounds = [[0, *(run.first_from(end) for end in ends), run.rows] for run in runs]
    for bounds_of_run in zip(*map(pairwise, bounds), strict=True):
        parts = [(run, *ends) for run, ends in zip(runs, bounds_of_run, strict=True)]
        codes, copies = (
            np.concatenate([run.read(which, *ends) for run, *ends in parts]) for which in (0, 1)
        )
        if len(copies):
            yield codes, copies
