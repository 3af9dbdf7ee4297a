"""What a person should be told about hidden variables after a fit, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.model.latent_class import LatentClasses, find_classes
from lacunet.model.layout import Layout
from lacunet.model.network import Network

EMPTY = 0.5  # expected cases below which a state counts as empty
DUPLICATE = 0.01  # classes whose probabilities differ nowhere by more than this are duplicates
BOUNDARY = 0.01  # expected cases below which a probability has no data to hold it off 0


class Shape(Protocol):
    """What is asked of a problem here."""

    @property
    def network(self) -> Network:
        """The structure."""

    @property
    def layout(self) -> Layout:
        """Where each parameter stands."""


def diagnose(problem: Shape, theta: FloatArray, N: FloatArray) -> Iterator[str]:
    """Name empty states and, of a latent class model, duplicate and boundary classes."""
    if (classes := find_classes(problem.network)) is None:
        yield from _states(problem, N)
    else:
        yield from _classes(problem.layout, classes, theta, N)


def _states(problem: Shape, N: FloatArray) -> Iterator[str]:
    for h in problem.network.hidden:
        v = problem.network.variables[h]
        sizes = problem.layout.table(N, h).reshape(-1, len(v.states)).sum(axis=0)
        if not sizes.any():
            yield f"unknowable: nothing that depends on {v.name} is observed in any row"
            continue
        for k in np.flatnonzero(sizes < EMPTY):
            yield f"empty state: {v.name} {v.labels[k]} holds {sizes[k]:.2g} expected cases"


def _classes(
    layout: Layout, classes: LatentClasses, theta: FloatArray, N: FloatArray
) -> Iterator[str]:
    root, sizes = classes.variable, layout.table(N, classes.root)
    empty = sizes < EMPTY
    for c in np.flatnonzero(empty):
        yield f"empty class: {root.name} {root.states[c]} holds {sizes[c]:.2g} expected cases"
    profiles = [layout.table(theta, i) for i in classes.leaves]
    for a in range(len(sizes)):
        for b in range(a + 1, len(sizes)):
            apart = max(np.abs(t[a] - t[b]).max() for t in profiles)
            if apart < DUPLICATE and not (empty[a] or empty[b]):
                yield (
                    f"duplicate classes: {root.name} {root.states[a]} and {root.states[b]} differ "
                    f"nowhere by more than {apart:.2g}"
                )
    N_ijk, N_ij = (
        np.hstack([layout.table(x, i) for i in classes.leaves])
        for x in (N, layout.spread(layout.sum_k(N)))
    )
    at_zero = (N_ijk < BOUNDARY) & (N_ij >= EMPTY)
    if at_zero.any():
        where = ", ".join(str(root.states[c]) for c in np.flatnonzero(at_zero.any(axis=1)))
        yield (
            f"boundary: {int(at_zero.sum())} of {at_zero.size} probabilities have no expected cases"
            f" ({root.name} {where})"
        )
