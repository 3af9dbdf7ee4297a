"""Graphs with the same independences, as one partially directed graph (CPDAG); d-separation.

Data cannot distinguish graphs of one class if no variable is hidden (Verma & Pearl 1990).
Background knowledge orients more edges, up to the maximally oriented graph (Meek 1995).
This module also reads graphs written as text, without tables: ``class[3] -> A B C; A -> B``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
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
    """All graphs with the same independences and background knowledge: a CPDAG, or MPDAG."""

    names: tuple[str, ...]  # its variables
    compelled: tuple[Edge, ...]  # parent, child: edges with one direction in all graphs
    reversible: tuple[Edge, ...]  # edges with either direction

    def brief(self) -> str:
        """Count the edges."""
        return f"{len(self.compelled)} directed edges, {len(self.reversible)} either way"

    def tidy(self) -> Columns:
        """Return a row for each edge."""
        compelled = [(*edge, True) for edge in self.compelled]
        rows = [*compelled, *((*edge, False) for edge in self.reversible)]
        return transposed(("parent", "child", "compelled"), rows)

    def __str__(self) -> str:
        """Return the edges, one a line.

        >>> print(EquivalenceClass(("a", "b", "c"), (("a", "b"),), (("b", "c"),)))
        a → b
        b — c
        """
        arrows = [f"{u} → {v}" for u, v in self.compelled]
        return "\n".join([*arrows, *(f"{u} — {v}" for u, v in self.reversible)])


def equivalence_class(network: Network, turnable: BoolArray | None = None) -> EquivalenceClass:
    """The Markov equivalence class of a network.

    `turnable` is background knowledge, (n, n): at [u, v], whether u → v may be reversed. Graphs
    that violate it are excluded.
    """
    names = tuple(v.name for v in network.variables)
    edge = np.zeros((len(names), len(names)), dtype=bool)  # [parent, child]
    for v, parents in enumerate(network.parents):
        edge[list(parents), v] = True
    numbers = np.array([not v.family.tabular for v in network.variables])  # cannot have children
    free = np.ones_like(edge) if turnable is None else turnable
    compelled = find_compelled(edge, free & ~numbers[None, :])
    loose = edge & ~compelled
    return EquivalenceClass(
        names,
        tuple((names[u], names[v]) for u, v in np.argwhere(edge & compelled)),
        tuple((names[u], names[v]) for u, v in np.argwhere(np.triu(loose | loose.T))),
    )


def find_compelled(edge: BoolArray, turnable: BoolArray | None = None) -> BoolArray:
    """Which edges [parent, child] are compelled, by v-structures and Meek's rules.

    An edge is compelled if its reverse is not `turnable`, makes a new v-structure or a cycle, or
    forces one elsewhere: rules 1 to 4 of Meek (1995), which are complete.
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
    """Count the pairs of variables whose edges differ: none, →, ←, or —."""
    first, second = _by_pair(one, other)
    return sum(first.get(pair) != second.get(pair) for pair in {*first, *second})


def edge_f1(learned: EquivalenceClass, true: EquivalenceClass) -> float:
    """F1 score of the edges: the harmonic mean of precision and recall; 1 if both have none.

    An edge counts as found only if its mark, →, ← or —, is the same.
    """
    first, second = _by_pair(learned, true)
    hits = sum(first.get(pair) == edge for pair, edge in second.items())
    return 2.0 * hits / (len(first) + len(second)) if first or second else 1.0


def _by_pair(*graphs: EquivalenceClass) -> list[dict[frozenset[str], str]]:
    """The mark of each edge, by pair of variables, of graphs over the same variables."""
    different = sorted({*graphs[0].names} ^ {*graphs[1].names})
    if different:
        raise ModelError(
            f"'{different[0]}' is a variable of only one of the two graphs. Compare graphs over "
            "the same variables."
        )
    return [
        {frozenset(edge): f"→ {edge[1]}" for edge in graph.compelled}
        | {frozenset(edge): "—" for edge in graph.reversible}
        for graph in graphs
    ]


def d_separated(
    network: Network, a: Collection[int], b: Collection[int], given: Collection[int] = ()
) -> bool:
    """Whether the given variables block every path between two sets of variables.

    >>> from lacunet.models.network import Variable
    >>> x, y, both = (Variable(name, (0, 1)) for name in ("x", "y", "both"))
    >>> collider = Network.build([x, y, both], [(), (), (0, 1)])
    >>> d_separated(collider, [0], [1]), d_separated(collider, [0], [1], given=[2])
    (True, False)
    """
    return connected(network, a, given).isdisjoint(b)


