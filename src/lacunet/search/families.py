"""Scores of families, each computed once, from whoever provides their statistics."""

from typing import NamedTuple, Protocol

import numpy as np

from lacunet.arrays import FloatArray, IntArray
from lacunet.data.table import Table
from lacunet.errors import DataError
from lacunet.model.families.categorical import log_rising
from lacunet.model.prior import understand_alpha

AIR = 4  # a count table may have this many cells per row before rows are sorted instead


class FamilyCounts(NamedTuple):
    """How often each state of a child goes with each configuration of its parents."""

    N: FloatArray  # (configurations that occur, states)
    configurations: int  # q, those that never occur included


class Statistics(Protocol):
    """Provides the statistics of any family: a complete table counts them; sets are bit masks."""

    cards: list[int]  # states of each variable

    def __call__(self, child: int, parents: int) -> FamilyCounts:
        """Give the counts of a family."""


class CompleteCounts:
    """Statistics of families in a table without holes."""

    def __init__(self, table: Table) -> None:
        if not table.complete:
            worst = int(table.missing.argmax())
            raise DataError(
                f"column '{table.columns[worst].name}' has missing cells "
                f"({table.missing[worst]:.1%}), and this search needs complete data. Fill them in "
                "with `lacunet assign --impute`, or leave such columns out with --exclude."
            )
        self.codes, self.counts = table.codes, table.counts
        self.cards = [len(c.states) for c in table.columns]

    def __call__(self, child: int, parents: int) -> FamilyCounts:
        """Count the rows of each configuration and state."""
        r, q = self.cards[child], 1
        j: IntArray = np.zeros(len(self.counts), dtype=np.int64)
        for v in range(len(self.cards)):
            if parents >> v & 1:
                j *= self.cards[v]
                j += self.codes[:, v]
                q *= self.cards[v]
        if q * r > AIR * len(j):  # most parent configurations never occur, and add nothing
            _, j = np.unique(j, return_inverse=True)
        rows = int(j.max()) + 1
        N = np.bincount(j * r + self.codes[:, child], weights=self.counts, minlength=rows * r)
        return FamilyCounts(np.asarray(N.reshape(rows, r), dtype=np.float64), q)


class FamilyScores:
    """log p of a child's column given its parents' columns, CH96 eq. 5; sets are bit masks."""

    def __init__(self, statistics: Statistics, alpha: float | str) -> None:
        self.alpha, self.is_size = understand_alpha(alpha)
        self.statistics, self.cards = statistics, statistics.cards
        self.known: dict[tuple[int, int], float] = {}

    def __call__(self, child: int, parents: int) -> float:
        """Give the score of a family; `parents` is a bit mask."""
        key = (child, parents)
        if key not in self.known:
            self.known[key] = self._score(*self.statistics(child, parents))
        return self.known[key]

    def _score(self, N: FloatArray, configurations: int) -> float:
        r = N.shape[1]
        a = self.alpha / (configurations * r) if self.is_size else self.alpha
        cells = log_rising(a, N[N > 0]).sum()
        return float(cells - log_rising(r * a, N.sum(axis=1)).sum())
