"""Three-step analyses: outcomes and covariates of classes fitted before."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from scipy.special import expit, logit, softmax
from scipy.stats import t as student

from lacunet.data.table import Table
from lacunet.errors import DataError, ModelError
from lacunet.flags import Flag
from lacunet.inference.covariates import CovariateDesign
from lacunet.likelihoods.logit import logit_information, maximize_logit, whole
from lacunet.likelihoods.unit import unit_of_squares
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.summaries.coefficients import Coefficients, WaldTest, tests_grid, wald
from lacunet.summaries.first_step import (
    AssignedRows,
    Assigning,
    Correction,
    FirstStep,
    Solved,
    climb,
    covariance_of,
    with_known_errors,
)
from lacunet.summaries.identification import Free, Identified, Reasons, Why, without_end
from lacunet.summaries.outcomes import CategoryOutcome, NumberOutcome, OutcomeKind, OutcomeStep
from lacunet.summaries.predicted import class_direction, free_directions
from lacunet.tabular import (
    Columns,
    Grid,
    Printable,
    Shown,
    described,
    measured,
    number,
    probability,
    share,
    transposed,
)

EVERY = "all classes"


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(Printable):
    """An outcome by class."""

    name: str
    variable: str  # name of the latent class variable
    classes: tuple[str, ...]  # K labels
    titles: tuple[str, ...]  # "mean", or the states of a category
    correction: Correction
    identified: Identified  # (K, c) means, or shares of the states
    equality: WaldTest  # of all classes
    pairs: tuple[WaldTest, ...]  # of each two classes
    level: float  # of confidence
    cases: float  # with an observed outcome
    missing: float  # cases without the outcome, left out
    degrees: float = math.inf  # of freedom: units less strata of a survey
    method: str = ""  # of the standard errors of a survey, in words
    number: bool = True  # whether it has means; False: shares

    @property
    def estimate(self) -> FloatArray:
        """(K, c) means or shares; NaN if not identified."""
        return self.identified.estimate

    @property
    def covariance(self) -> FloatArray:
        """(K, c, K, c) covariance of the estimates."""
        return self.identified.covariance

    @property
    def stderr(self) -> FloatArray:
        """(K, c) robust standard errors."""
        return self.identified.stderr

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Flags of missing estimates and standard errors."""
        of_class = [[f"{self.variable} {c}"] * len(self.titles) for c in self.classes]
        of_share = [
            [f"{title} in {self.variable} {c}" for title in self.titles] for c in self.classes
        ]
        shares = dict.fromkeys([Why.BOUNDARY, Why.NOT_IDENTIFIED], of_share)
        names = {why: shares.get(why, of_class) for why in Why}
        return tuple(self.identified.flags(names))

    @property
    def interval(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends, (K, c) each; for shares, from the logit scale."""
        reach = float(student.ppf((1.0 + self.level) / 2.0, self.degrees)) * self.stderr
        if self.number:
            return self.estimate - reach, self.estimate + reach
        p = self.estimate
        inside = (p > 0) & (p < 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            far = reach / (p * (1 - p))
            low, high = expit(logit(p) - far), expit(logit(p) + far)
        return np.where(inside, low, np.nan), np.where(inside, high, np.nan)

    def _rows(self) -> Iterator[tuple[str, str, float, float, float, float]]:
        low, high = self.interval
        for t, k in itertools.product(range(len(self.classes)), range(len(self.titles))):
            numbers = (x[t, k] for x in (self.estimate, self.stderr, low, high))
            yield (self.classes[t], self.titles[k], *map(float, numbers))  # type: ignore[misc]

    def tidy(self) -> Columns:
        """Return a row for each class and state of a category."""
        names = (self.variable, "of", "estimate", "stderr", "low", "high")
        return {
            "outcome": [self.name] * self.estimate.size,
            **transposed(names, self._rows()),
            "why": [w or "" for row in self.identified.words for w in row],
        }

    def to_dict(self) -> dict[str, Any]:
        """Give the document of `--json`."""
        low, high = self.interval
        return described(
            self,
            "correction cases missing level estimate stderr flags of=titles why=identified.words",
            low=low,
            high=high,
            equality=self.equality.to_dict(),
            pairs=[test.to_dict() for test in self.pairs],
        )

    def grids(self) -> Sequence[Grid]:
        """Return the printed tables."""
        write = measured if self.number else _share
        rows = tuple(
            (
                c,
                title,
                write(x),
                measured(se) if self.number else number(se, 4),
                *map(write, ends),
            )
            for c, title, x, se, *ends in self._rows()
        )
        correction = self.correction.words
        title = (
            f"{self.name} by {self.variable} ({correction}), with {100 * self.level:g} % intervals"
        )
        left_out = f"; {self.missing:,g} without the outcome are left out" if self.missing else ""
        notes = [f"{self.cases:,g} cases{left_out}.{self.method}"]
        notes += [f"- {flag}" for flag in self.flags]
        if not self.number and (self.estimate < 0).any():
            notes.append("- negative: BCH weights can give a share below 0; ML cannot.")
        header = (self.variable, "", "estimate", "s.e.", "low", "high")
        table = Grid(title, header, rows, frozenset({0, 1}), tuple(notes))
        if len(self.classes) < 2:
            return [table]
        tests = (self.equality, *(self.pairs if len(self.classes) > 2 else ()))
        return [table, tests_grid(f"Is {self.name} the same in …? Wald tests", tests)]


def _share(x: float) -> Shown:
    """Format a share; BCH weights can lead to values outside [0, 1]."""
    return probability(x) if np.isnan(x) or 0.0 <= x <= 1.0 else number(x, 3)


@dataclass(frozen=True, eq=False, repr=False)
class ThreeStep(Printable):
    """Class assignments with their error rates, and results for outcomes and covariates."""

    KEYS = (
        "notes assignment=assigning classes=rows.classes class_sizes=rows.every_size "
        "given=rows.every_error flags=rows.flags coefficients outcomes"
    )

    rows: AssignedRows
    assigning: Assigning
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)  # by name
    coefficients: Coefficients | None = None  # of covariates, if there are any
    notes: tuple[str, ...] = ()

    def tidy(self) -> Columns:
        """Return a row for each estimate of the outcomes, else for each coefficient."""
        if not self.outcomes:
            return {} if self.coefficients is None else self.coefficients.tidy()
        parts = [outcome.tidy() for outcome in self.outcomes.values()]
        return {name: [x for part in parts for x in part[name]] for name in parts[0]}

    def grids(self) -> Sequence[Grid]:
        """Return the printed tables."""
        tables = [self._errors_grid()]
        if self.coefficients is not None:
            tables += self.coefficients.grids()
        for outcome in self.outcomes.values():
            tables += outcome.grids()
        return tables

    def _errors_grid(self) -> Grid:
        name = self.rows.variable.name
        header = (name, *(f"given {label}" for label in self.rows.classes), "size")
        errors, sizes = self.rows.every_error.tolist(), self.rows.every_size.tolist()
        rows = tuple(
            (label, *map(probability, given), share(size))
            for label, given, size in zip(self.rows.classes, errors, sizes, strict=True)
        )
        flags = (f"- {flag}" for flag in self.rows.flags)
        title = f"Assignment by class ({self.assigning}): p(assigned | {name})"
        return Grid(title, header, rows, notes=(*self.notes, *flags))


Moments: TypeAlias = tuple[FloatArray, FloatArray]


def outcome_of(
    rows: AssignedRows,
    table: Table,
    name: str,
    correction: Correction | None,
    level: float,
    first: FirstStep | None,
) -> Outcome:
    """Estimate an outcome by class; the default is BCH for numbers and ML for categories."""
    place = [c.name for c in table.columns].index(name)
    column, codes = table.columns[place], table.codes[:, place]
    shown: BoolArray = np.asarray(codes >= 0)
    cases = float(rows.counts[shown].sum())
    if cases <= len(rows.classes):
        raise DataError(f"outcome '{name}' has {cases:g} cases, too few for the number of classes.")
    observed = rows.only(shown)
    centre, unit = 0.0, 1.0
    if column.kind.number:
        seen = np.bincount(codes[shown], observed.counts, len(column.states))
        scale = unit_of_squares(name, column.states, seen / seen.sum())
        centre, unit = scale.origin, scale.size or 1.0
        y = replace(scale, size=unit).numbers(column.states).array[codes[shown]]
        kind: OutcomeKind = NumberOutcome(y)
    else:
        kind = CategoryOutcome(codes[shown].astype(np.int64), column.labels)
    chosen = correction or (Correction.BCH if column.kind.number else Correction.ML)
    step = OutcomeStep(rows, kind, shown, chosen, first)
    estimates = step.estimates()
    nonempty, every = np.flatnonzero(rows.nonempty).tolist(), range(len(rows.classes))

    def test(title: str, which: Sequence[int]) -> WaldTest:
        if not set(which) <= set(nonempty):
            df = (len(which) - 1) * max(1, len(kind.titles) - 1)
            return wald(title, np.full(df, np.nan), np.eye(df))
        return step.differences(estimates, title, [nonempty.index(c) for c in which])

    pairs = itertools.combinations(every, 2)
    estimate, covariance = _of_all_classes(rows, estimates.estimate, estimates.covariance, np.nan)
    why: Reasons = np.full(estimate.shape, Why.EMPTY_CLASS, dtype=object)
    why[nonempty] = estimates.why
    return Outcome(
        name,
        rows.variable.name,
        rows.classes,
        kind.titles,
        chosen,
        Identified(estimate, covariance, why).times(unit, centre),
        test(EVERY, every),
        tuple(test(f"{rows.classes[a]} and {rows.classes[b]}", (a, b)) for a, b in pairs),
        level,
        observed.cases,
        float(rows.counts[~shown].sum()),
        rows.degrees,
        rows.design_words,
        column.kind.number,
    )


def _of_all_classes(rows: AssignedRows, values: FloatArray, V: FloatArray, fill: float) -> Moments:
    """Insert classes without rows: estimates (K, c) and their covariance (K, c, K, c)."""
    (K, c), nonempty = (len(rows.nonempty), values.shape[1]), np.flatnonzero(rows.nonempty)
    estimate, covariance = np.full((K, c), fill), np.full((K, c, K, c), fill)
    estimate[nonempty] = values
    covariance.swapaxes(1, 2)[np.ix_(nonempty, nonempty)] = V.swapaxes(1, 2)
    return estimate, covariance


PROMISE = 1e-6  # nats: largest predicted gain at a maximum


@dataclass(frozen=True, eq=False)
class LogitStep:
    """Estimating equations of the coefficients of covariates."""

    Z: FloatArray  # (m, p)
    beta: FloatArray  # (free,)
    correction: Correction
    inside: FloatArray | None = None  # (free, a) identified directions; None: all

    def __call__(self, rows: AssignedRows) -> Solved:
        """Compute the scores of rows, and A."""
        if self.correction is Correction.ML:
            return self.expected(rows)[1]
        pi = self.probabilities
        scores = np.einsum("ic,ip->icp", rows.weights(self.correction) - pi, self.Z)
        A = logit_information(self.Z, rows.counts, pi)
        each = scores[:, 1:].reshape(len(pi), -1)
        return Solved(each, rows.counts, A, rows.design, self.inside)

    @property
    def probabilities(self) -> FloatArray:
        """(m, K) class probabilities of each row."""
        return np.asarray(softmax(self.Z @ whole(self.beta, self.Z.shape[1]).T, axis=1))

    def expected(self, rows: AssignedRows) -> tuple[FloatArray, Solved]:
        """Compute expected classes, (m, K), and the scores of the likelihood with known errors."""
        pi = self.probabilities
        K = pi.shape[1]
        residual = np.eye(K)[None] - pi[:, None, :]  # (m, t, c)
        U = np.einsum("itc,ip->itcp", residual[:, :, 1:], self.Z).reshape(len(pi), K, -1)
        known = logit_information(self.Z, rows.counts, pi)
        log_pi = np.log(np.maximum(pi, 1e-300))
        expected, solved = with_known_errors(U, lambda _: known, log_pi, rows)
        return expected, replace(solved, inside=self.inside)


def _fitted(rows: AssignedRows, Z: FloatArray, correction: Correction) -> tuple[FloatArray, bool]:
    """Return the ML coefficients, and whether the iteration converged."""
    nothing = np.zeros((rows.posterior.shape[1] - 1) * Z.shape[1])
    flat = np.zeros((len(nothing),) * 2)
    if correction is not Correction.ML:
        N = rows.counts[:, None] * rows.weights(correction)
        return maximize_logit(Z, N, nothing, flat), True
    return climb(
        nothing,
        lambda beta: LogitStep(Z, beta, correction).expected(rows),
        lambda beta, classes: maximize_logit(Z, rows.counts[:, None] * classes, beta, flat),
    )


def predict_classes(
    rows: AssignedRows,
    design: CovariateDesign,
    shown: BoolArray,
    correction: Correction,
    level: float,
    first: FirstStep | None,
) -> Coefficients:
    """Fit the log odds of classes; `design` contains the rows with all covariates."""
    Z, observed = design.matrix[design.pattern], rows.only(shown)
    K, p = observed.posterior.shape[1], Z.shape[1]
    if K < 2:
        raise ModelError(
            "all rows are of one class, so covariates have nothing to predict. Fit a model with "
            "more classes, or leave out --covariates."
        )
    beta, ended = _fitted(observed, Z, correction)
    step = LogitStep(Z, beta, correction)
    reach = np.tile(np.abs(Z).max(axis=0), K - 1)
    known = logit_information(Z, observed.counts, step.probabilities)
    inside, separated = without_end(known, reach)
    step = replace(step, inside=inside)
    solved = step(observed)
    slope = inside.T @ solved.total
    ended = ended and float(slope @ np.linalg.pinv(inside.T @ solved.A @ inside) @ slope) < PROMISE
    V = covariance_of(step, rows, shown, first)
    units = np.kron(np.eye(K - 1), design.to_units)
    covariance = np.zeros((K, p, K, p))
    covariance[1:, :, 1:, :] = (units @ V @ units.T).reshape(K - 1, p, K - 1, p)
    free = list(free_directions(separated, design, K, Why.SEPARATED))
    by = Correction.NONE if correction is Correction.NONE else Correction.BCH
    few = observed.counts @ observed.weights(by) < p + 0.5
    free += [class_direction(c, K, p, Why.FEW_CASES) for c in np.flatnonzero(few).tolist()]
    if not ended:
        free += free_directions(np.eye(len(beta)), design, K, Why.NO_MAXIMUM)
    reached, spread = _of_all_classes(rows, whole(beta, p) @ design.to_units.T, covariance, 0.0)
    every, empty = (
        np.eye(len(rows.nonempty))[:, rows.nonempty],
        np.flatnonzero(~rows.nonempty).tolist(),
    )
    free = [Free(one.why, every @ one.along) for one in free]
    free += [class_direction(c, len(every), p, Why.EMPTY_CLASS) for c in empty]
    return Coefficients(
        rows.variable.name,
        rows.classes,
        design.titles,
        design.named_places,
        reached,
        spread,
        int(rows.nonempty.argmax()),
        level,
        f"Three steps, {correction.words}.{rows.design_words}",
        rows.degrees,
        free=tuple(free),
    )
