"""Coordinates within layers: edges short and straight, boxes in their order and apart.

Minimises Σ w_e sqrt(d_e² + ε²), d_e the sideways length of an edge, under gaps between neighbours,
by Newton's method with a logarithmic barrier. As ε falls, it becomes the problem of Gansner et al.
(1993, section 4), Σ w_e |d_e|; of its many solutions this one is in the middle, so symmetric graphs
have symmetric pictures.
"""

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from lacunet.runtime.arrays import FloatArray, IntArray

WIDEST, FINEST = 128.0, 0.5  # pixels: ε in the beginning and in the end
STEPS = 6  # of Newton's method for each ε, at most
CLOSE = 0.05  # pixels that a step may still move, and be the last
BARRIER = 0.02  # weight of the barrier, by ε
ANCHOR = 1e-7  # weight of what holds the whole in its place


def straighten(
    edges: IntArray, weights: FloatArray, pairs: IntArray, gaps: FloatArray, start: FloatArray
) -> FloatArray:
    """Give coordinates of nodes; ``edges`` and ``pairs`` are (n, 2), pairs with their left first.

    ``start`` keeps every gap with room to spare.
    """
    apart = _differences(np.concatenate([edges, pairs]), len(start))
    x, eps = start, WIDEST
    while eps >= FINEST:
        for _ in range(STEPS):
            step = _newton(x, eps, apart, weights, gaps)
            x = x + step
            if np.abs(step).max() < CLOSE:
                break
        eps /= 2
    return x


def _differences(pairs: IntArray, size: int) -> sparse.csr_array:
    """Write differences, second less first, as a matrix."""
    rows, ones = np.arange(len(pairs)), np.ones(len(pairs))
    places = np.concatenate([rows, rows]), np.concatenate([pairs[:, 1], pairs[:, 0]])
    return sparse.csr_array((np.concatenate([ones, -ones]), places), shape=(len(pairs), size))


def _newton(
    x: FloatArray, eps: float, differences: sparse.csr_array, weights: FloatArray, gaps: FloatArray
) -> FloatArray:
    """Give a step; ``differences`` are those of edges, then those of pairs."""
    lengths, slack = np.split(differences @ x, [len(weights)])
    slack = slack - gaps
    stiff, push = weights / np.hypot(lengths, eps), BARRIER * eps / slack
    gradient = differences.T @ np.concatenate([stiff * lengths, -push]) + ANCHOR * x
    # The curvature of reweighted squares: above the true one, so that no step goes too far.
    curvature = sparse.diags_array(np.concatenate([stiff, push / slack]))
    H = differences.T @ curvature @ differences + ANCHOR * sparse.eye_array(len(x))
    step = splu(H.tocsc()).solve(-gradient)
    closing = -np.split(differences @ step, [len(weights)])[1]
    tight = closing > 0
    share = min(1.0, 0.9 * float(np.min(slack[tight] / closing[tight]))) if tight.any() else 1.0
    return share * step
