"""Laplace's approximation: the posterior as a Gaussian around its mode. CH96 eq. 8."""

import math

import numpy as np

from lacunet.flags import Flag, Kind
from lacunet.inference.curvature.coordinates import free_coordinates
from lacunet.inference.curvature.hessian import negative_hessian
from lacunet.models import conjugacy
from lacunet.scores.score import Evidence, Score, ScoreInput
from lacunet.scores.softmax import factorise

NOT_A_MAXIMUM = 1e-3  # scaled gradient, in cases, from which θ is no mode of the posterior


def laplace(at: ScoreInput) -> Evidence:
    """Integrate the quadratic around θ̃. Error O(1/N) at a mode in the interior.

    The dimension is always the number of parameters, for that is the size of A.
    """
    problem, theta, d = at.problem, at.theta, at.parameters
    if not conjugacy.has_mode(problem.alpha, problem.layout):
        lowest = {"alpha": problem.lowest_alpha}
        return Evidence("laplace", {}, (Flag(Kind.NO_MODE, detail=lowest),))
    if conjugacy.on_boundary(theta, problem.layout):
        return Evidence("laplace", {}, (Flag(Kind.ON_BOUNDARY),))
    factor = factorise(negative_hessian(problem, theta, free_coordinates(problem.layout, theta)))
    if factor is None:
        return Evidence("laplace", {}, (Flag(Kind.NOT_POSITIVE_DEFINITE, detail={"point": "θ"}),))
    flags = []
    N = at.observed_counts + conjugacy.in_theta(problem.alpha, problem.layout)
    steepest = np.abs(conjugacy.pull_back(theta, N, problem.layout))
    if steepest.max() > NOT_A_MAXIMUM:
        flags.append(Flag(Kind.NOT_AT_MAXIMUM, detail={"gradient": float(steepest.max())}))
    wide = int(np.sum(math.sqrt(2 * math.pi) > factor.pivots))
    if wide:
        # Each pivot is one factor √2π/L_ii of the integral, over a parameter that runs from 0 to 1.
        flags.append(Flag(Kind.WIDE_GAUSSIAN, detail={"number": wide, "total": d}))
    terms = {
        "log p(D|θ)": at.log_lik,
        "log p(θ)": at.log_prior,
        "d/2 log 2π": d / 2 * math.log(2 * math.pi),
        "−½ log|A|": -factor.log_det / 2,
    }
    return Evidence("laplace", terms, (*flags, *factor.flags))


LAPLACE = Score("laplace", "Laplace", "CH96 eq. 8", laplace)
