"""What families are worth, looked up where they were met before: for chains over graphs."""

from typing import NamedTuple

import numpy as np

from lacunet.models.table_sizes import LARGEST_TABLE
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.jit import kernel
from lacunet.structure.counting import Columns, Prior, child_of, cut_rows, log_bd

SLOTS = 1 << 16  # families that are remembered; one that falls on another's place drives it out
MOST_CELLS = LARGEST_TABLE >> 4  # of a family's table: every chain holds those of its graph


class FamilyBook(NamedTuple):
    """A table without holes, a prior, and the scores of families that were asked for."""

    columns: Columns
    prior: Prior
    marks: IntArray  # (n, n) random numbers: a family's key is those of its members, xored
    keys: IntArray  # (slots,) of the families that are remembered; 0: none
    scores: FloatArray  # (slots,) log BD, and the log prior of the parents
    log_prior: FloatArray  # (n, n) of k parents of v, at [v, k]


def family_book(columns: Columns, prior: Prior, log_prior: FloatArray) -> FamilyBook:
    """Open an empty book."""
    n = len(columns.cards)
    marks = np.random.default_rng(0).integers(1, 2**63 - 1, (n, n))
    keys = np.zeros(SLOTS, dtype=np.int64)
    return FamilyBook(columns, prior, marks, keys, np.zeros(SLOTS), log_prior)


@kernel
def score_family(book: FamilyBook, child: int, parents: BoolArray) -> float:
    """Give log p(column of a child | columns of its parents), CH96 eq. 5, and log p(its parents).

    It is −inf beyond all room.
    """
    return look_up(book, child, parents, family_key(book, child, parents))


@kernel
def family_key(book: FamilyBook, child: int, parents: BoolArray) -> int:
    """Give the key of a family."""
    key = book.marks[child, child]
    for u in range(parents.shape[0]):
        if parents[u]:
            key ^= book.marks[child, u]
    return int(key)


@kernel
def look_up(book: FamilyBook, child: int, parents: BoolArray, key: int) -> float:
    """Give the score of a family whose key is known."""
    at = (key >> 20) & (book.keys.shape[0] - 1)
    if book.keys[at] != key:
        book.keys[at] = key
        own = _count_and_score(book.columns, book.prior, child, parents)
        book.scores[at] = own + book.log_prior[child, parents.sum()]
    return float(book.scores[at])


@kernel
def _count_and_score(columns: Columns, prior: Prior, v: int, parents: BoolArray) -> float:
    """Score a family that is not in the book."""
    chosen, cells = np.flatnonzero(parents), float(columns.cards[v])
    for u in chosen:
        cells *= columns.cards[u]
    if cells > MOST_CELLS:
        return -np.inf
    child = child_of(columns, v)
    j = np.empty(columns.counts.shape[0], dtype=np.int64)
    return log_bd(child, j, cut_rows(columns, chosen, -1, j), cells, prior)


@kernel
def forget(book: FamilyBook) -> None:
    """Close all entries: the table has changed."""
    book.keys[:] = 0
