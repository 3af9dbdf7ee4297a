"""Scores of families in any table: available cases, completed rows, and numbers.

Scores on different rows are not comparable, because a family with more parents is complete in fewer
rows. So with missing values, both sides of a move are scored on the same rows. These are the rows
with all variables of the move observed, or completed rows with both ends of its edge observed.
Numbers have no children, so a missing number carries no information.
"""

from collections.abc import Callable, Sequence

import numpy as np

from lacunet.data.table import Table
from lacunet.inference.kernels.merging import renumber
from lacunet.likelihoods import Segment, with_prior
from lacunet.models.network import Variable
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IntArray
from lacunet.runtime.checkpoint import NULL_CHECKPOINT, Checkpoint
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.runtime.jit import kernel
from lacunet.structure.counting import (
    NO_ZEROS,
    Child,
    Columns,
    Prior,
    exponents,
    log_bd,
    log_mean,
    prior_of,
    refine,
    score_set,
    split_rows,
    table_size,
)
from lacunet.structure.families import CompleteCounts, FamilyScores, Statistics, columns_of
from lacunet.structure.searching import ScoredGraph, search, search_exactly
from lacunet.structure.task import GraphTask, are_numbers

FEW = 5_000  # most rows of all completions together, if one completion has fewer
MANY = 20_000  # most rows scored
NO_LIMITS = np.zeros(0, dtype=np.int64)


@kernel
def _whole_rows(columns: Columns, family: IntArray) -> Columns:
    """Select the rows with all variables of a family observed, and the columns of the family."""
    m = columns.codes.shape[1]
    rows, seen = np.empty(m, dtype=np.int64), 0
    for row in range(m):
        whole = True
        for v in family:
            whole = whole and columns.codes[v, row] >= 0
        if whole:
            rows[seen] = row
            seen += 1
    rows = rows[:seen]
    codes = np.empty((family.shape[0], seen), dtype=columns.codes.dtype)
    for k in range(family.shape[0]):
        for i in range(seen):
            codes[k, i] = columns.codes[family[k], rows[i]]
    return Columns(codes, columns.counts[rows], columns.cards[family], np.empty((0, 0), np.int64))


@kernel
def _score_part(columns: Columns, parents: IntArray, prior: Prior) -> float:
    """Log BD of column 0 given some of the others, without missing values."""
    return score_set(columns, 0, parents, prior) if columns.counts.shape[0] > 0 else 0.0


@kernel
def _weigh_as_pair(whole: Columns, columns: Columns, v: int, u: int) -> None:
    """Scale the weight of rows with a complete family to that of rows with u and v observed."""
    seen = 0.0
    for row in range(columns.codes.shape[1]):
        if columns.codes[v, row] >= 0 and columns.codes[u, row] >= 0:
            seen += columns.counts[row]
    whole.counts[:] *= seen / max(whole.counts.sum(), 1.0)


@kernel
def available_gains(
    columns: Columns, v: int, parents: IntArray, prior: Prior, as_pairs: bool = False
) -> FloatArray:
    """Compute the gain of adding each variable to the parents of v, or removing it: (n,)."""
    n, k = columns.codes.shape[0], parents.shape[0]
    gains, chosen = np.zeros(n), np.zeros(n, dtype=np.bool_)
    family = np.empty(k + 1, dtype=np.int64)
    family[0] = v
    family[1:] = parents
    base = _whole_rows(columns, family)
    places = np.arange(1, k + 1)
    as_it_is = _score_part(base, places, prior)
    for i in range(k):
        chosen[parents[i]] = True
        others = np.concatenate((places[:i], places[i + 1 :]))
        if as_pairs:
            _weigh_as_pair(base, columns, v, parents[i])
            as_it_is = _score_part(base, places, prior)
        gains[parents[i]] = _score_part(base, others, prior) - as_it_is
    wider = np.empty(k + 2, dtype=np.int64)
    wider[: k + 1] = family
    for u in range(n):
        if u != v and not chosen[u]:
            wider[k + 1] = u
            both = _whole_rows(columns, wider)
            if as_pairs:
                _weigh_as_pair(both, columns, v, u)
            after = _score_part(both, np.arange(1, k + 2), prior)
            gains[u] = after - _score_part(both, places, prior)
    return gains


