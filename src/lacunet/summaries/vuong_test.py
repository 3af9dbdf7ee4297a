"""The likelihood-ratio test of Vuong (1989), as Lo, Mendell & Rubin (2001) take it for classes.

Twice the gain in log-likelihood is a quadratic form in the scores of both models, so its limit is a
weighted sum of χ² variables. That asks for regular models, and a model with a class too many is
none (Jeffries 2003): papers print this test, the bootstrap is the one to go by.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lacunet.fitting.fit import Fit
from lacunet.fitting.objective import Estimate
from lacunet.inference.curvature.information import NUMBERS, Informed, informed, root_of, row_scores
from lacunet.runtime.arrays import FloatArray
from lacunet.summaries.chi_square_sums import exceeds
from lacunet.summaries.intervals import on_boundary


@dataclass(frozen=True, eq=False)
class VuongTest:
    """A model against one with a class more, by the limit of their likelihood ratio."""

    statistic: float  # 2 (log L of k + 1 − log L of k), at least 0
    weights: FloatArray  # of the χ² variables that it is a sum of, where k classes are true
    more: int  # parameters that the larger model has more
    cases: float  # N

    @property
    def mean(self) -> float:
        """What the statistic is expected to be where k classes are true."""
        return float(self.weights.sum())

    @property
    def deviation(self) -> float:
        """Its standard deviation."""
        return float(np.sqrt(2.0 * np.sum(self.weights**2)))

    @cached_property
    def p_value(self) -> float:
        """Probability of so large a statistic (VLMR)."""
        return exceeds(self.weights, self.statistic)

    @property
    def adjusted(self) -> float:
        """The statistic over 1 + 1/((p − q) log N), which is nearer to its limit (LMR)."""
        if self.cases <= 1 or self.more < 1:
            return self.statistic
        return float(self.statistic / (1.0 + 1.0 / (self.more * np.log(self.cases))))

    @cached_property
    def adjusted_p(self) -> float:
        """Probability of so large an adjusted statistic."""
        return exceeds(self.weights, self.adjusted)


def vuong_test(small: Fit, large: Fit) -> VuongTest | None:
    """Test a fit against one with more classes, of the same rows.

    None where that has no meaning: no ML fits, rows that are no cases, or no maximum.
    """
    if not all(fit.estimate is Estimate.ML and fit.problem.whole for fit in (small, large)):
        return None
    known = [_informed(fit) for fit in (small, large)]
    if not all(one.maximum for one in known):
        return None
    few, many = (fit.model.network.dimension for fit in (small, large))
    gain = max(0.0, 2.0 * (large.log_lik - small.log_lik))
    weights = _weights((small, large), known)
    return VuongTest(gain, weights, many - few, small.problem.cases)


def _informed(fit: Fit) -> Informed:
    held = on_boundary(fit.point.N, np.zeros(fit.problem.layout.size), fit.problem.layout)
    return informed(fit.problem, fit.point.theta, fit.point.N, held)


def _weights(fits: tuple[Fit, Fit], known: list[Informed]) -> FloatArray:
    """Eigenvalues of B diag(−A_k⁻¹, A_k+1⁻¹), with B the products of all scores, summed."""
    widest = max(fit.problem.components.cells.layout.size for fit in fits)
    step = max(1, NUMBERS // widest)
    each = [
        row_scores(fit.problem, fit.point.theta, one.free, step)
        for fit, one in zip(fits, known, strict=True)
    ]
    few, many = (one.root.shape[1] for one in known)
    B: FloatArray = np.zeros((few + many,) * 2)
    for (rows, less), (_, more) in zip(*each, strict=True):
        both = np.hstack([less @ known[0].root, more @ known[1].root])
        B += both.T @ (fits[0].problem.counts[rows, None] * both)
    root = root_of(B)
    signs = np.repeat([-1.0, 1.0], [few, many])
    return np.asarray(np.linalg.eigvalsh(root.T @ (signs[:, None] * root)), np.float64)
