"""Writes kinds of components into the flat arrays of cliques and slots that tree kernels read."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lacunet.arrays import IndexArray
from lacunet.inference.plans.cliques import Clique, clique_tree
from lacunet.inference.plans.decompose import Kind


class Writer:
    """Writes kinds, one after the other, into lists that become the arrays of cliques and slots."""

    def __init__(
        self, strides: Sequence[Mapping[int, int]], cards: Sequence[int], names: Sequence[str]
    ) -> None:
        self.strides, self.cards = strides, cards
        self.trees = _Trees(dict(enumerate(cards)), dict(enumerate(names)))
        self.maps = _Maps()
        self.lists: dict[str, list[int]] = defaultdict(list)

    def arrays(self) -> dict[str, Any]:
        """Give what was written."""
        self.lists["slots"].append(len(self.lists["slot_map"]))
        written = {name: np.array(x, dtype=np.int64) for name, x in self.lists.items()}
        return {**written, "maps": self.maps.joined()}

    def add(self, kind: Kind) -> tuple[Clique, ...]:
        """Write one kind."""
        members = frozenset(kind.members)
        scopes = [members.intersection(self.strides[f]) for f in kind.families]
        tree = self.trees.of(kind.members, scopes)
        base, first, separator_first = len(self.lists["cells"]), 0, 0
        families: dict[int, list[int]] = defaultdict(list)  # columns of the families of a clique
        for column, scope in enumerate(scopes):
            families[self.trees.home(tree, scope)].append(column)
        for q, clique in enumerate(tree):
            above = tree[clique.parent].variables if clique.parent >= 0 else ()
            shared = self._steps(tuple(v for v in clique.variables if v in above))
            cells = math.prod(self.cards[v] for v in clique.variables)
            separator = math.prod(self.cards[v] for v in shared)
            self._write(
                cells=cells,
                first=first,
                parent=base + clique.parent if above else -1,
                separator=separator,
                separator_first=separator_first,
                up=self._map(clique.variables, shared),
                down=self._map(above, shared),
                slots=len(self.lists["slot_map"]),
            )
            for column in families[q]:
                steps = self.strides[kind.families[column]]
                self._write(slot_family=column, slot_map=self._map(clique.variables, steps))
            first += cells
            separator_first += separator
        return tree

    def _write(self, **numbers: int) -> None:
        for name, number in numbers.items():
            self.lists[name].append(number)

    def _steps(self, variables: tuple[int, ...]) -> dict[int, int]:
        """Number the joint states of some variables, the last fastest."""
        sizes = [self.cards[v] for v in variables]
        return {v: math.prod(sizes[i + 1 :]) for i, v in enumerate(variables)}

    def _map(self, variables: tuple[int, ...], steps: Mapping[int, int]) -> int:
        shape = tuple(self.cards[v] for v in variables)
        return self.maps.start(shape, tuple(steps.get(v, 0) for v in variables))


class _Trees:
    """Clique trees; kinds whose families connect their members alike share one."""

    def __init__(self, cards: dict[int, int], names: dict[int, str]) -> None:
        self.cards, self.names = cards, names
        self.known: dict[object, tuple[Clique, ...]] = {}
        self.sets: dict[tuple[Clique, ...], list[frozenset[int]]] = {}

    def of(self, members: tuple[int, ...], scopes: Sequence[frozenset[int]]) -> tuple[Clique, ...]:
        """Give the tree of some members."""
        connecting = frozenset(scope for scope in scopes if len(scope) > 1)
        key = (members, connecting)
        if key not in self.known:
            tree = tuple(clique_tree(members, connecting, self.cards, self.names))
            self.known[key] = tree
            self.sets[tree] = [frozenset(clique.variables) for clique in tree]
        return self.known[key]

    def home(self, tree: tuple[Clique, ...], scope: frozenset[int]) -> int:
        """Give the first clique that a scope fits into."""
        return next(q for q, variables in enumerate(self.sets[tree]) if scope <= variables)


class _Maps:
    """Linear maps from joint states to positions, each distinct one once."""

    def __init__(self) -> None:
        self.known: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        self.length = 0

    def start(self, shape: tuple[int, ...], steps: tuple[int, ...]) -> int:
        """Give where the map Σ state · step over all joint states starts; keep it if it is new."""
        if (shape, steps) not in self.known:
            self.known[shape, steps] = self.length
            self.length += math.prod(shape)
        return self.known[shape, steps]

    def joined(self) -> IndexArray:
        """All of them, one after the other."""
        joined = np.empty(self.length, dtype=np.int32)
        for (shape, steps), first in self.known.items():
            states = np.indices(shape, dtype=np.int32).reshape(len(shape), math.prod(shape))
            joined[first : first + math.prod(shape)] = np.array(steps, dtype=np.int32) @ states
        return joined
