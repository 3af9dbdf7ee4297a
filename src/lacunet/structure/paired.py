"""Gains of moves on the rows that show both ends; what else a family needs is filled in.

An edge is judged by rows that show the two variables it joins. Rows where one of them was drawn say
what the graph says that drew it: they favour the edges it has. Rows that lack another member of the
family are kept, with what was drawn for it; available cases lose them, and of a large family
nothing is left. Both sides of a move are scored on the same rows, so that an edge that may as well
point the other way gains nothing by being turned.
"""

import numpy as np
from numpy.typing import NDArray

from lacunet.data.table import Table
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IntArray
from lacunet.runtime.jit import kernel
from lacunet.structure.counting import (
    NO_ZEROS,
    Child,
    Columns,
    Prior,
    cut_rows,
    log_bd,
    prior_of,
    refine,
)

NO_LIMITS = np.zeros(0, dtype=np.int64)
FEW = 5_000  # rows that all completions together may have, where one has fewer
MANY = 20_000  # rows that are looked at, at most


@kernel
def paired_gains(
    columns: Columns, shown: NDArray[np.bool_], v: int, parents: IntArray, prior: Prior
) -> FloatArray:
    """What it adds to put each variable to the parents of v, or to take it from them: (n,).

    `shown` says which cells were seen, (n, m), and every cell has a value.
    """
    n, m = columns.codes.shape
    gains, chosen, cells = np.zeros(n), np.zeros(n, dtype=np.bool_), float(columns.cards[v])
    for p in parents:
        chosen[p] = True
        cells *= columns.cards[p]
    whole, fewer = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    q = cut_rows(columns, parents, -1, whole)
    rows = np.empty(m, dtype=np.int64)
    for u in range(n):
        seen = 0
        for row in range(m):
            rows[seen] = row
            seen += shown[v, row] and shown[u, row]
        if u == v or seen == 0:
            continue
        at = rows[:seen]
        r, j = columns.cards[u], whole[at]
        child = Child(columns.codes[v][at], columns.cards[v], columns.counts[at], NO_LIMITS)
        here = log_bd(child, j, q, cells, prior)
        if chosen[u]:
            q_after = cut_rows(columns, parents, u, fewer)
            gains[u] = log_bd(child, fewer[at], q_after, cells / r, prior) - here
        else:
            q_after = refine(j, q, columns.codes[u][at], r, j)
            gains[u] = log_bd(child, j, q_after, cells * r, prior) - here
    return gains


class PairedCases:
    """Scores of families in completed rows, relative to a neighbour's on the rows that show both.

    Of many rows some are looked at, at equal distances, each with the weight of those between.
    """

    def __init__(self, table: Table, drawn: CodeArray, kept: BoolArray, alpha: float | str) -> None:
        times = min(len(drawn), max(1, FEW // len(table.codes)))
        at = slice(None, None, -(-len(table.codes) // MANY))
        codes = np.concatenate([one[at][:, kept] for one in drawn[:times]])
        shown = np.tile(table.codes[at][:, kept] >= 0, (times, 1))
        counts = np.tile(table.counts[at], times)
        cards = np.array([len(c.states) for c, own in zip(table.columns, kept, strict=True) if own])
        counts *= table.weight / counts.sum()
        self.columns = Columns(np.ascontiguousarray(codes.T), counts, cards, NO_ZEROS)
        self.shown, self.prior = np.ascontiguousarray(shown.T), prior_of(alpha)
        self.cards, self.cases = cards.astype(np.float64), table.weight

    def __call__(self, child: int, parents: BoolArray) -> FloatArray:
        """Give scores of the families that differ by one parent, relative to the one as it is."""
        chosen = np.flatnonzero(parents)
        return paired_gains(self.columns, self.shown, child, chosen, self.prior)
