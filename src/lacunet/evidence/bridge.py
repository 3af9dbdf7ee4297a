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

from lacunet.arrays import BoolArray, FloatArray

HALVINGS = 60  # of the interval in which the mass lies
MARGIN = 50.0  # nats by which it is wider than all weights


def log_bridge(up: FloatArray, down: FloatArray) -> float:
    """Log mass, from log weights of forward chains (−inf: ended elsewhere) and of backward ones.

    >>> round(log_bridge(np.array([1.0, 1.0]), np.array([1.0, 60.0])), 6)  # 1 + log 2
    1.693147
    """
    everything = [np.ones((1, len(chains)), dtype=np.bool_) for chains in (up, down)]
    return float(log_bridges(up, down, *everything)[0])


def log_bridges(
    up: FloatArray, down: FloatArray, counted_up: BoolArray, counted_down: BoolArray
) -> FloatArray:
    """The same from some of the chains only, for several choices of them at once: (R,).

    Parameters
    ----------
    counted_up, counted_down : (R, chains)
        Which count.
    """
    finite = np.concatenate([up[up > -np.inf], down])
    low = np.full(len(counted_up), finite.min() - MARGIN)
    high = np.full(len(counted_up), finite.max() + MARGIN)
    shares = [
        counted / counted.sum(axis=1, keepdims=True) for counted in (counted_up, counted_down)
    ]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        forwards = (shares[0] * expit(up - middle[:, None])).sum(axis=1)
        backwards = (shares[1] * expit(middle[:, None] - down)).sum(axis=1)
        # Falls as the mass rises: left of the root chains forwards still say that it is larger.
        larger = forwards > backwards
        low, high = np.where(larger, middle, low), np.where(larger, high, middle)
    reached = (counted_up & (up > -np.inf)).any(axis=1)
    return np.where(reached, (low + high) / 2, -math.inf)
