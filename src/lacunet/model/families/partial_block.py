"""Blocks of numbers of which some are missing: what is left of η, and what is expected of the rest.

A pattern of holes shows o of d numbers. Given the others integrated out, log weights are again
linear in sums, squares and products of those that are shown, the *products* (x_o, 1, x_a x_b for
a ≤ b); and what is expected of all statistics is linear in these. So both are done once for each
pattern and class, never for a row. Functions of η that complex steps may go through.
"""

from typing import NamedTuple

import numpy as np

from lacunet.arrays import FloatArray, IntArray
from lacunet.model.families.block_places import Joint, inverse, outer, places_of


class Holes(NamedTuple):
    """P patterns of holes that show as many numbers."""

    shown: IntArray  # (P, o) which numbers
    missing: IntArray  # (P, d − o)


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
    joint = places_of(d).read_natural(natural)
    own = _rows(joint.second, holes.shown, holes.shown)
    h = _some(joint.first, holes.shown)
    across = _rows(joint.second, holes.shown, holes.missing)
    A, b, C = _conditional(joint, holes)
    own = own + across @ A
    h = h - np.einsum("...om,...m->...o", across, b)
    other = _some(joint.first, holes.missing)
    filled = 0.5 * (np.einsum("...m,...m->...", other, b) + _log_det(C))
    constant = joint.cases + joint.for_variance + filled
    places = places_of(holes.shown.shape[1])
    return places.natural(h, constant, own, np.zeros_like(constant))[..., :-1]


def completed(natural: FloatArray, holes: Holes, S: FloatArray, d: int) -> FloatArray:
    """Expected statistics given products that were shown: (P, K, products) → (P, K, width)."""
    o = holes.shown.shape[1]
    with_cases = np.concatenate([S, S[..., o : o + 1]], axis=-1)
    if o == d:
        return with_cases
    given = places_of(o).read(with_cases)
    joint = places_of(d).read_natural(natural)
    first = np.zeros((*S.shape[:-1], d), dtype=np.result_type(S, natural))
    second = np.zeros((*first.shape, d), dtype=first.dtype)
    _put(second, holes.shown, holes.shown, given.second)
    _put_some(first, holes.shown, given.first)
    A, b, C = _conditional(joint, holes)
    n = given.cases[..., None]
    mean = np.einsum("...mo,...o->...m", A, given.first)
    across = A @ given.second + outer(b, given.first)
    square = across @ np.swapaxes(A, -1, -2) + outer(mean + n * b, b) + n[..., None] * C
    _put_some(first, holes.missing, mean + n * b)
    _put(second, holes.missing, holes.shown, across)
    _put(second, holes.shown, holes.missing, np.swapaxes(across, -1, -2))
    _put(second, holes.missing, holes.missing, square)
    return places_of(d).write(Joint(first, given.cases, second, given.cases))


def conditional(natural: FloatArray, holes: Holes, d: int) -> Conditional:
    """What is missing given what is shown, by pattern and class."""
    return _conditional(places_of(d).read_natural(natural), holes)


def _conditional(joint: Joint, holes: Holes) -> Conditional:
    C = inverse(_rows(joint.second, holes.missing, holes.missing))
    A = -C @ _rows(joint.second, holes.missing, holes.shown)
    return Conditional(A, np.einsum("...mn,...n->...m", C, _some(joint.first, holes.missing)), C)


def _log_det(matrices: FloatArray) -> FloatArray:
    sign, log_det = np.linalg.slogdet(matrices)
    return np.asarray(log_det + np.log(sign) if np.iscomplexobj(matrices) else log_det)


def _some(vectors: FloatArray, which: IntArray) -> FloatArray:
    """(K, d) → (P, K, o)."""
    return np.swapaxes(vectors[:, which], 0, 1)


def _rows(matrices: FloatArray, one: IntArray, other: IntArray) -> FloatArray:
    """(K, d, d) → (P, K, o, m)."""
    return np.swapaxes(matrices[:, one[:, :, None], other[:, None, :]], 0, 1)


def _put_some(vectors: FloatArray, which: IntArray, x: FloatArray) -> None:
    """Write (P, K, o) into (P, K, d)."""
    np.put_along_axis(vectors, np.broadcast_to(which[:, None, :], x.shape), x, axis=-1)


def _put(matrices: FloatArray, one: IntArray, other: IntArray, x: FloatArray) -> None:
    """Write (P, K, o, m) into (P, K, d, d)."""
    P, K = x.shape[:2]
    p, k = np.arange(P)[:, None, None, None], np.arange(K)[:, None, None]
    matrices[p, k, one[:, None, :, None], other[:, None, None, :]] = x
