"""Components of any shape as index arrays: what the clique-tree kernels read.

Structure is data. Each kind of component is a clique tree (mostly of one clique); each clique has
slots, one for each family that it takes in, with a map from the clique's joint states to positions
inside the family's block. An instance adds only where the observed values of its families point to.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lacunet.arrays import FloatArray, IndexArray, IntArray
from lacunet.inference.plans.cliques import Clique, clique_tree
from lacunet.inference.plans.decompose import Kind


@dataclass(frozen=True, eq=False)
class Instances:
    """The distinct components of one kind."""

    kind: Kind  # its families are collectors of the plan
    offsets: IntArray  # (m, families) where the observed values of each family point to
    counts: FloatArray  # (m,) total weight of the rows that have it
    rows: IntArray  # (r,) those rows
    index: IntArray  # (r,) the instance of each


class TreeArrays(NamedTuple):
    """Flat arrays for the kernels. T kinds, Q cliques, S slots, I instances."""

    kind_cliques: IntArray  # (T + 1,) cliques of each kind; leaves first, the root last
    kind_instances: IntArray  # (T + 1,) instances of each kind
    kind_offsets: IntArray  # (T,) where its instances' rows start in `offsets`
    kind_width: IntArray  # (T,) families of each kind: the length of those rows
    offsets: IntArray  # concatenated (instances, families) positions from observed values
    counts: FloatArray  # (I,) weight of each instance
    cells: IntArray  # (Q,) joint states
    first: IntArray  # (Q,) where the clique's cells start among those of its kind
    parent: IntArray  # (Q,) clique that it sends its message to; -1 for a root
    separator: IntArray  # (Q,) joint states that it shares with its parent
    separator_first: IntArray  # (Q,) where they start among those of its kind
    up: IntArray  # (Q,) start of its map: own cells → separator
    down: IntArray  # (Q,) start of its map: parent's cells → separator
    slots: IntArray  # (Q + 1,) slots of each clique
    slot_family: IntArray  # (S,) column of its family in an instance's row
    slot_map: IntArray  # (S,) start of its map: clique's cells → positions from the offset
    maps: IndexArray  # all maps, each distinct one once


@dataclass(frozen=True, eq=False)
class TreePlan:
    """All components that are no single column of hidden cells."""

    arrays: TreeArrays
    kinds: tuple[Kind, ...]
    cliques: tuple[tuple[Clique, ...], ...]  # of each kind


def tree_plan(
    found: Sequence[Instances],
    strides: Sequence[dict[int, int]],
    cards: Sequence[int],
    names: Sequence[str],
) -> TreePlan:
    """Build the plan; `strides[f][v]` says how far states of v are apart in family f."""
    writer = _Writer(strides, cards, names)
    cliques = [writer.add(instances.kind) for instances in found]
    return TreePlan(
        TreeArrays(
            kind_cliques=_starts([len(tree) for tree in cliques]),
            kind_instances=_starts([len(i.counts) for i in found]),
            kind_offsets=_starts([i.offsets.size for i in found])[:-1],
            kind_width=np.array([len(i.kind.families) for i in found], dtype=np.int64),
            offsets=np.concatenate([i.offsets.reshape(-1) for i in found]).astype(np.int64),
            counts=np.concatenate([i.counts for i in found]),
            **writer.arrays(),
        ),
        tuple(i.kind for i in found),
        tuple(cliques),
    )


def _starts(lengths: Sequence[int]) -> IntArray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


class _Writer:
    """Writes kinds, one after the other, into lists that become the arrays of cliques and slots."""

    def __init__(
        self, strides: Sequence[dict[int, int]], cards: Sequence[int], names: Sequence[str]
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
