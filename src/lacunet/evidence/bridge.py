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

from lacunet.runtime.arrays import BoolArray, FloatArray

STEPS = 100  # of Newton, or halvings of the interval in which the mass lies; a few suffice
EXACT = 1e-9  # nats
MARGIN = 50.0  # nats by which it is wider than all weights


def log_bridge(up: FloatArray, down: FloatArray) -> float:
    """Log mass, from log weights of forward chains (−inf: ended elsewhere) and of backward ones.

    One that came from where no forward chain ever gets to has the log weight inf.

    >>> round(log_bridge(np.array([1.0, 1.0]), np.array([1.0, 60.0])), 6)  # 1 + log 2
    1.693147
    """
    all_up, all_down = (np.ones((1, len(chains)), dtype=np.bool_) for chains in (up, down))
    return float(log_bridges(up, down, all_up, all_down)[0])


def log_bridges(
    up: FloatArray,
    down: FloatArray,
    counted_up: BoolArray,
    counted_down: BoolArray,
    near: float | None = None,
) -> FloatArray:
    """The same from some of the chains only, for several choices of them at once: (R,).

    Parameters
    ----------
    counted_up, counted_down : (R, chains)
        Which count.
    near
        The mass by all of them, if it is known: that of some is not far from it.
    """
    finite = np.concatenate([up[up > -np.inf], down[down < np.inf]])
    low = np.full(len(counted_up), finite.min() - MARGIN)
    high = np.full(len(counted_up), finite.max() + MARGIN)
    shares = [
        counted / counted.sum(axis=1, keepdims=True) for counted in (counted_up, counted_down)
    ]
    middle = (low + high) / 2 if near is None else np.full(len(low), near)
    for step in range(STEPS):
        # At first all choices are at one place, where everybody needs to be weighed once only.
        at = middle[:1] if step == 0 else middle[:, None]
        left, right = expit(up - at), expit(at - down)
        forwards, backwards = _added(shares[0], left), _added(shares[1], right)
        # Falls as the mass rises: left of the root chains forwards still say that it is larger.
        with np.errstate(divide="ignore", invalid="ignore"):
            off = np.log(forwards) - np.log(backwards)
            fall = _added(shares[0], left * (1.0 - left)) / forwards
            fall += _added(shares[1], right * (1.0 - right)) / backwards
            newton = middle + off / fall
        low, high = np.where(off > 0, middle, low), np.where(off > 0, high, middle)
        inside = (newton > low) & (newton < high)
        before, middle = middle, np.where(inside, newton, (low + high) / 2)
        if np.abs(middle - before).max() < EXACT:
            break
    reached = (counted_up & (up > -np.inf)).any(axis=1)
    return np.where(reached, middle, -math.inf)


def _added(shares: FloatArray, x: FloatArray) -> FloatArray:
    """Add up by shares, (R, chains), what each choice has of its own, or what all have."""
    return np.asarray(shares @ x if x.ndim == 1 else np.einsum("rn,rn->r", shares, x))
