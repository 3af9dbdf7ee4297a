"""Covariates after the classes: a multinomial logit that knows how often classes are wrong."""

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from lacunet.arrays import BoolArray, FloatArray
from lacunet.describe.regression.coefficients import Coefficients
from lacunet.describe.three_step.assigned import AssignedRows, Correction
from lacunet.describe.three_step.first_step import FirstStep, covariance_of
from lacunet.describe.three_step.sandwich import Solved, with_known_errors
from lacunet.inference.regression.design import Design
from lacunet.learn.regression.logit import logit_information, maximize_logit, whole

STEPS = 2000  # of EM at most
TOLERANCE = 1e-8  # on the largest slope, in cases
NEWTON = 1e-2  # slope from which Newton's steps are taken


@dataclass(frozen=True, eq=False)
class LogitStep:
    """Coefficients, and what rows say of them."""

    Z: FloatArray  # (m, p)
    beta: FloatArray  # (free,)
    correction: Correction

    def __call__(self, rows: AssignedRows) -> Solved:
        """Give the scores of rows."""
        if self.correction is Correction.ML:
            return self.expected(rows)[1]
        pi = self._probabilities
        scores = np.einsum("ic,ip->icp", rows.weights(self.correction) - pi, self.Z)
        A = logit_information(self.Z, rows.counts, pi)
        return Solved(scores[:, 1:].reshape(len(pi), -1), rows.counts, A, rows.design)

    @property
    def _probabilities(self) -> FloatArray:
        """(m, K) of each class."""
        return np.asarray(softmax(self.Z @ whole(self.beta, self.Z.shape[1]).T, axis=1))

    def expected(self, rows: AssignedRows) -> tuple[FloatArray, Solved]:
        """Expected classes, (m, K), and scores, where errors are known."""
        pi = self._probabilities
        K = pi.shape[1]
        residual = np.eye(K)[None] - pi[:, None, :]  # (m, t, c)
        U = np.einsum("itc,ip->itcp", residual[:, :, 1:], self.Z).reshape(len(pi), K, -1)
        known = logit_information(self.Z, rows.counts, pi)
        return with_known_errors(U, lambda _: known, np.log(pi), rows)


def predict_classes(
    rows: AssignedRows,
    design: Design,
    shown: BoolArray,
    correction: Correction,
    level: float,
    first: FirstStep | None,
) -> Coefficients:
    """Fit the log odds of classes; the design is of the rows that show all covariates."""
    Z, own = design.matrix[design.pattern], rows.only(shown)
    K, p = len(rows.classes), Z.shape[1]
    nothing = np.zeros((K - 1) * p)
    if correction is Correction.ML:
        beta = _with_errors(own, Z, nothing)
    else:
        N = own.counts[:, None] * own.weights(correction)
        beta = maximize_logit(Z, N, nothing, np.zeros((len(nothing),) * 2))
    V = covariance_of(LogitStep(Z, beta, correction), rows, shown, first)
    units = np.kron(np.eye(K - 1), design.to_units)
    covariance = np.zeros((K, p, K, p))
    covariance[1:, :, 1:, :] = (units @ V @ units.T).reshape(K - 1, p, K - 1, p)
    return Coefficients(
        rows.variable.name,
        rows.classes,
        design.titles,
        design.named_places,
        whole(beta, p) @ design.to_units.T,
        covariance,
        0,
        level,
        f"Three steps, {correction.words}.{rows.design_words}",
        rows.degrees,
    )


def _with_errors(rows: AssignedRows, Z: FloatArray, beta: FloatArray) -> FloatArray:
    """Maximise the likelihood of given classes: EM, and Newton's steps where it is nearly there."""
    precision = np.zeros((len(beta),) * 2)
    for _ in range(STEPS):
        expected, solved = LogitStep(Z, beta, Correction.ML).expected(rows)
        slope = rows.counts @ solved.scores
        if np.abs(slope).max(initial=0.0) < TOLERANCE:
            break
        if np.abs(slope).max() < NEWTON and np.linalg.eigvalsh(solved.A).min() > 0:
            beta = beta + np.linalg.solve(solved.A, slope)
        else:
            beta = maximize_logit(Z, rows.counts[:, None] * expected, beta, precision)
    return beta
