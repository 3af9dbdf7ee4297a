"""What is held out: rows that follow each other, or cases that are dealt at random.

Rows next to each other in a file are often alike: it may be sorted, or go from one interviewer, one
village, one month to the next. If rows were held out at random, each would leave its like behind,
and models that remember too much would look good. Rows that come in no order lose nothing by being
taken in a block.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lacunet.data import Column, Table
from lacunet.errors import DataError, OptionError
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray

FEWEST = 2  # blocks: something to hold out, and something to learn from


@dataclass(frozen=True, eq=False)
class Cases:
    """Rows, and how much each counts."""

    codes: CodeArray  # (rows, columns) -1 = missing
    counts: FloatArray  # (rows,)
    where: IntArray | None = None  # (rows,) the row of the data that each is, or that it copies

    def table(self, columns: Sequence[Column]) -> Table:
        """Give them as a table."""
        return Table.from_codes(self.codes, columns, self.counts)


@dataclass(frozen=True, eq=False)
class Block:
    """Some cases, and a table of all others."""

    held: Cases
    rest: Table


@dataclass(frozen=True, eq=False)
class Blocks:
    """A table in blocks; every case is in one of them."""

    each: tuple[Block, ...]
    in_order: bool  # whether they are rows that follow each other; else cases at random

    @property
    def counts(self) -> FloatArray:
        """How much each held row counts, block after block."""
        return np.concatenate([block.held.counts for block in self.each])

    @property
    def all_seen(self) -> bool:
        """Whether every column is seen somewhere outside of every block."""
        return all((block.rest.missing < 1.0).all() for block in self.each)


def cut(table: Table, rows: CodeArray | None, number: int, rng: np.random.Generator) -> Blocks:
    """Cut a table into blocks: its rows in their order, or where there is none, cases at random.

    Cases are also dealt at random if some column is seen in one block alone.
    """
    if number < FEWEST:
        raise OptionError(f"{number} folds are not allowed: give {FEWEST} or more.")
    if table.weight < FEWEST:
        raise DataError(
            f"{table.source} has one row: none is left to learn from while it is held out."
        )
    if rows is not None:
        cases = Cases(rows, np.ones(len(rows)), np.arange(len(rows)))
        parts = min(number, len(rows))
        found = _blocks(table, cases, np.arange(len(rows)) * parts // len(rows))
        if (blocks := Blocks(found, in_order=True)).all_seen:
            return blocks
    cases = one_by_one(table)
    parts = min(number, len(cases.codes))
    found = _blocks(table, cases, rng.permutation(len(cases.codes)) % parts)
    blocks = Blocks(found, in_order=False)
    if not blocks.all_seen:
        raise _seldom(table)
    return blocks


def _blocks(table: Table, cases: Cases, which: IntArray) -> tuple[Block, ...]:
    """Make the block of each number in `which`, (rows,)."""
    found = []
    for block in np.unique(which).tolist():
        held, kept = which == block, which != block
        rest = Cases(cases.codes[kept], cases.counts[kept]).table(table.columns)
        places = None if cases.where is None else cases.where[held]
        found.append(Block(Cases(cases.codes[held], cases.counts[held], places), rest))
    return tuple(found)


def one_by_one(table: Table) -> Cases:
    """Give every case a row of its own; what a fraction leaves is shared by the copies of a row."""
    copies = np.ceil(table.counts).astype(np.int64)
    each = np.repeat(np.arange(len(copies)), copies)
    # None of weight 0.
    return Cases(table.codes[each], table.counts[each] / copies[each], each)


def _seldom(table: Table) -> DataError:
    """Say which column is seen too seldom to hold rows out."""
    seen = table.counts @ (table.codes >= 0)
    least = int(seen.argmin())
    name, several = table.columns[least].name, bool(seen[least] > 1)
    more = ", or ask for more folds" if several else ""
    return DataError(
        f"column '{name}' is seen in {seen[least]:g} row{'s' * several}: too few to hold some of "
        f"them out. Leave it out with --exclude {shlex.quote(name)}{more}."
    )
