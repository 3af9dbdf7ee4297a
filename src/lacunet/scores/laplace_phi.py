"""Laplace's approximation in the softmax basis φ = log θ, at the mode of that basis.

MacKay (1998) on the choice of basis; Chickering & Heckerman (1997) use this one. The Gaussian has
the whole line for every parameter, and the prior keeps what the data do not tell at a curvature of
order one: near the boundary this is much nearer to the truth than the θ basis of CH96.
"""

import math

from lacunet.scoring.score import Score
from lacunet.scoring.score_input import Evidence, ScoreInput


def laplace_phi(at: ScoreInput) -> Evidence:
    """Integrate the quadratic around the mode of φ that is uphill from θ. Error O(1/N).

    It is defined at that mode only, so it climbs there from whatever θ is given.
    """
    mode, d = at.softmax, at.parameters
    if mode.log_det is None:
        return Evidence("laplace-phi", {}, mode.flags)
    terms = {
        "log p(D|φ)": mode.point.log_lik,
        "log p(φ)": mode.point.g - mode.point.log_lik,
        "d/2 log 2π": d / 2 * math.log(2 * math.pi),
        "−½ log|A|": -mode.log_det / 2,
    }
    return Evidence("laplace-phi", terms, mode.flags)


LAPLACE_PHI = Score("laplace-phi", "Laplace (φ)", "MacKay (1998); CH97", laplace_phi, usual=False)
