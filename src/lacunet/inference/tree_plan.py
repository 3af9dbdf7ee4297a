"""Components of any shape as index arrays: what the clique-tree kernels read.

Structure is data. Each kind of component is a clique tree (mostly of one clique); each clique has
slots, one for each family that it takes in, with a map from the clique's joint states to positions
inside the family's block. An instance adds only where the observed values of its families point to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lacunet.arrays import FloatArray, IndexArray, IntArray
from lacunet.inference.cliques import Clique, clique_tree
from lacunet.inference.decompose import Kind


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
    maps = _Maps()
    cliques: list[tuple[Clique, ...]] = []
    rows: dict[str, list[int]] = {name: [] for name in TreeArrays._fields}
    slot_total = 0
    for instances in found:
        kind = instances.kind
        scopes = {f: frozenset(strides[f]) & frozenset(kind.members) for f in kind.families}
        tree = clique_tree(
            kind.members, scopes.values(), dict(enumerate(cards)), dict(enumerate(names))
        )
        base = sum(len(t) for t in cliques)
        home = {
            f: next(q for q, c in enumerate(tree) if scope <= set(c.variables))
            for f, scope in scopes.items()
        }
        first = separator_first = 0
        for q, clique in enumerate(tree):
            states = _states(clique.variables, cards)
            rows["cells"].append(states.shape[1])
            rows["first"].append(first)
            first += states.shape[1]
            shared: tuple[int, ...] = ()
            if clique.parent >= 0:
                above = tree[clique.parent].variables
                shared = tuple(v for v in clique.variables if v in above)
                rows["up"].append(maps.add(_index(clique.variables, shared, cards)))
                rows["down"].append(maps.add(_index(above, shared, cards)))
                rows["parent"].append(base + clique.parent)
            else:
                for name in ("up", "down", "parent"):
                    rows[name].append(-1)
            size = int(np.prod([cards[v] for v in shared], dtype=np.int64))
            rows["separator"].append(size)
            rows["separator_first"].append(separator_first)
            separator_first += size
            rows["slots"].append(slot_total)
            for column, f in enumerate(kind.families):
                if home[f] == q:
                    step = np.array([strides[f].get(v, 0) for v in clique.variables])
                    rows["slot_family"].append(column)
                    rows["slot_map"].append(maps.add(step @ states))
                    slot_total += 1
        cliques.append(tuple(tree))
    rows["slots"].append(slot_total)
    sizes = [i.offsets.size for i in found]
    return TreePlan(
        TreeArrays(
            kind_cliques=_starts([len(t) for t in cliques]),
            kind_instances=_starts([len(i.counts) for i in found]),
            kind_offsets=_starts(sizes)[:-1],
            kind_width=np.array([len(i.kind.families) for i in found], dtype=np.int64),
            offsets=np.concatenate([i.offsets.reshape(-1) for i in found]).astype(np.int64),
            counts=np.concatenate([i.counts for i in found]),
            maps=maps.joined(),
            **{
                name: np.array(rows[name], dtype=np.int64)
                for name in (
                    "cells",
                    "first",
                    "parent",
                    "separator",
                    "separator_first",
                    "up",
                    "down",
                    "slots",
                    "slot_family",
                    "slot_map",
                )
            },
        ),
        tuple(i.kind for i in found),
        tuple(cliques),
    )


def _starts(lengths: Sequence[int]) -> IntArray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _states(variables: Sequence[int], cards: Sequence[int]) -> IntArray:
    """Give the state of each variable in each joint cell, (variables, cells), the last fastest."""
    shape = [cards[v] for v in variables]
    return np.array(np.unravel_index(np.arange(int(np.prod(shape))), shape), dtype=np.int64)


def _index(variables: Sequence[int], shared: Sequence[int], cards: Sequence[int]) -> IntArray:
    """Map joint cells of some variables to those of the shared ones."""
    index = np.zeros(int(np.prod([cards[v] for v in variables])), dtype=np.int64)
    states = _states(variables, cards)
    for v in shared:
        index = index * cards[v] + states[list(variables).index(v)]
    return index


class _Maps:
    """Distinct maps, one after the other."""

    def __init__(self) -> None:
        self.start: dict[bytes, int] = {}
        self.parts: list[IndexArray] = []
        self.length = 0

    def add(self, values: IntArray) -> int:
        """Keep a map; give where it starts."""
        part = values.astype(np.int32)
        key = part.tobytes()
        if key not in self.start:
            self.start[key] = self.length
            self.parts.append(part)
            self.length += len(part)
        return self.start[key]

    def joined(self) -> IndexArray:
        """All of them."""
        return np.concatenate(self.parts) if self.parts else np.zeros(0, np.int32)
