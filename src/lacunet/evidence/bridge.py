"""The mass between a reference and samples of the posterior, from chains in both directions.

Weights w of chains forwards, from the reference, and backwards, from posterior samples, are tied
together by one number, the mass Z (Crooks; Bennett 1976):

    E_forwards[w / (w + Z)] = E_backwards[Z / (w + Z)].

Forward chains alone know only what they reach. Samples that lie elsewhere lose so much on the way
down that they add nothing on the right: so the share of samples that can be reached is divided out.
"""

import math

import numpy as np
from scipy.special import expit

from lacunet.arrays import FloatArray

HALVINGS = 60  # of the interval in which the mass lies
MARGIN = 50.0  # nats by which it is wider than all weights


def log_bridge(up: FloatArray, down: FloatArray) -> float:
    """Log mass, from log weights of forward chains (−inf: ended elsewhere) and of backward ones.

    >>> round(log_bridge(np.array([1.0, 1.0]), np.array([1.0, 60.0])), 6)  # 1 + log 2
    1.693147
    """
    finite = np.concatenate([up[up > -np.inf], down])
    low, high = float(finite.min()) - MARGIN, float(finite.max()) + MARGIN
    if not (up > -np.inf).any():
        return -math.inf
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        # Falls as the mass rises: left of the root chains forwards still say that it is larger.
        if expit(up - middle).mean() > expit(middle - down).mean():
            low = middle
        else:
            high = middle
    return (low + high) / 2
