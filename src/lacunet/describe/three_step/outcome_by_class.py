"""The third step of outcomes: means and shares by class, with robust covariances."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag

from lacunet.arrays import BoolArray, FloatArray
from lacunet.describe.three_step.assigned import AssignedRows, Correction
from lacunet.describe.three_step.first_step import FirstStep, covariance_of
from lacunet.describe.three_step.outcome_kinds import OutcomeKind
from lacunet.describe.three_step.sandwich import Solved, with_known_errors

STEPS = 5000  # of EM at most
TOLERANCE = 1e-7  # on the largest slope, in cases
NEWTON = 1e-2  # slope from which Newton's steps are taken


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
        return with_known_errors(U.reshape(len(U), K, -1), complete, log_joint, rows)


def outcome_by_class(
    rows: AssignedRows,
    kind: OutcomeKind,
    shown: BoolArray,
    correction: Correction,
    first: FirstStep | None,
) -> tuple[FloatArray, FloatArray]:
    """Give means or shares, (K, c), of rows that show an outcome, and covariance (K, c, K, c)."""
    own, K = rows.only(shown), len(rows.classes)
    if correction is Correction.ML:
        step = LikelyStep(kind, _most_likely(own, kind))
        slopes, told = block_diag(*kind.slopes(step.own)), kind.told(step.own)
        V = slopes @ covariance_of(step, rows, shown, first) @ slopes.T
    else:
        weights, values = own.counts[:, None] * own.weights(correction), kind.values
        told = weights.T @ values / weights.sum(axis=0)[:, None]
        V = covariance_of(WeightedStep(values, told, correction), rows, shown, first)
    return told, V.reshape(K, told.shape[1], K, -1)


def _most_likely(rows: AssignedRows, kind: OutcomeKind) -> FloatArray:
    """Climb: EM, and Newton's steps where it is nearly there."""
    own = kind.best(rows.counts[:, None] * rows.posterior)
    for _ in range(STEPS):
        expected, solved = LikelyStep(kind, own).expected(rows)
        slope = rows.counts @ solved.scores
        if np.abs(slope).max() < TOLERANCE:
            break
        A = (solved.A + solved.A.T) / 2.0
        if np.abs(slope).max() < NEWTON and np.linalg.eigvalsh(A).min() > 0:
            own = own + np.linalg.solve(A, slope).reshape(own.shape)
        else:
            own = kind.best(rows.counts[:, None] * expected)
    return own
