"""What is known of tables, numbered: for holes that are filled in given a graph.

Holes filled in again, cell by cell, given the graph: parameters are integrated out.
Chains over graphs, and over what fills the holes: draws from the posterior of both together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lacunet.data.table import Column
from lacunet.errors import DataError
from lacunet.models.known_tables import nested_table
from lacunet.models.network import Variable
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IntArray
from lacunet.runtime.jit import kernel
from lacunet.structure.counting import (
    Columns,
    Prior,
    Zeros,
    child_of,
    cut_rows,
    exponents,
    is_ruled_out,
    log_bd_each,
    numbered_zeros,
    possible_states,
)
from lacunet.structure.edges.moves import (
    Choices,
    FamilyBook,
    Walker,
    family_book,
    first_walker,
    forget,
    rescore,
    reverse_edges,
    settle,
    walk,
)
from lacunet.structure.knowledge import Knowledge
from lacunet.structure.moves import Limits


class KnownFamilies(NamedTuple):
    """Families whose tables are shared or fixed, and states that zeros rule out."""

    leader: IntArray  # (n,) whose table each variable has: its own, or another's
    settled: BoolArray  # (n,) whether the parents are known, and so is how the table is laid out:
    strides: IntArray  # (n, n) how far states of u are apart in the table of v, at [v, u]
    first: IntArray  # (n,) where the table of each begins in the next, if it is fixed; else −1
    fixed: FloatArray  # θ of all fixed tables
    zeros: Zeros


def known_families(columns: Sequence[Column], knowledge: Knowledge) -> KnownFamilies:
    """Number what is known of tables by columns."""
    variables = [Variable(c.name, c.states) for c in columns]
    names, n = [v.name for v in variables], len(variables)
    strides, first = np.zeros((n, n), dtype=np.int64), np.full(n, -1)
    leader, fixed = np.arange(n), [np.empty(0)]
    for name, parents in knowledge.settled.items():
        v, size = names.index(name), 1
        for u in [v, *(names.index(parent) for parent in reversed(parents))]:
            strides[v, u] = size
            size *= len(variables[u].states)
    for entry in knowledge.fixed:
        v = names.index(entry["child"])
        own = [variables[names.index(u)] for u in (*entry.get("parents", ()), entry["child"])]
        first[v] = sum(map(len, fixed))
        fixed.append(nested_table(entry["table"], own).reshape(-1))
    for leading, *others in knowledge.tied:
        leader[[names.index(name) for name in others]] = names.index(leading)
    return KnownFamilies(
        leader.astype(np.int64),
        np.asarray(strides.any(axis=1)),
        strides,
        first.astype(np.int64),
        np.concatenate(fixed),
        numbered_zeros(columns, knowledge.zeros),
    )


class Counts(NamedTuple):
    """How often each state of each family of a graph occurs: tables one after the other."""

    N: FloatArray  # (cells,) of tables that are fixed, their probabilities
    first: IntArray  # (n,) where each family's table starts: some may share one
    strides: IntArray  # (n, n) how far states of u are apart in the table of v, at [v, u]
    exponents: FloatArray  # (cells,) 0 where nothing can be, or all is known
    adds: FloatArray  # (n,) what a case adds to the table of a family: nothing to one that is fixed


@kernel
def draw_exponents(
    columns: Columns, prior: Prior, parents: BoolArray, known: KnownFamilies, rng: Any
) -> IntArray:
    """Draw which exponents each family has, of those that it is averaged over: (n,) places."""
    n, m = columns.codes.shape
    drawn, j = np.zeros(n, dtype=np.int64), np.empty(m, dtype=np.int64)
    for v in range(n if prior.values.shape[0] > 1 else 0):
        among, cells = np.flatnonzero(parents[v]), float(columns.cards[v])
        for u in among:
            cells *= columns.cards[u]
        q = cut_rows(columns, among, -1, j)
        each = log_bd_each(child_of(columns, v), j, q, cells, prior)
        weights = np.exp(each - each.max())
        left = rng.random() * weights.sum()
        while drawn[v] < weights.shape[0] - 1 and left >= weights[drawn[v]]:
            left -= weights[drawn[v]]
            drawn[v] += 1
    return drawn[known.leader]


@kernel
def lay_out(
    columns: Columns, prior: Prior, drawn: IntArray, parents: BoolArray, known: KnownFamilies
) -> Counts:
    """Count the families of a graph; `drawn`, (n,), is the place of each one's exponent."""
    n = parents.shape[0]
    first, sizes = np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64)
    strides, adds = known.strides.copy(), np.ones(n)
    for v in range(n):
        if not known.settled[v]:
            strides[v, v], cells = 1, columns.cards[v]
            for u in range(n):
                if parents[v, u]:
                    strides[v, u] = cells
                    cells *= columns.cards[u]
        for u in range(n):
            if strides[v, u] > 0:
                sizes[v] *= columns.cards[u]
    size = 0
    for v in range(n):
        if known.leader[v] == v:
            first[v] = size
            size += sizes[v]
    for v in range(n):
        first[v] = first[known.leader[v]]
    counts = Counts(np.zeros(size), first, strides, np.zeros(size), adds)
    for v in range(n):
        if known.first[v] >= 0:
            counts.adds[v] = 0.0
            at = known.first[v]
            counts.N[first[v] : first[v] + sizes[v]] = known.fixed[at : at + sizes[v]]
        else:
            own = exponents(float(sizes[v]), prior)[drawn[v]]
            _put_exponents(counts, v, sizes[v], columns.cards, own, known.zeros)
        for row in range(columns.counts.shape[0]):
            counts.N[_cell(counts, columns, v, row)] += counts.adds[v] * columns.counts[row]
    return counts


