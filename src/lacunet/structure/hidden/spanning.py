"""Trees of the strongest links between some things."""

from collections.abc import Iterable

import numpy as np

from lacunet.runtime.arrays import FloatArray


def strongest_tree(strength: FloatArray) -> list[tuple[int, int]]:
    """Join all by the links that are strongest together (Prim), each from what was joined before.

    `strength` is (n, n); what stands on its diagonal does not matter.
    """
    left = list(range(1, len(strength)))
    nearest = np.zeros(len(strength), dtype=np.int64)
    links = []
    while left:
        v = max(left, key=lambda u: (strength[u, nearest[u]], -u))
        left.remove(v)
        links.append((int(nearest[v]), v))
        for u in left:
            if strength[u, v] > strength[u, nearest[u]]:
                nearest[u] = v
    return links


def reached(first: int, links: Iterable[tuple[int, int]]) -> set[int]:
    """Give all that links lead to from one."""
    found, todo, links = {first}, [first], list(links)
    while todo:
        v = todo.pop()
        for a, b in links:
            if v in (a, b) and (u := a + b - v) not in found:
                found.add(u)
                todo.append(u)
    return found
