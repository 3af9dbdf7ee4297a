"""log p(row | θ) of every row by itself, in the order of the rows."""

from lacunet.arrays import CodeArray, FloatArray
from lacunet.inference.asking.by_row import ByRow
from lacunet.model.network import Model


def row_log_lik(model: Model, codes: CodeArray) -> FloatArray:
    """Give log p(what a row shows | θ), (rows,); −inf where a row is impossible.

    `codes` are (rows, observed variables of the network), −1 = missing.

    >>> import lacunet, numpy as np
    >>> model = lacunet.random_model(2, 3, seed=1)
    >>> every = np.stack(np.unravel_index(range(8), (2, 2, 2)), axis=1)
    >>> bool(np.isclose(np.exp(row_log_lik(model, every)).sum(), 1))
    True
    """
    network = model.network
    rows = ByRow(network, codes).log_lik(model.log_weights)
    return rows if network.layout.tabular else rows + network.log_base(codes)
