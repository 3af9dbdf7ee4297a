"""Components of any shape as index arrays: what the clique-tree kernels read.

Structure is data. Each kind of component is a clique tree (mostly of one clique); each clique has
slots, one for each family that it takes in, with a map from the clique's joint states to positions
inside the family's block. An instance adds only where the observed values of its families point to.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import compress
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lacunet.inference.kernels import numbers, particles, tree_covariances, trees
from lacunet.inference.kernels.merging import number_lists, with_room
from lacunet.inference.plans import clique_trees
from lacunet.inference.plans.clique_trees import (
    CodedRows,
    Collectors,
    ComponentKinds,
    KindRows,
    cut_into_cliques,
    is_within,
    merge_rows,
    point_to,
    steps_of,
)
from lacunet.inference.plans.decompose import totals
from lacunet.inference.plans.plan import (
    ComponentRows,
    FreeCoordinates,
    JointStates,
    LinearMap,
    SampledEStep,
)
from lacunet.runtime.arrays import FloatArray, IndexArray, IntArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.runtime.jit import kernel

# Writes kinds of components into the flat arrays of cliques and slots that tree kernels read.


class Forest(NamedTuple):
    """A clique tree for each kind. T kinds, Q cliques, S families of kinds."""

    kind_cliques: IntArray  # (T + 1,)
    starts: IntArray  # (Q + 1,) variables of each clique in the next
    variable: IntArray  # by their places among the members of the kind
    parent: IntArray  # (Q,) place in the same tree; -1 for a root
    home: IntArray  # (S,) place in the tree of the clique that takes a family in


class WrittenTrees(NamedTuple):
    """What `TreeArrays` has of cliques and slots; maps are still lists of (states, step)."""

    cells: IntArray  # (Q,)
    first: IntArray  # (Q,)
    parent: IntArray  # (Q,)
    separator: IntArray  # (Q,)
    separator_first: IntArray  # (Q,)
    up: IntArray  # (Q,) number of its list
    down: IntArray  # (Q,)
    slots: IntArray  # (Q + 1,)
    slot_family: IntArray  # (S,)
    slot_map: IntArray  # (S,) number of its list
    map_starts: IntArray  # (2 Q + S + 1,) where each list begins in the next
    map_items: IntArray  # states and step of each variable of a clique, in turn


@kernel
def plant(
    kinds: ComponentKinds,
    collectors: Collectors,
    cards: IntArray,
    enumerated: float,
    largest: float,
) -> tuple[Forest, int]:
    """Cut every kind into cliques; also give the first kind with one that is too large, or -1."""
    number = kinds.member_starts.shape[0] - 1
    kind_cliques, starts = np.zeros(number + 1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    variable, parent = np.empty(64, dtype=np.int64), np.empty(64, dtype=np.int64)
    home = np.empty(kinds.family.shape[0], dtype=np.int64)
    for t in range(number):
        scopes = steps_of(kinds, t, collectors) > 0
        members = kinds.member[kinds.member_starts[t] : kinds.member_starts[t + 1]]
        states = cards[members].astype(np.float64)
        cut = cut_into_cliques(scopes, states, enumerated)
        base, found = kind_cliques[t], cut.parent.shape[0]
        kind_cliques[t + 1] = base + found
        starts, parent = with_room(starts, base + found + 1), with_room(parent, base + found)
        parent[base : base + found] = cut.parent
        for q in range(found):
            mine = np.flatnonzero(cut.within[q])
            if states[mine].prod() > largest:
                return Forest(kind_cliques, starts, variable, parent, home), t
            end = starts[base + q] + mine.shape[0]
            variable = with_room(variable, end)
            variable[starts[base + q] : end] = mine
            starts[base + q + 1] = end
        for f in range(scopes.shape[0]):
            scope, q = np.flatnonzero(scopes[f]), 0
            while not is_within(scope, cut.within[q]):
                q += 1
            home[kinds.family_starts[t] + f] = q
    cliques = kind_cliques[-1]
    starts = starts[: cliques + 1]
    return Forest(kind_cliques, starts, variable[: starts[-1]], parent[:cliques], home), -1


@kernel
def room_for_maps(kinds: ComponentKinds, forest: Forest) -> int:
    """How many variables the maps of all cliques and slots have together."""
    room = 0
    for t in range(forest.kind_cliques.shape[0] - 1):
        base = forest.kind_cliques[t]
        for q in range(base, forest.kind_cliques[t + 1]):
            room += forest.starts[q + 1] - forest.starts[q]
            if forest.parent[q] >= 0:
                above = base + forest.parent[q]
                room += forest.starts[above + 1] - forest.starts[above]
        for s in range(kinds.family_starts[t], kinds.family_starts[t + 1]):
            q = base + forest.home[s]
            room += forest.starts[q + 1] - forest.starts[q]
    return room


@kernel
def put_map(written: WrittenTrees, at: int, states: IntArray, steps: IntArray) -> None:
    """Write the list of a map: a clique's numbers of states, and how far each of them leads."""
    place = written.map_starts[at]
    for i in range(states.shape[0]):
        written.map_items[place + 2 * i] = states[i]
        written.map_items[place + 2 * i + 1] = steps[i]
    written.map_starts[at + 1] = place + 2 * states.shape[0]


