"""Which sets of parents reversals propose: small ones of variables that hang together."""

from itertools import combinations

import numpy as np

from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.jit import kernel
from lacunet.structure.edges.family_book import FamilyBook, family_key, score_family
from lacunet.structure.edges.reversing import Choices
from lacunet.structure.moves import Limits

NEAR = 9  # variables that the sets of one variable are made of
TOGETHER = 3  # of them in one set


def propose_sets(joined: FloatArray, book: FamilyBook, limits: Limits) -> Choices:
    """List, for each variable, all small sets of the variables nearest to it.

    Nearest are those that graphs join it with most often, (n, n) in `joined`; then those that tell
    most of it by themselves.
    """
    n = len(joined)
    alone = np.tanh(gains_alone(book) / 1e6)  # below what any graph says
    sets = [
        _sets_of(v, np.argsort(-(joined[v] + alone[v]), kind="stable"), limits) for v in range(n)
    ]
    number = np.array([len(s) for s in sets])
    largest = max(int(rows.sum(axis=1).max()) for rows in sets)
    found = np.zeros((n, number.max(), n), dtype=np.bool_)
    members = np.full((n, number.max(), largest), -1)
    keys = np.zeros((n, number.max()), dtype=np.int64)
    for v, rows in enumerate(sets):
        for s, row in enumerate(rows):
            found[v, s] = row
            members[v, s, : row.sum()] = np.flatnonzero(row)
            keys[v, s] = family_key(book, v, row)
    return Choices(found, members, keys, number)


def _sets_of(v: int, nearest: IntArray, limits: Limits) -> BoolArray:
    required = limits.required[v]
    near = [int(u) for u in nearest if limits.allowed[v, u] and not required[u] and u != v][:NEAR]
    rows = []
    for size in range(min(TOGETHER, int(limits.most[v] - required.sum())) + 1):
        for chosen in combinations(near, size):
            row = required.copy()
            row[list(chosen)] = True
            rows.append(row)
    return np.array(rows)


@kernel
def gains_alone(book: FamilyBook) -> FloatArray:
    """What each variable gains by each other as its only parent, (n, n)."""
    n = book.marks.shape[0]
    gains, parents = np.zeros((n, n)), np.zeros(n, dtype=np.bool_)
    for v in range(n):
        nothing = score_family(book, v, parents)
        for u in range(n):
            if u != v:
                parents[u] = True
                gains[v, u] = score_family(book, v, parents) - nothing
                parents[u] = False
    return gains
