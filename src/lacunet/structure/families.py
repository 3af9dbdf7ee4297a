"""Scores of families: a family is scored together with all that differ from it by one parent.

If tables are small, one pass over the rows scores the addition of every variable with few states:
each row adds its indicators to the line of its parents and child. The removal of a parent sums
cells of the family's own table. A prior over graphs is a product over families. Scores may be
averaged over several equivalent sample sizes.
"""

import math
from enum import StrEnum
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from lacunet.data.table import Table
from lacunet.errors import DataError
from lacunet.likelihoods.gamma_functions import log_gamma_above
from lacunet.models import conjugacy
from lacunet.models.known_tables import NOTHING, KnownTables
from lacunet.models.latent_class import LARGEST_TABLE
from lacunet.models.network import Network
from lacunet.models.prior import dirichlet, each_alpha, understand_values
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.jit import kernel
from lacunet.structure.counting import (
    AIR,
    Columns,
    Prior,
    add_up_states,
    child_of,
    exponents,
    log_bd,
    log_mean,
    numbered_zeros,
    possible_states,
    prior_of,
    refine,
    split_rows,
    table_size,
)

NARROW = 8  # most states: with more, indicators are mostly zeros
ROOM = 1 << 27  # most bytes of indicators
STEP = 8  # numbers that a processor adds at once: lines are padded to a multiple


class Indicators(NamedTuple):
    """One-hot codes of each row, for all variables with few states side by side."""

    shown: NDArray[np.int8]  # (m, width) padded with 0
    first: IntArray  # (n,) first column of each variable; −1: left out


