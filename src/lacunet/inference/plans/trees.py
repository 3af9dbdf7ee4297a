"""Components of any shape as index arrays: what the clique-tree kernels read.

Structure is data. Each kind of component is a clique tree (mostly of one clique); each clique has
slots, one for each family that it takes in, with a map from the clique's joint states to positions
inside the family's block. An instance adds only where the observed values of its families point to.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from lacunet.arrays import FloatArray, IntArray
from lacunet.executor import SERIAL, Executor
from lacunet.inference.curvature.coordinates import FreeCoordinates
from lacunet.inference.kernels import drawing, one_pass, taking_in, trees
from lacunet.inference.plans.decompose import Kind
from lacunet.inference.plans.plan import Choice, LinearMap, Plan, Rows
from lacunet.inference.plans.tree_writer import Writer


@dataclass(frozen=True, eq=False)
class Instances:
    """The distinct components of one kind."""

    kind: Kind  # its families are collectors of the plan
    offsets: IntArray  # (m, families) where the observed values of each family point to
    counts: FloatArray  # (m,) total weight of the rows that have it
    rows: Rows  # those rows


@dataclass(frozen=True, eq=False)
class Shape:
    """A kind of component: the joint states of its members, and where they stand in a family."""

    kind: Kind
    cards: tuple[int, ...]  # states of each member
    strides: tuple[tuple[int, ...], ...]  # of each family: how far states of each member are apart

    @property
    def cells(self) -> int:
        """Joint states."""
        return math.prod(self.cards)

    def steps(self) -> IntArray:
        """How far each joint state is from the first, in each family: (cells, families)."""
        states = np.indices(self.cards).reshape(len(self.cards), -1)
        return (np.array(self.strides, dtype=np.int64) @ states).T


@dataclass(frozen=True, eq=False)
class TreePlan(Plan):
    """All components that are no single column of hidden cells."""

    pace: ClassVar[float] = 14.0
    arrays: trees.TreeArrays
    shapes: tuple[Shape, ...]  # of each kind
    counts: FloatArray
    rows: Rows | None = None

    @property
    def members(self) -> tuple[int, ...]:
        return tuple({v: None for shape in self.shapes for v in shape.kind.members})

    def scratch(self, dtype: type = np.float64) -> trees.Scratch:
        """Make room for the tables and the messages of the largest kind of component."""
        a = self.arrays
        return trees.Scratch(
            np.empty(int((a.first + a.cells).max()), dtype=dtype),
            np.empty(int((a.separator_first + a.separator).max()), dtype=dtype),
        )

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
        """It is the derivative of the expected counts."""
        with np.errstate(divide="ignore"):
            inverse, log_theta = 1.0 / theta, np.log(theta).astype(np.complex128)
        scratch, targets = self.scratch(np.complex128), _targets(len(theta), coordinates)
        trees.subtract_covariances(self.arrays, log_theta, inverse, scratch, targets, A)
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
    kinds: Sequence[Instances],
    strides: Sequence[Mapping[int, int]],
    cards: Sequence[int],
    names: Sequence[str],
    *,
    keep_rows: bool = False,
) -> TreePlan:
    """Build the plan; `strides[f][v]` says how far states of v are apart in family f."""
    writer = Writer(strides, cards, names)
    cliques = [writer.add(instances.kind) for instances in kinds]
    counts = np.concatenate([i.counts for i in kinds])
    first = _starts([len(i.counts) for i in kinds])
    arrays = trees.TreeArrays(
        kind_cliques=_starts([len(tree) for tree in cliques]),
        kind_instances=first,
        kind_offsets=_starts([i.offsets.size for i in kinds])[:-1],
        kind_width=np.array([len(i.kind.families) for i in kinds], dtype=np.int64),
        offsets=np.concatenate([i.offsets.reshape(-1) for i in kinds]).astype(np.int64),
        counts=counts,
        **writer.arrays(),
    )
    shapes = tuple(
        Shape(
            i.kind,
            tuple(cards[v] for v in i.kind.members),
            tuple(tuple(strides[f].get(v, 0) for v in i.kind.members) for f in i.kind.families),
        )
        for i in kinds
    )
    where = None
    if keep_rows:
        where = Rows(
            np.concatenate([i.rows.rows for i in kinds]),
            np.concatenate([i.rows.component + n for i, n in zip(kinds, first, strict=False)]),
        )
    return TreePlan(arrays, shapes, counts, where)


def _starts(lengths: Sequence[int]) -> IntArray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _targets(size: int, coordinates: FreeCoordinates) -> trees.Targets:
    """List the free coordinates that move each position."""
    d = len(coordinates.free)
    position = np.concatenate([coordinates.free, coordinates.reference])
    column = np.concatenate([np.arange(d), np.arange(d)])
    sign = np.concatenate([np.ones(d), -np.ones(d)])
    order = np.argsort(position, kind="stable")
    starts = np.searchsorted(position[order], np.arange(size + 1)).astype(np.int64)
    return trees.Targets(starts, column[order], sign[order])
