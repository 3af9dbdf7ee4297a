"""Latent trees: every column is a leaf, whatever joins the columns is hidden."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lacunet.data.table import Table
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.structure.available import AvailableCases
from lacunet.structure.families import CompleteCounts, Statistics
from lacunet.structure.hidden.fitting import Filled
from lacunet.structure.hidden.sketch import Sketch
from lacunet.structure.hidden.spanning import strongest_tree
from lacunet.structure.scoring import statistics_of


def tree_graph(n: int, m: int, homes: Sequence[int], links: Sequence[tuple[int, int]]) -> BoolArray:
    """Give the edges of a tree or a forest: (n + m, n + m), parents of v at [v].

    `homes[v]` is the hidden variable of column v (−1: none), `links` join hidden ones, by number.
    """
    parents = np.zeros((n + m, n + m), dtype=bool)
    for v, home in enumerate(homes):
        if home >= 0:
            parents[v, home] = True
    left = set(range(n, n + m))
    while left:  # edges point away from the first hidden variable of each part
        todo = [min(left)]
        left -= {*todo}
        while todo:
            u = todo.pop()
            for v in sorted(left & {a + b - u for a, b in links if u in (a, b)}):
                parents[v, u] = True
                left.remove(v)
                todo.append(v)
    return parents


def homes_of(sketch: Sketch) -> list[int]:
    """Give the hidden variable behind each column; −1 where there is none."""
    return [int(row.argmax()) if row.any() else -1 for row in sketch.parents[: sketch.n]]


def links_of(sketch: Sketch) -> list[tuple[int, int]]:
    """Give the edges between hidden variables."""
    n = sketch.n
    return [(int(u) + n, int(v) + n) for v, u in np.argwhere(sketch.parents[n:, n:])]


def dependence(filled: Filled, sketch: Sketch, alpha: float | str) -> FloatArray:
    """Log Bayes factors for each variable to depend on each hidden one: (n + m, n + m)."""
    table, none = filled.table(sketch), np.zeros(len(sketch.parents), dtype=bool)

    def of_categories(seen: Table) -> Statistics:
        return (CompleteCounts if seen.complete else AvailableCases)(seen, alpha)

    statistics = statistics_of(table, sketch.variables, alpha, of_categories)
    scores = np.array([statistics(v, none) for v in range(len(none))])
    return scores - np.diag(scores)[:, None]


def best_tree(filled: Filled, sketch: Sketch, alpha: float | str, *, apart: bool) -> Sketch:
    """Give the tree of the strongest dependences in completed rows; a forest if it may fall apart.

    Hidden variables that nothing hangs on are left as they are: they have no effect.
    """
    gains, n, m = dependence(filled, sketch, alpha), sketch.n, len(sketch.sizes)
    homes = []
    for v in range(n):
        home = n + int(gains[v, n:].argmax())
        homes.append(-1 if apart and gains[v, home] <= 0 else home)
    between = gains[n:, n:]
    strength = (between + between.T) / 2
    links = [(n + a, n + b) for a, b in strongest_tree(strength) if not apart or strength[a, b] > 0]
    return sketch.with_graph(tree_graph(n, m, homes, links))
