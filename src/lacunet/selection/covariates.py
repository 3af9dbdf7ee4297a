"""Classes that covariates predict: fits, and comparisons with models that leave some out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lacunet.data.design import flags_of
from lacunet.data.table import Table
from lacunet.evidence.annealing import Goal, TimeLimit
from lacunet.evidence.estimate import Measurement
from lacunet.evidence.langevin import csl_of, measure, mode_of
from lacunet.fitting.fit import Fit, Options, learn, with_posterior
from lacunet.flags import Flag, Kind
from lacunet.inference.covariates import build_design
from lacunet.inference.predicted import PredictedClasses, with_predictors
from lacunet.inference.problem import Problem
from lacunet.models.display import profile_grid
from lacunet.models.network import Model
from lacunet.models.predictors import Covariates, CovariateTerm
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores import Evidence
from lacunet.summaries.coefficients import Coefficients
from lacunet.summaries.identification import Why
from lacunet.summaries.intervals import Intervals
from lacunet.summaries.predicted import (
    ClassPrecision,
    ClassReplicates,
    class_precision,
)
from lacunet.summaries.statistics import (
    Classification,
    FitStatistics,
    classify,
    criteria,
    fit_statistics,
)
from lacunet.tabular import Columns, Documented, Grid, Printable, described, number
from lacunet.wording import worded


@dataclass(frozen=True, eq=False)
class CovariateModel:
    """A fitted model with some covariates, and its evidence."""

    terms: tuple[CovariateTerm, ...]
    fit: Fit
    approximated: Evidence
    measured: Measurement | None  # None: not measured

    @property
    def log_evidence(self) -> float:
        """The measured evidence, else the approximation."""
        return self.approximated.value if self.measured is None else self.measured.value


@dataclass(frozen=True)
class CovariateWorth(Documented):
    """The log Bayes factor of a covariate."""

    KEYS = "stderr value=log_bayes_factor"

    name: str
    log_bayes_factor: float  # log p(D | with it) − log p(D | without it)
    stderr: float | None  # None unless both are measured


@dataclass(frozen=True, eq=False)
class CovariateModels:
    """The settings of models of the same rows with any of the covariates."""

    table: Table  # rows with items and covariates
    plain: Problem  # the same rows without covariates
    coefficient_sd: float
    options: Options
    goal: Goal | None  # of measuring; None: only approximate

    def model(
        self,
        terms: Sequence[CovariateTerm],
        near: Fit | None = None,
        executor: Executor = SERIAL,
    ) -> CovariateModel:
        """Fit the model with these covariates; `near` gives a warm start."""
        design = build_design(self.table, terms)
        problem = with_predictors(self.plain, design, self.coefficient_sd)
        beside = () if near is None else (near.model.theta,)
        fit = learn(problem, self.options, executor=executor, beside=beside)
        mode = mode_of(problem, fit.point.theta)
        measured = None
        if self.goal is not None:
            measured = measure(mode, TimeLimit(self.goal), self.options.seed, executor)
        fit = with_posterior(fit, mode.point)
        return CovariateModel(tuple(terms), fit, csl_of(mode), measured)

    def worth(
        self, whole: CovariateModel, executor: Executor = SERIAL
    ) -> tuple[CovariateWorth, ...]:
        """Log Bayes factors of each covariate, and of all of them."""
        terms = whole.terms
        each = [(one.name, tuple(t for t in terms if t is not one)) for one in terms]
        if len(terms) > 1:
            each.append(("all of them", ()))
        worths = []
        for name, covariates in each:
            part = self.model(covariates, whole.fit, executor)
            errors = [
                m.stderr for m in (whole.measured, part.measured) if m and m.stderr is not None
            ]
            stderr = sum(e**2 for e in errors) ** 0.5 if len(errors) == 2 else None
            nats = whole.log_evidence - part.log_evidence
            worths.append(CovariateWorth(name, nats, stderr))
        return tuple(worths)


@dataclass(frozen=True, eq=False, repr=False)
class ClassRegression(Printable):
    """A latent class regression: classes, their items, and their predictors."""

    KEYS = (
        "dimension criteria flags log_likelihood=log_lik estimate=fit.estimate "
        "scaled_gradient=fit.gradient final_starts=fit.finalists reached_best=fit.reached "
        "coefficient_sd=classes.logit.coefficient_sd class_size_exponent=classes.logit.exponent "
        "status=fit.status coefficients evidence=weighed.approximated "
        "measured_evidence=weighed.measured classification class_sizes=classification.sizes"
    )

    table: Table  # used rows, with items and covariates
    weighed: CovariateModel  # the fit, and its evidence
    worth: tuple[CovariateWorth, ...]  # of each covariate, and of all of them
    level: float  # of confidence
    replicates: ClassReplicates | None = None  # if errors are from a bootstrap

    @property
    def fit(self) -> Fit:
        """The fit at the best maximum."""
        return self.weighed.fit

    @cached_property
    def classes(self) -> PredictedClasses:
        """The parts of the problem."""
        return PredictedClasses(self.fit.problem)

    @property
    def design(self) -> Covariates:
        """The covariates as columns of numbers."""
        return self.classes.logit.covariates

    @property
    def model(self) -> Model:
        """The latent class model of the items, with the predictors of its classes."""
        return self.fit.model

    @cached_property
    def _precision(self) -> ClassPrecision:
        return class_precision(self.fit.objective, self.fit.point)

    @cached_property
    def coefficients(self) -> Coefficients:
        """Log odds of classes, against the first (`against` gives others)."""
        one = self._precision.coefficients(self.level)
        return one if self.replicates is None else self.replicates.of_coefficients(one)

    @cached_property
    def intervals(self) -> Intervals:
        """Class sizes and items, with standard errors that account for the covariates."""
        if self.replicates is not None:
            return self.replicates.intervals
        return self._precision.intervals(self.level)

    @cached_property
    def statistics(self) -> FitStatistics:
        """Fit statistics as in other programs: criteria, entropy R², G², bivariate residuals."""
        return fit_statistics(self.fit.problem, self.model, self.fit.estimate)

    @property
    def log_lik(self) -> float:
        """Log p(items | covariates) at the parameters."""
        return self.fit.log_lik

    @property
    def log_evidence(self) -> float:
        """Log p(items | covariates), over all parameters and all orders of the classes."""
        return self.weighed.log_evidence

    @property
    def dimension(self) -> int:
        """Number of free parameters."""
        return self.fit.problem.network.dimension

    @property
    def criteria(self) -> dict[str, float]:
        """AIC, BIC and related criteria; lower is better."""
        return criteria(self.log_lik, self.dimension, self.fit.problem.cases)

    @cached_property
    def probabilities(self) -> FloatArray:
        """(distinct rows of `table`, K) p(class | items, covariates)."""
        (posterior,) = self.fit.problem.about_hidden(self.fit.point.theta)
        return posterior

    @cached_property
    def classification(self) -> Classification:
        """Statistics of the classification of rows by items and covariates."""
        (statistics,) = classify(self.fit.problem, self.fit.point.theta)
        return statistics

    @cached_property
    def flags(self) -> tuple[Flag, ...]:
        """Warnings about the fit."""
        why = self._precision.coefficients(self.level).identified.why
        separated = np.array(self.design.titles)[(why == Why.SEPARATED).any(axis=0)].tolist()
        return (
            *self.fit.flags,
            *(Flag(Kind.SEPARATED, detail={"covariate": title}) for title in separated),
            *self._precision.flags,
            *self.weighed.approximated.flags,
            *flags_of(self.table.design),
        )

    def tidy(self) -> Columns:
        """A row for each coefficient."""
        return self.coefficients.tidy()

    def to_dict(self) -> dict[str, Any]:
        """The document of `--json`."""
        factors = {w.name: w for w in self.worth}
        return described(
            self, self.KEYS, log_bayes_factors=factors, seconds={"em": self.fit.seconds}
        )

    def brief(self) -> str:
        """The number of classes and the covariates."""
        names = ", ".join(self.design.names) or "no covariates"
        return f"{self.classes.states} classes predicted by {names}"

    def grids(self) -> Sequence[Grid]:
        """The fit as `print` and notebooks show it."""
        fit, lower = self.fit, self.criteria
        named = f"AIC {lower['AIC']:.2f}, BIC {lower['BIC']:.2f} (lower is better)"
        notes = (
            f"{fit.status}; {fit.reached} of {fit.finalists} final starts reached it",
            f"d = {self.dimension}, {named}, entropy R² {self.classification.entropy_r2:.3f}",
            f"log evidence {self.log_evidence:.2f}{self._basis_note}",
            *(f"- {flag}" for flag in self.flags),
        )
        title = f"{self.brief()}: log p(items | covariates) = {self.log_lik:.6f}"
        grids = [Grid(title, (), (), notes=notes), *self.coefficients.grids()]
        if self.worth:
            grids.append(self._worth_grid())
        return [*grids, profile_grid(self.model)]

    @property
    def _basis_note(self) -> str:
        measured = self.weighed.measured
        if measured is None:
            return worded(" (an approximation, csl; --evidence measures it)")
        return f"{measured.error} ({measured.verdict})"

    def _worth_grid(self) -> Grid:
        rows = tuple(
            (w.name, number(w.log_bayes_factor), "" if w.stderr is None else number(w.stderr))
            for w in self.worth
        )
        sd = self.classes.logit.coefficient_sd
        note = (
            "Above 0: the data are more probable with it. Prior: log odds ratios of two classes "
            f"are N(0, {sd:g}²), for one standard deviation of a number or between two states."
        )
        header = ("covariate", "log Bayes factor", "s.e.")
        return Grid("What a covariate adds to the evidence, in nats", header, rows, notes=(note,))
