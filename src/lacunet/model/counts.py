"""Complete counts in closed form: the BD formula, which several scores put counts into."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from lacunet.arrays import FloatArray
from lacunet.model.layout import Layout


def log_bd(N: FloatArray, alpha: FloatArray, layout: Layout) -> FloatArray:
    """Log marginal likelihood of complete counts, an addend per family, (n,). CH96 eq. 5.

    One binary variable, α = 1, seen once in each state: p(D) = 1/6.

    >>> layout = Layout.build([2], [()], [False])
    >>> float(np.exp(log_bd(np.ones(2), np.ones(2), layout)[0])) * 6
    1.0...
    """
    cells = gammaln(alpha + N) - gammaln(alpha)
    a_ij = layout.sum_k(alpha)
    rows = gammaln(a_ij) - gammaln(a_ij + layout.sum_k(N))
    first = layout.ij[layout.offsets[:-1]]
    return np.add.reduceat(cells, layout.offsets[:-1]) + np.add.reduceat(rows, first)
