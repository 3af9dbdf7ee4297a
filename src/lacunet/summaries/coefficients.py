"""Coefficients of a multinomial logit of classes: standard errors, odds ratios, Wald tests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2
from scipy.stats import f as fisher
from scipy.stats import t as student

from lacunet.errors import OptionError, did_you_mean
from lacunet.flags import Flag
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.summaries.identification import TOUCHED, Free, Identified, Why
from lacunet.tabular import (
    Columns,
    Grid,
    Printable,
    described,
    measured,
    number,
    probability,
    transposed,
)

ODDS = ("odds ratio", "low", "high")
SINGULAR = 1e-10  # eigenvalue of a correlation matrix below which it is singular
NOTHING_TO_TEST = "no test: nothing to compare"
NO_ESTIMATES = "no test: its estimates do not exist, or have no standard error"
FEW_DIRECTIONS = (
    "no test: the covariance of {df} estimates has rank {alive}, because there are too few units "
    "or distinct rows"
)
FEW_DEGREES = "no p-value: {degrees:g} degrees of freedom are too few for {df} numbers"


class WaldTest(NamedTuple):
    """A χ² test that some numbers are all 0 (or all equal)."""

    name: str
    statistic: float  # NaN if there is no test
    df: int  # how many numbers are tested
    p_value: float
    why: str = ""  # the reason for no test, or for a test other than Wald's

    def to_dict(self) -> dict[str, Any]:
        """Give the document of `--json`."""
        return {**self._asdict(), "why": self.why or None}


@dataclass(frozen=True, eq=False, repr=False)
class Coefficients(Printable):
    """Log odds of each class against a reference, by covariates in their own units.

    NaN marks coefficients that the data do not determine, with reasons in `identified.why` and
    sentences in `flags`.
    """

    variable: str  # name of the classes
    classes: tuple[str, ...]  # K labels
    titles: tuple[str, ...]  # p columns, the intercept first
    terms: tuple[tuple[str, slice], ...]  # columns of each covariate
    reached: FloatArray  # (K, p) log odds at the end of the search, 0 for the reference
    spread: FloatArray  # (K, p, K, p) covariance of these, along determined directions
    reference: int  # reference class
    level: float  # of confidence
    method: str  # the method of errors, as text
    degrees: float = math.inf  # of freedom of these errors: units less strata of a survey
    draws: FloatArray | None = None  # (replicates, K, p) if errors are from a bootstrap
    free: tuple[Free, ...] = ()  # directions that the data do not determine

    @cached_property
    def identified(self) -> Identified:
        """Identified estimates with their covariance, and reasons for the others."""
        known = np.zeros(self.reached.shape, dtype=np.bool_)
        known[self.reference] = True
        unidentified: dict[Why, BoolArray] = {}
        for free in self.free:
            along = free.along - free.along[self.reference]
            touched = (np.abs(along) > TOUCHED) & ~known
            unidentified[free.why] = touched | unidentified.get(free.why, False)
        covariance = self.spread
        if self.draws is not None:
            flat = self.draws.reshape(len(self.draws), -1)
            with np.errstate(invalid="ignore"):  # a divergent replicate has no deviation
                covariance = np.cov(flat, rowvar=False).reshape(self.spread.shape)
            lost = ~np.isfinite(self.draws).all(axis=0) & ~known
            unidentified[Why.UNSTABLE] = lost
        return Identified.of(self.reached, covariance, unidentified, known)

    @property
    def estimate(self) -> FloatArray:
        """(K, p) log odds, 0 for the reference."""
        return self.identified.estimate

    @property
    def covariance(self) -> FloatArray:
        """(K, p, K, p) covariance of the estimates."""
        return self.identified.covariance

    @property
    def stderr(self) -> FloatArray:
        """(K, p) standard errors, NaN for the reference."""
        stderr = self.identified.stderr
        stderr[self.reference] = np.nan
        return stderr

    @property
    def interval(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of log odds, (K, p) each; percentiles of a bootstrap."""
        if self.draws is not None:
            tail = (1.0 - self.level) / 2.0
            none = np.isnan(self.stderr)
            drawn = np.where(none, 0.0, self.draws)
            low, high = np.quantile(drawn, [tail, 1.0 - tail], axis=0)
            return np.where(none, np.nan, low), np.where(none, np.nan, high)
        reach = float(student.ppf((1.0 + self.level) / 2.0, self.degrees)) * self.stderr
        return self.estimate - reach, self.estimate + reach

    @property
    def odds_ratios(self) -> FloatArray:
        """(K, p) odds ratios, per unit of a number or for a state against its reference."""
        return _odds_ratio(self.estimate)

    @property
    def p_values(self) -> FloatArray:
        """(K, p) two-sided p-values of single coefficients."""
        return np.asarray(2.0 * student.sf(np.abs(self.estimate) / self.stderr, self.degrees))

    def against(self, reference: str | int) -> Coefficients:
        """The same coefficients against another reference class, by its label."""
        labels = [str(label) for label in self.classes]
        if str(reference) not in labels:
            raise OptionError(
                f"'{reference}' is not a class.{did_you_mean(str(reference), labels)} Choose from "
                f"{', '.join(labels)}."
            )
        new = labels.index(str(reference))
        turn = np.eye(len(labels))
        turn[:, new] -= 1.0
        moved = np.einsum("ab,bpcq,dc->apdq", turn, self.spread, turn)
        draws = self.draws
        if draws is not None:
            with np.errstate(invalid="ignore"):  # infinite log odds of both classes
                draws = draws - draws[:, [new]]
            draws[:, new] = 0.0
        reached = turn @ self.reached
        return replace(self, reached=reached, spread=moved, reference=new, draws=draws)

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Flags for coefficients that are not given, with reasons."""
        of_title = [self.titles] * len(self.classes)
        of_class = [[f"{self.variable} {c}"] * len(self.titles) for c in self.classes]
        whole = (Why.EMPTY_CLASS, Why.FEW_CASES)
        names = {why: of_class if why in whole else of_title for why in Why}
        return tuple(self.identified.flags(names))

    def test(self, name: str) -> WaldTest:
        """Test the hypothesis that all coefficients of a covariate are 0."""
        place = dict(self.terms)[name]
        others = [c for c in range(len(self.classes)) if c != self.reference]
        beta = self.estimate[others, place].reshape(-1)
        V = self.covariance[others, place][:, :, others, place].reshape(len(beta), len(beta))
        return wald(name, beta, V, self.degrees)

    @property
    def tests(self) -> tuple[WaldTest, ...]:
        """A test for each covariate; it does not depend on the reference class."""
        return tuple(self.test(name) for name, _ in self.terms)

    def _rows(self) -> Iterator[tuple[str, str, float, float, float, float, float, float]]:
        """Class, covariate, coefficient, s.e., p, odds ratio and its interval."""
        numbers = [self.estimate, self.stderr, self.p_values, self.odds_ratios]
        numbers += map(_odds_ratio, self.interval)
        for c in (c for c in range(len(self.classes)) if c != self.reference):
            for j, title in enumerate(self.titles):
                yield (self.classes[c], title, *(float(x[c, j]) for x in numbers))  # type: ignore[misc]

    def tidy(self) -> Columns:
        """A row for each class and column."""
        names = (self.variable, "covariate", "coefficient", "stderr", "p", "odds_ratio")
        table = dict(transposed((*names, "low", "high"), self._rows()))
        words = self.identified.words
        table["why"] = [w or "" for c, row in enumerate(words) if c != self.reference for w in row]
        return table

    def to_dict(self) -> dict[str, Any]:
        """Give the document of `--json`."""
        low, high = self.interval
        return described(
            self,
            "classes level method estimate stderr flags columns=titles odds_ratio=odds_ratios "
            "p_value=p_values why=identified.words",
            reference=self.classes[self.reference],
            low=low,
            high=high,
            tests=[test.to_dict() for test in self.tests],
        )

    def grids(self) -> Sequence[Grid]:
        """The coefficients as `print` and notebooks show them."""
        header = (self.variable, "covariate", "coefficient", "s.e.", "p", *ODDS)
        rows = tuple(
            (c, title, measured(b), measured(se), chance_of(p), *map(_odds, ends))
            for c, title, b, se, p, *ends in self._rows()
        )
        title = (
            f"Log odds of each {self.variable} against {self.variable} "
            f"{self.classes[self.reference]}, with {100 * self.level:g} % intervals of odds ratios"
        )
        notes = (self.method, *(f"- {flag}" for flag in self.flags))
        grids = [Grid(title, header, rows, frozenset({0, 1}), notes)]
        if self.terms:
            grids.append(tests_grid("Does a covariate predict the class? Wald tests", self.tests))
        return grids


def _odds_ratio(x: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):  # covariates in very large units
        return np.asarray(np.exp(x))


def _odds(x: float) -> str:
    return measured(x) if 1e-3 < x < 1e3 or np.isnan(x) else ("<0.001" if x < 1 else ">1000")


chance_of = partial(probability, exact=False)  # a p-value is never 0


def tests_grid(title: str, tests: Sequence[WaldTest]) -> Grid:
    """A table of tests."""
    rows = tuple((t.name, number(t.statistic), str(t.df), chance_of(t.p_value)) for t in tests)
    whys: dict[str, list[str]] = {}
    for t in tests:
        whys.setdefault(t.why, []).append(t.name)
    notes = tuple(f"- {', '.join(names)}: {why}" for why, names in whys.items() if why)
    return Grid(title, ("", "χ²", "df", "p"), rows, notes=notes)


def wald(
    name: str, values: FloatArray, covariance: FloatArray, degrees: float = math.inf, why: str = ""
) -> WaldTest:
    """Wald test that all values are 0; no test if a value or an error is missing.

    With ν degrees of freedom of a survey, F = (ν − d + 1)/(ν d) χ² has d and ν − d + 1 degrees of
    freedom (Korn & Graubard 1990).

    >>> test = wald("x", np.array([1.96]), np.eye(1))
    >>> test.df, round(test.p_value, 2)
    (1, 0.05)
    >>> wald("x", np.array([1.96, np.nan]), np.eye(2)).why
    'no test: its estimates do not exist, or have no standard error'
    """
    df = len(values)

    def none(why: str) -> WaldTest:
        return WaldTest(name, math.nan, df, math.nan, why)

    if not df:
        return none(NOTHING_TO_TEST)
    deviation = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    finite = np.isfinite(values).all() and np.isfinite(covariance).all()
    if not (finite and (deviation > 0).all()):
        return none(NO_ESTIMATES)
    eigenvalues, vectors = np.linalg.eigh(
        (covariance + covariance.T) / 2.0 / np.outer(deviation, deviation)
    )
    alive = int((eigenvalues > SINGULAR).sum())
    if alive < df:
        return none(FEW_DIRECTIONS.format(alive=alive, df=df))
    along = vectors.T @ (values / deviation)
    statistic = float((along**2 / eigenvalues).sum())
    left = degrees - df + 1.0
    if left < 1:
        few = FEW_DEGREES.format(degrees=degrees, df=df)
        return WaldTest(name, statistic, df, math.nan, few)
    if math.isinf(degrees):
        p = float(chi2.sf(statistic, df))
    else:
        p = float(fisher.sf(statistic * left / (degrees * df), df, left))
    return WaldTest(name, statistic, df, p, why)