class AvailableCases:
    """Gains of moves in a table with missing values, each on the rows with all its variables.

    With `as_pairs` these rows weigh as much as those with both ends of the edge observed. This
    approximates the gain if the other members of the family were never missing.
    """

    def __init__(self, table: Table, alpha: float | str, *, as_pairs: bool = False) -> None:
        self.as_pairs = as_pairs
        self.columns, self.prior = columns_of(table), prior_of(alpha)
        self.cards, self.cases = self.columns.cards.astype(np.float64), table.weight

    def __call__(self, child: int, parents: BoolArray) -> FloatArray:
        """Score a family."""
        chosen = np.flatnonzero(parents)
        return available_gains(self.columns, child, chosen, self.prior, self.as_pairs)


@kernel
def _paired_gains(
    columns: Columns, shown: BoolArray, v: int, parents: IntArray, prior: Prior
) -> FloatArray:
    """Compute the gain of adding each variable to the parents of v, or removing it: (n,).

    `shown`, (n, m), marks the observed cells; the others are imputed.
    """
    n, m = columns.codes.shape
    gains, chosen = np.zeros(n), np.zeros(n, dtype=np.bool_)
    chosen[parents] = True
    cells = table_size(columns, v, parents)
    whole, fewer = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    q = split_rows(columns, parents, -1, whole)
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
        current = log_bd(child, j, q, cells, prior)
        if chosen[u]:
            q_after = split_rows(columns, parents, u, fewer)
            gains[u] = log_bd(child, fewer[at], q_after, cells / r, prior) - current
        else:
            q_after = refine(j, q, columns.codes[u][at], r, j)
            gains[u] = log_bd(child, j, q_after, cells * r, prior) - current
    return gains


