"""Posterior predictive checks: is the table like those that its latent class model would give?

Tables are drawn from the fitted model with the same missing cells, and each statistic of the data
is held against those of the drawn tables. The parameters are those of the fit for all of them. They
are the best for the data and not for the drawn tables, so that p-values err on the high side: a
check that fails means something. The statistics:

    pairs of answers        the worst bivariate residual, (X² − df)/√(2 df)
    repeated rows           Σ n² over the different rows of answers
    shapes of numbers       the largest skewness or kurtosis within classes; of counts, dispersion
    pairs of numbers        the largest correlation within classes
    answers and numbers     the largest dependence of the two within classes

Within classes means: residuals of each class, weighted by the posterior of the classes. Draws of a
check end when five of them were as extreme as the data (Besag and Clifford 1991).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lacunet.fitting.fit import Fit
from lacunet.flags import Flag, Kind
from lacunet.inference.problem import Problem, at_equal_distances
from lacunet.likelihoods import GAUSSIAN
from lacunet.models import conjugacy
from lacunet.models.latent_class import LatentClasses, find_classes, has_classes
from lacunet.models.network import Model
from lacunet.models.surgery import sample_cells
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.rows import rows_at
from lacunet.summaries.residuals import PairTables
from lacunet.wording import edge_words, worded

MOST_DRAWS = 299  # tables that are drawn
ENOUGH = 5  # drawn tables as extreme as the data, after which a check has passed
LEVEL = 0.02  # of all checks together, by Holm's method
MOST_ROWS = 5_000  # of each table; of more, so many at equal distances
MOST_PRODUCTS = 3e7  # of a pass over all pairs of columns: wider tables have fewer rows
FEWEST = 20  # rows below which nothing is checked

ADVICE = {
    "pairs of answers": "Try a direct effect between them",
    "repeated rows": "Try more classes, or direct effects between answers",
    "shapes of numbers": "Try another kind of column (--kinds)",
    "pairs of numbers": "Try --covariance full",
    "answers and numbers": "Try more classes",
}


@dataclass(frozen=True)
class Check:
    """One statistic of the table, held against those of drawn tables."""

    name: str
    columns: tuple[str, ...]  # that the statistic is largest for; none: it is about all
    p_value: float  # of a table drawn from the model being as extreme
    draws: int

    @property
    def sentence(self) -> str:
        """Say what fails, and what to do."""
        where = f" ({', '.join(self.columns)})" if self.columns else ""
        return f"{self.name}{where} are not as the model has them, p = {self.p_value:.2g}"

    @property
    def advice(self) -> str:
        """What to do."""
        if self.columns and self.name == "pairs of answers":
            return f"{ADVICE[self.name]}: {edge_words(*self.columns)}"
        return worded(ADVICE[self.name])


def predictive_checks(fit: Fit) -> tuple[Check, ...]:
    """Check a latent class model, with or without direct effects; nothing of any other."""
    problem = fit.problem
    if not has_classes(problem.network) or not np.isfinite(fit.log_lik):
        return ()
    variables = [problem.network.variables[i] for i in problem.network.observed]
    width = sum(len(v.states) if v.family.tabular else 1 for v in variables)
    rows = min(MOST_ROWS, round(problem.cases), int(MOST_PRODUCTS / width**2))
    if rows < FEWEST:
        return ()
    ground = _Ground(fit.model, *_rows(problem, rows))
    return tuple(_checked(ground, fit.options.seed))


def failed(checks: Sequence[Check]) -> tuple[Check, ...]:
    """Those that fail at the level of all of them together, by Holm's method; the worst first."""
    found = []
    for rank, check in enumerate(sorted(checks, key=lambda c: c.p_value)):
        if check.p_value * (len(checks) - rank) > LEVEL:
            break
        found.append(check)
    return tuple(found)


def misfit_flags(fit: Fit) -> tuple[Flag, ...]:
    """Say of a fit which checks fail."""
    return tuple(
        Flag(Kind.MISFIT, detail={"check": check.sentence, "advice": check.advice})
        for check in failed(predictive_checks(fit))
    )


def _rows(problem: Problem, cases: int) -> tuple[FloatArray, BoolArray]:
    """Rows of weight 1: what they show of each column, (n, p), and whether they do."""
    taken, times = at_equal_distances(problem.counts, cases)
    codes = np.repeat(rows_at(problem.codes, taken), times, axis=0)
    cells = codes.astype(np.float64)
    for column, i in enumerate(problem.network.observed):
        v = problem.network.variables[i]
        if not v.family.tabular:
            cells[:, column] = np.asarray(v.values)[codes[:, column]]
    return cells, codes >= 0


