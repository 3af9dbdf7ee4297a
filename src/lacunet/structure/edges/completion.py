"""Markov chains over graphs and missing values: draws from their joint posterior.

Collapsed Gibbs sampling imputes missing values one by one given the graph; parameters are
integrated out. Tables may be fixed or tied, and zeros exclude states.
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
    draw_index,
    exponents,
    is_ruled_out,
    log_bd_each,
    numbered_zeros,
    possible_states,
    split_rows,
    table_size,
)
from lacunet.structure.edges.mcmc import (
    FamilyCache,
    ParentSets,
    Walker,
    family_cache,
    rescore,
    reverse_edges,
    walk,
)
from lacunet.structure.knowledge import Knowledge
from lacunet.structure.moves import Limits, graph_of

PASSES = 4  # moves of every pair between imputations, because imputing clears the score cache
COOLING = 1000  # passes of annealing; with fewer, chains end in distant modes


class KnownFamilies(NamedTuple):
    """Families whose tables are shared or fixed, and states that zeros exclude."""

    leader: IntArray  # (n,) the variable whose table each variable uses
    known_parents: BoolArray  # (n,) whether the parents, and so the layout of the table, are known
    strides: IntArray  # (n, n) stride of states of u in the table of v, at [v, u]
    first: IntArray  # (n,) offset of each fixed table in `fixed`; −1: not fixed
    fixed: FloatArray  # θ of all fixed tables
    zeros: Zeros


def known_families(columns: Sequence[Column], knowledge: Knowledge) -> KnownFamilies:
    """Encode constraints on tables by columns."""
    variables = [Variable(c.name, c.states) for c in columns]
    place, n = {v.name: i for i, v in enumerate(variables)}, len(variables)
    strides, first = np.zeros((n, n), dtype=np.int64), np.full(n, -1, dtype=np.int64)
    leader, fixed = np.arange(n, dtype=np.int64), [np.empty(0)]
    for name, parents in knowledge.ordered_parents.items():
        size = 1
        for u in (place[other] for other in (name, *reversed(parents))):
            strides[place[name], u] = size
            size *= len(variables[u].states)
    for entry in knowledge.fixed:
        family = [variables[place[u]] for u in (*entry.get("parents", ()), entry["child"])]
        first[place[entry["child"]]] = sum(map(len, fixed))
        fixed.append(nested_table(entry["table"], family).reshape(-1))
    for leading, *others in knowledge.tied:
        leader[[place[name] for name in others]] = place[leading]
    known_parents, zeros = np.asarray(strides.any(axis=1)), numbered_zeros(columns, knowledge.zeros)
    return KnownFamilies(leader, known_parents, strides, first, np.concatenate(fixed), zeros)


class Counts(NamedTuple):
    """Counts of the families of a graph: tables one after the other."""

    N: FloatArray  # (cells,) counts; probabilities if the table is fixed
    first: IntArray  # (n,) offset of the table of each family; families may share a table
    strides: IntArray  # (n, n) stride of states of u in the table of v, at [v, u]
    exponents: FloatArray  # (cells,) 0 at zeros and in fixed tables
    adds: FloatArray  # (n,) increment of a case: 1, or 0 if the table is fixed


@kernel
def draw_exponents(
    columns: Columns, prior: Prior, parents: BoolArray, known: KnownFamilies, rng: Any
) -> IntArray:
    """Draw the exponent of each family from those averaged over: (n,) indices."""
    n, m = columns.codes.shape
    drawn, j = np.zeros(n, dtype=np.int64), np.empty(m, dtype=np.int64)
    for v in range(n if prior.values.shape[0] > 1 else 0):
        among = np.flatnonzero(parents[v])
        q, cells = split_rows(columns, among, -1, j), table_size(columns, v, among)
        each = log_bd_each(child_of(columns, v), j, q, cells, prior)
        drawn[v] = draw_index(np.exp(each - each.max()), rng)
    return drawn[known.leader]


@kernel
def lay_out(
    columns: Columns, prior: Prior, drawn: IntArray, parents: BoolArray, known: KnownFamilies
) -> Counts:
    """Count the families of a graph; `drawn`, (n,), are the indices of exponents."""
    n = parents.shape[0]
    first, sizes = np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64)
    strides, adds, size = known.strides.copy(), np.ones(n), 0
    for v in range(n):
        if not known.known_parents[v]:
            strides[v, v], cells = 1, columns.cards[v]
            for u in range(n):
                if parents[v, u]:
                    strides[v, u] = cells
                    cells *= columns.cards[u]
        for u in range(n):
            if strides[v, u] > 0:
                sizes[v] *= columns.cards[u]
        if known.leader[v] == v:
            first[v] = size
            size += sizes[v]
    first = first[known.leader]
    counts = Counts(np.zeros(size), first, strides, np.zeros(size), adds)
    zeros = known.zeros
    for v in range(n):
        if known.first[v] >= 0:
            adds[v] = 0.0
            at = known.first[v]
            counts.N[first[v] : first[v] + sizes[v]] = known.fixed[at : at + sizes[v]]
        else:
            exponent = exponents(float(sizes[v]), prior)[drawn[v]]
            place = (strides[v], columns.cards)
            for cell in range(sizes[v]):
                ruled_out = zeros.child.shape[0] > 0 and is_ruled_out(zeros, v, cell, place)
                counts.exponents[first[v] + cell] = 0.0 if ruled_out else exponent
        for row in range(columns.counts.shape[0]):
            counts.N[_cell(counts, columns, v, row)] += adds[v] * columns.counts[row]
    return counts


@kernel
def _cell(counts: Counts, columns: Columns, family: int, row: int) -> int:
    """Find the cell of a row in the table of a family."""
    at = counts.first[family]
    for u in range(columns.codes.shape[0]):
        at += counts.strides[family, u] * columns.codes[u, row]
    return int(at)


@kernel
def redraw(
    columns: Columns, missing: IntArray, parents: BoolArray, counts: Counts, rng: Any
) -> None:
    """Draw every missing value, (cells, 2) variable and row, in turn; update the counts."""
    n = parents.shape[0]
    weights = np.empty(columns.cards.max())
    shared = np.unique(counts.first).shape[0] < n
    for h in range(missing.shape[0]):
        v, row = missing[h]
        r = columns.cards[v]
        weights[:] = 1.0
        _count(counts, columns, parents, (v, row), -1.0)
        if shared:
            _weigh_together(counts, columns, parents, (v, row), weights)
        else:
            for f in range(n):
                if f == v or parents[f, v]:
                    _weigh(counts, (f, v), columns, row, weights)
        k = draw_index(weights[:r], rng)
        if weights[:r].sum() == 0.0:  # no state is possible given the current values: draw any
            k = int(rng.random() * r)
        columns.codes[v, row] = k
        _count(counts, columns, parents, (v, row), 1.0)


@kernel
def _count(
    counts: Counts, columns: Columns, parents: BoolArray, cell: tuple[int, int], often: float
) -> None:
    """Add the families of a missing value to the counts, or subtract them."""
    v, row = cell
    for f in range(parents.shape[0]):
        if f == v or parents[f, v]:
            counts.N[_cell(counts, columns, f, row)] += often * counts.adds[f]


@kernel
def _weigh(
    counts: Counts, pair: tuple[int, int], columns: Columns, row: int, weights: FloatArray
) -> None:
    """Multiply the weight of each state of v by its predictive probability in a family."""
    f, v = pair
    step = counts.strides[f, v]
    start = _cell(counts, columns, f, row) - step * columns.codes[v, row]
    for k in range(columns.cards[v]):
        at = start + step * k
        if f == v:
            weights[k] *= counts.N[at] + counts.exponents[at]
        else:
            weights[k] *= _predicted(counts, columns, f, at, row)


@kernel
def _predicted(counts: Counts, columns: Columns, f: int, cell: int, row: int) -> float:
    """Compute the predictive probability of a cell of a family given the other cases."""
    total, step = 0.0, counts.strides[f, f]
    start = cell - step * columns.codes[f, row]
    for x in range(columns.cards[f]):
        total += counts.N[start + step * x] + counts.exponents[start + step * x]
    return float((counts.N[cell] + counts.exponents[cell]) / total) if total > 0.0 else 0.0


@kernel
def _weigh_together(
    counts: Counts, columns: Columns, parents: BoolArray, pair: tuple[int, int], weights: FloatArray
) -> None:
    """Do the same if families share a table: each increment affects the next family."""
    v, row = pair
    for k in range(columns.cards[v]):
        columns.codes[v, row] = k
        for f in range(parents.shape[0]):
            if f == v or parents[f, v]:
                cell = _cell(counts, columns, f, row)
                weights[k] *= _predicted(counts, columns, f, cell, row)
                counts.N[cell] += counts.adds[f]
        _count(counts, columns, parents, pair, -1.0)


@kernel
def _all_possible(columns: Columns, counts: Counts) -> bool:
    """Whether every row has a positive probability."""
    for v in range(columns.codes.shape[0]):
        for row in range(columns.counts.shape[0]):
            cell = _cell(counts, columns, v, row)
            learned = counts.adds[v] > 0.0
            if (learned and counts.exponents[cell] == 0.0) or counts.N[cell] == 0.0:
                return False
    return True


@dataclass(frozen=True, eq=False)
class CasesByColumn:
    """A table by columns, with the prior and the constraints."""

    codes: CodeArray  # (n, m), −1 = missing
    counts: FloatArray  # (m,) weight of each row; 1 if a value is missing
    cards: IntArray  # (n,) states of each variable
    prior: Prior
    known: KnownFamilies
    log_prior: FloatArray  # (n, n) of a set of k parents of v, at [v, k]

    def columns(self, codes: CodeArray) -> Columns:
        """Make the table with these codes."""
        possible = possible_states(codes, self.cards, self.known.zeros)
        return Columns(codes, self.counts, self.cards, possible)

    def filled(self, rng: np.random.Generator) -> Columns:
        """Impute each missing value by a draw from the observed values of its column."""
        codes = self.codes.astype(np.int64)
        for column in codes:
            shown, number = column[column >= 0], int((column < 0).sum())
            column[column < 0] = rng.choice(shown, number) if len(shown) else 0
        return self.columns(codes)


@dataclass(frozen=True, eq=False)
class GraphChain:
    """The state of a chain; sweeps change its arrays in place."""

    walker: Walker
    cache: FamilyCache
    missing: IntArray  # (cells, 2) variable and row
    limits: Limits
    known: KnownFamilies
    rng: np.random.Generator

    @property
    def passes(self) -> int:
        """Moves of every pair in a sweep."""
        return PASSES if len(self.missing) else 1

    def sweep(self, heat: float = 1.0) -> None:
        """Impute missing values, and propose moves of every pair of variables, on average."""
        if len(self.missing):
            columns, parents, prior = (
                self.cache.columns,
                self.walker.graph.parents,
                self.cache.prior,
            )
            drawn = draw_exponents(columns, prior, parents, self.known, self.rng)
            counts = lay_out(columns, prior, drawn, parents, self.known)
            redraw(columns, self.missing, parents, counts, self.rng)
            columns.possible[:] = possible_states(columns.codes, columns.cards, self.known.zeros)
            self.cache.keys[:] = 0  # the table has changed
            rescore(self.walker, self.cache)
        n = len(self.walker.families)
        changes = self.passes * n * (n - 1) // 2
        walk(self.walker, self.cache, self.limits, heat, changes, self.rng)


def begin(cases: CasesByColumn, limits: Limits, seed: tuple[int, int]) -> GraphChain:
    """Start a chain from the required edges, and anneal it."""
    rng = np.random.default_rng(seed)
    cache = family_cache(cases.filled(rng), cases.prior, cases.log_prior)
    n = len(limits.most)
    walker = Walker(graph_of(limits.required.copy(), limits), np.zeros(n))
    rescore(walker, cache)
    chain = GraphChain(walker, cache, np.argwhere(cases.codes < 0), limits, cases.known, rng)
    sweeps = COOLING // chain.passes
    for sweep in range(sweeps):
        chain.sweep((sweep + 1) / sweeps)
    first, parents = np.zeros(n, dtype=np.int64), walker.graph.parents
    if not _all_possible(
        cache.columns, lay_out(cache.columns, cases.prior, first, parents, cases.known)
    ):  # such a chain samples nothing
        raise DataError(
            "no completion of the missing cells was found that zeros and fixed tables allow. "
            "Remove zeros, or give --resamples."
        )
    return chain


def advance(
    chain: GraphChain, choices: ParentSets, sweeps: int, thin: int
) -> tuple[GraphChain, BoolArray]:
    """Advance a chain; return it, and its graph after every `thin` sweeps, (draws, n, n).

    The chain is returned because another process may have advanced a copy.
    """
    graph, n = chain.walker.graph.parents, len(chain.walker.families)
    drawn = np.empty((sweeps // thin, n, n), dtype=np.bool_)
    for sweep in range(sweeps):
        chain.sweep()
        if sweep % chain.passes == 0:  # reversals need many scores, and imputing clears the cache
            reverse_edges(chain.walker, chain.cache, chain.limits, choices, n, chain.rng)
        if sweep % thin == thin - 1:
            drawn[sweep // thin] = graph
    return chain, drawn
