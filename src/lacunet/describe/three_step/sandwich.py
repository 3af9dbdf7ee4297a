"""Covariance of estimates from the scores of rows, whatever the model is right about (Huber 1967).

Every third step solves Σ_rows s_row = 0. Its estimates have the covariance A⁻¹ B A⁻¹: A is the
negative slope of that sum, B the sum of s sᵀ over cases; of a survey, what its design makes of it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.data.sampling_design import SamplingDesign
from lacunet.describe.three_step.assigned import AssignedRows
from lacunet.inference.curvature.row_scores import spread_of_scores


@dataclass(frozen=True, eq=False)
class Solved:
    """Where scores add up to nothing."""

    scores: FloatArray  # (m, q) of each row
    counts: FloatArray  # (m,) its cases
    A: FloatArray  # (q, q)
    design: SamplingDesign | None = None  # how rows were drawn

    @property
    def covariance(self) -> FloatArray:
        """(q, q)."""
        if self.design is None:
            B = self.scores.T @ (self.counts[:, None] * self.scores)
        else:
            every = [(slice(0, len(self.scores)), self.scores)]
            B = spread_of_scores(self.design, every, self.scores.shape[1])
        inverse = np.linalg.pinv(self.A, hermitian=False)
        return np.asarray(inverse @ B @ inverse.T)


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
    joint = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))[:, None, :] * errors.T[None]
    r = joint / joint.sum(axis=2, keepdims=True)  # (m, s, t)
    expected = np.einsum("is,ist->it", given, r)
    each = np.einsum("ist,itq->isq", r, U)
    scores = np.einsum("is,isq->iq", given, each)
    weighted = counts[:, None] * expected
    second = np.einsum("it,itq,itp->qp", weighted, U, U)
    squared = np.einsum("is,isq,isp->qp", counts[:, None] * given, each, each)
    return expected, Solved(scores, counts, complete(expected) - (second - squared), rows.design)
