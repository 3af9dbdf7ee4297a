"""Find the distinct rows of coded data, in one order, with bounded memory.

A row of small codes is one number, some bits for each code. Packed so into as few 64-bit words as
they need, rows are compared and sorted as numbers; the order of the words is the lexicographic
order of the codes. Rows of one word are sorted as that, and unpacked again.

Distinct rows that do not fit into memory: sorted runs on disk, then one table of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IntArray
from lacunet.runtime.processes import give_back
from lacunet.runtime.rows import Place, Scratch

Merged: TypeAlias = tuple[CodeArray, FloatArray, IntArray]

WORD = 62  # bits of a word that are used: the sign of int64 is left alone
CHUNK = 1 << 14  # rows that are packed at once: their codes stay in the cache, column by column
MANY = 1 << 16  # rows, from which it is worth asking for free memory
FIRST_MERGE = 1 << 14  # rows to gather before it pays to look for equal ones


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
    return [_packed(codes, first, bits) for first, bits in _words(bits_of(codes.max(axis=0)))]


def bits_of(top: IntArray | CodeArray) -> list[int]:
    """How many bits the codes of each column take, up to the largest; the hole is a state too.

    >>> bits_of(np.array([-1, 0, 1, 2, 3]))
    [1, 1, 2, 2, 3]
    """
    return [max(1, (largest + 1).bit_length()) for largest in top.tolist()]


def _words(bits: Sequence[int]) -> list[tuple[int, list[int]]]:
    """The first column of each word, and the bits of its columns."""
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
    """Pack some columns, from one on, into one word."""
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


def first_word(codes: CodeArray, cards: Sequence[int]) -> IntArray:
    """Pack as many columns as go into one word, of so many states each: the same for all rows.

    >>> first_word(np.array([[-1, 1], [0, -1]]), [2, 2])
    array([2, 4])
    """
    first, bits = _words(bits_of(np.array(cards) - 1))[0]
    return _packed(codes, first, bits)


def merge(codes: CodeArray, weight: FloatArray, copies: IntArray) -> Merged:
    """Sort rows and merge those that are equal in codes *and* weight, adding their copies.

    Rows of different weight stay apart until `collapse`, so that sums of weights do not depend on
    the order in which the rows came: floating-point addition is not associative.
    The array `codes` is used up: the result lies in it.
    """
    bits = bits_of(codes.max(axis=0))
    if sum(bits) <= WORD and weight.min() == weight.max():
        return _merged_words(codes, bits, weight, copies)
    keys: list[NDArray[Any]] = [*pack(codes), weight]
    order = np.lexsort(keys[::-1])
    first = firsts(len(codes), (key[order] for key in keys))
    copies = np.add.reduceat(copies[order], np.flatnonzero(first))
    kept = order[first]
    return _taken(codes, kept), weight[kept], copies


def _merged_words(
    codes: CodeArray, bits: Sequence[int], weight: FloatArray, copies: IntArray
) -> Merged:
    """Do the same where a row is one word, and all weigh the same."""
    word = _packed(codes, 0, bits)
    several = np.flatnonzero(copies > 1)
    more = word[several], copies[several] - 1
    word.sort()  # in place, and faster than to ask for an order
    starts = np.flatnonzero(firsts(len(word), [word]))
    if len(starts) < len(word) or len(several):
        copies = np.empty(len(starts), np.int64)
        np.subtract(starts[1:], starts[:-1], out=copies[:-1])
        copies[-1] = len(word) - starts[-1]
        for first in range(0, len(starts), CHUNK):  # where it is: none is needed further back
            some = slice(first, first + CHUNK)
            word[: len(starts)][some] = word[starts[some]]
        word = word[: len(starts)]
        del starts
        np.add.at(copies, np.searchsorted(word, more[0]), more[1])
    _unpacked(word, bits, codes[: len(word)])
    return _first_rows(codes, len(word)), alike(weight[0].item(), len(word)), copies


def places(codes: CodeArray) -> IntArray:
    """Where each row stands among the distinct ones in their order, (rows,).

    >>> places(np.array([[1, 0], [0, 0], [1, 0]]))
    array([1, 0, 1])
    """
    keys = pack(codes)
    order = np.lexsort(keys[::-1])
    found = np.empty(len(codes), np.int64)
    found[order] = np.cumsum(firsts(len(codes), (key[order] for key in keys))) - 1
    return found


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


def _taken(codes: CodeArray, kept: IntArray) -> CodeArray:
    """Give codes[kept] in the memory of `codes`, column by column: no second table is made."""
    for j in range(codes.shape[1]):
        codes[: len(kept), j] = codes[kept, j]
    return _first_rows(codes, len(kept))


def _first_rows(codes: CodeArray, rows: int) -> CodeArray:
    """Give the first rows of an array that is used up, where they are if that can be."""
    if rows < len(codes) and codes.flags.owndata and codes.flags.c_contiguous:
        codes.resize((rows, codes.shape[1]), refcheck=False)
    return codes if len(codes) == rows else codes[:rows].copy()


def alike(value: float, rows: int, kind: Any = np.float64) -> NDArray[Any]:
    """One number for each row, which takes no memory: of weights and copies there may be no other.

    >>> alike(1.0, 3)
    array([1., 1., 1.])
    """
    return np.broadcast_to(np.array(value, kind), rows)


def _are_alike(arrays: Sequence[NDArray[Any]]) -> bool:
    """Whether all rows of several blocks have one number, by how they are kept."""
    kept_once = all(array.strides == (0,) for array in arrays)
    return kept_once and len({array[0].item() for array in arrays}) == 1


def _owned(array: NDArray[Any]) -> NDArray[Any]:
    """Give an array that can grow: not one that looks into another, nor one of somebody else."""
    return array if array.flags.owndata and array.flags.writeable else array.copy()


def _put_together(arrays: Sequence[NDArray[Any]], rows: int) -> NDArray[Any]:
    """Give the numbers of all rows, some of each block."""
    if _are_alike(arrays):
        return alike(arrays[0][0].item(), rows, arrays[0].dtype)
    return np.concatenate(arrays)


class DistinctRows:
    """Gather batches of coded rows and keep only the distinct ones.

    Rows are merged each time their number has doubled, so that the memory stays within a small
    multiple of the distinct rows and the work within a small multiple of one sort.
    """

    def __init__(self) -> None:
        self._blocks: list[Merged] = []
        self._waiting = 0
        self._limit = FIRST_MERGE

    def add(self, codes: CodeArray, weight: FloatArray, copies: IntArray) -> None:
        """Take one batch: codes (rows, n), the weight and the copies of each row, (rows,)."""
        self._blocks.append((codes, weight, copies))
        self._waiting += len(codes)
        if self._waiting >= self._limit:
            self._merge()

    def joined(self) -> Merged:
        """Give what is kept as one block; equal rows may still be in it, later merged."""
        rows = sum(len(codes) for codes, _, _ in self._blocks)
        widest = np.result_type(*(codes.dtype for codes, _, _ in self._blocks))
        weight = _put_together([weight for _, weight, _ in self._blocks], rows)
        copies = _put_together([copies for _, _, copies in self._blocks], rows)
        row = len(self._blocks[0][0])
        codes = self._blocks.pop(0)[0]
        codes = _owned(codes.astype(widest, order="C", copy=False))
        # The first block is the largest. It grows where it is: no second table is held.
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


SHARE = 8  # a run takes this part of the memory that there is: to merge takes some times as much
SAMPLED = 256  # rows of a run for each that says where ranges may end


class Run(NamedTuple):
    """Some distinct rows, in a file."""

    rows: int
    columns: int
    kind: Any  # of the codes
    codes: Place
    copies: Place
    words: Place | None = None  # the first word of each row, where they are sorted,
    sampled: IntArray | None = None  # and one in so many of them

    def some(self, scratch: Scratch, first: int, last: int) -> tuple[CodeArray, IntArray]:
        """Read the codes and copies of some rows."""
        wide = self.columns * np.dtype(self.kind).itemsize
        place = Place(self.codes.first + first * wide, (last - first) * wide)
        codes = np.frombuffer(scratch.read(place), self.kind).reshape(-1, self.columns)
        place = Place(self.copies.first + 8 * first, 8 * (last - first))
        return codes, np.frombuffer(scratch.read(place), np.int64)


class SpillingRows(DistinctRows):
    """Gathers rows as `DistinctRows` does; when they are too many, they go to disk."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room, self.scratch, self.runs = room, Scratch(), list[Run]()

    def _merge(self) -> None:
        super()._merge()
        codes, weight, copies = self._blocks[0]
        if codes.nbytes + weight.nbytes + copies.nbytes > self.room // SHARE:
            self.spill()

    def spill(self) -> None:
        """Write what is in memory as a run."""
        if not self._blocks:
            return
        codes, _, copies = self.joined()
        self.runs.append(_written(self.scratch, codes, copies))
        self._waiting, self._limit = 0, len(codes)  # rows that do not repeat are sorted once
        give_back()


