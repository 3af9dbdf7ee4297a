"""Gains of moves on the rows that show all they are about: log Bayes factors of available cases.

Both sides of a move are scored on the same rows. Scores on different rows cannot be compared: a
family with more parents is seen whole in fewer rows.

Gains of moves on the rows that show both ends; what else a family needs is filled in.
Who scores the families of a task: counts of categories, and statistics of numbers.
The graph with the largest exact evidence of complete data.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from lacunet.data.table import Table
from lacunet.models.network import Variable
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IntArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.runtime.jit import kernel
from lacunet.structure.counting import (
    NO_ZEROS,
    Child,
    Columns,
    Prior,
    child_of,
    cut_rows,
    log_bd,
    prior_of,
    refine,
)
from lacunet.structure.families import CompleteCounts, FamilyScores, Statistics, columns_of
from lacunet.structure.journal import FORGETFUL, Journal
from lacunet.structure.numbers import MixedFamilies, NumberFamilies, are_numbers, categories_of
from lacunet.structure.searching import Found, search, search_exactly
from lacunet.structure.task import GraphTask


@kernel
def whole_rows(columns: Columns, family: IntArray) -> Columns:
    """Give the rows that show some variables, and only those columns, in their order."""
    m = columns.codes.shape[1]
    rows, seen = np.empty(m, dtype=np.int64), 0
    for row in range(m):
        whole = True
        for v in family:
            whole = whole and columns.codes[v, row] >= 0
        if whole:
            rows[seen] = row
            seen += 1
    codes = np.empty((family.shape[0], seen), dtype=columns.codes.dtype)
    counts, cards = np.empty(seen), np.empty(family.shape[0], dtype=np.int64)
    for k in range(family.shape[0]):
        cards[k] = columns.cards[family[k]]
        for i in range(seen):
            codes[k, i] = columns.codes[family[k], rows[i]]
    for i in range(seen):
        counts[i] = columns.counts[rows[i]]
    return Columns(codes, counts, cards, np.empty((0, 0), dtype=np.int64))


@kernel
def score_part(columns: Columns, parents: IntArray, prior: Prior) -> float:
    """Log BD of column 0 given some of the others; every row shows them."""
    child = child_of(columns, 0)
    j, cells = np.empty(columns.counts.shape[0], dtype=np.int64), float(child.r)
    if j.shape[0] == 0:
        return 0.0
    for p in parents:
        cells *= columns.cards[p]
    return log_bd(child, j, cut_rows(columns, parents, -1, j), cells, prior)


@kernel
def weigh_as_pair(whole: Columns, columns: Columns, v: int, u: int) -> None:
    """Let the rows that show a family weigh as much as those that show two of its members."""
    seen = 0.0
    for row in range(columns.codes.shape[1]):
        if columns.codes[v, row] >= 0 and columns.codes[u, row] >= 0:
            seen += columns.counts[row]
    whole.counts[:] *= seen / max(whole.counts.sum(), 1.0)


@kernel
def available_gains(
    columns: Columns, v: int, parents: IntArray, prior: Prior, as_pairs: bool = False
) -> FloatArray:
    """What it adds to put each variable to the parents of v, or to take it from them: (n,)."""
    n, k = columns.codes.shape[0], parents.shape[0]
    gains, chosen = np.zeros(n), np.zeros(n, dtype=np.bool_)
    family = np.empty(k + 1, dtype=np.int64)
    family[0] = v
    family[1:] = parents
    base = whole_rows(columns, family)
    places = np.arange(1, k + 1)
    as_it_is = score_part(base, places, prior)
    for i in range(k):
        chosen[parents[i]] = True
        others = np.concatenate((places[:i], places[i + 1 :]))
        if as_pairs:
            weigh_as_pair(base, columns, v, parents[i])
            as_it_is = score_part(base, places, prior)
        gains[parents[i]] = score_part(base, others, prior) - as_it_is
    wider = np.empty(k + 2, dtype=np.int64)
    wider[: k + 1] = family
    for u in range(n):
        if u != v and not chosen[u]:
            wider[k + 1] = u
            both = whole_rows(columns, wider)
            if as_pairs:
                weigh_as_pair(both, columns, v, u)
            after = score_part(both, np.arange(1, k + 2), prior)
            gains[u] = after - score_part(both, places, prior)
    return gains


class AvailableCases:
    """Scores of families in a table with holes, relative to a neighbour's on the same rows.

    With `as_pairs` these rows weigh as much as those that show both ends of the edge: about what
    they would say if the other members of the family were never missing.
    """

    def __init__(self, table: Table, alpha: float | str, *, as_pairs: bool = False) -> None:
        self.as_pairs = as_pairs
        self.columns, self.prior = columns_of(table), prior_of(alpha)
        self.cards, self.cases = self.columns.cards.astype(np.float64), table.weight

    def __call__(self, child: int, parents: BoolArray) -> FloatArray:
        """Give scores of the families that differ by one parent, relative to the one as it is."""
        chosen = np.flatnonzero(parents)
        return available_gains(self.columns, child, chosen, self.prior, self.as_pairs)


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


def complete_scores(task: GraphTask, table: Table) -> FamilyScores:
    """Score families in a table that shows every category: that of the task, or its completion."""
    told = statistics_of(
        table,
        task.variables,
        task.alpha,
        lambda one: CompleteCounts(one, task.alpha, task.known.tables),
    )
    return FamilyScores(told, task.log_prior)


def available_scores(task: GraphTask, *, as_pairs: bool = False) -> FamilyScores:
    """Score families in a table with holes, each move on the rows that show all it is about."""
    return FamilyScores(
        statistics_of(
            task.table,
            task.variables,
            task.alpha,
            lambda one: AvailableCases(one, task.alpha, as_pairs=as_pairs),
        ),
        task.log_prior,
    )


def paired_scores(task: GraphTask, drawn: CodeArray) -> FamilyScores:
    """Score families in completed rows, (times, rows, columns): each move where both ends show."""
    kept = ~task.numbers
    return FamilyScores(
        statistics_of(
            task.table,
            task.variables,
            task.alpha,
            lambda _: PairedCases(task.table, drawn, kept, task.alpha),
        ),
        task.log_prior,
    )


def statistics_of(
    table: Table,
    variables: Sequence[Variable],
    alpha: float | str,
    of_categories: Callable[[Table], Statistics],
) -> Statistics:
    """Give who scores families of a table: its categories are left to somebody, numbers added."""
    if not are_numbers(table).any():
        return of_categories(table)
    categories = categories_of(table)
    counted = None if categories is None else of_categories(categories)
    return MixedFamilies(counted, NumberFamilies(table, variables, alpha))


FEW_VARIABLES = (
    6_000  # families: a search scores as many, so that the best of all graphs costs no more
)


def is_exact(task: GraphTask) -> bool:
    """Whether the best of all graphs is looked for: it was asked for, or it costs no more."""
    n = len(task.start)
    few = task.how.sweeps > 0 and n << (n - 1) <= FEW_VARIABLES and not task.numbers.any()
    return task.how.exact or few


def search_complete(
    task: GraphTask,
    starts: Sequence[BoolArray],
    executor: Executor = SERIAL,
    journal: Journal = FORGETFUL,
) -> Found:
    """Search for the graph with the largest log BD, from each of some graphs."""
    if is_exact(task):
        counts = CompleteCounts(task.table, task.alpha, task.known.tables)
        return search_exactly(counts, task.limits, executor, task.log_prior)
    scores = complete_scores(task, task.table)
    return search(starts, scores, task.limits, task.how, executor, journal)
