"""Families whose child is a number: log marginals of its values in each configuration of parents.

Numbers are nobody's parents. So a number that a row does not show says nothing there, and what it
shows counts as it is: with complete categories the evidence of such a graph is exact.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lacunet.data.table import Table
from lacunet.inference.kernels.numbering import renumber
from lacunet.likelihoods import Segment, with_prior
from lacunet.models.network import Variable
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