def _written(scratch: Scratch, codes: CodeArray, copies: IntArray, words: Any = None) -> Run:
    told = scratch.append(np.ascontiguousarray(codes)), scratch.append(copies.copy())
    if words is None:
        return Run(len(codes), codes.shape[1], codes.dtype, *told)
    sorted_ = scratch.append(words), words[SAMPLED - 1 :: SAMPLED].copy()
    return Run(len(codes), codes.shape[1], codes.dtype, *told, *sorted_)


class Spilled(NamedTuple):
    """All distinct rows in order, mapped from files."""

    codes: CodeArray
    counts: FloatArray
    rows: int  # in the source
    empty: int  # of them, those that show nothing


def in_order(
    spilled: SpillingRows, recode: Callable[[CodeArray], CodeArray], cards: Sequence[int]
) -> Spilled:
    """Give all rows their final codes, of so many states each column, merge and sort them."""
    scratch = Scratch()
    runs = []
    while spilled.runs:
        run = spilled.runs.pop(0)
        codes, copies = run.some(spilled.scratch, 0, run.rows)
        codes, _, copies = _merged(recode(codes.copy()), copies)
        runs.append(_written(scratch, codes, copies, first_word(codes, cards)))
    spilled.scratch = Scratch()  # the runs as they were end here
    codes_file, counts_file = Scratch(), Scratch()
    rows = empty = 0
    for together in _ranges(scratch, runs, spilled.room):
        codes, _, copies = _merged(*together)
        rows += int(copies.sum())
        empty += int(copies[(codes < 0).all(axis=1)].sum())
        codes_file.append(np.ascontiguousarray(codes))
        counts_file.append(copies.astype(np.float64))
    kind, columns = runs[0].kind, runs[0].columns
    mapped = codes_file.mapped(kind, columns), counts_file.mapped(np.float64)
    return Spilled(*mapped, rows, empty)


