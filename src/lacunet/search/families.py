"""BD scores of families from complete data, each computed once."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from lacunet.arrays import CodeArray, FloatArray, IntArray
from lacunet.data.table import Table
from lacunet.errors import DataError
from lacunet.model.prior import understand_alpha

AIR = 4  # a count table may have this many cells per row before rows are sorted instead


class FamilyScores:
    """log p of a child's column given its parents' columns, CH96 eq. 5; sets are bit masks."""

    def __init__(self, table: Table, alpha: float | str) -> None:
        if not table.complete:
            worst = int(table.missing.argmax())
            raise DataError(
                f"column '{table.columns[worst].name}' has missing cells "
                f"({table.missing[worst]:.1%}), and this search needs complete data. Fill them in "
                "with `lacunet assign --impute`, or leave such columns out with --exclude."
            )
        self.alpha, self.is_size = understand_alpha(alpha)
        self.codes: CodeArray = table.codes
        self.counts: FloatArray = table.counts
        self.cards = [len(c.states) for c in table.columns]
        self.known: dict[tuple[int, int], float] = {}

    def __call__(self, child: int, parents: int) -> float:
        """Give the score of a family; `parents` is a bit mask."""
        key = (child, parents)
        if key not in self.known:
            self.known[key] = self._score(child, parents)
        return self.known[key]

    def _score(self, child: int, parents: int) -> float:
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
        N_ij = N.reshape(rows, r).sum(axis=1)
        a = self.alpha / (q * r) if self.is_size else self.alpha
        seen = N[N > 0]
        occurs = N_ij[N_ij > 0]
        return float(
            len(occurs) * gammaln(r * a)
            - np.sum(gammaln(r * a + occurs))
            + np.sum(gammaln(a + seen))
            - len(seen) * gammaln(a)
        )
