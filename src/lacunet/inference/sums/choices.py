"""What can stand in the holes: the joint cells of every distinct component, written out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lacunet.arrays import FloatArray, IntArray
from lacunet.inference.plans.patterns import PatternPlan
from lacunet.inference.plans.trees import TreePlan
from lacunet.inference.problem import Problem
from lacunet.model.layout import Layout


@dataclass(frozen=True, eq=False)
class Choice:
    """A distinct component: each of its cases takes one of K joint hidden cells."""

    count: int  # w, its cases
    cells: IntArray  # (K, F) positions of a flat vector that each cell adds a case to


def choice_sizes(problem: Problem) -> Iterator[tuple[int, int]]:
    """Cases w and cells K of each distinct component, without writing its cells out."""
    for plan in problem.components.patterns:
        for w in plan.counts:
            yield int(w), plan.cells
    if (trees := problem.components.trees) is not None:
        a = trees.arrays
        for t, kind in enumerate(trees.kinds):
            cells = math.prod(problem.layout.cards[v] for v in kind.members)
            for w in a.counts[a.kind_instances[t] : a.kind_instances[t + 1]]:
                yield int(w), cells


def choices(problem: Problem) -> Iterator[Choice]:
    """Write every distinct component out."""
    for plan in problem.components.patterns:
        yield from _choices_of_rows(plan)
    if problem.components.trees is not None:
        yield from _choices_of_trees(problem.components.trees, problem.layout)


def _choices_of_rows(plan: PatternPlan) -> Iterator[Choice]:
    """One hidden variable: a row's cells are neighbours in each of its blocks."""
    for patterns, w in zip(plan.index, plan.counts, strict=True):
        blocks = np.concatenate(
            [plan.entries[plan.starts[p] : plan.starts[p + 1]] for p in patterns]
        )
        yield Choice(int(w), plan.positions[blocks] + np.arange(plan.cells)[:, None])


def _choices_of_trees(trees: TreePlan, layout: Layout) -> Iterator[Choice]:
    """Any component: the joint states of its members, without cliques."""
    a = trees.arrays
    for t, kind in enumerate(trees.kinds):
        shape = [layout.cards[v] for v in kind.members]
        states = np.indices(shape).reshape(len(shape), -1)
        strides = [
            [layout.stride(f, v) if v in layout.families[f] else 0 for v in kind.members]
            for f in kind.families
        ]
        steps = (np.array(strides, dtype=np.int64) @ states).T
        counts = a.counts[a.kind_instances[t] : a.kind_instances[t + 1]]
        offsets = a.offsets[a.kind_offsets[t] :][: len(counts) * len(kind.families)]
        for w, row in zip(counts, offsets.reshape(len(counts), -1), strict=True):
            yield Choice(int(w), row + steps)


def compositions(cases: int, cells: int) -> IntArray:
    """All ways to share cases out to cells, (ways, cells).

    >>> compositions(2, 2).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    left = np.array([cases], dtype=np.int64)
    taken = np.zeros((1, 0), dtype=np.int64)
    for _ in range(cells - 1):
        options = left + 1
        which = np.repeat(np.arange(len(left)), options)
        first = np.cumsum(options) - options
        here = np.arange(len(which)) - first[which]
        taken = np.column_stack([taken[which], here])
        left = left[which] - here
    return np.column_stack([taken, left])


def ways(cases: int, cells: int) -> int:
    """Count the compositions."""
    return math.comb(cases + cells - 1, min(cases, cells - 1))


def log_ways(cases: int, cells: int) -> float:
    """Log of that number, also where it has millions of digits."""
    fewer, more = sorted((cases, cells - 1))
    if more > 1 << 50:  # more is all that counts, and no float may hold it
        return fewer * math.log(more) - math.lgamma(fewer + 1)
    return float(np.sum(np.log1p(more / np.arange(1.0, fewer + 1))))


def log_multinomials(shares: IntArray) -> FloatArray:
    """Log of the number of ways to order the cases of each composition, (ways,)."""
    factorials = np.array([math.lgamma(n + 1) for n in range(int(shares[0].sum()) + 1)])
    orders: FloatArray = factorials[-1] - factorials[shares].sum(axis=1)
    return orders