def _merged(codes: CodeArray, copies: IntArray) -> Merged:
    return merge(codes, alike(1.0, len(codes)), copies)


def _ranges(
    scratch: Scratch, runs: Sequence[Run], room: int
) -> Iterator[tuple[CodeArray, IntArray]]:
    """Give the rows of all runs, range by range of their first word."""
    sampled = np.sort(np.concatenate([_sampled(run) for run in runs]))
    wide = runs[0].columns * np.dtype(runs[0].kind).itemsize + 16
    step = max(1, room // (SHARE * wide * SAMPLED))
    ends = np.unique(sampled[step::step])
    bounds = [[0, *(_first_from(scratch, run, end) for end in ends), run.rows] for run in runs]
    for cut in zip(*(list(pairwise(b)) for b in bounds), strict=True):
        parts = [run.some(scratch, *part) for run, part in zip(runs, cut, strict=True)]
        codes, copies = (np.concatenate(one) for one in zip(*parts, strict=True))
        if len(copies):
            yield codes, copies


def _sampled(run: Run) -> IntArray:
    assert run.sampled is not None  # it is sorted
    return run.sampled


def _first_from(scratch: Scratch, run: Run, word: int) -> int:
    """The first row of a sorted run whose word is not below one: few of its words are read."""
    assert run.words is not None
    first = SAMPLED * int(np.searchsorted(_sampled(run), word))
    near = min(SAMPLED, run.rows - first)
    place = Place(run.words.first + 8 * first, 8 * near)
    return first + int(np.searchsorted(np.frombuffer(scratch.read(place), np.int64), word))
