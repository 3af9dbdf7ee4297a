"""Blocks of numbers, one configuration after the other: η(θ) and the M step.

They are done in every iteration, and matrices are small: written out they take less time than
asking for them.
"""

import numpy as np

from lacunet.model.families.partial_kernels import Holes, invert, make_room
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.jit import kernel


@kernel
def read_matrix(places: FloatArray, out: FloatArray) -> None:
    """Write the matrix that stands at the places of a block, (d, d)."""
    d = out.shape[0]
    at = 2 * d + 1
    for a in range(d):
        out[a, a] = places[d + 1 + a]
        for b in range(a + 1, d):
            out[a, b] = out[b, a] = places[at]
            at += 1


@kernel
def write_natural(theta: FloatArray, out: FloatArray, d: int) -> None:
    """η of each configuration, (q, width) → (q, width)."""
    every = np.arange(d)
    covariance = np.empty((d, d))
    room = make_room(Holes(every[None, :0], every[None, :]), covariance)
    precise = room.C
    for j in range(theta.shape[0]):
        mean, found = theta[j, :d], out[j]
        read_matrix(theta[j], covariance)
        log_det = invert(covariance, every, room)
        square, at = 0.0, 2 * d + 1
        for a in range(d):
            h = 0.0
            for b in range(d):
                h += precise[a, b] * mean[b]
            found[a] = h
            square += h * mean[a]
            found[d + 1 + a] = -0.5 * precise[a, a]
            for b in range(a + 1, d):
                found[at] = -precise[a, b]
                at += 1
        found[d] = -0.5 * square
        found[-1] = 0.5 * log_det


@kernel
def write_best(N: FloatArray, theta: FloatArray, d: int) -> None:
    """Put the θ that is best for statistics N, (q, width), in place of θ where there are cases."""
    for j in range(N.shape[0]):
        n, of_variance, found = N[j, d], N[j, -1], theta[j]
        if not n > 0.0:
            continue
        at = 2 * d + 1
        for a in range(d):
            mean = N[j, a] / n
            found[a] = mean
            found[d + 1 + a] = (N[j, d + 1 + a] - N[j, a] * mean) / of_variance
            for b in range(a + 1, d):
                found[at] = (N[j, at] - N[j, b] * mean) / of_variance
                at += 1
        found[d] = found[-1] = 1.0
