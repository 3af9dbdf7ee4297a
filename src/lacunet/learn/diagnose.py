"""What a person should be told about hidden variables after a fit."""

from collections.abc import Iterator

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.flags import Flag, Kind
from lacunet.inference.problem import Problem
from lacunet.model.latent_class import LatentClasses, find_classes
from lacunet.model.layout import Layout

EMPTY = 0.5  # expected cases below which a state counts as empty
DUPLICATE = 0.01  # classes whose probabilities differ nowhere by more than this are duplicates
BOUNDARY = 0.01  # expected cases below which a probability has no data to hold it off 0


def diagnose(problem: Problem, theta: FloatArray, N: FloatArray) -> Iterator[Flag]:
    """Name empty states and, of a latent class model, duplicate and boundary classes."""
    if (classes := find_classes(problem.network)) is None:
        yield from _states(problem, N)
    else:
        yield from _classes(problem.layout, classes, theta, N)


def _states(problem: Problem, N: FloatArray) -> Iterator[Flag]:
    for h in problem.network.hidden:
        v = problem.network.variables[h]
        sizes = problem.layout.table(N, h).reshape(-1, len(v.states)).sum(axis=0)
        if not sizes.any():
            yield Flag(Kind.UNKNOWABLE, (v.name,))
            continue
        for k in np.flatnonzero(sizes < EMPTY):
            yield Flag(Kind.EMPTY_STATE, (v.name, v.labels[k]), {"cases": float(sizes[k])})


def _classes(
    layout: Layout, classes: LatentClasses, theta: FloatArray, N: FloatArray
) -> Iterator[Flag]:
    root, sizes = classes.variable, layout.table(N, classes.root)
    empty = sizes < EMPTY
    for c in np.flatnonzero(empty):
        yield Flag(Kind.EMPTY_CLASS, (root.name, root.labels[c]), {"cases": float(sizes[c])})
    profiles = [layout.table(theta, i) for i in classes.leaves]
    for a in range(len(sizes)):
        for b in range(a + 1, len(sizes)):
            apart = max(np.abs(t[a] - t[b]).max() for t in profiles)
            if apart < DUPLICATE and not (empty[a] or empty[b]):
                pair = (root.name, root.labels[a], root.labels[b])
                yield Flag(Kind.DUPLICATE_CLASSES, pair, {"apart": float(apart)})
    N_ijk, N_ij = (
        np.hstack([layout.table(x, i) for i in classes.leaves])
        for x in (N, layout.spread(layout.sum_k(N)))
    )
    at_zero = (N_ijk < BOUNDARY) & (N_ij >= EMPTY)
    if at_zero.any():
        where = [root.labels[c] for c in np.flatnonzero(at_zero.any(axis=1))]
        yield Flag(
            Kind.NO_EXPECTED_CASES,
            (root.name, *where),
            {"number": int(at_zero.sum()), "total": at_zero.size},
        )
