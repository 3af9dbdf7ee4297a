"""The third step of outcomes: means and shares by class, with robust covariances."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag

from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.summaries.coefficients import WaldTest, wald
from lacunet.summaries.identification import Identified, Why, without_end
from lacunet.summaries.intervals import HELD
from lacunet.summaries.three_step.first_step import (
    AssignedRows,
    Correction,
    FirstStep,
    Solved,
    climb,
    covariance_of,
    with_known_errors,
)
from lacunet.summaries.three_step.outcome import LEAST, OutcomeKind

SCORE_TEST = "score test, because a share is 0 or 1, or a class has equal values"
ONLY_SEEN = "; of the {states} states these classes have {seen}"
CASES = 1.5  # of a class that show an outcome, at least: one case has no spread
SURE = 3.0  # standard errors that their number must be above 0, if others are missing
MOST = 0.5  # of the cases of a class: where more show the outcome, its number is no question


@dataclass(frozen=True, eq=False)
class WeightedStep:
    """Means or shares of rows weighed by classes: Σ w_t (value − told_t) = 0, without a density."""

    values: FloatArray  # (m, c) a number, or which state a row shows
    told: FloatArray  # (K, c)
    correction: Correction

    def __call__(self, rows: AssignedRows) -> Solved:
        """Give the scores of rows."""
        weights, c = rows.weights(self.correction), self.values.shape[1]
        scores = weights[:, :, None] * (self.values[:, None, :] - self.told[None])
        A = np.diag(np.repeat(rows.counts @ weights, c))
        return Solved(scores.reshape(len(scores), -1), rows.counts, A, rows.design)


@dataclass(frozen=True, eq=False)
class LikelyStep:
    """Parameters of an outcome at which its likelihood, with known errors, is highest.

    Class sizes are held as the first step found them, as errors of assignment are: what classes are
    is settled, whatever the outcome looks like.
    """

    kind: OutcomeKind
    own: FloatArray  # (K, b)
    inside: FloatArray | None = None  # (K b, a) directions that are determined; None: all

    def __call__(self, rows: AssignedRows) -> Solved:
        """Give the scores of rows."""
        return self.expected(rows)[1]

    def expected(self, rows: AssignedRows) -> tuple[FloatArray, Solved]:
        """Expected classes, (m, K), and scores."""
        (K, b), own = self.own.shape, self.own
        U = np.zeros((len(rows.counts), K, K, b))
        U[:, np.arange(K), np.arange(K)] = self.kind.scores(own)

        def complete(expected: FloatArray) -> FloatArray:
            weights = rows.counts[:, None] * expected
            return np.asarray(block_diag(*self.kind.information(own, weights)))

        log_joint = np.log(rows.sizes) + self.kind.log_density(own)
        each = U.reshape(len(U), K, K * b)
        expected, solved = with_known_errors(each, complete, log_joint, rows)
        return expected, replace(solved, inside=self.inside)


@dataclass(frozen=True, eq=False)
class OutcomeStep:
    """How an outcome is compared between classes, by the rows that show it."""

    rows: AssignedRows
    kind: OutcomeKind
    shown: BoolArray
    correction: Correction
    first: FirstStep | None

    @cached_property
    def own(self) -> AssignedRows:
        """Rows that show the outcome."""
        return self.rows.only(self.shown)

    @cached_property
    def weights(self) -> FloatArray:
        """(rows that show it, K) how much they count for each class."""
        by = Correction.NONE if self.correction is Correction.NONE else Correction.BCH
        return self.own.counts[:, None] * self.own.weights(by)

    def estimates(self) -> Identified:
        """Give means or shares, (K, c), that exist."""
        if self._constant:
            return self._all_alike()
        if self.correction is not Correction.ML:
            total = self._total[:, None]
            divisor = np.where(np.abs(total) > LEAST, total, np.nan)
            told = self.weights.T @ self.kind.values / divisor
            return self._identified(told, self._covariance_at(told), self.weights)
        start = self._improved(None, self.own.posterior)

        def expected_at(parameters: FloatArray) -> tuple[FloatArray, Solved]:
            return LikelyStep(self.kind, parameters, self._present).expected(self.own)

        parameters, ended = climb(start, expected_at, self._improved)
        told, present = self.kind.shown(parameters), ~self._absent
        if not ended or self.kind.degenerate(parameters[present]):
            unknown = np.full((*told.shape, *told.shape), np.nan)
            return Identified.of(told, unknown, {Why.NO_MAXIMUM: np.ones(told.shape, dtype=bool)})
        expected, _ = expected_at(parameters)
        counted, T = self.own.counts[:, None] * expected, self._present
        complete = block_diag(*self.kind.information(parameters, counted))
        inside, _ = without_end(T.T @ complete @ T, np.ones(T.shape[1]))
        step = LikelyStep(self.kind, parameters, T @ inside)
        slopes = block_diag(*self.kind.slopes(parameters))
        V = slopes @ covariance_of(step, self.rows, self.shown, self.first) @ slopes.T
        return self._identified(told, V.reshape(*told.shape, *told.shape), counted)

    def differences(self, found: Identified, name: str, which: Sequence[int]) -> WaldTest:
        """Test whether some classes are alike: differences from the first of them are 0.

        Where a share is 0 or 1 its own variance says nothing: then a score test has the variance
        that there would be if these classes were alike.
        """
        values, V, why, degrees = found.estimate, found.covariance, "", self.rows.degrees
        states = np.arange(values.shape[1])
        reasons = set(found.why[list(which)].reshape(-1).tolist()) - {None}
        if self._constant:
            return wald(name, np.zeros(0), np.zeros((0, 0)), degrees)
        if reasons and all(reason.keeps_estimate for reason in reasons):
            values, V, states = self._if_alike(which)
            seen = ONLY_SEEN.format(seen=len(states), states=values.shape[1])
            why = SCORE_TEST + (seen if len(states) < values.shape[1] else "")
        free = states if self.kind.number else states[1:]  # shares add up to 1
        first, *others = which
        values = values[others][:, free] - values[first, free]
        turn = np.zeros((len(others), len(found.estimate)))
        turn[np.arange(len(others)), others] = 1.0
        turn[:, first] = -1.0
        among = np.ix_(which, range(V.shape[1]), which, range(V.shape[1]))
        turn, own = turn[:, which], V[among][:, free][:, :, :, free]
        V = np.einsum("at,tpuq,bu->apbq", turn, own, turn).reshape(values.size, values.size)
        return wald(name, values.reshape(-1), V, degrees, why)

    def _all_alike(self) -> Identified:
        """Give what all rows show, in every class that shows it: without an error."""
        told = np.tile(self.kind.values[0], (len(self._total), 1))
        whys = Why.NO_SPREAD if self.kind.number else Why.BOUNDARY
        found = {
            Why.NO_CASES: np.broadcast_to(self._absent[:, None], told.shape),
            whys: np.ones(told.shape, dtype=np.bool_),
        }
        return Identified.of(told, np.full((*told.shape, *told.shape), np.nan), found)

    def _if_alike(self, which: Sequence[int]) -> tuple[FloatArray, FloatArray, IntArray]:
        """Give weighted means or shares, their covariance if classes were alike, states there."""
        sums = self.weights.T @ self.kind.values
        pooled = sums[list(which)].sum(axis=0)
        told = sums / np.where(np.abs(self._total) > LEAST, self._total, np.nan)[:, None]
        alike = told.copy()
        alike[list(which)] = pooled / self._total[list(which)].sum()
        alive = np.arange(len(pooled))
        if len(pooled) > 1:
            alive = np.flatnonzero(pooled >= HELD)
        return told, self._covariance_at(np.nan_to_num(alike)), alive

    def _covariance_at(self, told: FloatArray) -> FloatArray:
        """(K, c, K, c) of weighted means or shares, their variance taken around `told`."""
        by = Correction.NONE if self.correction is Correction.NONE else Correction.BCH
        step = WeightedStep(self.kind.values, np.nan_to_num(told), by)
        found = covariance_of(step, self.rows, self.shown, self.first)
        return found.reshape(*told.shape, *told.shape)

    @property
    def _constant(self) -> bool:
        """Whether all rows show the same."""
        return bool((self.kind.values == self.kind.values[:1]).all())

    @cached_property
    def _total(self) -> FloatArray:
        """(K,) cases of each class that show the outcome."""
        return np.asarray(self.weights.sum(axis=0))

    def _improved(self, _: FloatArray | None, expected: FloatArray) -> FloatArray:
        """Give the best parameters; classes without cases have those of all rows."""
        weights = self.own.counts[:, None] * expected
        return self.kind.best(np.where(self._absent, self.own.counts[:, None], weights))

    @cached_property
    def _present(self) -> FloatArray:
        """(K b, free) the coordinates of classes that have cases."""
        each = np.repeat(~self._absent, self.kind.width)
        return np.asarray(np.eye(len(each))[:, each])

    def _identified(self, told: FloatArray, V: FloatArray, cases: FloatArray) -> Identified:
        """Close the gate for classes without cases, and for shares at 0 or 1.

        `cases`, (rows, K), say how much each row counts for each class.
        """
        found = {Why.NO_CASES: np.broadcast_to(self._absent[:, None], told.shape)}
        if not self.kind.number:
            of_state = cases.T @ self.kind.values
            others = of_state.sum(axis=1, keepdims=True) - of_state
            found[Why.BOUNDARY] = (of_state < HELD) | (others < HELD)
        return Identified.of(told, V, found)

    @property
    def _absent(self) -> BoolArray:
        """(K,) classes of which too few cases show the outcome.

        Cases of other classes that were given this one by mistake are taken off. Where most of a
        class is missing, what is left must be more than chance makes of such mistakes.
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