@kernel
def _put_exponents(
    counts: Counts, v: int, cells: int, cards: IntArray, exponent: float, zeros: Zeros
) -> None:
    """Write the prior of a table that is learned; zeros have none."""
    place = (counts.strides[v], cards)
    for cell in range(cells):
        ruled_out = zeros.child.shape[0] > 0 and is_ruled_out(zeros, v, cell, place)
        counts.exponents[counts.first[v] + cell] = 0.0 if ruled_out else exponent


@kernel
def _cell(counts: Counts, columns: Columns, family: int, row: int) -> int:
    """Where a row stands in the table of a family."""
    at = counts.first[family]
    for u in range(columns.codes.shape[0]):
        at += counts.strides[family, u] * columns.codes[u, row]
    return int(at)


@kernel
def redraw(columns: Columns, holes: IntArray, parents: BoolArray, counts: Counts, rng: Any) -> None:
    """Draw every hole, (holes, 2) variable and row, anew, in turn; the counts go along."""
    n = parents.shape[0]
    weights = np.empty(columns.cards.max())
    shared = np.unique(counts.first).shape[0] < n
    for h in range(holes.shape[0]):
        v, row = holes[h]
        weights[:] = 1.0
        _count(counts, columns, parents, (v, row), -1.0)
        if shared:
            _weigh_together(counts, columns, parents, (v, row), weights)
        else:
            for f in range(n):
                if f == v or parents[f, v]:
                    _weigh(counts, (f, v), columns, row, weights)
        r = columns.cards[v]
        total = weights[:r].sum()
        level = rng.random() * total
        k = 0
        if total == 0.0:  # nothing is possible beside what was drawn so far: anything may be next
            k = int(rng.random() * r)
        while total > 0.0 and k < r - 1 and level >= weights[k]:
            level -= weights[k]
            k += 1
        columns.codes[v, row] = k
        _count(counts, columns, parents, (v, row), 1.0)


@kernel
def _count(
    counts: Counts, columns: Columns, parents: BoolArray, hole: tuple[int, int], often: float
) -> None:
    """Put the families that a hole is in to the counts, or take them away."""
    v, row = hole
    for f in range(parents.shape[0]):
        if f == v or parents[f, v]:
            counts.N[_cell(counts, columns, f, row)] += often * counts.adds[f]


@kernel
def _weigh(
    counts: Counts, who: tuple[int, int], columns: Columns, row: int, weights: FloatArray
) -> None:
    """Multiply the weight of each state of v by what a family predicts with it."""
    f, v = who
    step = counts.strides[f, v]
    start = _cell(counts, columns, f, row) - step * columns.codes[v, row]
    if f == v:
        for k in range(columns.cards[v]):
            weights[k] *= counts.N[start + step * k] + counts.exponents[start + step * k]
        return
    for k in range(columns.cards[v]):
        weights[k] *= _predicted(counts, columns, f, start + step * k, row)


@kernel
def _predicted(counts: Counts, columns: Columns, f: int, cell: int, row: int) -> float:
    """What the other cases predict for a cell of a family."""
    total, step = 0.0, counts.strides[f, f]
    start = cell - step * columns.codes[f, row]
    for x in range(columns.cards[f]):
        total += counts.N[start + step * x] + counts.exponents[start + step * x]
    return float((counts.N[cell] + counts.exponents[cell]) / total) if total > 0.0 else 0.0


@kernel
def _weigh_together(
    counts: Counts, columns: Columns, parents: BoolArray, hole: tuple[int, int], weights: FloatArray
) -> None:
    """The same where families share a table: what one says of a state counts for the next."""
    v, row = hole
    for k in range(columns.cards[v]):
        columns.codes[v, row] = k
        for f in range(parents.shape[0]):
            if f == v or parents[f, v]:
                cell = _cell(counts, columns, f, row)
                weights[k] *= _predicted(counts, columns, f, cell, row)
                counts.N[cell] += counts.adds[f]
        _count(counts, columns, parents, hole, -1.0)