class PairedCases:
    """Gains of moves in completed rows, each on the rows with both ends of the edge observed.

    Large tables are thinned at equal distances, with weights to match.
    """

    def __init__(
        self, table: Table, drawn: CodeArray, categorical: BoolArray, alpha: float | str
    ) -> None:
        times = min(len(drawn), max(1, FEW // len(table.codes)))
        at = slice(None, None, -(-len(table.codes) // MANY))
        codes = np.concatenate([one[at][:, categorical] for one in drawn[:times]])
        shown = np.tile(table.codes[at][:, categorical] >= 0, (times, 1))
        counts = np.tile(table.counts[at], times)
        cards = np.array([len(table.columns[v].states) for v in np.flatnonzero(categorical)])
        counts *= table.weight / counts.sum()
        self.columns = Columns(np.ascontiguousarray(codes.T), counts, cards, NO_ZEROS)
        self.shown, self.prior = np.ascontiguousarray(shown.T), prior_of(alpha)
        self.cards, self.cases = cards.astype(np.float64), table.weight

    def __call__(self, child: int, parents: BoolArray) -> FloatArray:
        """Score a family."""
        chosen = np.flatnonzero(parents)
        return _paired_gains(self.columns, self.shown, child, chosen, self.prior)


class MixedFamilies:
    """Scores of families in a table with numbers; `categories` scores the categorical children."""

    def __init__(
        self,
        categories: Statistics | None,
        table: Table,
        variables: Sequence[Variable],
        alpha: float | str,
    ) -> None:
        self.categories, self.variables, self.prior = categories, variables, prior_of(alpha)
        self.codes = np.ascontiguousarray(table.codes.T).astype(np.int64)  # (n, m)
        self.counts, self.numbers = table.counts, are_numbers(table)
        self.states = np.array([len(v.states) for v in variables])
        self.of_categories = np.flatnonzero(~self.numbers)
        self.cards = np.array([float(v.family.width(v.states)) for v in variables])
        self.cases = float(table.counts.sum())

    def __call__(self, child: int, parents: BoolArray) -> FloatArray:
        """Score a family."""
        if self.categories is None or self.numbers[child]:
            return self._of_number(child, parents)
        place = int(np.searchsorted(self.of_categories, child))
        among_categories = self.categories(place, parents[self.of_categories])
        scores = np.full(len(parents), among_categories[place])
        scores[self.of_categories] = among_categories
        return scores

    def _of_number(self, child: int, parents: BoolArray) -> FloatArray:
        """Score a number, each move on the rows with all its variables observed: (n,)."""
        chosen = np.flatnonzero(parents)
        rows = np.flatnonzero((self.codes[[child, *chosen]] >= 0).all(axis=0))
        j, whole = self._cut(rows, chosen), float(self.states[chosen].prod())
        current = self._log_marginal(child, rows, j, whole)
        scores = np.full(len(parents), current)
        for u in self.of_categories.tolist():
            states = int(self.states[u])
            if parents[u]:
                fewer = self._cut(rows, chosen[chosen != u])
                scores[u] = self._log_marginal(child, rows, fewer, whole / states)
            else:
                seen = self.codes[u, rows] >= 0
                both, configuration = rows[seen], j[seen]
                base = (
                    current if seen.all() else self._log_marginal(child, both, configuration, whole)
                )
                finer = configuration * states + self.codes[u, both]
                renumber(finer)
                scores[u] = current + self._log_marginal(child, both, finer, whole * states) - base
        return scores

    def _cut(self, rows: IntArray, parents: IntArray) -> IntArray:
        """Number the configurations of parents that occur in some rows."""
        j = np.zeros(len(rows), dtype=np.int64)
        for u in parents.tolist():
            j = j * self.states[u] + self.codes[u, rows]
            renumber(j)
        return j

    def _log_marginal(self, child: int, rows: IntArray, j: IntArray, whole: float) -> float:
        """Log p of the values of a number in some rows, which are in configurations j.

        `whole` is the number of all configurations. The prior of each is that of the number, or
        exponents as for categories.
        """
        v, number = self.variables[child], int(j.max(initial=-1)) + 1
        if not number:
            return 0.0
        family, width = with_prior(v.family), v.family.width(v.states)
        hypers = [np.array(v.prior)]
        if not v.prior:
            each = exponents(float(width * whole), self.prior)
            hypers = [np.full(width, a) for a in each]
        T, weight = v.statistics[self.codes[child, rows]], self.counts[rows]
        sums = [np.bincount(j, weight * t, number).astype(np.float64) for t in T.T]
        N, at = np.stack(sums, axis=1).reshape(-1), Segment.of_table(family, number, len(sums))
        logs = [family.log_marginal(N, np.tile(hyper, number), at).sum() for hyper in hypers]
        return log_mean(np.array(logs))


def statistics_of(
    table: Table,
    variables: Sequence[Variable],
    alpha: float | str,
    of_categories: Callable[[Table], Statistics],
) -> Statistics:
    """Make the scores of any table: categories by a given function, numbers by their marginals."""
    numbers = are_numbers(table)
    if not numbers.any():
        return of_categories(table)
    columns = [table.columns[j] for j in np.flatnonzero(~numbers)]
    categories = None
    if columns:  # merges equal rows
        categories = of_categories(
            Table.from_codes(table.codes[:, ~numbers], columns, table.counts)
        )
    return MixedFamilies(categories, table, variables, alpha)


def _scores(
    task: GraphTask, table: Table, of_categories: Callable[[Table], Statistics]
) -> FamilyScores:
    statistics = statistics_of(table, task.variables, task.alpha, of_categories)
    return FamilyScores(statistics, task.log_prior)


def complete_scores(task: GraphTask, table: Table) -> FamilyScores:
    """Score families in a table without missing categories."""
    return _scores(task, table, lambda one: CompleteCounts(one, task.alpha, task.known.tables))


def available_scores(task: GraphTask, *, as_pairs: bool = False) -> FamilyScores:
    """Score moves in a table with missing values, each on the rows with all its variables."""
    return _scores(task, task.table, lambda one: AvailableCases(one, task.alpha, as_pairs=as_pairs))


def paired_scores(task: GraphTask, drawn: CodeArray) -> FamilyScores:
    """Score moves in completed rows, (times, rows, columns), where both ends are observed."""
    categorical = ~task.numbers
    return _scores(
        task, task.table, lambda _: PairedCases(task.table, drawn, categorical, task.alpha)
    )


# A heuristic search scores about as many families, so exact search costs no more.
FEW_VARIABLES = 6_000


def is_exact(task: GraphTask) -> bool:
    """Whether the search is exact: by the options, or because it costs no more."""
    n = len(task.start)
    few = task.options.sweeps > 0 and n << (n - 1) <= FEW_VARIABLES and not task.numbers.any()
    return task.options.exact or few


def search_complete(
    task: GraphTask,
    starts: Sequence[BoolArray],
    executor: Executor = SERIAL,
    checkpoint: Checkpoint = NULL_CHECKPOINT,
) -> ScoredGraph:
    """Search for the graph with the largest log BD from each start."""
    if is_exact(task):
        counts = CompleteCounts(task.table, task.alpha, task.known.tables)
        return search_exactly(counts, task.limits, executor, task.log_prior)
    scores = complete_scores(task, task.table)
    return search(starts, scores, task.limits, task.options, executor, checkpoint)