@kernel
def write_clique(
    written: WrittenTrees, q: int, above: int, mine: IntArray, over: IntArray, cards: IntArray
) -> int:
    """Write a clique with members `mine` under one with members `over`; give its separator's size.

    `cards` are those of the members; the joint states of what both have are numbered, the last
    fastest.
    """
    step = np.zeros(cards.shape[0], dtype=np.int64)
    size = 1
    for i in range(mine.shape[0] - 1, -1, -1):
        if (over == mine[i]).any():
            step[mine[i]] = size
            size *= cards[mine[i]]
    written.cells[q] = cards[mine].prod()
    written.parent[q] = above
    written.separator[q] = size
    lists = 2 * q + written.slots[q]
    put_map(written, lists, cards[mine], step[mine])
    put_map(written, lists + 1, cards[over], step[over])
    written.up[q], written.down[q] = lists, lists + 1
    return size


@kernel
def write_trees(
    kinds: ComponentKinds, collectors: Collectors, cards: IntArray, forest: Forest
) -> WrittenTrees:
    """Write every clique of every kind, and its slots: one for each family that it takes in."""
    cliques, families = forest.parent.shape[0], kinds.family.shape[0]
    of_cliques = np.zeros((7, cliques), dtype=np.int64)
    of_slots = np.empty((2, families), dtype=np.int64)
    items = np.empty(2 * room_for_maps(kinds, forest), dtype=np.int64)
    written = WrittenTrees(
        of_cliques[0], of_cliques[1], of_cliques[2], of_cliques[3], of_cliques[4], of_cliques[5],
        of_cliques[6], np.zeros(cliques + 1, dtype=np.int64), of_slots[0], of_slots[1],
        np.zeros(2 * cliques + families + 1, dtype=np.int64), items,
    )  # fmt: skip
    for t in range(forest.kind_cliques.shape[0] - 1):
        steps = steps_of(kinds, t, collectors)
        own = cards[kinds.member[kinds.member_starts[t] : kinds.member_starts[t + 1]]]
        base, first, separator_first = forest.kind_cliques[t], 0, 0
        for q in range(base, forest.kind_cliques[t + 1]):
            mine, over = forest.variable[forest.starts[q] : forest.starts[q + 1]], own[:0]
            above = -1
            if forest.parent[q] >= 0:
                above = base + forest.parent[q]
                over = forest.variable[forest.starts[above] : forest.starts[above + 1]]
            size = write_clique(written, q, above, mine, over, own)
            written.first[q], written.separator_first[q] = first, separator_first
            first, separator_first = first + written.cells[q], separator_first + size
            slot = written.slots[q]
            for f in range(steps.shape[0]):
                if base + forest.home[kinds.family_starts[t] + f] == q:
                    lists = 2 * (q + 1) + slot
                    written.slot_family[slot], written.slot_map[slot] = f, lists
                    put_map(written, lists, own[mine], steps[f][mine])
                    slot += 1
            written.slots[q + 1] = slot
    return written


@kernel
def fill_maps(starts: IntArray, items: IntArray, chosen: IntArray) -> tuple[IndexArray, IntArray]:
    """Write the maps Σ state · step over all joint states; also give where each begins."""
    begin = np.zeros(chosen.shape[0] + 1, dtype=np.int64)
    for m in range(chosen.shape[0]):
        begin[m + 1] = begin[m] + items[starts[chosen[m]] : starts[chosen[m] + 1] : 2].prod()
    maps = np.empty(begin[-1], dtype=np.int32)
    for m in range(chosen.shape[0]):
        out, filled = maps[begin[m] : begin[m + 1]], 1
        out[0] = 0
        for i in range(starts[chosen[m] + 1] - 2, starts[chosen[m]] - 2, -2):  # the last is fastest
            for k in range(1, items[i]):
                for c in range(filled):
                    out[k * filled + c] = out[c] + k * items[i + 1]
            filled *= items[i]
    return maps, begin[:-1]