@kernel
def nothing_impossible(columns: Columns, counts: Counts) -> bool:
    """Whether every row is possible."""
    for v in range(columns.codes.shape[0]):
        for row in range(columns.counts.shape[0]):
            cell = _cell(counts, columns, v, row)
            learned = counts.adds[v] > 0.0
            if (learned and counts.exponents[cell] == 0.0) or counts.N[cell] == 0.0:
                return False
    return True


PASSES = 4
COOLING = 1000  # passes in which a chain cools down: in a hurry they freeze far from each other


@dataclass(frozen=True, eq=False)
class Cases:
    """A table, in columns: its holes are cells to be filled in."""

    codes: CodeArray  # (n, m), −1 = a hole
    counts: FloatArray  # (m,) weight of each row; 1 where it has holes
    cards: IntArray  # (n,) states of each variable
    prior: Prior
    known: KnownFamilies
    log_prior: FloatArray  # (n, n) of k parents of v, at [v, k]

    @property
    def columns(self) -> Columns:
        """The table, if nothing is missing."""
        return self._with(self.codes)

    @property
    def holes(self) -> IntArray:
        """(holes, 2) variable and row of each."""
        return np.argwhere(self.codes < 0)

    def filled(self, rng: np.random.Generator) -> Columns:
        """Fill each hole with what some other row shows in its column."""
        codes = self.codes.astype(np.int64)
        for column in codes:
            shown, number = column[column >= 0], int((column < 0).sum())
            column[column < 0] = rng.choice(shown, number) if len(shown) else 0
        return self._with(codes)

    def _with(self, codes: CodeArray) -> Columns:
        possible = possible_states(codes, self.cards, self.known.zeros)
        return Columns(codes, self.counts, self.cards, possible)


@dataclass(frozen=True, eq=False)
class Chain:
    """Where a chain is: its arrays change as it goes on."""

    walker: Walker
    book: FamilyBook
    holes: IntArray  # (holes, 2) variable and row
    limits: Limits
    known: KnownFamilies
    rng: np.random.Generator

    @property
    def passes(self) -> int:
        """How often every pair is changed before holes are filled in anew: then scores are new."""
        return PASSES if len(self.holes) else 1

    def sweep(self, heat: float = 1.0) -> None:
        """Fill the holes in anew, and propose changes of every pair of variables, on average."""
        if len(self.holes):
            columns, parents = self.book.columns, self.walker.graph.parents
            drawn = draw_exponents(columns, self.book.prior, parents, self.known, self.rng)
            counts = lay_out(columns, self.book.prior, drawn, parents, self.known)
            redraw(columns, self.holes, parents, counts, self.rng)
            columns.possible[:] = possible_states(columns.codes, columns.cards, self.known.zeros)
            forget(self.book)
            rescore(self.walker, self.book)
        n = len(self.walker.families)
        walk(self.walker, self.book, self.limits, heat, self.passes * n * (n - 1) // 2, self.rng)

    def check(self) -> None:
        """Refuse to go on from where nothing can be: draws that start there are worth nothing."""
        columns, parents = self.book.columns, self.walker.graph.parents
        first = np.zeros(len(parents), dtype=np.int64)
        counts = lay_out(columns, self.book.prior, first, parents, self.known)
        if not nothing_impossible(columns, counts):
            raise DataError(
                "no way was found to fill in the missing cells of all rows that zeros and fixed "
                "tables leave possible. Take away zeros, or give --resamples."
            )

    def reverse(self, choices: Choices) -> None:
        """Propose to turn as many edges as there are variables."""
        n = len(self.walker.families)
        reverse_edges(self.walker, self.book, self.limits, choices, n, self.rng)


def begin(cases: Cases, limits: Limits, seed: tuple[int, int]) -> Chain:
    """Start a chain, and let it cool down."""
    rng = np.random.default_rng(seed)
    book = family_book(cases.filled(rng), cases.prior, cases.log_prior)
    walker = first_walker(limits)
    settle(walker.graph, limits)
    rescore(walker, book)
    chain = Chain(walker, book, cases.holes, limits, cases.known, rng)
    sweeps = COOLING // chain.passes
    for sweep in range(sweeps):
        chain.sweep((sweep + 1) / sweeps)
    chain.check()
    return chain


def advance(chain: Chain, choices: Choices, sweeps: int, thin: int) -> tuple[Chain, BoolArray]:
    """Let a chain go on; give it, and its graph after every `thin` sweeps, (draws, n, n).

    The chain comes back, for this may have been done elsewhere, on a copy.
    """
    drawn = np.empty((sweeps // thin, *chain.walker.graph.parents.shape), dtype=np.bool_)
    for sweep in range(sweeps):
        chain.sweep()
        if sweep % chain.passes == 0:  # reversals ask for many scores, which holes make anew
            chain.reverse(choices)
        if sweep % thin == thin - 1:
            drawn[sweep // thin] = chain.walker.graph.parents
    return chain, drawn
