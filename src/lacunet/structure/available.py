"""Gains of moves on the rows that show all they are about: log Bayes factors of available cases.

Both sides of a move are scored on the same rows. Scores on different rows cannot be compared: a
family with more parents is seen whole in fewer rows.
"""

import numpy as np

from lacunet.data.table import Table
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.jit import kernel
from lacunet.structure.counting import Columns, Prior, child_of, cut_rows, log_bd, prior_of
from lacunet.structure.families import columns_of


@kernel
def whole_rows(columns: Columns, family: IntArray) -> Columns:
    """Give the rows that show some variables, and only those columns, in their order."""
    m = columns.codes.shape[1]
    rows, seen = np.empty(m, dtype=np.int64), 0
    for row in range(m):
        whole = True
        for v in family:
            whole = whole and columns.codes[v, row] >= 0
        if whole:
            rows[seen] = row
            seen += 1
    codes = np.empty((family.shape[0], seen), dtype=columns.codes.dtype)
    counts, cards = np.empty(seen), np.empty(family.shape[0], dtype=np.int64)
    for k in range(family.shape[0]):
        cards[k] = columns.cards[family[k]]
        for i in range(seen):
            codes[k, i] = columns.codes[family[k], rows[i]]
    for i in range(seen):
        counts[i] = columns.counts[rows[i]]
    return Columns(codes, counts, cards, np.empty((0, 0), dtype=np.int64))


@kernel
def score_part(columns: Columns, parents: IntArray, prior: Prior) -> float:
    """Log BD of column 0 given some of the others; every row shows them."""
    child = child_of(columns, 0)
    j, cells = np.empty(columns.counts.shape[0], dtype=np.int64), float(child.r)
    if j.shape[0] == 0:
        return 0.0
    for p in parents:
        cells *= columns.cards[p]
    return log_bd(child, j, cut_rows(columns, parents, -1, j), cells, prior)


@kernel
def weigh_as_pair(whole: Columns, columns: Columns, v: int, u: int) -> None:
    """Let the rows that show a family weigh as much as those that show two of its members."""
    seen = 0.0
    for row in range(columns.codes.shape[1]):
        if columns.codes[v, row] >= 0 and columns.codes[u, row] >= 0:
            seen += columns.counts[row]
    whole.counts[:] *= seen / max(whole.counts.sum(), 1.0)


@kernel
def available_gains(
    columns: Columns, v: int, parents: IntArray, prior: Prior, as_pairs: bool = False
) -> FloatArray:
    """What it adds to put each variable to the parents of v, or to take it from them: (n,)."""
    n, k = columns.codes.shape[0], parents.shape[0]
    gains, chosen = np.zeros(n), np.zeros(n, dtype=np.bool_)
    family = np.empty(k + 1, dtype=np.int64)
    family[0] = v
    family[1:] = parents
    base = whole_rows(columns, family)
    places = np.arange(1, k + 1)
    as_it_is = score_part(base, places, prior)
    for i in range(k):
        chosen[parents[i]] = True
        others = np.concatenate((places[:i], places[i + 1 :]))
        if as_pairs:
            weigh_as_pair(base, columns, v, parents[i])
            as_it_is = score_part(base, places, prior)
        gains[parents[i]] = score_part(base, others, prior) - as_it_is
    wider = np.empty(k + 2, dtype=np.int64)
    wider[: k + 1] = family
    for u in range(n):
        if u != v and not chosen[u]:
            wider[k + 1] = u
            both = whole_rows(columns, wider)
            if as_pairs:
                weigh_as_pair(both, columns, v, u)
            after = score_part(both, np.arange(1, k + 2), prior)
            gains[u] = after - score_part(both, places, prior)
    return gains


class AvailableCases:
    """Scores of families in a table with holes, relative to a neighbour's on the same rows.

    With `as_pairs` these rows weigh as much as those that show both ends of the edge: about what
    they would say if the other members of the family were never missing.
    """

    def __init__(self, table: Table, alpha: float | str, *, as_pairs: bool = False) -> None:
        self.as_pairs = as_pairs
        self.columns, self.prior = columns_of(table), prior_of(alpha)
        self.cards, self.cases = self.columns.cards.astype(np.float64), table.weight

    def __call__(self, child: int, parents: BoolArray) -> FloatArray:
        """Give scores of the families that differ by one parent, relative to the one as it is."""
        chosen = np.flatnonzero(parents)
        return available_gains(self.columns, child, chosen, self.prior, self.as_pairs)
