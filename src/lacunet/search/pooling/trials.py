"""What is hidden to see who knows it: some cells of every row, or one column of some rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lacunet.data import Column, Table
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IntArray
from lacunet.search.stacking.blocks import Cases, one_by_one

SHARE = 0.1  # of the cells that are seen: hidden at a time
ENOUGH = 500  # cells to judge by
MOST = 3  # times to hide some


@dataclass(frozen=True, eq=False)
class Trial:
    """A table to learn from, and rows of which more is known than it shows."""

    table: Table
    shown: CodeArray  # (rows, columns) what is told of each row, -1 = missing or hidden
    whole: CodeArray  # (rows, columns) the same with what was hidden
    counts: FloatArray  # (rows,) how much each row counts

    @property
    def hidden(self) -> float:
        """How many cells were hidden, each as often as its row counts."""
        return float(self.counts @ (self.shown != self.whole).sum(axis=1))


def hide_cells(table: Table, rng: np.random.Generator) -> tuple[Trial, ...]:
    """Hide a tenth of the cells at random; of small tables several times, each time others.

    Cases are shuffled only by chance, so the order of rows does not matter.
    """
    cases = one_by_one(table)
    seen = cases.codes >= 0
    times = min(MOST, math.ceil(ENOUGH / max(SHARE * seen.sum(), 1.0)))
    lot = rng.random(seen.shape)
    found = (_trial(cases, table.columns, seen & _drawn(lot, time)) for time in range(times))
    return tuple(trial for trial in found if len(trial.counts))


def _drawn(lot: FloatArray, time: int) -> BoolArray:
    return (lot >= SHARE * time) & (lot < SHARE * (time + 1))


def hide_column(
    table: Table, target: int, folds: int, rng: np.random.Generator
) -> tuple[Trial, ...]:
    """Hide one column of some cases, and these cases from whoever learns; of all, in turns.

    Each fold has about the same share of each state. Cases without the column teach all the same.
    """
    cases = one_by_one(table)
    which = _dealt(cases.codes[:, target], folds, rng)
    found = []
    for fold in range(folds):
        held, rest = which == fold, which != fold
        if held.any() and (cases.codes[rest] >= 0).any(axis=0).all():
            shown = cases.codes[held].copy()
            shown[:, target] = -1
            own = Cases(cases.codes[rest], cases.counts[rest]).table(table.columns)
            found.append(Trial(own, shown, cases.codes[held], cases.counts[held]))
    return tuple(found)


def _dealt(states: CodeArray, folds: int, rng: np.random.Generator) -> IntArray:
    """The fold of each case, (cases,); −1 where there is no state: it is never held out."""
    order = rng.permutation(len(states))
    order = order[np.argsort(states[order], kind="stable")]
    which = np.full(len(states), -1)
    known = order[states[order] >= 0]
    which[known] = np.arange(len(known)) % folds
    return which


def _trial(cases: Cases, columns: Sequence[Column], hide: BoolArray) -> Trial:
    """Hide cells; of a column of which nothing would be left, none."""
    left = (cases.codes >= 0) & ~hide
    hide = hide & left.any(axis=0)
    shown = np.where(hide, -1, cases.codes).astype(cases.codes.dtype)
    own = hide.any(axis=1)
    table = Table.from_codes(shown, columns, cases.counts)
    return Trial(table, shown[own], cases.codes[own], cases.counts[own])
