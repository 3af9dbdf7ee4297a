"""Independent Dirichlet priors, one for each family and parent configuration. CH96 eq. 3."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, xlogy

from lacunet.arrays import FloatArray
from lacunet.errors import OptionError
from lacunet.model.layout import Layout

PAPER_ALPHA = 1.01  # CH96 §3: 1 + ε with ε = 0.01


def check_alpha(value: float) -> None:
    """Refuse what is no Dirichlet exponent."""
    if not (np.isfinite(value) and value > 0):
        raise OptionError(
            f"alpha {value:g} is not allowed: Dirichlet exponents must be above 0. "
            f"The usual choice is {PAPER_ALPHA}."
        )


def uniform_alpha(layout: Layout, value: float) -> FloatArray:
    """Give every θ_ijk the same exponent."""
    check_alpha(value)
    return np.full(layout.size, float(value))


def log_prior(theta: FloatArray, alpha: FloatArray, layout: Layout) -> float:
    """Log density of θ with its normalising constant. CH96 eq. 3.

    Zero probabilities are honest: −inf where α > 1, +inf where α < 1, nothing where α = 1.
    """
    a_ij = layout.sum_k(alpha)
    return float(np.sum(gammaln(a_ij)) - np.sum(gammaln(alpha)) + np.sum(xlogy(alpha - 1.0, theta)))
