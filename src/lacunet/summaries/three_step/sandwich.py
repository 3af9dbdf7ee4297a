"""Covariance of estimates from the scores of rows, whatever the model is right about (Huber 1967).

Every third step solves Σ_rows s_row = 0. Its estimates have the covariance A⁻¹ B A⁻¹: A is the
negative slope of that sum, B the sum of s sᵀ over cases; of a survey, what its design makes of it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lacunet.data.sampling_design import SamplingDesign
from lacunet.inference.curvature.information import NOTHING, spread_of_scores
from lacunet.runtime.arrays import FloatArray
from lacunet.summaries.three_step.assigned import AssignedRows

STEPS = 5000  # of EM at most
TOLERANCE = 1e-8  # on the largest slope, in cases
NEWTON = 1e-2  # slope from which Newton's steps are taken
FARTHEST = 10.0  # of one of them: log odds, or standard deviations of an outcome


@dataclass(frozen=True, eq=False)
class Solved:
    """Where scores add up to nothing."""

    scores: FloatArray  # (m, q) of each row
    counts: FloatArray  # (m,) its cases
    A: FloatArray  # (q, q)
    design: SamplingDesign | None = None  # how rows were drawn
    inside: FloatArray | None = None  # (q, a) directions that are determined; None: all

    @property
    def covariance(self) -> FloatArray:
        """(q, q)."""
        if self.design is None:
            B = self.scores.T @ (self.counts[:, None] * self.scores)
        else:
            every = [(slice(0, len(self.scores)), self.scores)]
            B = spread_of_scores(self.design, every, self.scores.shape[1])
        T = np.eye(len(self.A)) if self.inside is None else self.inside
        A = T.T @ self.A @ T
        scale = np.sqrt(np.maximum(np.abs(A.diagonal()), 1e-300))
        turned = T / scale
        inverse = turned @ np.linalg.pinv(A / np.outer(scale, scale), NOTHING) @ turned.T
        return np.asarray(inverse @ B @ inverse.T)


def climb(
    start: FloatArray,
    expected: Callable[[FloatArray], tuple[FloatArray, Solved]],
    improve: Callable[[FloatArray, FloatArray], FloatArray],
) -> tuple[FloatArray, bool]:
    """Maximise a likelihood with known errors: EM, and Newton's steps where it is nearly there.

    `expected` gives the expected classes and the scores at some parameters, `improve` the best
    parameters for expected classes. Also says whether the climb came to its end.
    """
    now = start
    for _ in range(STEPS):
        classes, solved = expected(now)
        T = np.eye(len(solved.A)) if solved.inside is None else solved.inside
        slope = T.T @ (solved.counts @ solved.scores)
        steepest = np.abs(slope).max(initial=0.0)
        if not np.isfinite(steepest):
            return now, False
        if steepest < TOLERANCE:
            return now, True
        step = _newton(T.T @ solved.A @ T, slope) if steepest < NEWTON else None
        now = improve(now, classes) if step is None else now + (T @ step).reshape(now.shape)
    return now, False


def _newton(A: FloatArray, slope: FloatArray) -> FloatArray | None:
    """Newton's step; None where the likelihood is not concave."""
    scale = np.sqrt(np.maximum(A.diagonal(), 1e-300))
    values, vectors = np.linalg.eigh((A + A.T) / 2.0 / np.outer(scale, scale))
    if not values.min() > NOTHING:
        return None
    step: FloatArray = vectors @ (vectors.T @ (slope / scale) / values) / scale
    return step if np.abs(step).max() < FARTHEST else None


def with_known_errors(
    U: FloatArray,
    complete: Callable[[FloatArray], FloatArray],
    log_joint: FloatArray,
    rows: AssignedRows,
) -> tuple[FloatArray, Solved]:
    """Scores and A of Σ given_s log Σ_t p(t, y) D_ts, by what they would be if t were seen.

    Parameters
    ----------
    U
        (m, K, q) score of a row of class t.
    complete
        (q, q) information if classes had been seen, by how much of each row, (m, K), is of each.
    log_joint
        (m, K) log p(t) p(y | t).
    rows
        With given classes and known errors.

    Returns
    -------
    FloatArray
        (m, K) expected class of each row.
    Solved
        Its scores.
    """
    given, counts, errors = rows.given, rows.counts, rows.errors
    with np.errstate(divide="ignore"):
        log_each = log_joint[:, None, :] + np.log(np.maximum(errors.T, 0.0))[None]  # (m, s, t)
    most = log_each.max(axis=2, keepdims=True)
    joint = np.exp(log_each - np.where(np.isfinite(most), most, 0.0))
    r = joint / np.maximum(joint.sum(axis=2, keepdims=True), 1e-300)
    expected = np.einsum("is,ist->it", given, r)
    each = np.einsum("ist,itq->isq", r, U)
    scores = np.einsum("is,isq->iq", given, each)
    weighted = counts[:, None] * expected
    second = np.einsum("it,itq,itp->qp", weighted, U, U)
    squared = np.einsum("is,isq,isp->qp", counts[:, None] * given, each, each)
    return expected, Solved(scores, counts, complete(expected) - (second - squared), rows.design)
