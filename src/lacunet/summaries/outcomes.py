"""Outcomes by class: means or shares, corrected for assignment errors, with robust covariances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy.linalg import block_diag
from scipy.special import log_softmax

from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.summaries.coefficients import WaldTest, wald
from lacunet.summaries.first_step import (
    AssignedRows,
    Correction,
    FirstStep,
    Solved,
    climb,
    covariance_of,
    with_known_errors,
)
from lacunet.summaries.identification import Identified, Why, without_end
from lacunet.summaries.intervals import HELD

LEAST = 1e-300  # least share, to avoid log 0
SPREAD = 1e-10  # least variance of a class, relative to all rows


# An outcome of m rows with b free parameters in each class, (K, b), has:
#   values            (m, c) a number, or indicators of the states
#   best(weights)     (K, b) weighted maximum likelihood, weights (m, K)
#   log_density, scores, information: (m, K) log p(y | class), its gradient (m, K, b), and the
#                     negative Hessian of its weighted sum (K, b, b)
#   shown, slopes     (K, c) means or shares, and their derivatives (K, c, b)
#   degenerate        whether the likelihood is unbounded near these parameters


@dataclass(frozen=True, eq=False)
class NumberOutcome:
    """A Gaussian outcome; parameters are μ and log σ²."""

    y: FloatArray  # (m,) standardised
    titles: tuple[str, ...] = ("mean",)
    number: bool = True
    width: int = 2  # b

    @property
    def values(self) -> FloatArray:
        return self.y[:, None]

    def degenerate(self, parameters: FloatArray) -> bool:
        return bool((parameters[:, 1] <= np.log(2.0 * SPREAD)).any())

    def best(self, weights: FloatArray) -> FloatArray:
        total = weights.sum(axis=0)
        mean = self.y @ weights / total
        squares = ((self.y[:, None] - mean) ** 2 * weights).sum(axis=0) / total
        return np.column_stack([mean, np.log(np.maximum(squares, SPREAD))])

    def log_density(self, parameters: FloatArray) -> FloatArray:
        mean, log_variance = parameters.T
        squares = (self.y[:, None] - mean) ** 2 / np.exp(log_variance)
        return np.asarray(-0.5 * (squares + log_variance + np.log(2.0 * np.pi)))

    def scores(self, parameters: FloatArray) -> FloatArray:
        mean, log_variance = parameters.T
        apart, variance = self.y[:, None] - mean, np.exp(log_variance)
        return np.stack([apart / variance, 0.5 * (apart**2 / variance - 1.0)], axis=2)

    def information(self, parameters: FloatArray, weights: FloatArray) -> FloatArray:
        mean, log_variance = parameters.T
        apart, variance = self.y[:, None] - mean, np.exp(log_variance)
        both = (weights * apart).sum(axis=0) / variance
        of_variance = 0.5 * (weights * apart**2).sum(axis=0) / variance
        rows = [[weights.sum(axis=0) / variance, both], [both, of_variance]]
        return np.asarray(np.transpose(np.array(rows), (2, 0, 1)))

    def shown(self, parameters: FloatArray) -> FloatArray:
        return parameters[:, :1]

    def slopes(self, parameters: FloatArray) -> FloatArray:
        return np.tile(np.array([[[1.0, 0.0]]]), (len(parameters), 1, 1))


@dataclass(frozen=True, eq=False)
class CategoryOutcome:
    """A categorical outcome; parameters are logits against the first state."""

    codes: IntArray  # (m,)
    titles: tuple[str, ...]  # its states
    number: bool = False

    @property
    def width(self) -> int:
        return len(self.titles) - 1

    def degenerate(self, parameters: FloatArray) -> bool:
        return False

    @property
    def values(self) -> FloatArray:
        return np.eye(len(self.titles))[self.codes]

    def best(self, weights: FloatArray) -> FloatArray:
        share = np.log(np.maximum(weights.T @ self.values, LEAST))
        return np.asarray(share[:, 1:] - share[:, :1])

    def _log_shares(self, parameters: FloatArray) -> FloatArray:
        first = np.zeros((len(parameters), 1))
        return np.asarray(log_softmax(np.hstack([first, parameters]), axis=1))

    def log_density(self, parameters: FloatArray) -> FloatArray:
        return np.asarray(self._log_shares(parameters)[:, self.codes].T)

    def scores(self, parameters: FloatArray) -> FloatArray:
        return self.values[:, None, 1:] - self.shown(parameters)[None, :, 1:]

    def information(self, parameters: FloatArray, weights: FloatArray) -> FloatArray:
        return np.asarray(weights.sum(axis=0)[:, None, None] * self.slopes(parameters)[:, 1:])

    def shown(self, parameters: FloatArray) -> FloatArray:
        return np.asarray(np.exp(self._log_shares(parameters)))

    def slopes(self, parameters: FloatArray) -> FloatArray:
        p = self.shown(parameters)
        each = np.einsum("ti,ij->tij", p, np.eye(p.shape[1]))
        return np.asarray((each - p[:, :, None] * p[:, None, :])[:, :, 1:])


OutcomeKind: TypeAlias = NumberOutcome | CategoryOutcome


SCORE_TEST = "score test, because a share is 0 or 1, or a class has equal values"
ONLY_SEEN = "; of the {states} states these classes have {seen}"
CASES = 1.5  # least observed cases of a class: one case has no variance
SURE = 3.0  # least z-value of their number, if many are missing
MOST = 0.5  # observed share of a class from which SURE is not required


@dataclass(frozen=True, eq=False)
class WeightedStep:
    """Estimating equations of weighted means or shares: Σ w_t (value − mean_t) = 0."""

    values: FloatArray  # (m, c) a number, or indicators of the states
    means: FloatArray  # (K, c)
    correction: Correction

    def __call__(self, rows: AssignedRows) -> Solved:
        """Compute the scores of rows, and A."""
        weights, c = rows.weights(self.correction), self.values.shape[1]
        scores = weights[:, :, None] * (self.values[:, None, :] - self.means[None])
        A = np.diag(np.repeat(rows.counts @ weights, c))
        return Solved(scores.reshape(len(scores), -1), rows.counts, A, rows.design)


@dataclass(frozen=True, eq=False)
class LikelyStep:
    """Estimating equations of an outcome by maximum likelihood with known assignment errors.

    Class sizes and assignment errors are those of the first step.
    """

    kind: OutcomeKind
    parameters: FloatArray  # (K, b)
    inside: FloatArray | None = None  # (K b, a) identified directions; None: all

    def __call__(self, rows: AssignedRows) -> Solved:
        """Compute the scores of rows, and A."""
        return self.expected(rows)[1]

    def expected(self, rows: AssignedRows) -> tuple[FloatArray, Solved]:
        """Compute expected classes, (m, K), and the scores."""
        (K, b), parameters = self.parameters.shape, self.parameters
        U = np.zeros((len(rows.counts), K, K, b))
        U[:, np.arange(K), np.arange(K)] = self.kind.scores(parameters)

        def complete(expected: FloatArray) -> FloatArray:
            weights = rows.counts[:, None] * expected
            return np.asarray(block_diag(*self.kind.information(parameters, weights)))

        log_joint = np.log(rows.sizes) + self.kind.log_density(parameters)
        each = U.reshape(len(U), K, K * b)
        expected, solved = with_known_errors(each, complete, log_joint, rows)
        return expected, replace(solved, inside=self.inside)


@dataclass(frozen=True, eq=False)
class OutcomeStep:
    """The third step of an outcome: estimates by class and tests, from the rows observed."""

    rows: AssignedRows
    kind: OutcomeKind
    shown: BoolArray
    correction: Correction
    first: FirstStep | None

    @cached_property
    def observed(self) -> AssignedRows:
        """Rows with an observed outcome."""
        return self.rows.only(self.shown)

    @cached_property
    def weights(self) -> FloatArray:
        """(observed rows, K) weights in each class."""
        by = Correction.NONE if self.correction is Correction.NONE else Correction.BCH
        return self.observed.counts[:, None] * self.observed.weights(by)

    def estimates(self) -> Identified:
        """Estimate means or shares, (K, c); those not identified are NaN."""
        if self._constant:
            return self._constant_estimates()
        if self.correction is not Correction.ML:
            total = self._total[:, None]
            divisor = np.where(np.abs(total) > LEAST, total, np.nan)
            means = self.weights.T @ self.kind.values / divisor
            return self._identified(means, self._covariance_at(means), self.weights)
        start = self._improved(None, self.observed.posterior)

        def expected_at(parameters: FloatArray) -> tuple[FloatArray, Solved]:
            return LikelyStep(self.kind, parameters, self._present).expected(self.observed)

        parameters, ended = climb(start, expected_at, self._improved)
        means, present = self.kind.shown(parameters), ~self._absent
        if not ended or self.kind.degenerate(parameters[present]):
            unknown = np.full((*means.shape, *means.shape), np.nan)
            return Identified.of(means, unknown, {Why.NO_MAXIMUM: np.ones(means.shape, dtype=bool)})
        expected, _ = expected_at(parameters)
        cases, T = self.observed.counts[:, None] * expected, self._present
        complete = block_diag(*self.kind.information(parameters, cases))
        inside, _ = without_end(T.T @ complete @ T, np.ones(T.shape[1]))
        step = LikelyStep(self.kind, parameters, T @ inside)
        slopes = block_diag(*self.kind.slopes(parameters))
        V = slopes @ covariance_of(step, self.rows, self.shown, self.first) @ slopes.T
        return self._identified(means, V.reshape(*means.shape, *means.shape), cases)

    def differences(self, estimates: Identified, name: str, which: Sequence[int]) -> WaldTest:
        """Test the equality of some classes: differences from the first of them are 0.

        At a share of 0 or 1 the Wald variance is useless; a score test then uses the variance under
        equality.
        """
        values, V, why, degrees = estimates.estimate, estimates.covariance, "", self.rows.degrees
        states = np.arange(values.shape[1])
        reasons = set(estimates.why[list(which)].reshape(-1).tolist()) - {None}
        if self._constant:
            return wald(name, np.zeros(0), np.zeros((0, 0)), degrees)
        if reasons and all(reason.keeps_estimate for reason in reasons):
            values, V, states = self._under_equality(which)
            seen = ONLY_SEEN.format(seen=len(states), states=values.shape[1])
            why = SCORE_TEST + (seen if len(states) < values.shape[1] else "")
        free = states if self.kind.number else states[1:]  # shares add up to 1
        at = np.array(which)
        selected, V = values[np.ix_(at, free)], V[np.ix_(at, free, at, free)]
        apart, others = selected[1:] - selected[0], len(which) - 1
        turn = np.hstack([-np.ones((others, 1)), np.eye(others)])
        V = np.einsum("at,tpuq,bu->apbq", turn, V, turn).reshape(apart.size, apart.size)
        return wald(name, apart.reshape(-1), V, degrees, why)

    def _constant_estimates(self) -> Identified:
        """Return the common value of all rows for every class, without a standard error."""
        means = np.tile(self.kind.values[0], (len(self._total), 1))
        whys = Why.NO_SPREAD if self.kind.number else Why.BOUNDARY
        reasons = {
            Why.NO_CASES: np.broadcast_to(self._absent[:, None], means.shape),
            whys: np.ones(means.shape, dtype=np.bool_),
        }
        return Identified.of(means, np.full((*means.shape, *means.shape), np.nan), reasons)

    def _under_equality(self, which: Sequence[int]) -> tuple[FloatArray, FloatArray, IntArray]:
        """Return weighted means or shares, their covariance under equality, observed states."""
        sums = self.weights.T @ self.kind.values
        pooled = sums[list(which)].sum(axis=0)
        means = sums / np.where(np.abs(self._total) > LEAST, self._total, np.nan)[:, None]
        alike = means.copy()
        alike[list(which)] = pooled / self._total[list(which)].sum()
        alive = np.arange(len(pooled))
        if len(pooled) > 1:
            alive = np.flatnonzero(pooled >= HELD)
        return means, self._covariance_at(np.nan_to_num(alike)), alive

    def _covariance_at(self, means: FloatArray) -> FloatArray:
        """Compute the covariance (K, c, K, c) of weighted means or shares around `means`."""
        by = Correction.NONE if self.correction is Correction.NONE else Correction.BCH
        step = WeightedStep(self.kind.values, np.nan_to_num(means), by)
        covariance = covariance_of(step, self.rows, self.shown, self.first)
        return covariance.reshape(*means.shape, *means.shape)

    @property
    def _constant(self) -> bool:
        """Whether all rows have the same value."""
        return bool((self.kind.values == self.kind.values[:1]).all())

    @cached_property
    def _total(self) -> FloatArray:
        """(K,) observed cases of each class."""
        return np.asarray(self.weights.sum(axis=0))

    def _improved(self, _: FloatArray | None, expected: FloatArray) -> FloatArray:
        """Return the M step; classes without cases have the parameters of all rows."""
        weights = self.observed.counts[:, None] * expected
        return self.kind.best(np.where(self._absent, self.observed.counts[:, None], weights))

    @cached_property
    def _present(self) -> FloatArray:
        """(K b, free) coordinates of the classes with cases."""
        each = np.repeat(~self._absent, self.kind.width)
        return np.asarray(np.eye(len(each))[:, each])

    def _identified(self, means: FloatArray, V: FloatArray, cases: FloatArray) -> Identified:
        """Mark classes without cases, and shares at 0 or 1; `cases` are weights (rows, K)."""
        reasons = {Why.NO_CASES: np.broadcast_to(self._absent[:, None], means.shape)}
        if not self.kind.number:
            of_state = cases.T @ self.kind.values
            others = of_state.sum(axis=1, keepdims=True) - of_state
            reasons[Why.BOUNDARY] = (of_state < HELD) | (others < HELD)
        return Identified.of(means, V, reasons)

    @property
    def _absent(self) -> BoolArray:
        """(K,) whether a class has too few observed cases.

        The count is corrected for assignment errors. If most of a class is missing, the count must
        also exceed the noise of this correction.
        """
        rows, total = self.rows, self._total
        few = total < CASES
        if self.correction is Correction.NONE:
            return few
        inverse = np.linalg.inv(rows.errors)
        others = np.maximum(total, 0.0)[:, None] * (1.0 - np.eye(len(total)))
        mistakes = np.sqrt((others * (rows.errors @ inverse**2)).sum(axis=0))
        missing = total < MOST * rows.cases * rows.sizes
        return np.asarray(few | (missing & (total < SURE * mistakes)))
