"""Data held out to weigh models: rows, cells of every row, or one column of some rows.

Rows next to each other in a file are often alike, because it is sorted or follows interviewers or
months. If rows are held out at random, similar rows remain, and models that overfit look good.
So blocks are held out; rows without an order lose nothing by that.
"""

from __future__ import annotations

import hashlib
import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from lacunet.data import Column, Table
from lacunet.errors import DataError, OptionError
from lacunet.inference.queries.answers import DRAWS, tail_probabilities
from lacunet.models.ensemble import Ensemble
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray
from lacunet.runtime.states import State, label

MIXING = np.uint64(0x9E3779B97F4A7C15)  # an odd number without a pattern: sums depend on the order
FEWEST = 2  # folds: one to hold out, and one to learn from


@dataclass(frozen=True)
class HiddenCells:
    """Number of cells that are hidden to weigh imputation models."""

    share: float = 0.1  # of the observed cells, at a time
    enough: int = 500  # hidden cells in all: small tables have them hidden several times,
    most: int = 3  # at most


HIDING = HiddenCells()


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A training table, and held-out cases."""

    table: Table
    whole: CodeArray  # (cases, columns) -1 = missing
    counts: FloatArray  # (cases,) weights
    where: IntArray  # (cases,) the row of the data that each is, or that it copies
    shown: CodeArray | None = None  # (cases, columns) the evidence of predictions; None: none

    @cached_property
    def hidden(self) -> float:
        """Number of hidden cells, weighted by their rows."""
        shown = np.full_like(self.whole, -1) if self.shown is None else self.shown
        return float(self.counts @ (shown != self.whole).sum(axis=1))


@dataclass(frozen=True, eq=False)
class SingleCases:
    """Rows and their weights."""

    codes: CodeArray  # (cases, columns)
    counts: FloatArray  # (cases,)
    where: IntArray  # (cases,)

    @classmethod
    def of(cls, table: Table) -> SingleCases:
        """Expand every row to single cases, which share its weight equally."""
        copies = np.ceil(table.counts).astype(np.int64)  # none of weight 0
        each = np.repeat(np.arange(len(copies)), copies)
        return cls(table.codes[each], table.counts[each] / copies[each], each)

    def folds(self, columns: Sequence[Column], which: IntArray) -> list[HeldOut]:
        """Hold out the cases of each number in `which`, (cases,), but never those below 0."""
        folds = []
        for fold in np.unique(which[which >= 0]).tolist():
            held_out, rest = which == fold, which != fold
            table = Table.from_codes(self.codes[rest], columns, self.counts[rest])
            folds.append(
                HeldOut(table, self.codes[held_out], self.counts[held_out], self.where[held_out])
            )
        return folds


def hold_out_rows(
    table: Table, rows: CodeArray | None, number: int, rng: np.random.Generator
) -> tuple[list[HeldOut], bool]:
    """Hold out blocks of rows, or random cases if rows have no order; True for blocks.

    Cases are also assigned at random if some column is observed in one block only.
    """
    if number < FEWEST:
        raise OptionError(f"{number} folds are not allowed: give {FEWEST} or more.")
    if table.weight < FEWEST:
        raise DataError(
            f"{table.source} has one row: none is left to learn from while it is held out."
        )
    if rows is not None:
        cases = SingleCases(rows, np.ones(len(rows)), np.arange(len(rows)))
        blocks = np.arange(len(rows)) * min(number, len(rows)) // len(rows)
        folds = cases.folds(table.columns, blocks)
        if _all_seen(folds):
            return folds, True
    cases = SingleCases.of(table)
    parts = min(number, len(cases.codes))
    folds = cases.folds(table.columns, rng.permutation(len(cases.codes)) % parts)
    if _all_seen(folds):
        return folds, False
    seen = table.counts @ (table.codes >= 0)
    least = int(seen.argmin())
    name, several = table.columns[least].name, bool(seen[least] > 1)
    more = ", or give more folds" if several else ""
    raise DataError(
        f"column '{name}' is seen in {seen[least]:g} row{'s' * several}: too few to hold some of "
        f"them out. Leave it out with --exclude {shlex.quote(name)}{more}."
    )


def _all_seen(folds: Sequence[HeldOut]) -> bool:
    """Whether every column is observed outside of every fold."""
    return all((fold.table.missing < 1.0).all() for fold in folds)


def hide_cells(table: Table, rng: np.random.Generator) -> list[HeldOut]:
    """Hide a tenth of the cells at random; for small tables several disjoint tenths in turn."""
    cases, share = SingleCases.of(table), HIDING.share
    seen = cases.codes >= 0
    times = min(HIDING.most, math.ceil(HIDING.enough / max(share * seen.sum(), 1.0)))
    u, folds = rng.random(seen.shape), []
    for time in range(times):
        hide = seen & (u >= share * time) & (u < share * (time + 1))
        hide = hide & (seen & ~hide).any(axis=0)  # columns keep an observed cell
        shown = np.where(hide, -1, cases.codes).astype(cases.codes.dtype)
        some = hide.any(axis=1)
        left = Table.from_codes(shown, table.columns, cases.counts)
        held_out = cases.codes[some], cases.counts[some], cases.where[some], shown[some]
        folds += [HeldOut(left, *held_out)] if some.any() else []
    return folds


def hide_column(table: Table, target: int, folds: int, rng: np.random.Generator) -> list[HeldOut]:
    """Hide one column in each fold of the cases in turn, and hold these cases out.

    Folds are stratified by the states. Cases without the column always stay in the training table.
    """
    cases = SingleCases.of(table)
    states = cases.codes[:, target]
    order = rng.permutation(len(states))
    order = order[np.argsort(states[order], kind="stable")]
    known = order[states[order] >= 0]
    which = np.full(len(states), -1)  # cases without a state are never held out
    which[known] = np.arange(len(known)) % folds
    for fold in range(folds):
        if not (cases.codes[which != fold] >= 0).any(axis=0).all():
            which[which == fold] = -1
    hidden = []
    for held_out in cases.folds(table.columns, which):
        shown = held_out.whole.copy()
        shown[:, target] = -1
        hidden.append(replace(held_out, shown=shown))
    return hidden


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """Held-out log-likelihoods of rows, by models that were learned without them.

    A stack overfits single rows, so their in-sample probabilities are too high.
    """

    ensembles: tuple[Ensemble, ...]  # of each fold: models of the other folds, final weights
    folds: tuple[HeldOut, ...]
    log_lik: tuple[FloatArray, ...]  # of each fold: (members, cases) log p
    place: IntArray  # (rows of the data,) number of each in `HeldOut.where`; -1: none

    @property
    def log_likelihoods(self) -> FloatArray:
        """(rows of the data,) log p of the observed cells; NaN of rows that are in no fold."""
        pairs = zip(self.ensembles, self.log_lik, strict=True)
        return self._by_row([logsumexp(x + np.log(e.weights)[:, None], axis=0) for e, x in pairs])

    def tail_probabilities(self, draws: int = DRAWS, seed: int = 0) -> FloatArray:
        """(rows of the data,) p(a row with the same missing cells is at most as probable)."""
        rng = np.random.default_rng(seed)
        pairs = zip(self.ensembles, self.folds, strict=True)
        return self._by_row([tail_probabilities(e, f.whole, draws, rng) for e, f in pairs])

    def _by_row(self, each: Sequence[FloatArray]) -> FloatArray:
        """Average over the copies of a row, which may be in several folds."""
        where = np.concatenate([fold.where for fold in self.folds])
        size = int(max(where.max(), self.place.max(initial=0))) + 1
        copies = np.bincount(where, minlength=size)
        mean = np.bincount(where, np.concatenate(each), size) / np.maximum(copies, 1)
        unknown = (self.place < 0) | (copies[self.place] == 0)  # a row of weight 0 is in no fold
        return np.where(unknown, np.nan, mean[self.place])


def places(table: CodeArray, rows: CodeArray) -> IntArray:
    """Index of each row in a table of distinct rows; -1 if there is none.

    >>> places(np.array([[0, 1], [1, -1]]), np.array([[1, -1], [1, 1], [0, 1]])).tolist()
    [1, -1, 0]
    """
    known = {row.tobytes(): k for k, row in enumerate(table.astype(np.int64))}
    return np.array([known.get(row.tobytes(), -1) for row in rows.astype(np.int64)], dtype=np.int64)


def rows_digest(names: Sequence[str], states: Sequence[Sequence[State]], rows: CodeArray) -> str:
    """Digest of the distinct rows, whatever their order, their counts and the order of columns.

    >>> digest = rows_digest(("a", "b"), (("u", "v"), (1.5, 2.5)), np.array([[0, 1], [1, -1]]))
    >>> again = rows_digest(("b", "a"), ((2.5, 3.5), ("v", "u")), np.array([[-1, 0], [0, 1]]))
    >>> other = rows_digest(("a", "b"), (("u", "v"), (1.5, 2.5)), np.array([[0, 0], [1, -1]]))
    >>> digest == again, digest == other
    (True, False)
    """
    total = np.zeros(len(rows), dtype=np.uint64)
    for j in sorted(range(len(names)), key=lambda j: names[j]):
        used = np.unique(rows[:, j])
        digests = np.zeros(len(states[j]) + 1, dtype=np.uint64)  # the last is of a missing cell
        for k in used[used >= 0].tolist():
            text = f"{names[j]}\0{label(states[j][k])}".encode()
            digests[k] = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")
        total = total * MIXING + digests[rows[:, j]]
    return hashlib.sha256(np.unique(total).tobytes()).hexdigest()[:32]
