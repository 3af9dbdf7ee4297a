"""A clique tree over hidden variables, by eliminating first what adds the fewest edges (min-fill).

One clique is plain enumeration: small components stay whole, large ones (chains, grids) are cut.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from lacunet.errors import ModelError

ENUMERATED = 16  # joint states up to which a component stays one clique: messages cost too
LARGEST = 1 << 26  # joint states of a clique beyond which the work is refused


@dataclass(frozen=True)
class Clique:
    """Variables whose joint states are enumerated together."""

    variables: tuple[int, ...]
    parent: int  # index of the clique that it sends its message to; -1 for the root


def clique_tree(
    members: Sequence[int],
    scopes: Iterable[frozenset[int]],
    cards: Mapping[int, int],
    names: Mapping[int, str],
) -> list[Clique]:
    """Cut members into cliques, each before its parent, the root last; every scope fits in one."""
    if math.prod(cards[v] for v in members) <= ENUMERATED:
        return [Clique(tuple(members), -1)]
    sets = [clique for _, clique in eliminate(members, scopes, cards)]
    sets = [c for i, c in enumerate(sets) if not any(c < other for other in sets[:i])]
    for clique in sets:
        check_clique(
            clique,
            cards,
            names,
            "some rows leave these variables unknown together",
            "Give some of them fewer states, fewer parents, or observe one of them.",
        )
    return _connect(sets)


def check_clique(
    clique: Iterable[int], cards: Mapping[int, int], names: Mapping[int, str], why: str, advice: str
) -> None:
    """Refuse a joint table that would not fit into memory, before it is made."""
    size = math.prod(cards[v] for v in clique)
    if size > LARGEST:
        who = ", ".join(f"'{names[v]}' ({cards[v]})" for v in sorted(clique))
        raise ModelError(
            f"{why}: {who}. Their joint table would have {size:,} cells "
            f"({8 * size / 2**30:,.1f} GiB); at most {LARGEST:,} are allowed. {advice}"
        )


def eliminate(
    members: Sequence[int],
    scopes: Iterable[frozenset[int]],
    cards: Mapping[int, int],
    last: Collection[int] = (),
) -> list[tuple[int, frozenset[int]]]:
    """Members in the order of elimination, some only after all others, each with its clique."""
    neighbours: dict[int, set[int]] = {v: set() for v in members}
    for scope in scopes:
        for v in scope:
            neighbours[v] |= scope - {v}
    found: list[tuple[int, frozenset[int]]] = []
    while neighbours:
        v = min(neighbours, key=lambda u: (u in last, *_cost(u, neighbours, cards), u))
        around = neighbours.pop(v)
        found.append((v, frozenset(around | {v})))
        for u in around:
            neighbours[u] |= around - {u}
            neighbours[u].discard(v)
    return found


def _cost(v: int, neighbours: Mapping[int, set[int]], cards: Mapping[int, int]) -> tuple[int, int]:
    """Edges that eliminating v would add, then the size of its clique."""
    around = neighbours[v]
    missing = sum(len(around - neighbours[u]) - 1 for u in around) // 2
    return missing, math.prod(cards[u] for u in around) * cards[v]


def _connect(sets: Sequence[frozenset[int]]) -> list[Clique]:
    """Join cliques by a spanning tree of largest intersections, which is a clique tree (Prim)."""
    root = len(sets) - 1
    nearest = {i: (len(sets[i] & sets[root]), root) for i in range(root)}
    order, parent = [root], {root: -1}
    while nearest:
        i = max(nearest, key=lambda j: (nearest[j][0], -j))
        parent[i] = nearest.pop(i)[1]
        order.append(i)
        for j, (shared, _) in nearest.items():
            if len(sets[i] & sets[j]) > shared:
                nearest[j] = (len(sets[i] & sets[j]), i)
    order.reverse()  # leaves first, the root last
    place = {i: n for n, i in enumerate(order)} | {-1: -1}
    return [Clique(tuple(sorted(sets[i])), place[parent[i]]) for i in order]
