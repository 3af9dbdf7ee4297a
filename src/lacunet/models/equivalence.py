"""Graphs with the same independences, as one partially directed graph (CPDAG).

Data tell graphs without hidden variables apart only as far as this goes (Verma & Pearl 1990).
Background knowledge orients more edges: the graph is then the maximally oriented one (Meek 1995).

d-separation: which independences a graph implies, whatever its parameters are.
A graph as a short text, without tables: ``class[3] -> A B C; A -> B``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise, product
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


def d_separated(
    network: Network, a: Collection[int], b: Collection[int], given: Collection[int] = ()
) -> bool:
    """Whether every path between two sets of variables is blocked by what is given.

    >>> from lacunet.models.network import Variable
    >>> x, y, both = (Variable(name, (0, 1)) for name in ("x", "y", "both"))
    >>> collider = Network.build([x, y, both], [(), (), (0, 1)])
    >>> d_separated(collider, [0], [1]), d_separated(collider, [0], [1], given=[2])
    (True, False)
    """
    return connected(network, a, given).isdisjoint(b)


def connected(network: Network, start: Iterable[int], given: Collection[int]) -> set[int]:
    """Variables that some path joins to the start, which what is given leaves open (Bayes ball).

    A path goes on through a variable that is not given, unless two arrows meet there; where they
    meet it goes on if the variable, or a descendant of it, is given.
    """
    children = [
        [i for i, pa in enumerate(network.parents) if v in pa] for v in range(len(network.parents))
    ]
    opening = _with_ancestors(network, given)
    todo = [(v, True) for v in start]  # a variable, and whether it was come to from a child
    seen: set[tuple[int, bool]] = set()
    while todo:
        step = v, upwards = todo.pop()
        if step in seen:
            continue
        seen.add(step)
        if v not in given:
            todo += [(c, False) for c in children[v]]
        if (upwards and v not in given) or (not upwards and v in opening):
            todo += [(p, True) for p in network.parents[v]]
    return {v for v, _ in seen if v not in given}


def _with_ancestors(network: Network, variables: Iterable[int]) -> set[int]:
    found: set[int] = set()
    todo = list(variables)
    while todo:
        v = todo.pop()
        if v not in found:
            found.add(v)
            todo += network.parents[v]
    return found


ARROWS = ("->", "→")
EXAMPLE = "Write for example: class[3] -> A B C; A -> B"
_TOKEN = re.compile(
    r"""[ \t\r,]*(?:(?P<arrow>->|→)|(?P<end>[;\n])|\[\s*(?P<size>[0-9]+)\s*\]|"""
    r""""(?P<double>[^"\n]+)"|'(?P<single>[^'\n]+)'|(?P<plain>(?:(?!->|→)[^\s;,\[\]"'])+))"""
)
_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\n]*")


@dataclass(frozen=True)
class Sketch:
    """Names and arrows; what is no column of the data is hidden."""

    names: tuple[str, ...]  # in the order in which they occur
    edges: tuple[tuple[str, str], ...]  # parent and child, each once
    sizes: Mapping[str, int] = field(default_factory=dict)  # states, where they are told

    def parents_of(self, name: str) -> list[str]:
        """What leads to a variable."""
        return [u for u, v in self.edges if v == name]


def is_sketch(text: str) -> bool:
    """Whether a text is a graph, not the name of a file."""
    return any(arrow in text for arrow in ARROWS)


def read_sketch(text: str) -> Sketch:
    """Read a graph.

    >>> found = read_sketch("class[3] -> A 'mood today'; A -> B -> C")
    >>> found.names, dict(found.sizes)
    (('class', 'A', 'mood today', 'B', 'C'), {'class': 3})
    >>> found.edges
    (('class', 'A'), ('class', 'mood today'), ('A', 'B'), ('B', 'C'))
    """
    reader = _Reader(_COMMENT.sub("", text))
    return reader.read()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.names: dict[str, None] = {}
        self.edges: dict[tuple[str, str], None] = {}
        self.sizes: dict[str, int] = {}
        self.groups: list[list[str]] = [[]]  # of one statement, with an arrow between

    def read(self) -> Sketch:
        at = 0
        while rest := self.text[at:].lstrip(" \t\r,"):
            at = len(self.text) - len(rest)
            found = _TOKEN.match(self.text, at)
            if found is None:
                raise self._wrong(f"'{rest[0]}' is not understood")
            self._take(found)
            at = found.end()
        self._end()
        if not self.edges:
            raise self._wrong("it has no arrow")
        return Sketch(tuple(self.names), tuple(self.edges), self.sizes)

    def _take(self, found: re.Match[str]) -> None:
        name = found["double"] or found["single"] or found["plain"]
        if name:
            self.names[name] = None
            self.groups[-1].append(name)
        elif found["size"]:
            self._size(int(found["size"]))
        elif found["arrow"]:
            self.groups.append([])
        else:
            self._end()

    def _size(self, size: int) -> None:
        if not self.groups[-1]:
            raise self._wrong(f"[{size}] stands behind no name")
        name = self.groups[-1][-1]
        if size < 1:
            raise self._wrong(f"'{name}' would have no state")
        if self.sizes.setdefault(name, size) != size:
            raise self._wrong(f"'{name}' has {self.sizes[name]} states in one place, {size} later")

    def _end(self) -> None:
        if len(self.groups) > 1 and not all(self.groups):
            raise self._wrong("an arrow has no name on one of its sides")
        for before, behind in pairwise(self.groups):
            for u, v in product(before, behind):
                if u == v:
                    raise self._wrong(f"an arrow leads from '{u}' to itself")
                self.edges[u, v] = None
        self.groups = [[]]

    def _wrong(self, what: str) -> ModelError:
        short = " ".join(self.text.split())
        return ModelError(f"graph '{short[:80]}': {what}. {EXAMPLE}")
