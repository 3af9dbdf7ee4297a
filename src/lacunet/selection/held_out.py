"""What is held out to weigh models: rows, cells of every row, or one column of some rows.

Rows next to each other in a file are often alike: it may be sorted, or go from one interviewer or
month to the next. Rows held out at random would leave rows like them behind, and models that
remember too much would look good. So blocks are held out; rows in no order lose nothing by that.
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
FEWEST = 2  # folds: something to hold out, and something to learn from


@dataclass(frozen=True)
class HiddenCells:
    """How many cells are hidden to weigh models that fill in missing values."""

    share: float = 0.1  # of the observed cells, at a time: the others still show what they did
    enough: int = 500  # cells to judge by: small tables are hidden from several times,
    most: int = 3  # but no more often than this


HIDING = HiddenCells()


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A table to learn from, and cases of which more is known than it shows."""

    table: Table
    whole: CodeArray  # (cases, columns) -1 = missing
    counts: FloatArray  # (cases,) how much each counts
    where: IntArray  # (cases,) the row of the data that each is, or that it copies
    shown: CodeArray | None = None  # (cases, columns) what predictions start from; None: nothing

    @cached_property
    def hidden(self) -> float:
        """How many cells were hidden, each as often as its row counts."""
        shown = np.full_like(self.whole, -1) if self.shown is None else self.shown
        return float(self.counts @ (shown != self.whole).sum(axis=1))


@dataclass(frozen=True, eq=False)
class SingleCases:
    """Rows, and how much each counts."""

    codes: CodeArray  # (cases, columns)
    counts: FloatArray  # (cases,)
    where: IntArray  # (cases,)

    @classmethod
    def of(cls, table: Table) -> SingleCases:
        """Give every case a row of its own; copies of a row share what a fraction leaves."""
        copies = np.ceil(table.counts).astype(np.int64)  # none of weight 0
        each = np.repeat(np.arange(len(copies)), copies)
        return cls(table.codes[each], table.counts[each] / copies[each], each)

    def folds(self, columns: Sequence[Column], which: IntArray) -> list[HeldOut]:
        """Hold out the cases of each number in `which`, (cases,); those below 0 are never."""
        found = []
        for fold in np.unique(which[which >= 0]).tolist():
            held, rest = which == fold, which != fold
            table = Table.from_codes(self.codes[rest], columns, self.counts[rest])
            found.append(HeldOut(table, self.codes[held], self.counts[held], self.where[held]))
        return found


