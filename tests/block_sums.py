"""The evidence of two numbers that vary together, summed over all labellings by closed forms.

The second number may be missing. The first is normal in each class, and the second is a linear
regression on it, with parameters of its own: a normal-inverse-Wishart prior is a product of both.
"""

import itertools

import numpy as np
from scipy.special import gammaln, logsumexp

ALPHA = 1.3


def log_evidence(x, colour, classes, prior, *, common):
    """Log p of rows (n, 2), NaN in the second column where it is missing, and of a category."""
    terms = []
    for world in itertools.product(range(classes), repeat=len(x)):
        z = np.array(world)
        sizes = np.bincount(z, minlength=classes)
        term = gammaln(classes * ALPHA) - gammaln(classes * ALPHA + len(x))
        term += (gammaln(ALPHA + sizes) - gammaln(ALPHA)).sum()
        N = np.array([[np.sum(colour[z == c] == k) for k in (0, 1)] for c in range(classes)])
        term += (gammaln(ALPHA + N) - gammaln(ALPHA)).sum()
        term += (gammaln(2 * ALPHA) - gammaln(2 * ALPHA + N.sum(axis=1))).sum()
        groups = [np.arange(classes)] if common else [[c] for c in range(classes)]
        for group in groups:
            mine = np.isin(z, group)
            term += log_labelled(x[mine], z[mine] - min(group), len(group), prior)
        terms.append(term)
    return float(logsumexp(terms))


def usual_prior(x, mean=0.0, weight=0.1, degrees=3.0, scale=1.0):
    """The usual prior of two numbers: mean, weight, degrees, and a scale for each number.

    Of each variance, what a line through the other leaves (adjusted for the number of rows that
    show both) times `scale`, and in proportion to the degrees.
    """
    both = x[~np.isnan(x).any(axis=1)]
    n, r = len(both), 0.999 * np.corrcoef(both.T)[0, 1]
    share = min(1.0, (1 - r**2) * (n - 1) / (n - 2)) if n > 2 else 1.0
    return mean, weight, degrees + 1.0, scale * (degrees + 1.0) / degrees * share


def log_labelled(x, z, classes, prior):
    """Log p(x | classes) of classes that have one covariance."""
    m, kappa, nu, scale = prior  # the scale matrix is scale · I, the means are expected at (m, m)
    design = np.eye(classes)[z]
    # The first number: a mean for each class.
    total = _regression(
        x[:, 0], design, np.full(classes, m), np.eye(classes) / kappa, (nu - 1, scale)
    )
    # The second: intercepts a_c = m − b m + noise, and a slope b around 0.
    observed = ~np.isnan(x[:, 1])
    design = np.column_stack([design, x[:, 0]])[observed]
    mean = np.append(np.full(classes, m), 0.0)
    wide = np.zeros((classes + 1, classes + 1))
    wide[:classes, :classes] = np.eye(classes) / kappa + m**2 / scale
    wide[:classes, -1] = wide[-1, :classes] = -m / scale
    wide[-1, -1] = 1.0 / scale
    return total + _regression(x[observed, 1], design, mean, wide, (nu, scale))


def _regression(y, design, mean, wide, of_variance):
    """Log of a multivariate Student t: coefficients N(mean, σ² wide), σ² inverse gamma."""
    nu, scale = of_variance
    n = len(y)
    V = np.eye(n) + design @ wide @ design.T
    off = y - design @ mean
    square = off @ np.linalg.solve(V, off)
    a, b = nu / 2, scale / 2
    return (
        gammaln(a + n / 2) - gammaln(a) + a * np.log(b) - (a + n / 2) * np.log(b + square / 2)
        - n / 2 * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(V)[1]
    )  # fmt: skip
