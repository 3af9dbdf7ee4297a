"""The likelihood-ratio test of two models, of which one has all that the other has."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from lacunet.fitting.diagnose import BOUNDARY
from lacunet.fitting.fit import Fit

TIE = 1e-6  # nats: likelihoods this near are equal, as far as the search can tell
AT_EDGE = (
    "{number} probabilities of the wider models are at 0 or 1, on the edge of what can be, where "
    "the χ² distribution is a rough guide; the evidence does not need it."
)


@dataclass(frozen=True)
class LikelihoodRatio:
    """Twice what a wider model adds to the greatest log-likelihood."""

    statistic: float
    df: int  # parameters that it has more
    at_edge: int  # probabilities of the wider model that no case holds off 0: χ² is rough then

    @property
    def p_value(self) -> float:
        """Probability of so large a statistic where the narrower model is true, by χ²."""
        return float(chdtrc(self.df, max(self.statistic, 0.0))) if self.df > 0 else math.nan


def likelihood_ratio(narrow: Fit, wide: Fit) -> LikelihoodRatio:
    """Compare two ML fits of the same data; one is a special case of the other."""
    layout = wide.problem.layout
    unheld = layout.in_tables & layout.learned & (wide.point.N < BOUNDARY)
    gain = wide.log_lik - narrow.log_lik
    return LikelihoodRatio(
        2.0 * gain if abs(gain) > TIE else 0.0,
        wide.problem.network.dimension - narrow.problem.network.dimension,
        int(np.count_nonzero(unheld)),
    )