def joined_maps(written: WrittenTrees) -> tuple[IndexArray, IntArray]:
    """All maps, each distinct one once, and where that of each list begins."""
    number, chosen = number_lists(written.map_starts, written.map_items)
    maps, begin = fill_maps(written.map_starts, written.map_items, chosen)
    return maps, begin[number]


@dataclass(frozen=True, eq=False)
class ComponentShape:
    """A kind of component: the joint states of its members, and where they stand in a family."""

    members: tuple[int, ...]
    cards: tuple[int, ...]  # states of each member
    strides: IntArray  # (families, members) how far states of each member are apart

    @property
    def cells(self) -> int:
        """Joint states."""
        return math.prod(self.cards)

    def steps(self) -> IntArray:
        """How far each joint state is from the first, in each family: (cells, families)."""
        states = np.indices(self.cards).reshape(len(self.cards), -1)
        return (self.strides @ states).T


@dataclass(frozen=True, eq=False)
class ShapedKinds:
    """Kinds of components, and what their shapes are read from."""

    kinds: ComponentKinds
    collectors: Collectors
    cards: IntArray  # (n,) states of each variable

    def shape(self, t: int) -> ComponentShape:
        """Give the shape of a kind."""
        first, last = self.kinds.member_starts[t : t + 2]
        members = self.kinds.member[first:last]
        strides = steps_of(self.kinds, t, self.collectors)
        return ComponentShape(tuple(members.tolist()), tuple(self.cards[members].tolist()), strides)


@dataclass(frozen=True, eq=False)
class TreePlan(SampledEStep):
    """All components that are no single column of hidden cells."""

    pace: ClassVar[float] = 14.0
    arrays: trees.TreeArrays
    shaped: ShapedKinds
    counts: FloatArray
    rows: ComponentRows | None = None

    @property
    def members(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(self.shaped.kinds.member.tolist()))

    @cached_property
    def shapes(self) -> list[ComponentShape]:
        """Of each kind."""
        return [self.shaped.shape(t) for t in range(len(self.arrays.kind_width))]

    def scratch(self, dtype: type = np.float64) -> trees.TreeScratch:
        """Make room for the tables and the messages of the largest kind of component."""
        a = self.arrays
        cells, separators = (a.first + a.cells).max(), (a.separator_first + a.separator).max()
        return trees.TreeScratch(
            *(np.empty(room, dtype) for room in (cells, separators, separators))
        )

    def touched(self) -> FloatArray:
        a = self.arrays
        slots = np.add.reduceat(np.repeat(a.cells, np.diff(a.slots)), a.slots[a.kind_cliques[:-1]])
        return np.repeat(slots, np.diff(a.kind_instances)).astype(np.float64)

    def weighted(self, counts: FloatArray) -> TreePlan:
        return replace(self, arrays=self.arrays._replace(counts=counts), counts=counts, rows=None)

    def expect_one(
        self, log_weights: FloatArray, out: FloatArray, executor: Executor = SERIAL
    ) -> float:
        if len(self.pieces) == 1:
            return float(self.expect_some(log_weights, self.pieces[0], out)[1])
        log_lik = 0.0
        for N, value in executor.map(partial(self.expect_some, log_weights), self.pieces):
            out += N
            log_lik += value
        return log_lik

    def expect_some(
        self, log_weights: Any, some: slice, out: FloatArray | None = None
    ) -> tuple[Any, Any]:
        """Expected counts and log-likelihood of some components; weights may be complex."""
        N = np.zeros_like(log_weights) if out is None else out
        scratch = self.scratch(log_weights.dtype.type)
        span = (some.start, some.stop)
        return N, trees.expect_trees(self.arrays, log_weights, scratch, N, span)

    def tangent(self, log_weights: FloatArray, executor: Executor = SERIAL) -> LinearMap:
        """Exact by the complex step."""

        def change(direction: FloatArray) -> FloatArray:
            stepped = log_weights + 1j * trees.STEP * direction
            moved = [N for N, _ in executor.map(partial(self.expect_some, stepped), self.pieces)]
            return np.asarray(np.sum(moved, axis=0).imag / trees.STEP)

        return change

    def less_covariance(
        self, A: FloatArray, theta: FloatArray, coordinates: FreeCoordinates
    ) -> FloatArray:
        with np.errstate(divide="ignore"):
            inverse, log_theta = 1.0 / theta, np.log(theta)
        scratch, targets = self.scratch(), _targets(len(theta), coordinates)
        tree_covariances.subtract_covariances(self.arrays, log_theta, inverse, scratch, targets, A)
        return A

    def draw(self, log_weights: FloatArray, counts: FloatArray, rng: Any, out: FloatArray) -> None:
        arrays = self.arrays._replace(counts=counts)
        numbers.draw_trees(arrays, log_weights, rng, self.scratch(), out)

    def posterior(
        self, log_weights: FloatArray, first: int, last: int
    ) -> tuple[FloatArray, FloatArray]:
        log_z, N = np.empty(len(self.counts)), np.zeros((len(self.counts), last - first))
        trees.put_posteriors(self.arrays, log_weights, self.scratch(), first, log_z, N)
        return log_z, N

    def take_in(
        self, cases: IntArray, swarm: particles.ParticleState, least: float, rng: Any
    ) -> int:
        return particles.take_in_trees(self.arrays, cases, swarm, least, self.scratch(), rng)

    def sizes(self) -> IntArray:
        cells = np.array([shape.cells for shape in self.shapes], dtype=object)
        return np.repeat(cells, np.diff(self.arrays.kind_instances))

    def choices(self) -> Iterator[JointStates]:
        """The joint states of the members, without cliques."""
        a = self.arrays
        for t, shape in enumerate(self.shapes):
            steps = shape.steps()
            counts = self.counts[a.kind_instances[t] : a.kind_instances[t + 1]]
            offsets = a.offsets[a.kind_offsets[t] :][: len(counts) * steps.shape[1]]
            for w, row in zip(counts, offsets.reshape(len(counts), -1), strict=True):
                yield JointStates(int(w), row + steps)


