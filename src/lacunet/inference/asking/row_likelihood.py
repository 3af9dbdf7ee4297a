"""log p(row | θ) of every row by itself, in the order of the rows."""

import numpy as np
from scipy.special import logsumexp

from lacunet.inference.asking.blocks import block_log_density, has_blocks, rest_of
from lacunet.inference.asking.by_row import ByRow
from lacunet.inference.asking.query import posterior
from lacunet.inference.expectation import safe_log
from lacunet.model.network import Model
from lacunet.runtime.arrays import CodeArray, FloatArray


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
    if has_blocks(network):
        return _with_blocks(model, codes)
    rows = ByRow(network, codes).log_lik(model.log_weights)
    return rows if network.layout.tabular else rows + network.log_base(codes)


def _with_blocks(model: Model, codes: CodeArray) -> FloatArray:
    """The sum over classes of what the rest of a row is worth, times densities of its blocks."""
    rest = rest_of(model)
    known = codes[:, rest.columns]
    (classes,) = posterior(rest.model, known, [(rest.number[rest.root],)])
    joint = safe_log(classes) + block_log_density(model, codes)
    base = model.network.log_base(codes) - rest.model.network.log_base(known)
    return np.asarray(row_log_lik(rest.model, known) + base + logsumexp(joint, axis=1))
