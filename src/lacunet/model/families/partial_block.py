"""Blocks of numbers of which some are missing: what is left of η, and what is expected of the rest.

A pattern of holes shows o of d numbers. Given the others integrated out, log weights are again
linear in sums, squares and products of those that are shown, the *products* (x_o, 1, x_a x_b for
a ≤ b); and what is expected of all statistics is linear in these. So both are done once for each
pattern and class, never for a row. Functions of η that complex steps may go through.
"""

from typing import NamedTuple

import numpy as np

from lacunet.model.families import partial_kernels as kernels
from lacunet.model.families.block_places import inverse, places_of
from lacunet.model.families.partial_kernels import Holes, Precision
from lacunet.runtime.arrays import FloatArray, IntArray


class Conditional(NamedTuple):
    """What is missing given what is shown: normal around A x + b with covariance C. (P, K, …)."""

    A: FloatArray
    b: FloatArray
    C: FloatArray


def products(o: int) -> int:
    """How many products o numbers have."""
    return places_of(o).width - 1


def marginal(natural: FloatArray, holes: Holes, d: int) -> FloatArray:
    """Log weights of the products that patterns show, (K, width) → (P, K, products)."""
    if not holes.missing.shape[1]:  # all is shown: products are places
        whole = natural[None, :, :-1].copy()
        whole[..., d] += natural[:, -1]
        return whole
    patterns, o = holes.shown.shape
    found = np.empty((patterns, len(natural), products(o)), dtype=natural.dtype)
    kernels.write_marginal(_precision(natural, d), holes, found)
    return found


def completed(natural: FloatArray, holes: Holes, S: FloatArray, d: int) -> FloatArray:
    """Expected statistics given products that were shown: (P, K, products) → (P, K, width)."""
    o = holes.shown.shape[1]
    if o == d:
        return np.concatenate([S, S[..., o : o + 1]], axis=-1)
    found = np.empty((*S.shape[:-1], natural.shape[-1]), dtype=natural.dtype)
    kernels.write_completed(_precision(natural, d), holes, np.ascontiguousarray(S), found)
    return found


def conditional(natural: FloatArray, holes: Holes, d: int) -> Conditional:
    """What is missing given what is shown, by pattern and class."""
    h, _, precise = _precision(natural, d)
    C = inverse(_rows(precise, holes.missing, holes.missing))
    A = -C @ _rows(precise, holes.missing, holes.shown)
    b = np.einsum("...mn,...n->...m", C, np.swapaxes(h[:, holes.missing], 0, 1))
    return Conditional(A, b, C)


def _precision(natural: FloatArray, d: int) -> Precision:
    joint = places_of(d).read_natural(natural)
    constant = joint.cases + joint.for_variance
    return Precision(np.ascontiguousarray(joint.first), constant, joint.second)


def _rows(matrices: FloatArray, one: IntArray, other: IntArray) -> FloatArray:
    """(K, d, d) → (P, K, o, m)."""
    return np.swapaxes(matrices[:, one[:, :, None], other[:, None, :]], 0, 1)