def tree_plan(
    shaped: ShapedKinds,
    names: Sequence[str],
    table: CodedRows,
    pairs: KindRows,
    *,
    keep_rows: bool = False,
) -> TreePlan:
    """Build the plan of kinds of components, given the rows that have one of each."""
    kinds, collectors, cards = shaped.kinds, shaped.collectors, shaped.cards
    forest, too_large = plant(
        kinds, collectors, cards, clique_trees.ENUMERATED, clique_trees.LARGEST
    )
    if too_large >= 0:
        _refuse(shaped.shape(too_large), names)
    written = write_trees(kinds, collectors, cards, forest)
    maps, begin = joined_maps(written)
    merged = merge_rows(kinds, collectors, table, pairs.starts, pairs.rows)
    offsets, kind_offsets = point_to(kinds, collectors, table, merged)
    counts = totals(merged.instance, pairs.counts, len(merged.first))
    arrays = trees.TreeArrays(
        kind_cliques=forest.kind_cliques,
        kind_instances=merged.starts,
        kind_offsets=kind_offsets[:-1],
        kind_width=np.diff(kinds.family_starts),
        offsets=offsets,
        counts=counts,
        cells=written.cells,
        first=written.first,
        parent=written.parent,
        separator=written.separator,
        separator_first=written.separator_first,
        up=begin[written.up],
        down=begin[written.down],
        slots=written.slots,
        slot_family=written.slot_family,
        slot_map=begin[written.slot_map],
        maps=maps,
    )
    where = ComponentRows(pairs.rows, merged.instance) if keep_rows else None
    return TreePlan(arrays, shaped, counts, where)


def _refuse(shape: ComponentShape, names: Sequence[str]) -> None:
    """Say which of its cliques is too large."""
    cards = dict(zip(shape.members, shape.cards, strict=True))
    scopes = [frozenset(compress(shape.members, row)) for row in shape.strides]
    for clique in clique_trees.clique_tree(shape.members, scopes, cards):
        clique_trees.check_clique(
            clique.variables,
            cards,
            dict(enumerate(names)),
            "some rows leave these variables unknown together",
            "Give some of them fewer states, fewer parents, or observe one of them.",
        )


def _targets(size: int, coordinates: FreeCoordinates) -> tree_covariances.Targets:
    """List the free coordinates that move each position."""
    d = len(coordinates.free)
    position = np.concatenate([coordinates.free, coordinates.reference])
    column = np.concatenate([np.arange(d), np.arange(d)])
    sign = np.concatenate([np.ones(d), -np.ones(d)])
    order = np.argsort(position, kind="stable")
    starts = np.searchsorted(position[order], np.arange(size + 1)).astype(np.int64)
    return tree_covariances.Targets(starts, column[order], sign[order])
