"""E steps of components of any shape, as clique trees in index arrays.

Each kind of component is a clique tree (mostly of one clique). Each clique has a slot for each
assigned family, with a map from the clique's joint states to positions in the family's block. An
instance of a kind adds only the offsets given by the observed values of its families.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import compress
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lacunet.inference.kernels import draws, tree_covariances, trees
from lacunet.inference.kernels.merging import number_lists, with_room
from lacunet.inference.plans import clique_trees
from lacunet.inference.plans.clique_trees import (
    CodedRows,
    Collectors,
    ComponentKinds,
    is_within,
    members_of,
    merge_rows,
    point_to,
    split_into_cliques,
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
from lacunet.runtime.arrays import BoolArray, FloatArray, IndexArray, IntArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.runtime.jit import kernel


class MapLists(NamedTuple):
    """Maps from joint states to positions, each as a list of (states, step) by variable."""

    starts: IntArray  # (lists + 1,) start of each list in `items`
    items: IntArray


class WrittenTrees(NamedTuple):
    """The columns of `TreeArrays` for cliques and slots; maps are indices of lists."""

    kind_cliques: IntArray  # (T + 1,)
    cliques: IntArray  # (7, Q) cells, first, parent, separator, separator_first, up, down
    slots: IntArray  # (Q + 1,)
    slot_family: IntArray  # (S,)
    slot_map: IntArray  # (S,) index of its list
    maps: MapLists


@kernel
def put_map(maps: MapLists, at: int, states: IntArray, steps: IntArray) -> MapLists:
    """Append the list of a map: numbers of states and steps of the members of a clique."""
    first = maps.starts[at]
    items = with_room(maps.items, first + 2 * states.shape[0])
    for i in range(states.shape[0]):
        items[first + 2 * i] = states[i]
        items[first + 2 * i + 1] = steps[i]
    maps.starts[at + 1] = first + 2 * states.shape[0]
    return MapLists(maps.starts, items)


@kernel
def homes(scopes: BoolArray, cliques: BoolArray) -> IntArray:
    """Index of the first clique that contains each scope, (F,)."""
    clique_of = np.zeros(scopes.shape[0], dtype=np.int64)
    for f in range(scopes.shape[0]):
        scope = np.flatnonzero(scopes[f])
        while not is_within(scope, cliques[clique_of[f]]):
            clique_of[f] += 1
    return clique_of


@kernel
def separator_steps(mine: IntArray, over: IntArray, cards: IntArray) -> tuple[IntArray, int]:
    """Strides of members in a separator, the last fastest, and its number of joint states."""
    step, size = np.zeros(cards.shape[0], dtype=np.int64), 1
    for i in range(mine.shape[0] - 1, -1, -1):
        if (over == mine[i]).any():
            step[mine[i]] = size
            size *= cards[mine[i]]
    return step, size


@kernel
def write_trees(
    kinds: ComponentKinds, collectors: Collectors, enumerated: float, largest: float
) -> tuple[WrittenTrees, int]:
    """Write the clique trees of all kinds; also return the first too large kind, or -1."""
    number, most, families = kinds.member_starts.shape[0] - 1, len(kinds.member), len(kinds.family)
    kind_cliques, slots = np.zeros(number + 1, dtype=np.int64), np.zeros(most + 1, dtype=np.int64)
    cliques, of_slots = np.zeros((7, most), dtype=np.int64), np.empty((2, families), dtype=np.int64)
    starts = np.zeros(2 * most + families + 1, dtype=np.int64)
    maps, lists, slot = MapLists(starts, np.empty(256, dtype=np.int64)), 0, 0
    too_large = -1
    for t in range(number):
        steps = steps_of(kinds, t, collectors)
        sizes = collectors.cards[members_of(kinds, t)]
        split = split_into_cliques(steps > 0, sizes.astype(np.float64), enumerated)
        clique_of, base = homes(steps > 0, split.within), kind_cliques[t]
        kind_cliques[t + 1] = base + split.parent.shape[0]
        first, separator_first = 0, 0
        for q in range(base, kind_cliques[t + 1]):
            mine, above = np.flatnonzero(split.within[q - base]), split.parent[q - base]
            if sizes[mine].astype(np.float64).prod() > largest:
                too_large = t
                break
            over = np.flatnonzero(split.within[above]) if above >= 0 else mine[:0]
            step, size = separator_steps(mine, over, sizes)
            maps = put_map(maps, lists, sizes[mine], step[mine])
            maps = put_map(maps, lists + 1, sizes[over], step[over])
            cliques[0, q], cliques[1, q] = sizes[mine].prod(), first
            cliques[2, q] = base + above if above >= 0 else -1
            cliques[3, q], cliques[4, q] = size, separator_first
            cliques[5, q], cliques[6, q] = lists, lists + 1
            first, separator_first, lists = first + cliques[0, q], separator_first + size, lists + 2
            for f in np.flatnonzero(clique_of == q - base):
                maps = put_map(maps, lists, sizes[mine], steps[f][mine])
                of_slots[0, slot], of_slots[1, slot] = f, lists
                slot, lists = slot + 1, lists + 1
            slots[q + 1] = slot
        if too_large >= 0:
            break
    total = kind_cliques[-1]
    maps = MapLists(starts[: lists + 1], maps.items)
    written = WrittenTrees(
        kind_cliques, cliques[:, :total], slots[: total + 1], of_slots[0], of_slots[1], maps
    )
    return written, too_large


@kernel
def fill_maps(lists: MapLists, chosen: IntArray) -> tuple[IndexArray, IntArray]:
    """Maps Σ state · step over all joint states, and the start of each."""
    starts, items = lists
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


class ComponentShape(NamedTuple):
    """A kind of component: its members, and their strides in each family."""

    members: tuple[int, ...]
    cards: tuple[int, ...]  # states of each member
    strides: IntArray  # (families, members) strides of the states


def _shape(kinds: ComponentKinds, collectors: Collectors, t: int) -> ComponentShape:
    members, strides = members_of(kinds, t), steps_of(kinds, t, collectors)
    cards = collectors.cards[members]
    return ComponentShape(tuple(members.tolist()), tuple(cards.tolist()), strides)


@dataclass(frozen=True, eq=False)
class TreePlan(SampledEStep):
    """E steps of components that are not one contiguous variable."""

    pace: ClassVar[float] = 14.0
    arrays: trees.TreeArrays
    kinds: ComponentKinds
    collectors: Collectors
    counts: FloatArray
    rows: ComponentRows | None = None

    @property
    def members(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(self.kinds.member.tolist()))

    @cached_property
    def shapes(self) -> list[ComponentShape]:
        """The shape of each kind."""
        kinds = range(len(self.arrays.kind_width))
        return [_shape(self.kinds, self.collectors, t) for t in kinds]

    def scratch(self, dtype: type = np.float64) -> trees.TreeScratch:
        """Buffers for the tables and messages of the largest kind of component."""
        a = self.arrays
        cells, separators = (a.first + a.cells).max(), (a.separator_first + a.separator).max()
        return trees.TreeScratch(*(np.empty(n, dtype) for n in (cells, separators, separators)))

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
        """Expected counts and log-likelihood of a run of components; weights may be complex."""
        N = np.zeros_like(log_weights) if out is None else out
        scratch = self.scratch(log_weights.dtype.type)
        span = (some.start, some.stop)
        return N, trees.expect_trees(self.arrays, log_weights, scratch, N, span)

    def tangent(self, log_weights: FloatArray, executor: Executor = SERIAL) -> LinearMap:
        """Tangent map by the complex step, which is exact."""

        def change(direction: FloatArray) -> FloatArray:
            stepped = log_weights + 1j * trees.STEP * direction
            moved = [N for N, _ in executor.map(partial(self.expect_some, stepped), self.pieces)]
            return np.asarray(np.sum(moved, axis=0).imag / trees.STEP)

        return change

    def subtract_covariance(
        self, A: FloatArray, theta: FloatArray, coordinates: FreeCoordinates
    ) -> FloatArray:
        with np.errstate(divide="ignore"):
            inverse, log_theta = 1.0 / theta, np.log(theta)
        scratch, targets = self.scratch(), _targets(len(theta), coordinates)
        tree_covariances.subtract_covariances(self.arrays, log_theta, inverse, scratch, targets, A)
        return A

    def draw(self, log_weights: FloatArray, counts: FloatArray, rng: Any, out: FloatArray) -> None:
        arrays = self.arrays._replace(counts=counts)
        draws.draw_trees(arrays, log_weights, rng, self.scratch(), out)

    def posterior(
        self, log_weights: FloatArray, first: int, last: int
    ) -> tuple[FloatArray, FloatArray]:
        log_z, N = np.empty(len(self.counts)), np.zeros((len(self.counts), last - first))
        trees.put_posteriors(self.arrays, log_weights, self.scratch(), first, log_z, N)
        return log_z, N

    def take_in(
        self, cases: IntArray, particles: draws.ParticleState, least: float, rng: Any
    ) -> int:
        return draws.take_in_trees(self.arrays, cases, particles, least, self.scratch(), rng)

    def sizes(self) -> IntArray:
        cells = np.array([math.prod(shape.cards) for shape in self.shapes], dtype=object)
        return np.repeat(cells, np.diff(self.arrays.kind_instances))

    def choices(self) -> Iterator[JointStates]:
        a = self.arrays
        for t, shape in enumerate(self.shapes):
            states = np.indices(shape.cards).reshape(len(shape.cards), -1)
            steps = (shape.strides @ states).T  # (cells, families)
            counts = self.counts[a.kind_instances[t] : a.kind_instances[t + 1]]
            offsets = a.offsets[a.kind_offsets[t] :][: len(counts) * steps.shape[1]]
            for w, row in zip(counts, offsets.reshape(len(counts), -1), strict=True):
                yield JointStates(int(w), row + steps)


def tree_plan(
    kinds: ComponentKinds,
    collectors: Collectors,
    names: Sequence[str],
    table: CodedRows,
    weights: FloatArray,
    *,
    keep_rows: bool = False,
) -> TreePlan:
    """Build the plan of kinds of components from their weighted rows."""
    enumerated, largest = clique_trees.ENUMERATED, clique_trees.LARGEST
    written, too_large = write_trees(kinds, collectors, enumerated, largest)
    if too_large >= 0:
        _refuse(_shape(kinds, collectors, too_large), names)
    number, chosen = number_lists(*written.maps)
    maps, begin = fill_maps(written.maps, chosen)
    begin = begin[number]  # start of each list; equal maps are stored once
    instance, row_of, starts = merge_rows(kinds, collectors, table)
    offsets, kind_offsets = point_to(kinds, collectors, table, row_of, starts)
    cells, first, parent, separator, separator_first, up, down = written.cliques
    arrays = trees.TreeArrays(
        kind_cliques=written.kind_cliques,
        kind_instances=starts,
        kind_offsets=kind_offsets[:-1],
        kind_width=np.diff(kinds.family_starts),
        offsets=offsets,
        counts=totals(instance, weights[table.rows], len(row_of)),
        cells=cells,
        first=first,
        parent=parent,
        separator=separator,
        separator_first=separator_first,
        up=begin[up],
        down=begin[down],
        slots=written.slots,
        slot_family=written.slot_family,
        slot_map=begin[written.slot_map],
        maps=maps,
    )
    where = ComponentRows(table.rows, instance) if keep_rows else None
    return TreePlan(arrays, kinds, collectors, arrays.counts, where)


def _refuse(shape: ComponentShape, names: Sequence[str]) -> None:
    """Raise the error for the clique that is too large."""
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
    """Free coordinates that move each position, as a ragged list."""
    d = len(coordinates.free)
    position = np.concatenate([coordinates.free, coordinates.reference])
    column = np.concatenate([np.arange(d), np.arange(d)])
    sign = np.concatenate([np.ones(d), -np.ones(d)])
    order = np.argsort(position, kind="stable")
    starts = np.searchsorted(position[order], np.arange(size + 1)).astype(np.int64)
    return tree_covariances.Targets(starts, column[order], sign[order])
