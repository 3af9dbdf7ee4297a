"""Laplace's approximation: the posterior as a Gaussian around its mode. CH96 eq. 8."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg.lapack import dpotrf

from lacunet.inference.coordinates import free_coordinates, softmax_gradient
from lacunet.inference.hessian import negative_hessian
from lacunet.scores.evidence import Evidence, Score, ScoreInput

NOT_A_MAXIMUM = 1e-3  # scaled gradient, in cases, from which θ is no mode of the posterior
NEARLY_SINGULAR = 1e-8  # part of a parameter's curvature that is its own


def laplace(at: ScoreInput) -> Evidence:
    """Integrate the quadratic around θ̃. Error O(1/N) at a mode in the interior.

    The dimension is always the number of parameters, for that is the size of A.
    """
    problem, theta, d = at.problem, at.theta, at.parameters
    if (theta <= 0).any():
        return Evidence(
            "laplace", {}, ("on the boundary: a probability is 0, where A is not defined",)
        )
    A = negative_hessian(problem, theta, free_coordinates(problem.layout, theta))
    curvature = A.diagonal().copy()
    L, failed = dpotrf(A, lower=1, overwrite_a=1, clean=0)
    if failed or not np.isfinite(curvature).all():
        return Evidence("laplace", {}, ("A is not positive definite: θ is not a maximum",))
    flags = []
    steepest = np.abs(softmax_gradient(theta, at.observed_counts, problem.alpha, problem.layout))
    if steepest.max() > NOT_A_MAXIMUM:
        flags.append(
            f"not at a maximum of the posterior: the scaled gradient is {steepest.max():.2g} cases"
        )
    pivots = L.diagonal()
    wide = int(np.sum(math.sqrt(2 * math.pi) > pivots))
    if wide:
        # Each pivot is one factor √2π/L_ii of the integral, over a parameter that runs from 0 to 1.
        flags.append(
            f"the Gaussian is wider than the whole range 0 to 1 in {wide} of {d} directions: "
            "the value is too high"
        )
    if d and (pivots**2 / curvature).min() < NEARLY_SINGULAR:
        flags.append("A is nearly singular: its determinant is not to be trusted")
    terms = {
        "log p(D|θ)": at.log_lik,
        "log p(θ)": at.log_prior,
        "d/2 log 2π": d / 2 * math.log(2 * math.pi),
        "−½ log|A|": -float(np.sum(np.log(pivots))),
    }
    return Evidence("laplace", terms, tuple(flags))


LAPLACE = Score("laplace", "Laplace", "CH96 eq. 8", laplace)
