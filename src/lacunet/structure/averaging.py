"""Families averaged over equivalent sample sizes: the sizes that a graph's tables are given.

Each family has a prior that is a mixture: its table has the exponents of one size or of another,
each as probable. A search scores the mean of log BD's arguments. What needs one Dirichlet prior for
each table (parameters, a variational bound, CSL) takes the size that the cases make most probable.
"""

import math

import numpy as np

from lacunet.models import conjugacy
from lacunet.models.network import Network
from lacunet.models.prior import dirichlet, each_alpha, understand_values
from lacunet.runtime.arrays import FloatArray


def is_averaged(alpha: float | str) -> bool:
    """Whether families are averaged over several sizes."""
    return len(understand_values(alpha)[0]) > 1


def middle_exponents(network: Network, alpha: float | str) -> FloatArray:
    """Give the exponents of the size in the middle: before any case was counted."""
    several = each_alpha(alpha)
    return dirichlet(network, several[len(several) // 2])


def likeliest_exponents(network: Network, alpha: float | str, N: FloatArray) -> FloatArray:
    """Give each table the exponents that its cases N make most probable, (size,).

    Where tables are tied, fixed or have zeros, all have the same size.
    """
    priors = [dirichlet(network, one) for one in each_alpha(alpha)]
    if len(priors) == 1:
        return priors[0]
    logs = np.stack([conjugacy.log_marginal(N, prior, network.layout) for prior in priors])
    if not network.plain:
        return priors[int(logs.sum(axis=1).argmax())]
    exponents, layout = priors[0].copy(), network.layout
    for i, best in enumerate(logs.argmax(axis=0).tolist()):
        layout.table(exponents, i)[...] = layout.table(priors[best], i)
    return exponents


def averaging_gains(
    network: Network, alpha: float | str, exponents: FloatArray, N: FloatArray
) -> FloatArray:
    """What averaging adds to log BD of each family at some exponents, (n,); 0 without averaging."""
    if not is_averaged(alpha):
        return np.zeros(len(network.variables))
    priors, layout = [dirichlet(network, one) for one in each_alpha(alpha)], network.layout
    logs = np.stack([conjugacy.log_marginal(N, prior, layout) for prior in priors])
    mean: FloatArray = np.logaddexp.reduce(logs, axis=0) - math.log(len(priors))
    gains: FloatArray = mean - conjugacy.log_marginal(N, exponents, layout)
    return gains
