"""Every directed graph without cycles over a few variables, and what it says: obvious and slow."""

import itertools

import numpy as np


def all_graphs(n):
    """Every graph, as a matrix: [v, u] says that u is a parent of v."""
    pairs = list(itertools.combinations(range(n), 2))
    for choice in itertools.product((0, 1, 2), repeat=len(pairs)):
        parents = np.zeros((n, n), dtype=bool)
        for (u, v), way in zip(pairs, choice, strict=True):
            parents[v, u], parents[u, v] = way == 1, way == 2
        if not has_cycle(parents):
            yield parents


def has_cycle(parents):
    left = set(range(len(parents)))
    while left and (free := [v for v in left if not any(parents[v, u] for u in left)]):
        left.difference_update(free)
    return bool(left)


def ancestors(parents):
    """[v, u]: whether u is an ancestor of v, by walks of any length."""
    reach = parents.copy()
    for _ in parents:
        reach |= (reach.astype(int) @ parents.astype(int)) > 0
    return reach


def independences(parents):
    """All (x, y, given) that the graph separates: in the moral graph of their ancestors."""
    n, result = len(parents), set()
    above = ancestors(parents) | np.eye(n, dtype=bool)
    for x, y in itertools.combinations(range(n), 2):
        rest = [v for v in range(n) if v not in (x, y)]
        for size in range(len(rest) + 1):
            for given in itertools.combinations(rest, size):
                kept = above[[x, y, *given]].any(axis=0)
                family = (parents | np.eye(n, dtype=bool)) & kept & kept[:, None]
                joined = (family.T.astype(int) @ family) > 0  # parents of a child are married
                joined[list(given)] = joined[:, list(given)] = False
                seen, new = set(), {x}
                while new:
                    seen |= new
                    new = {w for v in new for w in np.flatnonzero(joined[v])} - seen
                if y not in seen:
                    result.add((x, y, given))
    return frozenset(result)
