"""Tests of the assumptions of a graph: missing completely at random, no edges between numbers.

The rate of missing values may depend on the value of another column. Numbers have no children, so
no edge can express a dependence between two of them.
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
from lacunet.tabular import Documented

LEVEL = 0.05  # significance level
MOST_ROWS = 100_000  # rows tested, at equal distances: enough to show weak dependence
FEW = 0.01  # share of missing cells below which missingness is not tested
EXPECTED = 10.0  # expected cases in each cell of a test; states with fewer are pooled
GROUPS = 4  # groups of the values of a number, about equally large
MOST_NAMED = 3  # pairs named in a message


@dataclass(frozen=True)
class Missingness:
    """Tests whether values are missing completely at random."""

    share: float  # of missing values among the cells of categorical columns
    tests: int = 0  # tests that the rate of missing values depends on another column
    p_value: float = 1.0  # the smallest, corrected for the number of tests (Bonferroni)
    column: str = ""  # the column with missing values in the test with the smallest p-value
    other: str = ""  # the other column in that test

    @property
    def flags(self) -> tuple[Flag, ...]:
        """A warning if the smallest p-value is significant."""
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
    """Test every column with missing values against every other; None if few values are missing."""
    columns = [v for v, column in enumerate(table.columns) if not column.kind.number]
    share = float(np.mean(table.missing[columns])) if columns else 0.0
    if share < FEW:
        return None
    codes, weight = _some_rows(table)
    tests, least, pair = 0, 1.0, ("", "")
    for u, column in enumerate(table.columns):
        rows = codes[:, u] >= 0
        weights, group = weight[rows], codes[rows, u]
        if column.kind.number:  # groups with about as many cases each
            below = np.cumsum(np.bincount(group, weights, len(column.states)))
            part = np.minimum(GROUPS * below / max(below[-1], 1.0), GROUPS - 1)
            group = part.astype(np.int64)[group]
        for v in columns:
            p = _p_value(codes[rows, v] < 0, group, weights) if v != u else None
            if p is not None:
                tests += 1
                if p < least:
                    least, pair = p, (table.columns[v].name, column.name)
    return Missingness(share, tests, min(1.0, max(tests, 1) * least), *pair)


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
    frequent = cases * min(share, 1.0 - share) >= EXPECTED  # the pooled states may have enough
    if frequent.sum() < 2:
        return None
    lost, cases = lost[frequent], cases[frequent]
    share = lost.sum() / cases.sum()
    distance = ((lost - cases * share) ** 2 / (cases * share * (1.0 - share))).sum()
    return float(chi2.sf(distance, len(cases) - 1))


@dataclass(frozen=True)
class NumberPair:
    """Two columns of numbers that depend on each other, given the parents of both."""

    one: str
    other: str
    correlation: float  # of normal scores, within configurations of the parents
    shape: str  # "monotone", or "spread": the distance from the median depends on the other
    p_value: float  # corrected for the number of tests (Bonferroni)

    def __str__(self) -> str:
        monotone = self.shape == "monotone"
        strength = f"correlation {self.correlation:.2f}" if monotone else "not monotone"
        return f"'{self.one}' and '{self.other}' ({strength})"


@dataclass(frozen=True)
class BetweenNumbers(Documented):
    """Dependence between numbers that a graph leaves unexplained."""

    KEYS = "modelled pairs_tested=pairs unexplained"

    numbers: int  # columns of numbers
    pairs: int  # pairs tested
    unexplained: tuple[NumberPair, ...] = ()  # the strongest first
    modelled = False  # no edge joins two numbers

    @property
    def flags(self) -> tuple[Flag, ...]:
        """A warning if any pair depends."""
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
    """Test all pairs of columns of numbers, given their parents; None without any pair."""
    columns = np.flatnonzero([column.kind.number for column in table.columns]).tolist()
    if len(columns) < 2:
        return None
    codes, weight = _some_rows(table)
    groups: dict[tuple[int, ...], list[tuple[int, int]]] = {}  # pairs by the parents of both
    for a, b in combinations(columns, 2):
        given = tuple(sorted({*network.parents[a], *network.parents[b]}))
        groups.setdefault(given, []).append((a, b))
    tests = [test for given, some in groups.items() for test in _tested(codes, weight, given, some)]
    pairs = []
    for (a, b), z, r in tests:
        best = int(np.abs(z).argmax())  # the test with the largest statistic
        one_sided = math.exp(float(log_ndtr(-abs(z[best]))))
        p = min(1.0, 2.0 * len(SHAPES) * len(tests) * one_sided)
        shape = "monotone" if SHAPES[best] == (0, 0) else "spread"
        names = table.columns[a].name, table.columns[b].name
        pairs.append(NumberPair(*names, float(r[best]), shape, p))
    shown = sorted((p for p in pairs if p.p_value < LEVEL), key=lambda p: -abs(p.correlation))
    return BetweenNumbers(len(columns), len(tests), tuple(shown))


# The scores of two numbers that are multiplied: 0, normal scores of ranks; 1, absolute values.
SHAPES = tuple(product((0, 1), repeat=2))


def _tested(
    codes: IntArray, weight: FloatArray, given: Sequence[int], pairs: Sequence[tuple[int, int]]
) -> Iterator[tuple[tuple[int, int], FloatArray, FloatArray]]:
    """Compute z and correlation, (4,) each, of pairs with the same union of parents."""
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
        t, squares, other_squares, n = _products(codes[part][:, columns], weight[part])
        total += t
        variance += squares * other_squares / np.maximum(n - 1.0, 1.0)
        scale += np.sqrt(squares * other_squares)
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
    """Compute centred sums of products and of squares, and cases, of every pair in one stratum.

    Each is (4, c, c); the means are taken over the rows that have both values of a pair.
    """
    seen = codes >= 0
    z = np.stack([_scores(codes[:, k], weight, seen[:, k]) for k in range(codes.shape[1])], axis=1)
    forms = (z, np.where(seen, np.abs(z), 0.0))
    shown = seen.astype(np.float64)
    n = (shown * weight[:, None]).T @ shown
    safe = np.where(n > 0, n, 1.0)
    sums, squares_x, squares_y = [], [], []
    for f, g in SHAPES:
        x, y = forms[f], forms[g]
        weighed = x * weight[:, None]
        sum_x, sum_y = weighed.T @ shown, shown.T @ (y * weight[:, None])
        sums.append(weighed.T @ y - sum_x * sum_y / safe)
        squares_x.append(np.maximum((weighed * x).T @ shown - sum_x**2 / safe, 0.0))
        squares_y.append(np.maximum(shown.T @ (y * y * weight[:, None]) - sum_y**2 / safe, 0.0))
    t, xx, yy = (np.where(n > 2.0, np.stack(x), 0.0) for x in (sums, squares_x, squares_y))
    return t, xx, yy, n


def _scores(codes: IntArray, weight: FloatArray, seen: BoolArray) -> FloatArray:
    """Compute normal scores of the midranks of values, 0 where missing, (m,).

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
