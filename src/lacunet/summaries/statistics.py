"""Fit statistics as other latent-class programs print them: criteria, classification, residuals.

Criteria are −2 log L plus a penalty: LOWER is better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy

from lacunet.fitting.objective import Estimate
from lacunet.inference.predicted import predicted_classes
from lacunet.inference.problem import Problem
from lacunet.inference.queries.answers import row_log_lik
from lacunet.models.latent_class import has_classes
from lacunet.models.network import Model
from lacunet.models.surgery import predicted
from lacunet.runtime.arrays import FloatArray
from lacunet.summaries.residuals import (
    LARGEST_TABLE,
    GoodnessOfFit,
    PairResidual,
    bivariate_residuals,
    covariate_residuals,
    few_pairs,
    goodness_of_fit,
    worst_first,
)
from lacunet.tabular import (
    Columns,
    Documented,
    Grid,
    Printable,
    described,
    number,
    share,
    transposed,
)
from lacunet.wording import edge_words, residual_words


@dataclass(frozen=True, eq=False)
class Classification(Documented):
    """The quality of modal assignment to the states of one hidden variable."""

    KEYS = (
        "states entropy_r2 given classification_error=error expected=sizes "
        "average_posterior=average expected_cases=expected"
    )

    name: str
    states: tuple[str, ...]  # K labels
    entropy_r2: float  # 1 − mean posterior entropy / log K: 1 = every row is certain; NaN if K = 1
    error: float  # expected share of misclassified rows
    expected: FloatArray  # (K, K) expected cases: assigned state, true state

    @property
    def average(self) -> FloatArray:
        """(K, K) mean posterior of state b over the rows assigned to state a; NaN if none is."""
        given = self.expected.sum(axis=1, keepdims=True)
        mean: FloatArray = np.full_like(self.expected, np.nan)
        np.divide(self.expected, given, out=mean, where=given > 0)
        return mean

    @property
    def given(self) -> FloatArray:
        """(K,) share of the rows assigned to each state."""
        share: FloatArray = self.expected.sum(axis=1) / self.expected.sum()
        return share

    @property
    def sizes(self) -> FloatArray:
        """(K,) expected share of the rows in each state."""
        share: FloatArray = self.expected.sum(axis=0) / self.expected.sum()
        return share


def classify(problem: Problem, theta: FloatArray) -> tuple[Classification, ...]:
    """Classify the rows of a problem by each of its hidden variables."""
    results = []
    for h, posterior in zip(problem.network.hidden, problem.about_hidden(theta), strict=True):
        variable = problem.network.variables[h]
        possible = posterior.sum(axis=1) > 0
        p, weight, states = posterior[possible], problem.counts[possible], len(variable.states)
        expected = np.zeros((states, states))
        np.add.at(expected, p.argmax(axis=1), p * weight[:, None])
        cases, entropy = weight.sum(), -float(weight @ xlogy(p, p).sum(axis=1))
        r2 = 1.0 - entropy / (cases * np.log(states)) if states > 1 else math.nan
        error = 1.0 - float(weight @ p.max(axis=1)) / cases
        results.append(Classification(variable.name, variable.labels, r2, error, expected))
    return tuple(results)


LOWER = "lower is better"

FORMULAS = {
    "AIC": "−2 log L + 2 d",
    "AIC3": "−2 log L + 3 d",
    "BIC": "−2 log L + d log N",
    "CAIC": "−2 log L + d (log N + 1)",
    "SABIC": "−2 log L + d log((N + 2)/24)",
}


def criteria(log_lik: float, dimension: int, cases: float) -> dict[str, float]:
    """Compute each criterion from log L at its maximum, d, and N (the total weight).

    >>> {name: round(x, 2) for name, x in criteria(-100.0, 3, 50).items()}
    {'AIC': 206.0, 'AIC3': 209.0, 'BIC': 211.74, 'CAIC': 214.74, 'SABIC': 202.32}
    """
    penalties = {
        "AIC": 2.0,
        "AIC3": 3.0,
        "BIC": math.log(cases),
        "CAIC": math.log(cases) + 1.0,
        "SABIC": math.log((cases + 2.0) / 24.0),
    }
    return {name: -2.0 * log_lik + dimension * p for name, p in penalties.items()}


UNEXPLAINED = 4.0  # X²/df above which a direct effect is recommended
PAIRS = 10  # most pairs of columns printed


@dataclass(frozen=True, eq=False, repr=False)
class FitStatistics(Printable):
    """Criteria (lower is better), classification, and observed against expected counts."""

    model: Model
    estimate: Estimate | None  # of the parameters; None if unknown
    log_lik: float  # log p(D|θ)
    cases: float  # N
    dimension: int  # d, number of parameters
    criteria: Mapping[str, float]  # AIC, AIC3, BIC, CAIC, SABIC: lower is better
    classification: tuple[Classification, ...]  # one for each hidden variable
    goodness: GoodnessOfFit | None  # None if the table is too large or has numbers
    residuals: tuple[PairResidual, ...] | None  # worst first; None if there are too many pairs

    def tidy(self) -> Columns:
        """Return a row for each statistic; `residuals` has the pairs of columns."""
        fit = self.goodness
        rows: list[tuple[str, float, int | None, float | None]] = [
            ("log likelihood", self.log_lik, None, None),
            ("parameters", float(self.dimension), None, None),
            *((name, x, None, None) for name, x in self.criteria.items()),
            *((f"entropy R² of {c.name}", c.entropy_r2, None, None) for c in self.classification),
            *((f"error of {c.name}", c.error, None, None) for c in self.classification),
        ]
        if fit is not None:
            rows += [("G²", fit.g2, fit.df, fit.p_g2), ("X²", fit.x2, fit.df, fit.p_x2)]
        return transposed(("statistic", "value", "df", "p_value"), rows)

    def to_dict(self) -> dict[str, Any]:
        """Give the document of `--json`."""
        return described(
            self,
            "dimension cases log_likelihood=log_lik goodness_of_fit=goodness "
            "bivariate_residuals=residuals",
            criteria={"convention": LOWER, **self.criteria},
            classification={c.name: c for c in self.classification},
        )

    def brief(self) -> str:
        """Summarise log likelihood, dimension and cases."""
        return f"log L = {self.log_lik:.2f}, d = {self.dimension}, N = {self.cases:g}"

    def grids(self) -> Sequence[Grid]:
        """Return the printed tables."""
        residuals = [] if self.residuals == () else [self._residual_grid(self.residuals)]
        classification = map(_classification_grid, self.classification)
        return [self._criteria_grid(), *classification, self._goodness_grid(), *residuals]

    def _criteria_grid(self) -> Grid:
        rows = tuple((name, number(x), FORMULAS[name]) for name, x in self.criteria.items())
        notes = [
            f"log L = {self.log_lik:.4f}, d = {self.dimension}, N = {self.cases:g}.",
            "The scores of select and score are log p(D|S): there, higher is better.",
        ]
        bounded = all(kind.bounded for kind in self.model.network.layout.kinds)
        if self.estimate not in (None, Estimate.ML) and bounded:
            notes.append(
                f"log L is taken at the {self.estimate.words} parameters, so it is a little below "
                "its maximum. Other programs take the maximum: --estimate ml."
            )
        header = ("criterion", "value", "formula")
        return Grid(f"Fit statistics ({LOWER})", header, rows, frozenset({0, 2}), tuple(notes))

    def _goodness_grid(self) -> Grid:
        fit, title = self.goodness, "Observed against expected rows"
        if not self.model.network.layout.tabular:
            note = "G² and X² are left out: columns of numbers have no table to count in."
            return Grid(title, notes=(note,))
        if fit is None:
            note = f"G² and X² are left out: the table has more than {LARGEST_TABLE:,} cells."
            return Grid(title, notes=(note,))
        statistics = (("G²", fit.g2, fit.p_g2), ("X²", fit.x2, fit.p_x2))
        rows = tuple((name, number(x, 4), str(fit.df), share(p)) for name, x, p in statistics)
        notes = []
        if fit.df <= 0:
            notes.append("no degrees of freedom: d is as large as the table, or larger.")
        elif fit.sparse:
            notes.append(
                f"no p-values: {fit.cells:,} cells for {self.cases:g} cases are too sparse for the "
                "χ² distribution. lacunet lrt tests the number of classes without it."
            )
        if fit.contexts > 1:
            notes.append(
                f"rows with the same covariates are a table of their own ({fit.contexts:,} "
                "patterns): numeric covariates give many patterns, so tests are not meaningful."
            )
        if fit.patterns > 1:
            notes.append(
                "rows with the same missing-data pattern are a table of their own "
                f"({fit.patterns:,} patterns): "
                "a large value may also mean that cells are not missing completely at random."
            )
        return Grid(title, ("statistic", "value", "df", "p(χ²)"), rows, notes=tuple(notes))

    def _residual_grid(self, pairs: Sequence[PairResidual] | None) -> Grid:
        if pairs is None:
            note = "left out: there are too many pairs of columns."
            return Grid("Bivariate residuals", notes=(note,))
        rows = tuple(
            (r.first, r.second, number(r.value), number(r.x2), str(r.df)) for r in pairs[:PAIRS]
        )
        notes = ["X²/df is about 1 if the classes explain the dependence of two columns."]
        if has_classes(self.model.network) and pairs[0].value > UNEXPLAINED:
            notes.append(self._about(pairs[0].first, pairs[0].second))
        if left := len(pairs) - len(rows):
            notes.append(f"{left:,} more pairs are smaller: --json gives all.")
        header = ("column", "with", "X²/df", "X²", "df")
        title = "Bivariate residuals (worst first)"
        return Grid(title, header, rows, frozenset({0, 1}), tuple(notes))

    def _about(self, first: str, second: str) -> str:
        """Recommend an action for two columns associated within classes."""
        what, edge = f"{first} and {second} are dependent within classes", (first, second)
        if self.model.predictors is None:
            return (
                f"{what}: try a direct effect between them, {edge_words(*edge)}; "
                f"{residual_words()} tries all such pairs."
            )
        if second in self.model.predictors.names:
            return (
                f"{what}: within a class, {first} depends on {second}. Compare them as groups "
                "(compare_groups, fit --group)."
            )
        return f"{what}. Without covariates, {edge_words(*edge)} adds a direct effect."


def _classification_grid(c: Classification) -> Grid:
    rows = [
        (f"given {state}", *map(share, (c.given[a], *c.average[a])))
        for a, state in enumerate(c.states)
    ]
    return Grid(
        f"Classification by {c.name}: mean posterior of the rows that are given each state",
        (c.name, "share", *(f"p({s})" for s in c.states)),
        (*rows, ("expected", "", *map(share, c.sizes))),
        notes=(
            f"entropy R² = {number(c.entropy_r2, 3)} (1: every row is certain)",
            f"expected classification error = {share(c.error)}",
        ),
    )


def fit_statistics(
    problem: Problem, model: Model, estimate: Estimate | None = None
) -> FitStatistics:
    """Compute all fit statistics of a model at its parameters.

    If covariates predict classes, G² compares rows with others of the same covariates. Bivariate
    residuals are then also those of items with categorical covariates, over all rows.
    """
    codes, counts, dimension = problem.codes, problem.counts, problem.network.dimension
    theta, plain, sizes, of_covariates = model.theta, problem, None, list[PairResidual]()
    conditional = model
    if (classes := predicted_classes(problem)) is not None:
        theta, plain = classes.parameters_of(model), classes.plain
        model, sizes = classes.model(theta), classes.sizes(theta)[classes.pattern]
        of_covariates = list(covariate_residuals(classes, model, sizes))
        conditional = predicted(model, classes.logit.design)
    log_lik = float(counts[counts > 0] @ row_log_lik(conditional, codes[counts > 0]))
    pairs: tuple[PairResidual, ...] | None = None
    if few_pairs(plain):
        of_items = bivariate_residuals(model, plain.codes, plain.counts, sizes)
        pairs = tuple(worst_first([*of_items, *of_covariates]))
    return FitStatistics(
        model=model,
        estimate=estimate,
        log_lik=log_lik,
        cases=problem.cases,
        dimension=dimension,
        criteria=criteria(log_lik, dimension, problem.cases),
        classification=classify(problem, theta),
        goodness=goodness_of_fit(conditional, codes, counts, dimension),
        residuals=pairs,
    )
