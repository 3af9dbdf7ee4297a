"""Distinct rows that do not fit into memory: sorted runs on disk, then one table of all of them.

Runs hold provisional codes, for states are known when all is read. Then each run gets its final
codes and is sorted; ranges of the first word of a row are merged one after the other, and written
in order. So no more than a run, or a range, is in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from lacunet.data.distinct import DistinctRows, Merged, alike, first_word, merge
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray
from lacunet.runtime.memory import give_back
from lacunet.runtime.rows import Place, Scratch

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
