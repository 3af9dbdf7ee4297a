"""log p(row | θ) of every row by itself, in the order of the rows."""

import numpy as np

from lacunet.arrays import CodeArray, FloatArray
from lacunet.inference.asking.by_row import ByRow
from lacunet.model import conjugacy
from lacunet.model.network import Model


def row_log_lik(model: Model, codes: CodeArray) -> FloatArray:
    """Give log p(what a row shows | θ), (rows,); −inf where a row is impossible.

    `codes` are (rows, observed variables of the network), −1 = missing.

    >>> import lacunet
    >>> model = lacunet.random_model(2, 3, seed=1)
    >>> every = np.stack(np.unravel_index(range(8), (2, 2, 2)), axis=1)
    >>> bool(np.isclose(np.exp(row_log_lik(model, every)).sum(), 1))
    True
    """
    network = model.network
    natural = conjugacy.natural(model.theta, network.layout)
    total = ByRow(network, codes).log_lik(network.to_cells(natural))
    for column, i in enumerate(network.observed):
        v = network.variables[i]
        if not v.family.tabular:
            total += np.where(
                codes[:, column] >= 0, v.family.log_base(v.states)[codes[:, column]], 0
            )
    return total