def indicators_of(columns: Columns) -> Indicators:
    """Encode the variables with few states, as many as fit into memory."""
    n, m = columns.codes.shape
    first, width = np.full(n, -1), 0
    for u in np.flatnonzero(columns.cards <= NARROW).tolist():
        if (width + NARROW) * m <= ROOM:
            first[u], width = width, width + int(columns.cards[u])
    shown = np.zeros((m, -(-width // STEP) * STEP), dtype=np.int8)
    for u in np.flatnonzero(first >= 0).tolist():
        shown[np.arange(m), first[u] + columns.codes[u]] = 1
    return Indicators(shown, first)


@kernel
def score_toggles(
    columns: Columns, indicators: Indicators, v: int, parents: IntArray, prior: Prior
) -> FloatArray:
    """Log BD of a child with each variable in turn added to its parents, or removed: (n,).

    The entry of the child itself is the score of the family as it is.
    """
    room = AIR * columns.codes.shape[1]
    if table_size(columns, v, parents) <= room and columns.possible.shape[0] == 0:
        return score_by_tables(columns, indicators, v, parents, prior)
    return score_by_cuts(columns, v, parents, prior)


@kernel
def score_by_tables(
    columns: Columns, indicators: Indicators, v: int, parents: IntArray, prior: Prior
) -> FloatArray:
    """Score with a dense table of every configuration, without structural zeros."""
    n, m = columns.codes.shape
    child = child_of(columns, v)
    scores, chosen = np.empty(n), np.zeros(n, dtype=np.bool_)
    j, other = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    q = split_rows(columns, parents, -1, j)
    size = q * child.r
    N = add_up_states(j, q, child.x, child.r, child.counts).reshape((size, 1))
    scores[v] = log_bd_of(N, child.r, 0, 1, exponents(float(size), prior))
    after = size  # stride of the current parent in the table
    for p in parents:
        r, chosen[p] = columns.cards[p], True
        after //= r
        fewer = N.reshape((size // (after * r), r, after)).sum(axis=1).reshape((size // r, 1))
        scores[p] = log_bd_of(fewer, child.r, 0, 1, exponents(float(size // r), prior))
    for row in range(m):
        j[row] = j[row] * child.r + child.x[row]
    together = size * NARROW <= AIR * m
    beside = add_up_lines(j, size if together else 0, indicators.shown, child.counts)
    for u in range(n):
        r = columns.cards[u]
        if u == v or chosen[u]:
            continue
        each = exponents(float(size) * r, prior)
        if together and indicators.first[u] >= 0:
            scores[u] = log_bd_of(beside, child.r, indicators.first[u], r, each)
        elif size * r <= AIR * m:
            wider = add_up_states(j, size, columns.codes[u], r, child.counts).reshape((size, r))
            scores[u] = log_bd_of(wider, child.r, 0, r, each)
        else:
            for row in range(m):
                other[row] = j[row] // child.r
            more = refine(other, q, columns.codes[u], r, other)
            scores[u] = log_bd(child, other, more, float(size) * r, prior)
    return scores


@kernel
def add_up_lines(
    key: IntArray, size: int, lines: NDArray[np.int8], counts: FloatArray
) -> FloatArray:
    """Sum the lines of rows with equal keys, weighted by the counts of rows: (size, width)."""
    width = lines.shape[1]
    N = np.zeros((size, width))
    for row in range(key.shape[0] if size else 0):
        weight, at = counts[row], key[row]
        for cell in range(width):
            N[at, cell] += weight * lines[row, cell]
    return N


@kernel
def log_bd_of(N: FloatArray, r: int, first: int, states: int, each: FloatArray) -> float:
    """Log BD of a table, averaged over exponents (CH96 eq. 5).

    A line is a configuration and a state of the child. Columns from `first` on are the states of
    one more parent.
    """
    values = np.empty(each.shape[0])
    for k in range(each.shape[0]):
        a = each[k]
        total, at_rest, all_at_rest = 0.0, log_gamma_above(a, 0.0), log_gamma_above(r * a, 0.0)
        for top in range(0, N.shape[0], r):
            for s in range(first, first + states):
                N_j = 0.0
                for line in range(top, top + r):
                    if N[line, s] > 0.0:
                        N_j += N[line, s]
                        total += log_gamma_above(a, N[line, s]) - at_rest
                if N_j > 0.0:
                    total -= log_gamma_above(r * a, N_j) - all_at_rest
        values[k] = total
    return log_mean(values)


@kernel
def score_by_cuts(columns: Columns, v: int, parents: IntArray, prior: Prior) -> FloatArray:
    """Score by numbering the configurations of each set: tables may be larger than the data."""
    n, m = columns.codes.shape
    child = child_of(columns, v)
    scores, other = np.empty(n), np.empty(m, dtype=np.int64)
    chosen, cells = np.zeros(n, dtype=np.bool_), table_size(columns, v, parents)
    chosen[parents] = True
    j = np.empty(m, dtype=np.int64)
    q = split_rows(columns, parents, -1, j)
    scores[v] = log_bd(child, j, q, cells, prior)
    for u in range(n):
        r = columns.cards[u]
        if chosen[u]:
            fewer = split_rows(columns, parents, u, other)
            scores[u] = log_bd(child, other, fewer, cells / r, prior)
        elif u != v:
            more = refine(j, q, columns.codes[u], r, other)
            scores[u] = log_bd(child, other, more, cells * r, prior)
    return scores


MOST_NUMBERS = LARGEST_TABLE >> 2  # parameters of a graph: a fit has several such vectors


def largest_family(states: float, variables: int, cases: float) -> float:
    """Compute the largest allowed size of the table of a variable, by memory and by cases.

    More configurations of parents than cases cannot all occur. BDeu can favour such families if
    values hardly repeat, because its prior predicts better than a few cases.
    """
    return min(MOST_NUMBERS / variables, states * cases)


class FamilyScore(NamedTuple):
    """The score of a family, and the gains of adding or removing one parent."""

    score: float  # log p(its column | its parents' columns), and log p(its parents)
    gains: FloatArray  # (n,) of adding each variable to the parents, or removing it


class Statistics(Protocol):
    """Scores a child with each variable added to its parents, or removed: (n,).

    The entry of the child itself is the family as it is; only differences from it matter.
    """

    cards: FloatArray  # (n,) states of each variable
    cases: float  # N, the total weight of the rows

    def __call__(self, child: int, parents: BoolArray) -> FloatArray:
        """Score a family."""


def columns_of(table: Table, tables: KnownTables = NOTHING) -> Columns:
    """Arrange a table column by column for counting."""
    cards = np.array([len(c.states) for c in table.columns])
    codes = np.ascontiguousarray(table.codes.T)
    zeros = numbered_zeros(table.columns, tables.zeros)
    return Columns(codes, table.counts, cards, possible_states(codes, cards, zeros))


class CompleteCounts:
    """Log BD of families in a complete table, CH96 eq. 5."""

    def __init__(self, table: Table, alpha: float | str, tables: KnownTables = NOTHING) -> None:
        if not table.complete:
            worst = int(table.missing.argmax())
            raise DataError(
                f"column '{table.columns[worst].name}' has missing cells "
                f"({table.missing[worst]:.1%}), and this search needs complete data. Fill them in "
                "with `lacunet assign --impute`, or leave such columns out with --exclude."
            )
        self.columns = columns_of(table, tables)
        self.prior = prior_of(alpha)
        self.cards, self.cases = self.columns.cards.astype(np.float64), table.weight
        self.indicators = indicators_of(self.columns)

    def __call__(self, child: int, parents: BoolArray) -> FloatArray:
        """Score a family."""
        chosen = np.flatnonzero(parents)
        return score_toggles(self.columns, self.indicators, child, chosen, self.prior)


class FamilyScores:
    """Scores of families, each computed once; a table that is too large is never chosen.

    `log_prior[v, k]` is the log prior of a set of k parents of v; None: uniform over graphs. A
    family is given by a child and the set of its parents, (n,).
    """

    def __init__(self, statistics: Statistics, log_prior: FloatArray | None = None) -> None:
        self.statistics, self.cards = statistics, statistics.cards
        n = len(self.cards)
        self.log_prior = np.zeros((n, n)) if log_prior is None else log_prior
        self.known: dict[tuple[int, bytes], FamilyScore] = {}

    def __call__(self, child: int, parents: BoolArray) -> FamilyScore:
        """Score a family."""
        key = (child, parents.tobytes())
        if key not in self.known:
            self.known[key] = self._score(child, parents)
        return self.known[key]

    def _score(self, child: int, parents: BoolArray) -> FamilyScore:
        n, sizes = len(parents), parents.sum() + np.where(parents, -1, 1)
        sizes[child] = parents.sum()
        log_priors = self.log_prior[child, np.minimum(sizes, n - 1)]  # no set has all variables
        scores = self.statistics(child, parents) + log_priors
        cells = self.cards[child] * self.cards[parents].prod()
        largest = largest_family(self.cards[child], n, self.statistics.cases)
        gains = scores - scores[child]
        gains[~parents & (cells * self.cards > largest)] = -np.inf
        return FamilyScore(float(scores[child]), gains)

    @property
    def scored(self) -> int:
        """The number of families scored."""
        return len(self.known) * len(self.cards)


class PerturbedScores(FamilyScores):
    """Scores whose gains are multiplied by random factors: climbs end at other optima."""

    def __init__(self, scores: FamilyScores, spread: float, rng: np.random.Generator) -> None:
        super().__init__(scores.statistics, scores.log_prior)
        self.scores, self.spread, self.rng = scores, spread, rng

    def _score(self, child: int, parents: BoolArray) -> FamilyScore:
        score, gains = self.scores(child, parents)
        factors = np.exp(self.spread * self.rng.standard_normal(len(gains)))
        return FamilyScore(score, gains * factors)


class GraphPrior(StrEnum):
    """A prior over graphs; equivalent graphs are equally probable."""

    FAIR = "fair"  # each number of parents of a variable is equally probable
    UNIFORM = "uniform"  # each graph is


AVERAGED = "bdeu:0.5-10"  # of learned graphs, with FAIR: chosen by bench/structure/defaults.py

MEANINGS = {
    GraphPrior.FAIR: "each number of parents is equally probable (fair)",
    GraphPrior.UNIFORM: "all are equally probable (uniform)",
}


def log_prior_of_sizes(prior: GraphPrior, candidates: IntArray, most: int) -> FloatArray:
    """Log p of one set of k parents of v, up to a constant, at [v, k]: (n, most + 1).

    `candidates`, (n,), counts the possible parents of each, regardless of constraints. Fair:
    p ∝ 1 / (candidates over k), so the number of sets does not favour a size (Friedman & Koller
    2003; Eggeling, Viinikka, Vuoksenmaa & Koivisto 2019). Reversing a covered edge exchanges two
    numbers of parents, so equivalent graphs stay equally probable.

    >>> log_prior_of_sizes(GraphPrior.FAIR, np.array([3]), 3).round(2).tolist()
    [[0.0, -1.1, -1.1, 0.0]]
    """
    if prior is GraphPrior.UNIFORM:
        return np.zeros((len(candidates), most + 1))
    c = candidates[:, None].astype(np.float64)
    k = np.minimum(
        np.arange(most + 1), c
    )  # more than c only by required edges, which do not matter
    return np.asarray(gammaln(k + 1.0) + gammaln(c - k + 1.0) - gammaln(c + 1.0))


def log_prior_over(table: Table, prior: GraphPrior) -> FloatArray:
    """Log p of a set of k parents of each column, at [v, k], up to a constant: (n, n).

    Candidates are categorical columns with two states or more.
    """
    candidate = np.array([len(c.states) > 1 and not c.kind.number for c in table.columns])
    return log_prior_of_sizes(prior, candidate.sum() - candidate, len(candidate) - 1)


def is_averaged(alpha: float | str) -> bool:
    """Whether scores are averaged over several equivalent sample sizes."""
    return len(understand_values(alpha)[0]) > 1


def middle_exponents(network: Network, alpha: float | str) -> FloatArray:
    """Compute the exponents of the middle sample size."""
    several = each_alpha(alpha)
    return dirichlet(network, several[len(several) // 2])


def _log_marginals(
    network: Network, alpha: float | str, N: FloatArray
) -> tuple[list[FloatArray], FloatArray]:
    """Compute exponents by sample size, and log marginals of families under them, (sizes, n)."""
    priors = [dirichlet(network, one) for one in each_alpha(alpha)]
    return priors, np.stack([conjugacy.log_marginal(N, p, network.layout) for p in priors])


def likeliest_exponents(network: Network, alpha: float | str, N: FloatArray) -> FloatArray:
    """Choose for each table the exponents with the largest marginal likelihood of N, (size,).

    If tables are tied, fixed or have zeros, all share one sample size.
    """
    if not is_averaged(alpha):
        return dirichlet(network, each_alpha(alpha)[0])
    priors, logs = _log_marginals(network, alpha, N)
    if not network.plain:
        return priors[int(logs.sum(axis=1).argmax())]
    exponents, layout = priors[0].copy(), network.layout
    for i, best in enumerate(logs.argmax(axis=0).tolist()):
        layout.table(exponents, i)[...] = layout.table(priors[best], i)
    return exponents


def averaging_gains(
    network: Network, alpha: float | str, exponents: FloatArray, N: FloatArray
) -> FloatArray:
    """Compute the log BD gain of averaging over fixed exponents, (n,); 0 without averaging."""
    if not is_averaged(alpha):
        return np.zeros(len(network.variables))
    _, logs = _log_marginals(network, alpha, N)
    mean = np.logaddexp.reduce(logs, axis=0) - math.log(len(logs))
    return np.asarray(mean - conjugacy.log_marginal(N, exponents, network.layout))
