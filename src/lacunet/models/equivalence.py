"""Graphs with the same independences, as one partially directed graph (CPDAG).

Data tell graphs without hidden variables apart only as far as this goes (Verma & Pearl 1990).
Background knowledge orients more edges: the graph is then the maximally oriented one (Meek 1995).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from lacunet.errors import ModelError
from lacunet.models.network import Network
from lacunet.runtime.arrays import BoolArray
from lacunet.tabular import Columns, Framed, transposed

Edge: TypeAlias = tuple[str, str]


@dataclass(frozen=True, repr=False)
class EquivalenceClass(Framed):
    """All graphs with the same independences that keep to what is known: a CPDAG, or MPDAG."""

    names: tuple[str, ...]  # its variables
    compelled: tuple[Edge, ...]  # parent, child: edges that all of the graphs have
    reversible: tuple[Edge, ...]  # edges that point one way in some of them, the other in others

    def brief(self) -> str:
        """Say how many edges there are."""
        return f"{len(self.compelled)} directed edges, {len(self.reversible)} either way"

    def tidy(self) -> Columns:
        """Give a row for each edge."""
        sure = [(*edge, True) for edge in self.compelled]
        rows = [*sure, *((*edge, False) for edge in self.reversible)]
        return transposed(("parent", "child", "compelled"), rows)

    def __str__(self) -> str:
        """Give its edges, one a line.

        >>> print(EquivalenceClass(("a", "b", "c"), (("a", "b"),), (("b", "c"),)))
        a → b
        b — c
        """
        arrows = [f"{u} → {v}" for u, v in self.compelled]
        return "\n".join([*arrows, *(f"{u} — {v}" for u, v in self.reversible)])


def equivalence_class(network: Network, turnable: BoolArray | None = None) -> EquivalenceClass:
    """Tell the edges that every graph with the same independences has from the others.

    `turnable` is background knowledge, (n, n): whether graphs may have the reverse of u → v, at
    [u, v]. Only graphs that keep to it count.
    """
    names = tuple(v.name for v in network.variables)
    edge = np.zeros((len(names), len(names)), dtype=bool)  # [parent, child]
    for v, parents in enumerate(network.parents):
        edge[list(parents), v] = True
    numbers = np.array([not v.family.tabular for v in network.variables])  # have no children
    free = np.ones_like(edge) if turnable is None else turnable
    compelled = find_compelled(edge, free & ~numbers[None, :])
    order = [(int(u), int(v)) for u, v in np.argwhere(edge)]
    return EquivalenceClass(
        names,
        tuple((names[u], names[v]) for u, v in order if compelled[u, v]),
        tuple(
            (names[min(u, v)], names[max(u, v)])
            for u, v in sorted(order, key=lambda e: (min(e), max(e)))
            if not compelled[u, v]
        ),
    )


def find_compelled(edge: BoolArray, turnable: BoolArray | None = None) -> BoolArray:
    """Say of each edge [parent, child] whether it is compelled: v-structures, and what they force.

    An edge is compelled where its reverse is not `turnable`, would make a new v-structure or a
    cycle, or would force one of these elsewhere: rules 1 to 4 of Meek (1995), which are complete.
    """
    joined = edge | edge.T
    apart = ~joined
    np.fill_diagonal(apart, val=False)
    compelled = edge & (apart.astype(int) @ edge > 0)  # u → v ← w, u and w apart
    if turnable is not None:
        compelled |= edge & ~turnable
    while True:
        free = edge & ~compelled
        loose = free | free.T
        new = compelled.copy()
        for u, v in np.argwhere(free):
            either = loose[u] & compelled[:, v]
            # u — w → x → v, w and v apart, u and x joined
            behind = (loose[u] & apart[v])[:, None] & (joined[u] & compelled[:, v])[None, :]
            new[u, v] = (
                (compelled[:, u] & apart[:, v]).any()  # w → u, w and v apart
                or (compelled[u] & compelled[:, v]).any()  # u → w → v
                or apart[np.ix_(either, either)].any()  # u — w → v, u — x → v, w and x apart
                or (behind & compelled).any()
            )
        if (new == compelled).all():
            return compelled
        compelled = new


def structural_hamming_distance(one: EquivalenceClass, other: EquivalenceClass) -> int:
    """Count the pairs of variables between which the two differ: no edge, →, ←, or —."""
    first, second = _by_pair(one), _by_pair(other)
    _check_same_names(one, other)
    return sum(first.get(pair) != second.get(pair) for pair in {*first, *second})


def edge_f1(found: EquivalenceClass, true: EquivalenceClass) -> float:
    """F1 of the edges found: the harmonic mean of precision and recall; 1 where both have none.

    An edge is found if it is there, and is the same: →, ← or —.
    """
    first, second = _by_pair(found), _by_pair(true)
    _check_same_names(found, true)
    if not first and not second:
        return 1.0
    hits = sum(first.get(pair) == edge for pair, edge in second.items())
    return 2.0 * hits / (len(first) + len(second))


def _by_pair(graph: EquivalenceClass) -> dict[frozenset[str], str]:
    """Say which way the edge between two variables points."""
    return {
        **{frozenset(edge): f"→ {edge[1]}" for edge in graph.compelled},
        **{frozenset(edge): "—" for edge in graph.reversible},
    }


def _check_same_names(one: EquivalenceClass, other: EquivalenceClass) -> None:
    different = sorted({*one.names} ^ {*other.names})
    if different:
        raise ModelError(
            f"'{different[0]}' is a variable of only one of the two graphs. Compare graphs over "
            "the same variables."
        )
