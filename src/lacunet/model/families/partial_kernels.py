"""Blocks of numbers of which some are missing: the loops over patterns of holes and classes.

Matrices are small and there may be as many patterns as rows, so all is written out. Numbers may be
complex, for derivatives by complex steps: then roots and logarithms are those of complex numbers,
and nothing is conjugated.
"""

from typing import Any, NamedTuple

import numpy as np

from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.runtime.jit import kernel


class Precision(NamedTuple):
    """Natural parameters of a block in each of K classes."""

    h: FloatArray  # (K, d) Λμ
    constant: FloatArray  # (K,) −½ μᵀΛμ + ½ log |Λ|
    precise: FloatArray  # (K, d, d) Λ


class Holes(NamedTuple):
    """P patterns of holes that show as many numbers."""

    shown: IntArray  # (P, o) which numbers
    missing: IntArray  # (P, d − o)


class Room(NamedTuple):
    """Room for what is missing given what is shown: normal around A x + b with covariance C."""

    A: FloatArray  # (m, o)
    b: FloatArray  # (m,)
    C: FloatArray  # (m, m)
    root: FloatArray  # (m, m) of the precision of what is missing,
    back: FloatArray  # (m, m) and its inverse


@kernel
def make_room(holes: Holes, kind: Any) -> Room:
    """Room for one pattern and class; `kind` is any array of the same kind of numbers."""
    o, m = holes.shown.shape[1], holes.missing.shape[1]
    return Room(
        np.empty((m, o), dtype=kind.dtype),
        np.empty(m, dtype=kind.dtype),
        np.empty((m, m), dtype=kind.dtype),
        np.empty((m, m), dtype=kind.dtype),
        np.empty((m, m), dtype=kind.dtype),
    )


@kernel
def invert(precise: FloatArray, missing: IntArray, room: Room) -> Any:
    """Invert the precision of what is missing; log |C|."""
    root, back, m = room.root, room.back, len(missing)
    log_det = 0.0 * precise[0, 0]
    for i in range(m):
        for j in range(i + 1):
            left = precise[missing[i], missing[j]]
            for t in range(j):
                left -= root[i, t] * root[j, t]
            root[i, j] = np.sqrt(left) if i == j else left / root[j, j]
        log_det -= 2.0 * np.log(root[i, i])
    for j in range(m):
        back[j, j] = 1.0 / root[j, j]
        for i in range(j + 1, m):
            left = 0.0 * log_det
            for t in range(j, i):
                left -= root[i, t] * back[t, j]
            back[i, j] = left / root[i, i]
    for i in range(m):
        for j in range(i + 1):
            total = 0.0 * log_det
            for t in range(i, m):
                total += back[t, i] * back[t, j]
            room.C[i, j] = room.C[j, i] = total
    return log_det


@kernel
def condition(eta: Precision, k: int, shown: IntArray, missing: IntArray, room: Room) -> Any:
    """Find what is missing given what is shown, in class k; log |C|."""
    precise, h = eta.precise[k], eta.h[k]
    log_det = invert(precise, missing, room)
    for i in range(len(missing)):
        total = 0.0 * log_det
        for j in range(len(missing)):
            total += room.C[i, j] * h[missing[j]]
        room.b[i] = total
        for a in range(len(shown)):
            total = 0.0 * log_det
            for j in range(len(missing)):
                total -= room.C[i, j] * precise[missing[j], shown[a]]
            room.A[i, a] = total
    return log_det


@kernel
def write_marginal(eta: Precision, holes: Holes, out: FloatArray) -> None:
    """Log weights of the products that patterns show, (P, K, products)."""
    o, m = holes.shown.shape[1], holes.missing.shape[1]
    room = make_room(holes, eta.h)
    for p in range(holes.shown.shape[0]):
        shown, missing = holes.shown[p], holes.missing[p]
        for k in range(eta.h.shape[0]):
            log_det = condition(eta, k, shown, missing, room)
            precise, h, found = eta.precise[k], eta.h[k], out[p, k]
            filled = log_det
            for i in range(m):
                filled += h[missing[i]] * room.b[i]
            found[o] = eta.constant[k] + 0.5 * filled
            at = 2 * o + 1
            for a in range(o):
                left = h[shown[a]]
                for i in range(m):
                    left -= precise[shown[a], missing[i]] * room.b[i]
                found[a] = left
                for b in range(a, o):
                    own = precise[shown[a], shown[b]]
                    for i in range(m):
                        own += precise[shown[a], missing[i]] * room.A[i, b]
                    if a == b:
                        found[o + 1 + a] = -0.5 * own
                    else:
                        found[at] = -own
                        at += 1


@kernel
def complete_vector(room: Room, missing: IntArray, n: Any, first: FloatArray, shown: Any) -> None:
    """Expected sums of what is missing, into (d,), where those of what is shown stand."""
    for i in range(len(missing)):
        total = n * room.b[i]
        for a in range(len(shown)):
            total += room.A[i, a] * first[shown[a]]
        first[missing[i]] = total


@kernel
def complete_matrix(
    room: Room, holes: tuple[IntArray, IntArray], n: Any, first: FloatArray, second: FloatArray
) -> None:
    """Expected products with what is missing, into (d, d), where those that are shown stand."""
    shown, missing = holes
    for i in range(len(missing)):
        for a in range(len(shown)):
            total = room.b[i] * first[shown[a]]
            for b in range(len(shown)):
                total += room.A[i, b] * second[shown[b], shown[a]]
            second[missing[i], shown[a]] = second[shown[a], missing[i]] = total
    for i in range(len(missing)):
        for j in range(i + 1):
            total = n * room.C[i, j] + first[missing[i]] * room.b[j]
            for a in range(len(shown)):
                total += second[missing[i], shown[a]] * room.A[j, a]
            second[missing[i], missing[j]] = second[missing[j], missing[i]] = total


@kernel
def write_completed(eta: Precision, holes: Holes, S: FloatArray, out: FloatArray) -> None:
    """Expected statistics given products that were shown: (P, K, products) → (P, K, width)."""
    o, d = holes.shown.shape[1], eta.h.shape[1]
    room = make_room(holes, eta.h)
    first, second = np.empty(d, dtype=eta.h.dtype), np.empty((d, d), dtype=eta.h.dtype)
    for p in range(holes.shown.shape[0]):
        shown, missing = holes.shown[p], holes.missing[p]
        for k in range(eta.h.shape[0]):
            condition(eta, k, shown, missing, room)
            given, found = S[p, k], out[p, k]
            n, at = given[o], 2 * o + 1
            for a in range(o):
                first[shown[a]] = given[a]
                second[shown[a], shown[a]] = given[o + 1 + a]
                for b in range(a + 1, o):
                    second[shown[a], shown[b]] = second[shown[b], shown[a]] = given[at]
                    at += 1
            complete_vector(room, missing, n, first, shown)
            complete_matrix(room, (shown, missing), n, first, second)
            found[d] = found[-1] = n
            at = 2 * d + 1
            for a in range(d):
                found[a], found[d + 1 + a] = first[a], second[a, a]
                for b in range(a + 1, d):
                    found[at] = second[a, b]
                    at += 1