def hold_out_rows(
    table: Table, rows: CodeArray | None, number: int, rng: np.random.Generator
) -> tuple[list[HeldOut], bool]:
    """Hold out blocks of rows, or random cases where rows have no order; say which of the two.

    Cases are also dealt at random if some column is seen in one block alone.
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
        found = cases.folds(table.columns, blocks)
        if _all_seen(found):
            return found, True
    cases = SingleCases.of(table)
    parts = min(number, len(cases.codes))
    found = cases.folds(table.columns, rng.permutation(len(cases.codes)) % parts)
    if _all_seen(found):
        return found, False
    seen = table.counts @ (table.codes >= 0)
    least = int(seen.argmin())
    name, several = table.columns[least].name, bool(seen[least] > 1)
    more = ", or ask for more folds" if several else ""
    raise DataError(
        f"column '{name}' is seen in {seen[least]:g} row{'s' * several}: too few to hold some of "
        f"them out. Leave it out with --exclude {shlex.quote(name)}{more}."
    )


def _all_seen(folds: Sequence[HeldOut]) -> bool:
    """Whether every column is seen somewhere outside of every fold."""
    return all((fold.table.missing < 1.0).all() for fold in folds)


def hide_cells(table: Table, rng: np.random.Generator) -> list[HeldOut]:
    """Hide a tenth of the cells at random; of small tables several times, each time others.

    Cases are shuffled only by chance, so the order of rows does not matter.
    """
    cases, share = SingleCases.of(table), HIDING.share
    seen = cases.codes >= 0
    times = min(HIDING.most, math.ceil(HIDING.enough / max(share * seen.sum(), 1.0)))
    lot, found = rng.random(seen.shape), []
    for time in range(times):
        hide = seen & (lot >= share * time) & (lot < share * (time + 1))
        hide = hide & (seen & ~hide).any(axis=0)  # of a column of which nothing would be left, none
        shown = np.where(hide, -1, cases.codes).astype(cases.codes.dtype)
        own = hide.any(axis=1)
        left = Table.from_codes(shown, table.columns, cases.counts)
        held = cases.codes[own], cases.counts[own], cases.where[own], shown[own]
        found += [HeldOut(left, *held)] if own.any() else []
    return found


def hide_column(table: Table, target: int, folds: int, rng: np.random.Generator) -> list[HeldOut]:
    """Hide one column of some cases, and hold these cases out; of all cases, in turns.

    Each fold has about the same share of each state. Cases without the column are always learned
    from.
    """
    cases = SingleCases.of(table)
    states = cases.codes[:, target]
    order = rng.permutation(len(states))
    order = order[np.argsort(states[order], kind="stable")]
    known = order[states[order] >= 0]
    which = np.full(len(states), -1)  # a case without a state is never held out
    which[known] = np.arange(len(known)) % folds
    for fold in range(folds):
        if not (cases.codes[which != fold] >= 0).any(axis=0).all():
            which[which == fold] = -1
    found = []
    for held in cases.folds(table.columns, which):
        shown = held.whole.copy()
        shown[:, target] = -1
        found.append(replace(held, shown=shown))
    return found


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """How probable rows of the data are to models that had not seen them.

    A stack remembers single rows, and finds each row usual that it was learned from. Each was held
    out once, though.
    """

    ensembles: tuple[Ensemble, ...]  # of each fold: models of the other folds, final weights
    folds: tuple[HeldOut, ...]
    log_lik: tuple[FloatArray, ...]  # of each fold: (members, cases) log p
    place: IntArray  # (rows of the data,) which number of `HeldOut.where` each is; -1: none

    @property
    def log_likelihoods(self) -> FloatArray:
        """(rows of the data,) log p of what each shows; NaN of rows that were not learned from."""
        pairs = zip(self.ensembles, self.log_lik, strict=True)
        return self._by_row([logsumexp(x + np.log(e.weights)[:, None], axis=0) for e, x in pairs])

    def tail_probabilities(self, draws: int = DRAWS, seed: int = 0) -> FloatArray:
        """(rows of the data,) p(a row with the same holes is at most as probable)."""
        rng = np.random.default_rng(seed)
        pairs = zip(self.ensembles, self.folds, strict=True)
        return self._by_row([tail_probabilities(e, f.whole, draws, rng) for e, f in pairs])

    def _by_row(self, each: Sequence[FloatArray]) -> FloatArray:
        """Take the mean over the copies of a row, which may be in several folds."""
        where = np.concatenate([fold.where for fold in self.folds])
        size = int(max(where.max(), self.place.max(initial=0))) + 1
        copies = np.bincount(where, minlength=size)
        mean = np.bincount(where, np.concatenate(each), size) / np.maximum(copies, 1)
        unknown = (self.place < 0) | (copies[self.place] == 0)  # a row of weight 0 is in no fold
        return np.where(unknown, np.nan, mean[self.place])


def places(table: CodeArray, rows: CodeArray) -> IntArray:
    """Find the row of a table of distinct rows that each row is; -1 where there is none.

    >>> places(np.array([[0, 1], [1, -1]]), np.array([[1, -1], [1, 1], [0, 1]])).tolist()
    [1, -1, 0]
    """
    known = {row.tobytes(): k for k, row in enumerate(table.astype(np.int64))}
    return np.array([known.get(row.tobytes(), -1) for row in rows.astype(np.int64)], dtype=np.int64)


def rows_digest(names: Sequence[str], states: Sequence[Sequence[State]], rows: CodeArray) -> str:
    """Give a digest of what rows show, whatever their order, their number and that of columns.

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
