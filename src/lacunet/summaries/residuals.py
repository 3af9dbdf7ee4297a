"""Observed against expected counts: goodness of fit (G², X²) and bivariate residuals."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, xlogy

from lacunet.inference.plans.decompose import missing_patterns, totals
from lacunet.inference.predicted import PredictedClasses
from lacunet.inference.problem import Problem
from lacunet.inference.queries.answers import row_log_lik
from lacunet.inference.queries.query import marginal
from lacunet.models import conjugacy
from lacunet.models.latent_class import has_classes, is_latent_class
from lacunet.models.network import Model, Network
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IntArray
from lacunet.tabular import Documented

LARGEST_TABLE = 1 << 20  # most cells of a table: larger ones are too sparse for any test
MOST_WORK = 1_000_000_000  # row visits over all pairs of columns: some seconds
INFERENCE = 500_000  # cost of one pair in a general network, in row visits
ENOUGH = 5.0  # least cases of an average cell: the usual rule for the χ² approximation


@dataclass(frozen=True)
class GoodnessOfFit(Documented):
    """The test of the model against the full contingency table."""

    KEYS = "g2 x2 df p_g2 p_x2 cells patterns"

    g2: float  # likelihood-ratio (deviance) statistic
    x2: float  # Pearson's
    df: int  # cells − 1 per pattern of missing values and of covariates, less the parameters
    cells: int
    per_cell: float  # cases of an average cell
    patterns: int  # patterns of missing values, each with its own table
    contexts: int = 1  # patterns of covariates, each with its own tables

    @property
    def p_g2(self) -> float:
        """P-value of G² by the χ² distribution; NaN if that does not apply."""
        return self._p_value(self.g2)

    @property
    def p_x2(self) -> float:
        """P-value of X² by the χ² distribution; NaN if that does not apply."""
        return self._p_value(self.x2)

    @property
    def sparse(self) -> bool:
        """Whether the table is too sparse for the χ² distribution."""
        return self.per_cell < ENOUGH

    def _p_value(self, statistic: float) -> float:
        return math.nan if self.df <= 0 or self.sparse else float(chdtrc(self.df, statistic))


def goodness_of_fit(
    model: Model, codes: CodeArray, counts: FloatArray, dimension: int | None = None
) -> GoodnessOfFit | None:
    """Compute G² and X² from distinct rows; None if the table is too large or has numbers.

    Each pattern of missing values, and of a variable given such as covariates, has its own table:
    G² = 2 Σ n log(n/m), with m the cases of the pattern times p(row). Empty cells are not
    enumerated: Σ (n − m)²/m over all cells is Σ n²/m over observed cells, less the cases.
    `dimension` replaces that of the network.
    """
    network = model.network
    if not network.layout.tabular:
        return None
    columns = [j for j, i in enumerate(network.observed) if i != model.given]
    cards = np.array([len(network.variables[network.observed[j]].states) for j in columns])
    missing, pattern = missing_patterns(codes[:, columns])
    context = np.zeros(len(codes), dtype=np.int64)
    if model.given is not None:
        context = codes[:, network.observed.index(model.given)].astype(np.int64)
    groups, which = np.unique(np.stack([pattern, context]), axis=1, return_inverse=True)
    which = which.reshape(-1)
    cells = [math.prod(cards[~absent].tolist()) for absent in missing]
    if sum(cells[h] for h in groups[0]) > LARGEST_TABLE:
        return None
    seen = counts > 0
    cases = totals(which, counts, groups.shape[1])
    m = cases[which] * np.exp(row_log_lik(model, codes))
    n, m = counts[seen], m[seen]
    with np.errstate(divide="ignore"):
        g2, x2 = 2.0 * float(np.sum(xlogy(n, n / m))), float(np.sum(n**2 / m) - n.sum())
    if not network.layout.learned.all():
        cells = [_possible_cells(network, cards, absent) for absent in missing]
    nonempty = groups[:, cases > 0]
    used = [cells[h] for h in nonempty[0]]
    df = sum(c - 1 for c in used) - (network.dimension if dimension is None else dimension)
    patterns, contexts = (len(np.unique(x)) for x in nonempty)
    total = sum(used)
    return GoodnessOfFit(g2, x2, df, total, float(n.sum()) / total, patterns, contexts)


def _possible_cells(network: Network, cards: IntArray, absent: BoolArray) -> int:
    """Count the cells of a pattern's table that known parameters leave possible."""
    shown = np.flatnonzero(~absent)
    sizes = cards[shown].tolist()
    codes = np.full((math.prod(sizes), len(cards)), -1, dtype=np.int32)
    codes[:, shown] = np.indices(sizes).reshape(len(shown), len(codes)).T
    anything = np.ones(network.layout.size)
    model = Model(network, conjugacy.mean(anything, network.layout), anything)
    return int(np.count_nonzero(np.isfinite(row_log_lik(model, codes))))


@dataclass(frozen=True)
class PairResidual(Documented):
    """The misfit of the model in the two-way table of two columns."""

    KEYS = "columns value x2 df"

    first: str
    second: str
    x2: float  # Pearson's statistic of their two-way table
    df: int  # (r − 1)(s − 1)
    cases: float  # with both observed

    @property
    def columns(self) -> list[str]:
        """The names of the two columns."""
        return [self.first, self.second]

    @property
    def value(self) -> float:
        """X²/df: near 1 if the model explains their association, large otherwise."""
        return self.x2 / self.df if self.df else math.nan


