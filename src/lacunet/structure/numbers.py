"""Families whose child is a number: log marginals of its values in each configuration of parents.

Numbers are nobody's parents. So a number that a row does not show says nothing there, and what it
shows counts as it is: with complete categories the evidence of such a graph is exact.

Dependence between numbers, which no edge can express: a test of what a graph leaves unexplained.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from scipy.special import log_ndtr, ndtri

from lacunet.data.table import Table
from lacunet.flags import Flag, Kind
from lacunet.inference.kernels.merging import renumber
from lacunet.likelihoods import Segment, with_prior
from lacunet.models.network import Network, Variable
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.structure.counting import exponents, log_mean, prior_of
from lacunet.structure.families import Statistics


def are_numbers(table: Table) -> BoolArray:
    """Which columns hold numbers, (n,)."""
    return np.array([column.kind.number for column in table.columns])


def categories_of(table: Table) -> Table | None:
    """Give the columns that are categories, if any; rows that are alike then stand together."""
    kept = np.flatnonzero(~are_numbers(table))
    if not len(kept):
        return None
    columns = [table.columns[j] for j in kept]
    return Table.from_codes(table.codes[:, kept], columns, table.counts)


class NumberFamilies:
    """Scores of families of numbers, each move on the rows that show all it is about."""

    def __init__(self, table: Table, variables: Sequence[Variable], alpha: float | str) -> None:
        self.codes = np.ascontiguousarray(table.codes.T).astype(np.int64)  # (n, m)
        self.counts, self.variables = table.counts, variables
        self.cards = np.array([len(v.states) for v in variables])
        self.numbers, self.prior = are_numbers(table), prior_of(alpha)

    def __call__(self, child: int, parents: BoolArray) -> FloatArray:
        """Give the scores with each variable put to the parents, or taken from them: (n,)."""
        chosen = np.flatnonzero(parents)
        rows = np.flatnonzero((self.codes[[child, *chosen]] >= 0).all(axis=0))
        j, whole = self._cut(rows, chosen), float(self.cards[chosen].prod())
        here = self._log_marginal(child, rows, j, whole)
        scores = np.full(len(self.cards), here)
        for u in np.flatnonzero(~self.numbers).tolist():
            states = int(self.cards[u])
            if parents[u]:
                fewer = self._cut(rows, chosen[chosen != u])
                scores[u] = self._log_marginal(child, rows, fewer, whole / states)
            else:
                seen = self.codes[u, rows] >= 0
                both, own = rows[seen], j[seen]
                base = here if seen.all() else self._log_marginal(child, both, own, whole)
                finer = own * states + self.codes[u, both]
                renumber(finer)
                scores[u] = here + self._log_marginal(child, both, finer, whole * states) - base
        return scores

    def _cut(self, rows: IntArray, parents: IntArray) -> IntArray:
        """Number the configurations of some parents that occur in some rows."""
        j = np.zeros(len(rows), dtype=np.int64)
        for u in parents.tolist():
            j = j * self.cards[u] + self.codes[u, rows]
            renumber(j)
        return j

    def _log_marginal(self, child: int, rows: IntArray, j: IntArray, whole: float) -> float:
        """Log p of the values of a number in some rows, which are in configurations j.

        `whole` is how many configurations there are, also of what never occurs.
        """
        v, values = self.variables[child], self.codes[child, rows]
        family, number = with_prior(v.family), int(j.max(initial=-1)) + 1
        T, weight = v.statistics[values], self.counts[rows]
        sums = [np.bincount(j, weight * own, number).astype(np.float64) for own in T.T]
        N, at = np.stack(sums, axis=1), Segment.of_table(family, number, len(sums))
        hypers = self._hyperparameters(v, whole) if number else []
        flat = N.reshape(-1)
        logs = [family.log_marginal(flat, np.tile(own, number), at).sum() for own in hypers]
        return log_mean(np.array(logs)) if logs else 0.0

    def _hyperparameters(self, v: Variable, whole: float) -> list[FloatArray]:
        """The prior of one configuration: its own, or exponents as those of categories."""
        if v.prior:
            return [np.array(v.prior)]
        width = v.family.width(v.states)
        return [np.full(width, own) for own in exponents(float(width * whole), self.prior)]


class MixedFamilies:
    """Scores of families in a table with numbers: those of categories, and those of numbers."""

    def __init__(self, categories: Statistics | None, numbers: NumberFamilies) -> None:
        self.categories, self.numbers = categories, numbers
        self.of_categories = np.flatnonzero(~numbers.numbers)
        widths = [float(v.family.width(v.states)) for v in numbers.variables]
        self.cards, self.cases = np.array(widths), float(numbers.counts.sum())

    def __call__(self, child: int, parents: BoolArray) -> FloatArray:
        """Score a family, and all that differ from it by one parent; numbers are nobody's."""
        if self.categories is None or self.numbers.numbers[child]:
            return self.numbers(child, parents)
        own = int(np.searchsorted(self.of_categories, child))
        told = self.categories(own, parents[self.of_categories])
        scores = np.full(len(parents), told[own])
        scores[self.of_categories] = told
        return scores


LEVEL = 0.05  # how often any pair at all is reported in data whose numbers are independent
MOST_ROWS = 100_000  # that are tested, at equal distances: even weak dependence shows in these
MOST_NAMED = 3  # pairs that a sentence names


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
    step = max(1, -(-len(table.codes) // MOST_ROWS))
    codes, weight = np.asarray(table.codes[::step], dtype=np.int64), table.counts[::step]
    groups: dict[tuple[int, ...], set[tuple[int, int]]] = {}
    for a, b in combinations(columns, 2):
        given = tuple(sorted({*network.parents[a], *network.parents[b]}))
        groups.setdefault(given, set()).add((a, b))
    found = [
        pair
        for given, pairs in groups.items()
        for pair in _tested(codes, weight, given, sorted(pairs))
    ]
    tests = len(SHAPES) * len(found)
    names = [column.name for column in table.columns]
    told = [_strongest(names, a, b, z, r, tests) for (a, b), z, r in found]
    shown = sorted((p for p in told if p.p_value < LEVEL), key=lambda p: -abs(p.correlation))
    return BetweenNumbers(len(columns), len(found), tuple(shown))


# Which scores of two numbers are multiplied: 0, normal scores of ranks; 1, their absolute values.
SHAPES = tuple(product((0, 1), repeat=2))


def _strongest(
    names: Sequence[str], a: int, b: int, z: FloatArray, r: FloatArray, tests: int
) -> NumberPair:
    """Give the test of a pair with the largest statistic; z and r are (4,)."""
    best = int(np.abs(z).argmax())
    p = min(1.0, 2.0 * tests * math.exp(float(log_ndtr(-abs(z[best])))))
    shape = "monotone" if SHAPES[best] == (0, 0) else "spread"
    return NumberPair(names[a], names[b], float(r[best]), shape, p)


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
