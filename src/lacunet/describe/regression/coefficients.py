"""Coefficients of a multinomial logit of classes: standard errors, odds ratios, Wald tests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2
from scipy.stats import f as fisher
from scipy.stats import t as student

from lacunet.arrays import FloatArray
from lacunet.errors import OptionError, did_you_mean
from lacunet.tabular import Columns, Grid, Printable, measured, number, probability, transposed

ODDS = ("odds ratio", "low", "high")


class WaldTest(NamedTuple):
    """Whether some numbers are all 0 (or all equal): a χ² statistic."""

    name: str
    statistic: float
    df: int
    p_value: float


@dataclass(frozen=True, eq=False, repr=False)
class Coefficients(Printable):
    """Log odds of each class against a reference, by covariates in their own units."""

    variable: str  # name of the classes
    classes: tuple[str, ...]  # K labels
    titles: tuple[str, ...]  # p columns, the intercept first
    terms: tuple[tuple[str, slice], ...]  # where the columns of each covariate are
    estimate: FloatArray  # (K, p) log odds; those of the reference are 0
    covariance: FloatArray  # (K, p, K, p) of these
    reference: int  # class that all are held against
    level: float  # of confidence
    method: str  # how errors were found, in words
    degrees: float = math.inf  # of freedom of these errors: units less strata of a survey
    draws: FloatArray | None = None  # (replicates, K, p) of a bootstrap, if errors are from one

    @property
    def stderr(self) -> FloatArray:
        """(K, p) standard errors; NaN of the reference, which has none."""
        K, p = self.estimate.shape
        flat = self.covariance.reshape(K * p, K * p).diagonal().reshape(K, p)
        found = np.sqrt(np.maximum(flat, 0.0))
        found[self.reference] = np.nan
        return found

    @property
    def interval(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of log odds, (K, p) each; percentiles of a bootstrap."""
        if self.draws is not None:
            tail = (1.0 - self.level) / 2.0
            low, high = np.quantile(self.draws, [tail, 1.0 - tail], axis=0)
            low[self.reference] = high[self.reference] = np.nan
            return low, high
        reach = float(student.ppf((1.0 + self.level) / 2.0, self.degrees)) * self.stderr
        return self.estimate - reach, self.estimate + reach

    @property
    def odds_ratios(self) -> FloatArray:
        """(K, p) factors of the odds, for one unit more or for a state against its reference."""
        return np.asarray(np.exp(self.estimate))

    @property
    def p_values(self) -> FloatArray:
        """(K, p) of each coefficient by itself, two-sided."""
        return np.asarray(2.0 * student.sf(np.abs(self.estimate) / self.stderr, self.degrees))

    def against(self, reference: str | int) -> Coefficients:
        """Hold all classes against another one, by its label."""
        labels = [str(label) for label in self.classes]
        if str(reference) not in labels:
            raise OptionError(
                f"'{reference}' is no class.{did_you_mean(str(reference), labels)} Choose from "
                f"{', '.join(labels)}."
            )
        new = labels.index(str(reference))
        turn = np.eye(len(labels))
        turn[:, new] -= 1.0
        moved = np.einsum("ab,bpcq,dc->apdq", turn, self.covariance, turn)
        draws = self.draws if self.draws is None else turn @ self.draws
        estimate = turn @ self.estimate
        return replace(self, estimate=estimate, covariance=moved, reference=new, draws=draws)

    def test(self, name: str) -> WaldTest:
        """Test whether a covariate predicts no class: all its coefficients are 0."""
        place = dict(self.terms)[name]
        others = [c for c in range(len(self.classes)) if c != self.reference]
        beta = self.estimate[others, place].reshape(-1)
        V = self.covariance[others, place][:, :, others, place].reshape(len(beta), -1)
        return wald(name, beta, V, self.degrees)

    @property
    def tests(self) -> tuple[WaldTest, ...]:
        """A test for each covariate; the same whatever the reference class."""
        return tuple(self.test(name) for name, _ in self.terms)

    def _rows(self) -> Iterator[tuple[str, str, float, float, float, float, float, float]]:
        """Class, covariate, coefficient, s.e., p, odds ratio and its ends."""
        low, high = self.interval
        for c in (c for c in range(len(self.classes)) if c != self.reference):
            for j, title in enumerate(self.titles):
                yield (
                    self.classes[c],
                    title,
                    float(self.estimate[c, j]),
                    float(self.stderr[c, j]),
                    float(self.p_values[c, j]),
                    float(self.odds_ratios[c, j]),
                    float(np.exp(low[c, j])),
                    float(np.exp(high[c, j])),
                )

    def tidy(self) -> Columns:
        """Give a row for each class and column."""
        names = (self.variable, "covariate", "coefficient", "stderr", "p", "odds_ratio")
        return transposed((*names, "low", "high"), self._rows())

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        header = (self.variable, "covariate", "coefficient", "s.e.", "p", *ODDS)
        rows = tuple(
            (c, title, measured(b), _shown(se), probability(p), *map(_odds, ends))
            for c, title, b, se, p, *ends in self._rows()
        )
        title = (
            f"Log odds of each {self.variable} against {self.variable} "
            f"{self.classes[self.reference]}, with {100 * self.level:g} % intervals of odds ratios"
        )
        grids = [Grid(title, header, rows, frozenset({0, 1}), (self.method,))]
        if self.terms:
            grids.append(tests_grid("Does a covariate predict the class? Wald tests", self.tests))
        return grids


def _shown(x: float) -> str:
    return number(x) if np.isnan(x) else measured(x)


def _odds(x: float) -> str:
    return _shown(x) if 1e-3 < x < 1e3 or np.isnan(x) else ("<0.001" if x < 1 else ">1000")


def tests_grid(title: str, tests: Sequence[WaldTest]) -> Grid:
    """Show tests."""
    rows = tuple(
        (t.name, number(t.statistic), str(t.df), probability(t.p_value, exact=False)) for t in tests
    )
    return Grid(title, ("", "χ²", "df", "p"), rows)


def wald(
    name: str, values: FloatArray, covariance: FloatArray, degrees: float = math.inf
) -> WaldTest:
    """Test whether all values are 0; directions without variance are left out.

    With ν degrees of freedom of a survey, p is that of F = (ν − d + 1)/(ν d) χ² with d and
    ν − d + 1 of them (Korn & Graubard 1990).

    >>> test = wald("x", np.array([1.96]), np.eye(1))
    >>> test.df, round(test.p_value, 2)
    (1, 0.05)
    """
    eigenvalues, vectors = np.linalg.eigh((covariance + covariance.T) / 2.0)
    alive = eigenvalues > 1e-12 * max(float(eigenvalues.max(initial=0.0)), 1e-300)
    along = vectors[:, alive].T @ values
    statistic, df = float((along**2 / eigenvalues[alive]).sum()), int(alive.sum())
    left = degrees - df + 1.0
    if not df or left < 1:
        p = math.nan
    elif math.isinf(degrees):
        p = float(chi2.sf(statistic, df))
    else:
        p = float(fisher.sf(statistic * left / (degrees * df), df, left))
    return WaldTest(name, statistic, df, p)