def connected(network: Network, start: Iterable[int], given: Collection[int]) -> set[int]:
    """Variables with an open path to the start, given some variables (Bayes ball).

    A non-collider is open if it is not given; a collider, if it or a descendant is given.
    """
    parents = network.parents
    children = [[i for i, pa in enumerate(parents) if v in pa] for v in range(len(parents))]
    opening, ancestors = set[int](), list(given)
    while ancestors:
        v = ancestors.pop()
        if v not in opening:
            opening.add(v)
            ancestors += parents[v]
    todo = [(v, True) for v in start]  # variable, and whether the path arrives from a child
    seen: set[tuple[int, bool]] = set()
    while todo:
        step = v, upwards = todo.pop()
        if step in seen:
            continue
        seen.add(step)
        if v not in given:
            todo += [(c, False) for c in children[v]]
        if v not in given if upwards else v in opening:
            todo += [(p, True) for p in parents[v]]
    return {v for v, _ in seen if v not in given}


ARROWS = ("->", "→")
EXAMPLE = "Write for example: class[3] -> A B C; A -> B"
_TOKEN = re.compile(
    r"""[ \t\r,]*(?:(?P<arrow>->|→)|(?P<end>[;\n])|\[\s*(?P<size>[0-9]+)\s*\]|"""
    r""""(?P<double>[^"\n]+)"|'(?P<single>[^'\n]+)'|(?P<plain>(?:(?!->|→)[^\s;,\[\]"'])+))"""
)
_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\n]*")


@dataclass(frozen=True)
class GraphSketch:
    """Names and arrows of a graph; variables that are not columns of the data are hidden."""

    names: tuple[str, ...]  # in the order in which they occur
    edges: tuple[Edge, ...]  # parent and child, each once
    sizes: Mapping[str, int] = field(default_factory=dict)  # numbers of states, if given

    def parents_of(self, name: str) -> list[str]:
        """The parents of a variable."""
        return [u for u, v in self.edges if v == name]


def is_sketch(text: str) -> bool:
    """Whether a text is a graph instead of a file name."""
    return any(arrow in text for arrow in ARROWS)


def read_sketch(text: str) -> GraphSketch:
    """Parse a graph.

    >>> sketch = read_sketch("class[3] -> A 'mood today'; A -> B -> C")
    >>> sketch.names, dict(sketch.sizes)
    (('class', 'A', 'mood today', 'B', 'C'), {'class': 3})
    >>> sketch.edges
    (('class', 'A'), ('class', 'mood today'), ('A', 'B'), ('B', 'C'))
    """
    text = _COMMENT.sub("", text)

    def wrong(what: str) -> ModelError:
        return ModelError(f"graph '{' '.join(text.split())[:80]}': {what}. {EXAMPLE}")

    names, edges, sizes = dict[str, None](), dict[Edge, None](), dict[str, int]()
    groups: list[list[str]] = [[]]  # names of one statement, split at arrows
    for token in _sketch_tokens(text, wrong):
        last = groups[-1]
        if name := token["double"] or token["single"] or token["plain"]:
            names[name] = None
            last.append(name)
        elif token["size"]:
            size = int(token["size"])
            if not last:
                raise wrong(f"[{size}] follows no name")
            if size < 1:
                raise wrong(f"'{last[-1]}' would have no state")
            if (known := sizes.setdefault(last[-1], size)) != size:
                raise wrong(f"'{last[-1]}' has {known} states in one place, {size} later")
        elif token["arrow"]:
            groups.append([])
        else:
            edges |= dict.fromkeys(_statement(groups, wrong))
            groups = [[]]
    if not edges:
        raise wrong("it has no arrow")
    return GraphSketch(tuple(names), tuple(edges), sizes)


def _sketch_tokens(text: str, wrong: Callable[[str], ModelError]) -> Iterator[re.Match[str]]:
    """Tokens of a text; its end closes the last statement."""
    text, at = text + "\n", 0
    while rest := text[at:].lstrip(" \t\r,"):
        at = len(text) - len(rest)
        token = _TOKEN.match(text, at)
        if token is None:
            raise wrong(f"'{rest[0]}' is not understood")
        yield token
        at = token.end()


def _statement(groups: list[list[str]], wrong: Callable[[str], ModelError]) -> Iterator[Edge]:
    """Edges of a statement: from each name before an arrow to each name after it."""
    if len(groups) > 1 and not all(groups):
        raise wrong("an arrow has no name on one of its sides")
    for before, after in pairwise(groups):
        for u, v in product(before, after):
            if u == v:
                raise wrong(f"an arrow leads from '{u}' to itself")
            yield u, v
