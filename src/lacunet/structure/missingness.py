"""Whether cells are missing completely at random: a test with the values of other columns.

A search takes cells to be missing at random: given what is seen, not by the missing value itself.
That cannot be tested, but where columns depend on each other, cells that are missing because of
their value are missing more often beside some values of other columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from lacunet.data.table import Column, Table
from lacunet.flags import Flag, Kind
from lacunet.runtime.arrays import FloatArray, IntArray

LEVEL = 0.05  # how often the test speaks where cells are missing completely at random, at most
FEW = 0.01  # of all cells, below which nothing is said of those that are missing
EXPECTED = 10.0  # cases in each cell of a test, at least: below, states are put together
GROUPS = 4  # of the values of a number, about equally large
MOST_ROWS = 100_000  # that are tested, at equal distances


@dataclass(frozen=True)
class Missingness:
    """What is known of which cells are missing."""

    share: float  # of the cells of categories
    tests: int = 0  # of whether a column is missing more often beside some value of another
    p_value: float = 1.0  # of the clearest, corrected for all of them (Bonferroni)
    column: str = ""  # that is missing more often in some rows, by the clearest test,
    other: str = ""  # and the column that shows which

    @property
    def flags(self) -> tuple[Flag, ...]:
        """A warning, where a test speaks."""
        if self.p_value > LEVEL:
            return ()
        detail: dict[str, str | float] = {
            "column": self.column,
            "other": self.other,
            "p": self.p_value,
        }
        return (Flag(Kind.NOT_COMPLETELY_AT_RANDOM, detail=detail),)

    def __str__(self) -> str:
        return (
            f"Missing cells ({self.share:.1%}) are taken to be missing at random; whether they are "
            "missing as an answer: `lacunet compare-missing`."
        )


def missingness(table: Table) -> Missingness | None:
    """Test every pair of a column with missing cells and another; None where few are missing."""
    columns = [v for v, column in enumerate(table.columns) if not column.kind.number]
    share = float(np.mean(table.missing[columns])) if columns else 0.0
    if share < FEW:
        return None
    step = max(1, -(-len(table.codes) // MOST_ROWS))
    codes, weight = np.asarray(table.codes[::step], dtype=np.int64), table.counts[::step]
    tests, least, found = 0, 1.0, ("", "")
    for u, column in enumerate(table.columns):
        rows = codes[:, u] >= 0
        group, own = _groups(codes[rows, u], weight[rows], column), weight[rows]
        for v in columns:
            p = _p_value(codes[rows, v] < 0, group, own) if v != u else None
            if p is not None:
                tests += 1
                if p < least:
                    least, found = p, (table.columns[v].name, column.name)
    return Missingness(share, tests, min(1.0, max(tests, 1) * least), *found)


def _groups(codes: IntArray, weight: FloatArray, column: Column) -> IntArray:
    """Number the states of a column; of a number, parts with about as many cases each."""
    if not column.kind.number:
        return codes
    below = np.cumsum(np.bincount(codes, weight, len(column.states)))
    part: IntArray = np.minimum(GROUPS * below / max(below[-1], 1.0), GROUPS - 1).astype(np.int64)
    return part[codes]


def _p_value(missing: IntArray, group: IntArray, weight: FloatArray) -> float | None:
    """Pearson's test that cells are missing equally often in all groups; None without enough."""
    lost = np.bincount(group[missing], weight[missing], group.max(initial=0) + 1)
    cases = np.bincount(group, weight, len(lost))
    share = lost.sum() / max(cases.sum(), 1.0)
    small = cases * min(share, 1.0 - share) < EXPECTED
    lost = np.append(lost[~small], lost[small].sum())
    cases = np.append(cases[~small], cases[small].sum())
    kept = cases * min(share, 1.0 - share) >= EXPECTED  # what was put together may do
    if kept.sum() < 2:
        return None
    lost, cases = lost[kept], cases[kept]
    share = lost.sum() / cases.sum()
    distance = ((lost - cases * share) ** 2 / (cases * share * (1.0 - share))).sum()
    return float(chi2.sf(distance, len(cases) - 1))
