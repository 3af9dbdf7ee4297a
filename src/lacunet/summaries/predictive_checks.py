"""Predictive checks: compares statistics of the data with those of tables drawn from the fit.

The drawn tables have the same missing cells. All use the parameters of the fit, which are optimal
for the data but not for the drawn tables, so p-values are conservative. The statistics:

    pairs of answers        the worst bivariate residual, (X² − df)/√(2 df)
    repeated rows           Σ n² over the distinct rows of answers
    shapes of numbers       the largest skewness or kurtosis within classes; dispersion of counts
    pairs of numbers        the largest correlation within classes
    answers and numbers     the largest association within classes

Statistics within classes use residuals of each class, weighted by the posterior of the classes. A
check stops after five draws as extreme as the data (Besag and Clifford 1991).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from lacunet.fitting.fit import Fit
from lacunet.flags import Flag, Kind
from lacunet.inference.problem import Problem, at_equal_distances
from lacunet.likelihoods import GAUSSIAN
from lacunet.models import conjugacy
from lacunet.models.latent_class import find_classes, has_classes
from lacunet.models.network import Model
from lacunet.models.surgery import sample_cells
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.runtime.rows import rows_at
from lacunet.summaries.residuals import PairTables
from lacunet.wording import edge_words, worded

MOST_DRAWS = 299
ENOUGH = 5  # extreme draws after which a check has passed
LEVEL = 0.02  # familywise, by Holm's method
MOST_ROWS = 5_000  # rows of a table; larger data are subsampled at equal distances
MOST_PRODUCTS = 3e7  # rows × width²: wider tables have fewer rows
FEWEST = 20  # least rows

ADVICE = {
    "pairs of answers": "Try a direct effect between them",
    "repeated rows": "Try more classes, or direct effects between answers",
    "shapes of numbers": "Try another kind of column (--kinds)",
    "pairs of numbers": "Try --covariance full",
    "answers and numbers": "Try more classes",
}


Statistic: TypeAlias = tuple[float, tuple[str, ...]]  # value, columns


@dataclass(frozen=True)
class Check:
    """The comparison of one statistic with drawn tables."""

    name: str
    columns: tuple[str, ...]  # with the largest value; empty: all
    p_value: float
    draws: int

    @property
    def sentence(self) -> str:
        """The finding, in words."""
        where = f" ({', '.join(self.columns)})" if self.columns else ""
        return f"{self.name}{where} differ from the model, p = {self.p_value:.2g}"

    @property
    def advice(self) -> str:
        """The recommended action."""
        if self.columns and self.name == "pairs of answers":
            return f"{ADVICE[self.name]}: {edge_words(*self.columns)}"
        return worded(ADVICE[self.name])


def predictive_checks(fit: Fit) -> tuple[Check, ...]:
    """Check a latent class model, with or without direct effects; other models have no checks."""
    problem = fit.problem
    if not has_classes(problem.network) or not np.isfinite(fit.log_lik):
        return ()
    variables = [problem.network.variables[i] for i in problem.network.observed]
    width = sum(len(v.states) if v.family.tabular else 1 for v in variables)
    rows = min(MOST_ROWS, round(problem.cases), int(MOST_PRODUCTS / width**2))
    if rows < FEWEST:
        return ()
    cells, shown = _rows(problem, rows)
    return tuple(_checked(_Statistics(fit.model, shown), cells, fit.options.seed))


def failed(checks: Sequence[Check]) -> tuple[Check, ...]:
    """Select the checks that fail at the familywise level (Holm), the worst first."""
    failures = []
    for rank, check in enumerate(sorted(checks, key=lambda c: c.p_value)):
        if check.p_value * (len(checks) - rank) > LEVEL:
            break
        failures.append(check)
    return tuple(failures)


def misfit_flags(fit: Fit) -> tuple[Flag, ...]:
    """Return a flag for each failed check of a fit."""
    return tuple(
        Flag(Kind.MISFIT, detail={"check": check.sentence, "advice": check.advice})
        for check in failed(predictive_checks(fit))
    )


def _rows(problem: Problem, cases: int) -> tuple[FloatArray, BoolArray]:
    """Return rows of weight 1: their values, (n, p), and whether these are observed."""
    selected, times = at_equal_distances(problem.counts, cases)
    codes = np.repeat(rows_at(problem.codes, selected), times, axis=0)
    cells = codes.astype(np.float64)
    for column, i in enumerate(problem.network.observed):
        v = problem.network.variables[i]
        if not v.family.tabular:
            cells[:, column] = np.asarray(v.values)[codes[:, column]]
    return cells, codes >= 0


class _Statistics:
    """The statistics of tables with the same missing cells, under one model.

    Categorical columns are coded as indicators of their levels. Statistics of numbers within
    classes require a model without direct effects.
    """

    def __init__(self, model: Model, shown: BoolArray) -> None:
        network, theta = model.network, model.theta
        self.model, self.shown = model, shown  # (n, p)
        self.variables = [network.variables[i] for i in network.observed]
        plain = all(v.family.stands_at is None for v in network.variables)
        classes = find_classes(network) if plain else None
        self.root = None if classes is None else classes.root
        columns = range(len(self.variables))
        self.answers = [j for j in columns if self.variables[j].family.tabular]
        self.numbers = [j for j in columns if j not in self.answers and classes is not None]
        self.widths = np.array([len(self.variables[j].states) for j in self.answers], dtype=int)
        self.starts = np.asarray(np.cumsum(self.widths) - self.widths, dtype=int)
        self.levels = np.repeat(self.answers, self.widths).astype(int)  # the column of each level
        tables = [network.layout.table(theta, network.observed[j]).T for j in self.answers]
        self.of_classes = np.vstack(tables) if tables and self.numbers else np.zeros((0, 1))
        self.expected = self._expected_pairs()

    def _expected_pairs(self) -> FloatArray:
        """Compute expected counts of all pairs of answers, (levels, levels); 0 within a column."""
        both = self.shown[:, self.answers].astype(np.float64)
        cases, tables = both.T @ both, PairTables(self.model)
        expected = np.zeros((int(self.widths.sum()),) * 2)
        spans = [slice(s, s + w) for s, w in zip(self.starts, self.widths, strict=True)]
        observed = self.model.network.observed
        for a, b in itertools.combinations(range(len(self.answers)), 2):
            i, j = (observed[self.answers[x]] for x in (a, b))
            expected[spans[a], spans[b]] = cases[a, b] * tables(i, j)
        return expected

    def drawn(self, rng: np.random.Generator) -> FloatArray:
        """Draw a table with the same missing cells."""
        every = sample_cells(self.model, len(self.shown), rng)
        cells = np.where(self.shown, every[:, list(self.model.network.observed)], 0.0)
        for column, v in enumerate(self.variables):
            if not v.family.tabular and v.unit is not None:
                observed = self.shown[:, column]
                cells[observed, column] = np.asarray(v.unit.numbers(cells[observed, column]))
        return cells

    def of(self, cells: FloatArray, wanted: list[str] | None = None) -> dict[str, Statistic]:
        """Compute all statistics of a table, (n, p), or those in `wanted`."""
        levels = np.zeros((len(cells), int(self.widths.sum())))
        for first, j in zip(self.starts, self.answers, strict=True):
            rows = np.flatnonzero(self.shown[:, j])
            levels[rows, first + cells[rows, j].astype(int)] = 1.0
        z, R = self._residuals(cells, levels) if self.numbers else ([], levels)
        several = len(self.answers) > 1
        each: dict[str, Callable[[], Iterable[Statistic]] | None] = {
            "pairs of answers": (lambda: self._pairs(levels)) if several else None,
            "repeated rows": (lambda: self._repeated(cells)) if several else None,
            "shapes of numbers": (lambda: self._shapes(z, R)) if z else None,
            "pairs of numbers": (lambda: self._correlations(z, R)) if len(z) > 1 else None,
            "answers and numbers": (lambda: self._dependence(z, R, levels))
            if z and self.answers
            else None,
        }
        results: dict[str, Statistic] = {}
        for name, statistics in each.items():
            if statistics is not None and (wanted is None or name in wanted):
                largest = max(statistics(), key=lambda statistic: statistic[0])
                if np.isfinite(largest[0]):
                    results[name] = largest
                elif wanted is not None:
                    results[name] = (-np.inf, ())
        return results

    def _names(self, *columns: int) -> tuple[str, ...]:
        return tuple(self.variables[j].name for j in columns)

    def _pairs(self, levels: FloatArray) -> Iterator[Statistic]:
        """The worst bivariate residual."""
        possible = self.expected > 0
        apart = np.zeros_like(self.expected)
        off = (levels.T @ levels - self.expected)[possible]
        apart[possible] = off**2 / self.expected[possible]
        x2 = np.add.reduceat(np.add.reduceat(apart, self.starts), self.starts, axis=1)
        df = np.outer(self.widths - 1, self.widths - 1).astype(np.float64)
        a, b = np.triu_indices(len(self.answers), 1)
        value = (x2[a, b] - df[a, b]) / np.sqrt(2.0 * np.maximum(df[a, b], 1.0))
        worst = int(value.argmax())
        yield float(value[worst]), self._names(*(self.answers[k[worst]] for k in (a, b)))

    def _repeated(self, cells: FloatArray) -> Iterator[Statistic]:
        """The sum of squared frequencies of distinct rows."""
        answers = np.where(self.shown, cells, -1.0)[:, self.answers]
        keys = answers @ np.random.default_rng(0).random(answers.shape[1])
        _, n = np.unique(keys, return_counts=True)
        yield float(n.astype(np.float64) @ n), ()

    def _residuals(
        self, cells: FloatArray, levels: FloatArray
    ) -> tuple[list[FloatArray], FloatArray]:
        """Compute standardised residuals (n, K) of each number, 0 if missing; p(class | row)."""
        model, root = self.model, self.root or 0
        network, layout = model.network, model.network.layout
        natural = conjugacy.natural(model.theta, layout)
        log_p = np.zeros((len(cells), layout.cards[root]))
        with np.errstate(divide="ignore"):
            log_p += np.log(layout.table(model.theta, root))
            if self.answers:
                log_p += levels @ np.maximum(np.log(self.of_classes), -1e4)
        residuals = []
        for j in self.numbers:
            i, family, values = network.observed[j], self.variables[j].family, cells[:, j]
            seen, shown = family.statistics(values.tolist()), self.shown[:, j, None]
            log_p += np.where(shown, seen @ layout.table(natural, i).T, 0.0)
            mean, variance = family.moments(layout.table(model.theta, i))
            z = (values[:, None] - mean) / np.sqrt(np.maximum(variance, 1e-300))
            residuals.append(np.where(shown, z, 0.0))
        weights = np.exp(log_p - log_p.max(axis=1, keepdims=True))
        return residuals, weights / weights.sum(axis=1, keepdims=True)

    def _shapes(self, residuals: list[FloatArray], R: FloatArray) -> Iterator[Statistic]:
        """Skewness or kurtosis of each Gaussian number; dispersion of others."""
        for j, z in zip(self.numbers, residuals, strict=True):
            n = max(float(self.shown[:, j].sum()), 1.0)
            square = z * z
            if self.variables[j].family == GAUSSIAN:
                skewness = abs(float((R * square * z).sum())) / np.sqrt(15.0 * n)
                kurtosis = abs(float((R * square * square).sum()) - 3.0 * n)
                yield max(skewness, kurtosis / np.sqrt(96.0 * n)), self._names(j)
            else:
                yield abs(float((R * square).sum()) - n) / np.sqrt(2.0 * n), self._names(j)

    def _correlations(self, residuals: list[FloatArray], R: FloatArray) -> Iterator[Statistic]:
        pairs = itertools.combinations(zip(self.numbers, residuals, strict=True), 2)
        for (a, one), (b, other) in pairs:
            n = max(float(self.shown[:, [a, b]].all(axis=1).sum()), 1.0)
            yield abs(float((R * one * other).sum())) / np.sqrt(n), self._names(a, b)

    def _dependence(
        self, residuals: list[FloatArray], R: FloatArray, levels: FloatArray
    ) -> Iterator[Statistic]:
        """The largest association of each number with an answer."""
        shown = self.shown[:, self.levels]
        for j, z in zip(self.numbers, residuals, strict=True):
            weighted = R * z
            given = levels.T @ weighted.sum(axis=1)
            given -= ((shown.T @ weighted) * self.of_classes).sum(axis=1)
            size = np.sqrt(np.maximum((R * z * z).sum(axis=1) @ levels, 1.0))
            worst = int(np.argmax(np.abs(given) / size))
            value = float(abs(given[worst]) / size[worst])
            yield value, self._names(int(self.levels[worst]), j)


def _checked(statistics: _Statistics, cells: FloatArray, seed: int) -> Iterator[Check]:
    rng = np.random.default_rng(seed)
    observed = statistics.of(cells)
    extreme, draws = dict.fromkeys(observed, 0), dict.fromkeys(observed, 0)
    for _ in range(MOST_DRAWS):
        wanted = [name for name in observed if extreme[name] < ENOUGH]
        if not wanted:
            break
        drawn = statistics.of(statistics.drawn(rng), wanted)
        for name in wanted:
            draws[name] += 1
            extreme[name] += int(drawn[name][0] >= observed[name][0])
    for name, (_, columns) in observed.items():
        early = extreme[name] >= ENOUGH
        p = extreme[name] / draws[name] if early else (1 + extreme[name]) / (1 + draws[name])
        yield Check(name, columns, float(p), draws[name])