@dataclass(frozen=True, eq=False)
class _Ground:
    """A model, and which cells of its table are shown."""

    model: Model
    cells: FloatArray  # (n, p) codes of answers, numbers as their families see them
    shown: BoolArray  # (n, p)

    @cached_property
    def answers(self) -> list[int]:
        """Columns of answers."""
        network = self.model.network
        tabular = (network.variables[i].family.tabular for i in network.observed)
        return [column for column, own in enumerate(tabular) if own]

    @cached_property
    def classes(self) -> LatentClasses | None:
        """Where classes explain all; None where answers have direct effects."""
        network = self.model.network
        plain = all(v.family.stands_at is None for v in network.variables)
        return find_classes(network) if plain else None

    @cached_property
    def numbers(self) -> list[int]:
        """Columns of plain numbers whose residuals within classes can be taken."""
        if self.classes is None:
            return []
        return [j for j in range(self.cells.shape[1]) if j not in self.answers]

    @cached_property
    def widths(self) -> IntArray:
        """(answers,) how many levels each has."""
        v = self.model.network
        return np.array([len(v.variables[v.observed[j]].states) for j in self.answers], dtype=int)

    @cached_property
    def starts(self) -> IntArray:
        """(answers,) where the levels of each begin."""
        return np.asarray(np.cumsum(self.widths) - self.widths, dtype=int)

    @cached_property
    def expected(self) -> FloatArray:
        """(levels, levels) expected counts of all pairs of answers; 0 within one."""
        both = self.shown[:, self.answers].astype(np.float64)
        cases, tables = both.T @ both, PairTables(self.model)
        found = np.zeros((int(self.widths.sum()),) * 2)
        for a, b in itertools.combinations(range(len(self.answers)), 2):
            i, j = (self.model.network.observed[self.answers[x]] for x in (a, b))
            rows = slice(self.starts[a], self.starts[a] + self.widths[a])
            columns = slice(self.starts[b], self.starts[b] + self.widths[b])
            found[rows, columns] = cases[a, b] * tables(i, j)
        return found

    @cached_property
    def of_classes(self) -> FloatArray:
        """(levels, K) p(answer | class)."""
        network, theta = self.model.network, self.model.theta
        tables = [network.layout.table(theta, network.observed[j]).T for j in self.answers]
        return np.vstack(tables) if tables else np.zeros((0, 1))

    def drawn(self, rng: np.random.Generator) -> FloatArray:
        """Draw a table with the same missing cells."""
        network = self.model.network
        every = sample_cells(self.model, len(self.cells), rng)
        cells = np.where(self.shown, every[:, list(network.observed)], 0.0)
        for column, i in enumerate(network.observed):
            v = network.variables[i]
            if not v.family.tabular and v.unit is not None:
                own = self.shown[:, column]
                cells[own, column] = np.asarray(v.unit.numbers(cells[own, column]))
        return cells


def _checked(ground: _Ground, seed: int) -> Iterator[Check]:
    rng = np.random.default_rng(seed)
    observed = _statistics(ground, ground.cells)
    extreme, draws = dict.fromkeys(observed, 0), dict.fromkeys(observed, 0)
    for _ in range(MOST_DRAWS):
        wanted = [name for name in observed if extreme[name] < ENOUGH]
        if not wanted:
            break
        found = _statistics(ground, ground.drawn(rng), wanted)
        for name in wanted:
            draws[name] += 1
            extreme[name] += int(found[name][0] >= observed[name][0])
    for name, (_, columns) in observed.items():
        early = extreme[name] >= ENOUGH
        p = extreme[name] / draws[name] if early else (1 + extreme[name]) / (1 + draws[name])
        yield Check(name, columns, float(p), draws[name])


Found = tuple[float, tuple[str, ...]]  # a statistic, and the columns that it is about


def _statistics(
    ground: _Ground, cells: FloatArray, wanted: list[str] | None = None
) -> Mapping[str, Found]:
    """All statistics of a table, or those that are wanted."""
    one_hot = _one_hot(ground, cells)
    found: dict[str, Found] = {}

    def add(name: str, statistic: Callable[[], Found | None]) -> None:
        if wanted is None or name in wanted:
            value = statistic()
            if value is not None and np.isfinite(value[0]):
                found[name] = value
            elif wanted is not None:
                found[name] = (-np.inf, ())

    if len(ground.answers) > 1:
        add("pairs of answers", lambda: _worst_pair(ground, one_hot))
        add("repeated rows", lambda: _repeated(ground, cells))
    if ground.numbers:
        residuals = _Residuals(ground, cells, one_hot)
        add("shapes of numbers", residuals.shape)
        if len(ground.numbers) > 1:
            add("pairs of numbers", residuals.correlation)
        if ground.answers:
            add("answers and numbers", residuals.dependence)
    return found


def _one_hot(ground: _Ground, cells: FloatArray) -> FloatArray:
    found = np.zeros((len(cells), int(ground.widths.sum())))
    for first, j in zip(ground.starts, ground.answers, strict=True):
        rows = np.flatnonzero(ground.shown[:, j])
        found[rows, first + cells[rows, j].astype(int)] = 1.0
    return found


