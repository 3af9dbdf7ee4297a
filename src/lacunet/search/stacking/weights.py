"""How much say each model gets: as much as makes held-out rows most probable.

The log-likelihood of held-out rows is concave in the weights, so EM finds its maximum. One case is
shared out evenly beforehand, so that nobody is silenced: a model that hardly ever counts may be the
only one that finds a strange row possible.
"""

import numpy as np
from scipy.special import logsumexp

from lacunet.runtime.arrays import FloatArray

PRIOR = 1.0  # cases, shared out evenly
STEPS = 2_000  # EM gets slow where models say the same, and then nothing depends on it
SMALL = 1e-7  # nats per case: a step that gains less is the last


def stack_weights(log_lik: FloatArray, counts: FloatArray) -> FloatArray:
    """Give the weights that make rows most probable.

    Parameters
    ----------
    log_lik
        (members, rows) of rows that were held out when the member was learned.
    counts
        (rows,) how much each row counts.

    Returns
    -------
    weights : (members,) they sum to 1

    >>> stack_weights(np.log([[0.9, 0.9], [0.1, 0.1]]), np.array([50.0, 50.0])).round(2)
    array([0.99, 0.01])
    """
    share = PRIOR / len(log_lik)
    weights, before = np.full(len(log_lik), 1.0 / len(log_lik)), -np.inf
    for _ in range(STEPS):
        joint = log_lik + np.log(weights)[:, None]
        rows = logsumexp(joint, axis=0)
        value = float(counts @ rows + share * np.log(weights).sum())
        if value - before < SMALL * counts.sum():
            break
        before = value
        members = np.exp(joint - rows) @ counts
        weights = (members + share) / (counts.sum() + PRIOR)
    return np.asarray(weights)
