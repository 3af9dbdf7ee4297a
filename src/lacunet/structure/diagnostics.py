"""Tests of what a graph takes for granted: missingness at random, and no edges between numbers.

Cells may be missing more often beside some value of another column. Numbers have no children, so
dependence between them is something that no edge can express.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from scipy.special import log_ndtr, ndtri
from scipy.stats import chi2

from lacunet.data.table import Table
from lacunet.flags import Flag, Kind
from lacunet.inference.kernels.merging import renumber
from lacunet.models.network import Network
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray

LEVEL = 0.05  # how often a test speaks, at most, where there is nothing
MOST_ROWS = 100_000  # that are tested, at equal distances: even weak dependence shows in these
FEW = 0.01  # of all cells, below which nothing is said of those that are missing
EXPECTED = 10.0  # cases in each cell of a test, at least: below, states are put together
GROUPS = 4  # of the values of a number, about equally large
MOST_NAMED = 3  # pairs that a sentence names


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
        columns = {"column": self.column, "other": self.other}
        return (Flag(Kind.NOT_COMPLETELY_AT_RANDOM, detail={**columns, "p": self.p_value}),)

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
    codes, weight = _some_rows(table)
    tests, least, found = 0, 1.0, ("", "")
    for u, column in enumerate(table.columns):
        rows = codes[:, u] >= 0
        own, group = weight[rows], codes[rows, u]
        if column.kind.number:  # parts with about as many cases each
            below = np.cumsum(np.bincount(group, own, len(column.states)))
            part = np.minimum(GROUPS * below / max(below[-1], 1.0), GROUPS - 1)
            group = part.astype(np.int64)[group]
        for v in columns:
            p = _p_value(codes[rows, v] < 0, group, own) if v != u else None
            if p is not None:
                tests += 1
                if p < least:
                    least, found = p, (table.columns[v].name, column.name)
    return Missingness(share, tests, min(1.0, max(tests, 1) * least), *found)


def _some_rows(table: Table) -> tuple[IntArray, FloatArray]:
    step = max(1, -(-len(table.codes) // MOST_ROWS))
    return np.asarray(table.codes[::step], dtype=np.int64), table.counts[::step]


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


@dataclass(frozen=True)
class NumberPair:
    """Two numbers that depend on each other, given the parents of both."""

    one: str
    other: str
    correlation: float  # of normal scores, within configurations of the parents
    shape: str  # "monotone", or "spread": how far one is from its middle goes with the other
    p_value: float  # of all tests that were made together (Bonferroni)

    def __str__(self) -> str:
        monotone = self.shape == "monotone"
        how = f"correlation {self.correlation:.2f}" if monotone else "not monotone"
        return f"'{self.one}' and '{self.other}' ({how})"


@dataclass(frozen=True)
class BetweenNumbers:
    """What a graph leaves unexplained between its numbers."""

    numbers: int  # columns of numbers
    pairs: int  # pairs of them that were tested
    unexplained: tuple[NumberPair, ...] = ()  # the strongest first

    @property
    def flags(self) -> tuple[Flag, ...]:
        """A warning, where dependence shows."""
        if not self.unexplained:
            return ()
        named = [str(pair) for pair in self.unexplained[:MOST_NAMED]]
        more = len(self.unexplained) - len(named)
        rest = f" and {more:,} more {'pair' if more == 1 else 'pairs'}" if more else ""
        name = shlex.quote(self.unexplained[0].one)
        detail = {"pairs": ", ".join(named) + rest, "name": name}
        return (Flag(Kind.BETWEEN_NUMBERS, detail=detail),)

    def __str__(self) -> str:
        tested = f"{self.pairs:,} {'pair' if self.pairs == 1 else 'pairs'}"
        return (
            f"Edges between the {self.numbers:,} columns of numbers are not part of these models; "
            f"a test of {tested} finds no dependence that the graph leaves unexplained."
        )


def between_numbers(table: Table, network: Network) -> BetweenNumbers | None:
    """Test all pairs of numbers of a table, given their parents; None without any pair."""
    columns = np.flatnonzero([column.kind.number for column in table.columns]).tolist()
    if len(columns) < 2:
        return None
    codes, weight = _some_rows(table)
    groups: dict[tuple[int, ...], list[tuple[int, int]]] = {}  # pairs by the parents of both
    for a, b in combinations(columns, 2):
        given = tuple(sorted({*network.parents[a], *network.parents[b]}))
        groups.setdefault(given, []).append((a, b))
    found = [test for given, some in groups.items() for test in _tested(codes, weight, given, some)]
    pairs = []
    for (a, b), z, r in found:
        best = int(np.abs(z).argmax())  # the test with the largest statistic
        one_sided = math.exp(float(log_ndtr(-abs(z[best]))))
        p = min(1.0, 2.0 * len(SHAPES) * len(found) * one_sided)
        shape = "monotone" if SHAPES[best] == (0, 0) else "spread"
        names = table.columns[a].name, table.columns[b].name
        pairs.append(NumberPair(*names, float(r[best]), shape, p))
    shown = sorted((p for p in pairs if p.p_value < LEVEL), key=lambda p: -abs(p.correlation))
    return BetweenNumbers(len(columns), len(found), tuple(shown))


# Which scores of two numbers are multiplied: 0, normal scores of ranks; 1, their absolute values.
SHAPES = tuple(product((0, 1), repeat=2))


def _tested(
    codes: IntArray, weight: FloatArray, given: Sequence[int], pairs: Sequence[tuple[int, int]]
) -> Iterator[tuple[tuple[int, int], FloatArray, FloatArray]]:
    """Give z and correlation, (4,) each, of pairs that have the same parents together."""
    rows = np.flatnonzero((codes[:, list(given)] >= 0).all(axis=1))
    stratum = np.zeros(len(rows), dtype=np.int64)
    for u in given:
        stratum = stratum * (codes[:, u].max(initial=0) + 1) + codes[rows, u]
        renumber(stratum)
    order = np.argsort(stratum, kind="stable")
    rows, cuts = rows[order], np.flatnonzero(np.diff(stratum[order])) + 1
    columns = sorted({j for pair in pairs for j in pair})
    size = (len(SHAPES), len(columns), len(columns))
    total, variance, scale = np.zeros(size), np.zeros(size), np.zeros(size)
    for part in np.split(rows, cuts):
        t, own, other, n = _products(codes[part][:, columns], weight[part])
        total += t
        variance += own * other / np.maximum(n - 1.0, 1.0)
        scale += np.sqrt(own * other)
    place = {j: k for k, j in enumerate(columns)}
    for a, b in pairs:
        t, v, s = (x[:, place[a], place[b]] for x in (total, variance, scale))
        if (v > 0).any():
            ok = v > 0
            z = np.where(ok, t / np.sqrt(np.where(ok, v, 1.0)), 0.0)
            yield (a, b), z, np.where(s > 0, t / np.where(s > 0, s, 1.0), 0.0)


def _products(
    codes: IntArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Centred sums of products, of squares of either, and cases, of every pair in one stratum.

    Each is (4, c, c); the means are those of the rows that show both columns of a pair.
    """
    seen = codes >= 0
    z = np.stack([_scores(codes[:, k], weight, seen[:, k]) for k in range(codes.shape[1])], axis=1)
    forms = (z, np.where(seen, np.abs(z), 0.0))
    shown = seen.astype(np.float64)
    n = (shown * weight[:, None]).T @ shown
    safe = np.where(n > 0, n, 1.0)
    sums, own, other = [], [], []
    for f, g in SHAPES:
        x, y = forms[f], forms[g]
        weighed = x * weight[:, None]
        sum_x, sum_y = weighed.T @ shown, shown.T @ (y * weight[:, None])
        sums.append(weighed.T @ y - sum_x * sum_y / safe)
        own.append(np.maximum((weighed * x).T @ shown - sum_x**2 / safe, 0.0))
        other.append(np.maximum(shown.T @ (y * y * weight[:, None]) - sum_y**2 / safe, 0.0))
    t, own_squares, other_squares = (
        np.where(n > 2.0, np.stack(x), 0.0) for x in (sums, own, other)
    )
    return t, own_squares, other_squares, n


def _scores(codes: IntArray, weight: FloatArray, seen: BoolArray) -> FloatArray:
    """Normal scores of the middle ranks of values, 0 where they are missing, (m,).

    Codes of numbers are in the order of their values.
    """
    scores = np.zeros(len(codes))
    if not seen.any():
        return scores
    values, place = np.unique(codes[seen], return_inverse=True)
    cases = np.bincount(place, weight[seen], len(values))
    middle = (np.cumsum(cases) - cases / 2.0) / cases.sum()
    scores[seen] = ndtri(middle)[place]
    return scores