def _names(ground: _Ground, columns: list[int]) -> tuple[str, ...]:
    network = ground.model.network
    return tuple(network.variables[network.observed[j]].name for j in columns)


def _worst_pair(ground: _Ground, one_hot: FloatArray) -> Found | None:
    expected = ground.expected
    possible = expected > 0
    apart = np.zeros_like(expected)
    apart[possible] = ((one_hot.T @ one_hot - expected)[possible]) ** 2 / expected[possible]
    x2 = np.add.reduceat(np.add.reduceat(apart, ground.starts), ground.starts, axis=1)
    df = np.outer(ground.widths - 1, ground.widths - 1).astype(np.float64)
    a, b = np.triu_indices(len(ground.answers), 1)
    value = (x2[a, b] - df[a, b]) / np.sqrt(2.0 * np.maximum(df[a, b], 1.0))
    worst = int(value.argmax())
    return float(value[worst]), _names(ground, [ground.answers[k[worst]] for k in (a, b)])


def _repeated(ground: _Ground, cells: FloatArray) -> Found | None:
    own = np.where(ground.shown, cells, -1.0)[:, ground.answers]
    keys = own @ np.random.default_rng(0).random(own.shape[1])
    _, n = np.unique(keys, return_counts=True)
    return float(n.astype(np.float64) @ n), ()


class _Residuals:
    """Residuals of numbers within classes, weighted by the posterior of the classes."""

    def __init__(self, ground: _Ground, cells: FloatArray, one_hot: FloatArray) -> None:
        self.ground, self.one_hot, model = ground, one_hot, ground.model
        network, layout = model.network, model.network.layout
        root = ground.classes.root if ground.classes is not None else 0
        natural = conjugacy.natural(model.theta, layout)
        log_p = np.zeros((len(cells), layout.cards[root]))
        with np.errstate(divide="ignore"):
            log_p += np.log(layout.table(model.theta, root))
            if ground.answers:
                log_p += one_hot @ np.maximum(np.log(ground.of_classes), -1e4)
        self.z = []  # (n, K) standardised residuals of each number, 0 where it is missing
        for j in ground.numbers:
            i = network.observed[j]
            v, own, shown = network.variables[i], cells[:, j], ground.shown[:, j]
            seen = v.family.statistics(own.tolist())
            log_p += np.where(shown[:, None], seen @ layout.table(natural, i).T, 0.0)
            mean, variance = v.family.moments(layout.table(model.theta, i))
            z = (own[:, None] - mean) / np.sqrt(np.maximum(variance, 1e-300))
            self.z.append(np.where(shown[:, None], z, 0.0))
        weights = np.exp(log_p - log_p.max(axis=1, keepdims=True))
        self.R = weights / weights.sum(axis=1, keepdims=True)

    def shape(self) -> Found | None:
        """The largest skewness or kurtosis; of counts and scores, the largest dispersion."""
        network, found = self.ground.model.network, []
        for j, z in zip(self.ground.numbers, self.z, strict=True):
            n = max(float(self.ground.shown[:, j].sum()), 1.0)
            square = z * z
            if network.variables[network.observed[j]].family == GAUSSIAN:
                skewness = abs(float((self.R * square * z).sum())) / np.sqrt(15.0 * n)
                kurtosis = abs(float((self.R * square * square).sum()) - 3.0 * n)
                found.append(max(skewness, kurtosis / np.sqrt(96.0 * n)))
            else:
                found.append(abs(float((self.R * square).sum()) - n) / np.sqrt(2.0 * n))
        worst = int(np.argmax(found))
        return found[worst], _names(self.ground, [self.ground.numbers[worst]])

    def correlation(self) -> Found | None:
        """The largest correlation."""
        best: Found | None = None
        for a, b in itertools.combinations(range(len(self.z)), 2):
            pair = [self.ground.numbers[k] for k in (a, b)]
            n = max(float(self.ground.shown[:, pair].all(axis=1).sum()), 1.0)
            value = abs(float((self.R * self.z[a] * self.z[b]).sum())) / np.sqrt(n)
            if best is None or value > best[0]:
                best = (value, _names(self.ground, pair))
        return best

    def dependence(self) -> Found | None:
        """The largest dependence of a number on an answer."""
        best: Found | None = None
        columns = np.repeat(self.ground.answers, self.ground.widths)
        shown = self.ground.shown[:, columns]
        for j, z in zip(self.ground.numbers, self.z, strict=True):
            weighed = self.R * z
            given = self.one_hot.T @ weighed.sum(axis=1)
            given -= ((shown.T @ weighed) * self.ground.of_classes).sum(axis=1)
            size = np.sqrt(np.maximum((self.R * z * z).sum(axis=1) @ self.one_hot, 1.0))
            worst = int(np.argmax(np.abs(given) / size))
            value = float(abs(given[worst]) / size[worst])
            if best is None or value > best[0]:
                best = (value, _names(self.ground, [int(columns[worst]), j]))
        return best
