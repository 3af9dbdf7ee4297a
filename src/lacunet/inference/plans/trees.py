"""Components of any shape as index arrays: what the clique-tree kernels read.

Structure is data. Each kind of component is a clique tree (mostly of one clique); each clique has
slots, one for each family that it takes in, with a map from the clique's joint states to positions
inside the family's block. An instance adds only where the observed values of its families point to.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import compress
from typing import Any, ClassVar

import numpy as np

from lacunet.inference.curvature.coordinates import FreeCoordinates
from lacunet.inference.kernels import drawing, one_pass, taking_in, tree_covariances, trees
from lacunet.inference.plans import cliques
from lacunet.inference.plans.kinds import (
    Coded,
    Collectors,
    Kinds,
    Pairs,
    merge_rows,
    point_to,
    steps_of,
)
from lacunet.inference.plans.merging import totals
from lacunet.inference.plans.plan import Choice, LinearMap, Plan, Rows
from lacunet.inference.plans.tree_writer import joined_maps, plant, write_trees
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.runtime.executor import SERIAL, Executor


@dataclass(frozen=True, eq=False)
class Shape:
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
class Shaped:
    """Kinds of components, and what their shapes are read from."""

    kinds: Kinds
    collectors: Collectors
    cards: IntArray  # (n,) states of each variable

    def shape(self, t: int) -> Shape:
        """Give the shape of a kind."""
        first, last = self.kinds.member_starts[t : t + 2]
        members = self.kinds.member[first:last]
        strides = steps_of(self.kinds, t, self.collectors)
        return Shape(tuple(members.tolist()), tuple(self.cards[members].tolist()), strides)


@dataclass(frozen=True, eq=False)
class TreePlan(Plan):
    """All components that are no single column of hidden cells."""

    pace: ClassVar[float] = 14.0
    arrays: trees.TreeArrays
    shaped: Shaped
    counts: FloatArray
    rows: Rows | None = None

    @property
    def members(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(self.shaped.kinds.member.tolist()))

    @cached_property
    def shapes(self) -> list[Shape]:
        """Of each kind."""
        return [self.shaped.shape(t) for t in range(len(self.arrays.kind_width))]

    def scratch(self, dtype: type = np.float64) -> trees.Scratch:
        """Make room for the tables and the messages of the largest kind of component."""
        a = self.arrays
        cells, separators = (a.first + a.cells).max(), (a.separator_first + a.separator).max()
        return trees.Scratch(*(np.empty(room, dtype) for room in (cells, separators, separators)))

    def touched(self) -> FloatArray:
        a = self.arrays
        slots = np.add.reduceat(np.repeat(a.cells, np.diff(a.slots)), a.slots[a.kind_cliques[:-1]])
        return np.repeat(slots, np.diff(a.kind_instances)).astype(np.float64)

    def weighted(self, counts: FloatArray) -> "TreePlan":
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
        drawing.draw_trees(arrays, log_weights, rng, self.scratch(), out)

    def posterior(
        self, log_weights: FloatArray, first: int, last: int
    ) -> tuple[FloatArray, FloatArray]:
        log_z, N = np.empty(len(self.counts)), np.zeros((len(self.counts), last - first))
        trees.put_posteriors(self.arrays, log_weights, self.scratch(), first, log_z, N)
        return log_z, N

    def take_in(self, cases: IntArray, swarm: taking_in.Swarm, least: float, rng: Any) -> int:
        return taking_in.take_in_trees(self.arrays, cases, swarm, least, self.scratch(), rng)

    def pass_over(self, cases: IntArray, drawn: int, beliefs: one_pass.Beliefs, rng: Any) -> float:
        scratch = self.scratch()
        return one_pass.pass_over_trees(self.arrays, cases, drawn, beliefs, scratch, rng)

    def sizes(self) -> IntArray:
        cells = np.array([shape.cells for shape in self.shapes], dtype=object)
        return np.repeat(cells, np.diff(self.arrays.kind_instances))

    def choices(self) -> Iterator[Choice]:
        """The joint states of the members, without cliques."""
        a = self.arrays
        for t, shape in enumerate(self.shapes):
            steps = shape.steps()
            counts = self.counts[a.kind_instances[t] : a.kind_instances[t + 1]]
            offsets = a.offsets[a.kind_offsets[t] :][: len(counts) * steps.shape[1]]
            for w, row in zip(counts, offsets.reshape(len(counts), -1), strict=True):
                yield Choice(int(w), row + steps)


def tree_plan(
    shaped: Shaped, names: Sequence[str], table: Coded, pairs: Pairs, *, keep_rows: bool = False
) -> TreePlan:
    """Build the plan of kinds of components, given the rows that have one of each."""
    kinds, collectors, cards = shaped.kinds, shaped.collectors, shaped.cards
    forest, too_large = plant(kinds, collectors, cards, cliques.ENUMERATED, cliques.LARGEST)
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
    where = Rows(pairs.rows, merged.instance) if keep_rows else None
    return TreePlan(arrays, shaped, counts, where)


def _refuse(shape: Shape, names: Sequence[str]) -> None:
    """Say which of its cliques is too large."""
    cards = dict(zip(shape.members, shape.cards, strict=True))
    scopes = [frozenset(compress(shape.members, row)) for row in shape.strides]
    for clique in cliques.clique_tree(shape.members, scopes, cards):
        cliques.check_clique(
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
