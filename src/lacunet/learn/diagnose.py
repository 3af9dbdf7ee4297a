"""What a person should be told about hidden variables after a fit, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.model.latent_class import is_latent_class
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
    if is_latent_class(problem.network):
        yield from _classes(problem, theta, N)
    else:
        yield from _states(problem, N)


def _states(problem: Shape, N: FloatArray) -> Iterator[str]:
    for h in problem.network.hidden:
        v = problem.network.variables[h]
        sizes = problem.layout.table(N, h).reshape(-1, len(v.states)).sum(axis=0)
        if not sizes.any():
            yield f"unknowable: nothing that depends on {v.name} is observed in any row"
            continue
        for k in np.flatnonzero(sizes < EMPTY):
            yield f"empty state: {v.name} {v.labels[k]} holds {sizes[k]:.2g} expected cases"


def _classes(problem: Shape, theta: FloatArray, N: FloatArray) -> Iterator[str]:
    network, layout = problem.network, problem.layout
    root = network.variables[0]
    sizes = N[layout.block(0)]
    empty = sizes < EMPTY
    for c in np.flatnonzero(empty):
        yield f"empty class: {root.name} {root.states[c]} holds {sizes[c]:.2g} expected cases"
    profiles = [layout.table(theta, i) for i in range(1, len(network.variables))]
    for a in range(len(sizes)):
        for b in range(a + 1, len(sizes)):
            apart = max(np.abs(t[a] - t[b]).max() for t in profiles)
            if apart < DUPLICATE and not (empty[a] or empty[b]):
                yield (
                    f"duplicate classes: {root.name} {root.states[a]} and {root.states[b]} differ "
                    f"nowhere by more than {apart:.2g}"
                )
    N_ij = layout.spread(layout.sum_k(N))
    leaves = slice(layout.block(0).stop, None)
    at_zero = (N < BOUNDARY)[leaves] & (N_ij >= EMPTY)[leaves]
    if at_zero.any():
        classes = sorted({int(j) for j in (layout.ij[leaves][at_zero] - 1) % len(sizes)})
        yield (
            f"boundary: {int(at_zero.sum())} of {at_zero.size} probabilities have no expected cases"
            f" ({root.name} {', '.join(str(root.states[c]) for c in classes)})"
        )