def bivariate_residuals(
    model: Model, codes: CodeArray, counts: FloatArray, sizes: FloatArray | None = None
) -> list[PairResidual]:
    """Compare every two-way table of categorical columns with its expectation; worst first.

    Tables contain the rows with both values. Their expectation assumes that cells are missing
    independently of the two columns. If covariates predict classes, `sizes` are the probabilities
    of the classes in each row, (rows, K).
    """
    variables, pairs = model.network.variables, []
    tables, columns = PairTables(model), enumerate(model.network.observed)
    tabular = [(a, i) for a, i in columns if variables[i].family.tabular]
    for (a, i), (b, j) in itertools.combinations(tabular, 2):
        both = (codes[:, a] >= 0) & (codes[:, b] >= 0)
        cases = counts[both].sum()
        shares = None if sizes is None or not cases else counts[both] @ sizes[both] / cases
        expected = cases * (tables if shares is None else PairTables(model, shares))(i, j)
        cell = codes[both, a].astype(np.int64) * expected.shape[1] + codes[both, b]
        observed = totals(cell, counts[both], expected.size).reshape(expected.shape)
        pairs.append(pair_residual(variables[i].name, variables[j].name, observed, expected))
    return worst_first(pairs)


def pair_residual(
    first: str, second: str, observed: FloatArray, expected: FloatArray
) -> PairResidual:
    """Compare the observed and expected counts of a two-way table."""
    possible, (r, s) = expected > 0, expected.shape
    x2 = float(np.sum((observed - expected)[possible] ** 2 / expected[possible]))
    if observed[~possible].any():
        x2 = math.inf
    return PairResidual(first, second, x2, (r - 1) * (s - 1), float(observed.sum()))


def covariate_residuals(
    classes: PredictedClasses, model: Model, sizes: FloatArray
) -> Iterator[PairResidual]:
    """Residuals of pairs of an item and a categorical covariate, given the covariate."""
    known, plain = classes.logit.covariates, classes.plain
    for one, place in zip(known.covariates, known.places, strict=True):
        if one.number:
            continue
        # The reference, and then a column for each state.
        each = classes.logit.design[:, place]
        states = np.column_stack([1.0 - each.sum(axis=1), each])[classes.pattern]
        for column, i in enumerate(plain.network.observed):
            item = plain.network.variables[i]
            if not item.family.tabular:
                continue
            seen = plain.codes[:, column] >= 0
            weighted = plain.counts[seen, None] * states[seen]
            table = plain.layout.table(model.theta, i)
            expected = (sizes[seen] @ table).T @ weighted
            answers = np.eye(len(item.states))[plain.codes[seen, column]]
            yield pair_residual(item.name, one.name, answers.T @ weighted, expected)


def worst_first(pairs: Sequence[PairResidual]) -> list[PairResidual]:
    """Sort pairs by residual; those without degrees of freedom come last."""
    return sorted(pairs, key=lambda pair: -pair.value if pair.df else math.inf)


class PairTables:
    """p(x_i, x_j) of any two observed variables of a model.

    With one hidden root above every answer, two answers are independent within classes unless
    direct effects connect them. Only connected pairs need inference in the network.
    """

    def __init__(self, model: Model, sizes: FloatArray | None = None) -> None:
        """Find groups of answers connected by direct effects; `sizes` (K,) replace class sizes."""
        network = model.network
        self.model, self.joined = model, list(range(len(network.variables)))
        self.root = network.hidden[0] if has_classes(network) else None
        if self.root is None:
            return
        self.sizes = network.layout.table(model.theta, self.root) if sizes is None else sizes
        self.of_class: dict[int, FloatArray] = {}
        for child, parents in enumerate(network.parents):
            for parent in set(parents) - {self.root}:
                old, new = self.joined[child], self.joined[parent]
                self.joined = [new if other == old else other for other in self.joined]

    def __call__(self, i: int, j: int) -> FloatArray:
        """Compute the table of a pair."""
        if self.root is None or self.joined[i] == self.joined[j]:
            return marginal(self.model, (i, j))
        a, b = (self._given_class(v, self.root) for v in (i, j))
        joint: FloatArray = np.einsum("c,ca,cb->ab", self.sizes, a, b)
        return joint

    def _given_class(self, i: int, root: int) -> FloatArray:
        """Compute p(x_i | class), (K, r)."""
        if i not in self.of_class:
            network = self.model.network
            if network.parents[i] == (root,):
                self.of_class[i] = network.layout.table(self.model.theta, i)
            else:
                both = marginal(self.model, (root, i))
                size = both.sum(axis=1, keepdims=True)
                self.of_class[i] = both / np.where(size > 0, size, 1.0)
        return self.of_class[i]


def ordered_edge(network: Network, pair: PairResidual) -> tuple[str, str]:
    """Direct an edge from the earlier column to the later one, which avoids cycles."""
    names = [network.variables[i].name for i in network.shown]
    one, other = sorted((pair.first, pair.second), key=names.index)
    return one, other


def possible_pairs(network: Network) -> int:
    """Number of pairs of categorical columns."""
    columns = sum(network.variables[i].family.tabular for i in network.observed)
    return columns * (columns - 1) // 2


def few_pairs(problem: Problem, *, latent_class: bool | None = None) -> bool:
    """Whether the residuals of all pairs of columns take only some seconds."""
    network = problem.network
    alone = is_latent_class(network) if latent_class is None else latent_class
    columns = sum(network.variables[i].family.tabular for i in network.observed)
    each = len(problem.codes) + (0 if alone else INFERENCE)
    return columns * (columns - 1) // 2 * each <= MOST_WORK
