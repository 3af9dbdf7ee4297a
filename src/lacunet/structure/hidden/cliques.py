"""Where a hidden variable may stand: columns that hang together more than a few edges can say.

Take a hidden parent away, and its children all depend on each other: a graph without it has a
near-clique in its place (Elidan, Lotner, Friedman & Koller 2001). With few rows it has fewer edges,
so small groups of columns that depend on each other are candidates, too.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.structure.hidden.spanning import reached

FEWEST = 3  # children of a hidden variable: of two, it says no more than an edge between them
MOST = 12  # members of a group that is proposed
LARGEST = 5  # members of a group that is proposed because they depend on each other
PAIRS = 200  # of columns that such groups grow from
BEAM = 20  # such groups of each size: of six columns that is all


def groups_of(touching: BoolArray) -> list[tuple[int, ...]]:
    """Give near-cliques, neighbourhoods and parts of a graph, each once; (n, n), symmetric."""
    found = [*near_cliques(touching), *neighbourhoods(touching)]
    return sorted({tuple(sorted(g)) for g in found if FEWEST <= len(g) <= MOST})


def near_cliques(touching: BoolArray) -> Iterator[set[int]]:
    """Grow a group from every edge, for as long as each touches at least half of the others."""
    for u, v in np.argwhere(np.triu(touching)).tolist():
        group = {u, v}
        while True:
            ties = touching[:, sorted(group)].sum(axis=1)
            others = [w for w in np.argsort(-ties, kind="stable").tolist() if w not in group]
            wider = next((w for w in others if is_near_clique(touching, group | {w})), None)
            if wider is None:
                break
            group.add(wider)
        yield group


def is_near_clique(touching: BoolArray, group: set[int]) -> bool:
    """Whether each member touches at least half of the others."""
    members = sorted(group)
    inside = touching[np.ix_(members, members)].sum(axis=1)
    return bool((2 * inside >= len(members) - 1).all())


def neighbourhoods(touching: BoolArray) -> Iterator[set[int]]:
    """Every variable with its neighbours, and all that hang together."""
    links = [(int(u), int(v)) for u, v in np.argwhere(touching)]
    for v, row in enumerate(touching):
        around = {v, *np.flatnonzero(row).tolist()}
        yield around
        yield reached(v, links)


def dependent_groups(near: FloatArray) -> list[tuple[int, ...]]:
    """Give small groups whose least dependent pair is the most dependent, by a beam search.

    `near`, (n, n), says how dependent each pair is.
    """
    n = len(near)
    beam: list[tuple[int, ...]] = [(v,) for v in range(n)]
    found: list[tuple[int, ...]] = []
    for size in range(2, min(LARGEST, n) + 1):
        wider = {tuple(sorted((*group, v))) for group in beam for v in range(n) if v not in group}
        width = BEAM if size >= FEWEST else PAIRS
        beam = sorted(wider, key=lambda group: (-_weakest(near, group), group))[:width]
        found += beam if size >= FEWEST else []
    return found


def _weakest(near: FloatArray, group: tuple[int, ...]) -> float:
    """The least dependence of a pair in a group."""
    inside = near[np.ix_(group, group)]
    return float(inside[np.triu_indices(len(group), 1)].min())
