"""Laplace's approximation in the softmax basis φ = log θ, at the mode of that basis.

MacKay (1998) on the choice of basis; Chickering & Heckerman (1997) use this one. The Gaussian has
the whole line for every parameter, and the prior keeps what the data do not tell at a curvature of
order one: near the boundary this is much nearer to the truth than the θ basis of CH96. Where both
cases and exponents are few, log θ has a long tail to −∞, and a Gaussian does not.
"""

import math

from lacunet.flags import Flag, Kind
from lacunet.model import conjugacy
from lacunet.scoring.score import Score
from lacunet.scoring.score_input import Evidence, ScoreInput

FAR_OFF = 1.0  # nats that a Gaussian is off of complete data, from which it is said


def laplace_phi(at: ScoreInput) -> Evidence:
    """Integrate the quadratic around the mode of φ that is uphill from θ. Error O(1/N).

    It is defined at that mode only, so it climbs there from whatever θ is given.
    """
    mode, d = at.softmax, at.parameters
    if mode.log_det is None:
        return Evidence("laplace-phi", {}, mode.flags)
    terms = {
        "log p(D|φ)": mode.point.log_lik,
        "log p(φ)": _log_prior(at),
        "d/2 log 2π": d / 2 * math.log(2 * math.pi),
        "−½ log|A|": -mode.log_det / 2,
    }
    off = abs(_of_complete_data(at) - _exactly(at))
    skewed = Flag(Kind.SKEWED, detail={"nats": off})
    return Evidence("laplace-phi", terms, (*mode.flags, skewed) if off > FAR_OFF else mode.flags)


def _log_prior(at: ScoreInput) -> float:
    """Log density of φ at its mode."""
    theta, problem = at.softmax.point.theta, at.problem
    density = conjugacy.log_prior(theta, problem.alpha, problem.layout)
    return density + conjugacy.log_jacobian(theta, problem.layout)


def _of_complete_data(at: ScoreInput) -> float:
    """Give the same approximation as if the expected counts had been seen."""
    mode, d = at.softmax, at.parameters
    log_lik = conjugacy.log_density(mode.point.N, mode.point.theta, at.problem.layout)
    return log_lik + _log_prior(at) + d / 2 * math.log(2 * math.pi) - mode.log_det_complete / 2


def _exactly(at: ScoreInput) -> float:
    """Give the evidence of those counts, which needs no approximation."""
    N, problem = at.softmax.point.N, at.problem
    return float(conjugacy.log_marginal(N, problem.alpha, problem.layout).sum())


LAPLACE_PHI = Score("laplace-phi", "Laplace (φ)", "MacKay (1998); CH97", laplace_phi, usual=False)
