"""The exact evidence: BD summed over all completions of the data, by dynamic programming.

Complete families have a closed form. Hidden components are added one by one to a table from count
vectors to the number of completions with these counts. So the size depends on the distinct counts,
not on the number of cases. The last component is summed directly, without a table.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from lacunet.errors import OptionError
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.particles import check_whole
from lacunet.inference.sums import packing as kernels
from lacunet.inference.sums.blocks import (
    CountPlaces,
    SumBlock,
    SumPart,
    choice_sizes,
    log_ways,
    ways,
)
from lacunet.inference.sums.order import Order, order_parts, planning_work
from lacunet.inference.sums.packing import CountPacking, pack_by_state, pack_counts
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray

LARGEST = 1_000_000_000  # additions to a count vector: a minute or two
MOST_VECTORS = 1 << 23  # count vectors in a table, if one integer each: below a GiB in all
MOST_OFF = 2  # limit of steps over planned steps: with symmetric states plans are estimates
# Beyond these limits planning itself would take too long.
MOST_COMPONENTS = 10_000  # in all
PLANNED = 100  # multiplications in planning for each step of the sum
MOST_CONNECTED = 200  # in one block
MOST_ENTRIES = 1 << 22  # joint cells, or cases, times places of a block

Table: TypeAlias = tuple[IntArray, FloatArray]  # sorted count vectors, and the log ways to each


@dataclass(frozen=True)
class ExactEvidence:
    """An exact evidence with the size of its sum."""

    value: float  # log p(D|S), all labellings included
    terms: int  # completions; those that only exchange equal cases count as one
    states: int  # the most count vectors in a table
    steps: int  # additions to a count vector


@dataclass(frozen=True, eq=False)
class ExactPlan:
    """A feasible sum over completions."""

    constant: float  # log evidence of the counts common to all completions
    blocks: tuple[tuple[SumBlock, Order], ...]


def terms(problem: Problem) -> int:
    """Count the completions; those that only exchange equal cases count as one."""
    return math.prod(ways(w, k) for w, k in choice_sizes(problem))


def exact_evidence(problem: Problem, *, largest: int = LARGEST) -> ExactEvidence:
    """Sum BD over all completions, if that takes at most `largest` steps."""
    plan = plan_exact(problem, largest=largest)
    value, states, steps = plan.constant, 1, 0
    for block, order in plan.blocks:
        table = _Table(block, order, MOST_OFF * largest - steps)
        if not table.add_parts():
            raise _too_large(problem, largest)
        value += table.sum_last()
        states, steps = max(states, table.largest), steps + table.steps
    return ExactEvidence(value, terms(problem), states, steps)


def plan_exact(problem: Problem, *, largest: int = LARGEST) -> ExactPlan:
    """Plan the sum, or refuse it, before anything large is allocated."""
    check_whole(problem)
    if not problem.layout.tabular:
        raise OptionError(
            "the exact evidence is a sum over counts, so it needs categorical variables. Estimate "
            "it by sampling instead (--method ais): that has an error bar."
        )
    sizes = [(w, k) for w, k in choice_sizes(problem) if w > 0]
    if len(sizes) > MOST_COMPONENTS or sum(k for _, k in sizes) > MOST_ENTRIES:
        raise _too_large(problem, largest)
    choices = [c for plan in problem.components.plans for c in plan.completions.choices()]
    places = CountPlaces(problem, [c for c in choices if c.count > 0])
    blocks, steps = [], 0.0
    for members in places.connected():
        if len(members) > MOST_CONNECTED or places.extent(members) > MOST_ENTRIES:
            raise _too_large(problem, largest)
        block = places.block(members)
        if planning_work(block) > PLANNED * largest:
            raise _too_large(problem, largest)
        order = order_parts(block, lambda words: min(_room(words), largest))
        steps += math.inf if order is None else order.steps
        if order is None or steps > largest:
            raise _too_large(problem, largest)
        blocks.append((block, order))
    return ExactPlan(places.constant, tuple(blocks))


def _room(words: int) -> int:
    """The number of count vectors of so many integers that fit into memory."""
    return 3 * MOST_VECTORS // (2 + words)


def _too_large(problem: Problem, largest: int) -> OptionError:
    """The error with the size of the sum and an alternative."""
    digits = sum(log_ways(w, k) for w, k in choice_sizes(problem)) / math.log(10)
    count = f"{terms(problem):,}" if digits < 15 else f"about 10^{digits:.0f}"
    return OptionError(
        f"the exact evidence is a sum over {count} completions of the hidden values. Summing them "
        f"by counts may take more than {largest:,} steps or {MOST_VECTORS:,} count "
        "vectors at a time. Estimate it by sampling instead (--method ais): that has an error bar."
    )


class _Table:
    """The packed and sorted count vectors of a block, with log numbers of completions."""

    def __init__(self, block: SumBlock, order: Order, most: float) -> None:
        """Start without components; take at most `most` steps."""
        self.block, self.order, self.most = block, order, most
        self.keys = np.zeros((1, 1), dtype=np.int64)
        self.log_ways: FloatArray = np.zeros(1)
        self.open = np.zeros(len(block.tables), dtype=np.bool_)  # places that may still change
        self.packing: CountPacking = pack_counts(block, (), self.open)
        self.largest, self.steps = 1, 0

    def add_parts(self) -> bool:
        """Add all components but the last; False if the limits are exceeded."""
        parts = self.order.parts
        ends = [t + 1 for t in range(len(parts) - 1) if self.order.closing[t]]
        first = 0
        for end in [*ends, len(parts) - 1]:
            self._repack(parts[:end], np.any([p.touched for p in parts[first:]], axis=0))
            for part in parts[first:end]:
                if not self._add(part):
                    return False
            first = end
        return self.steps + len(self.keys) * parts[-1].ways <= self.most

    def sum_last(self) -> float:
        """Log of the sum over all completions, with the last component added."""
        last = self.order.parts[-1]
        counts, log_orders = last.completions()
        self.steps += len(self.keys) * len(counts)
        raised = np.flatnonzero(last.touched)
        return kernels.sum_last(
            self.packing.digits,
            kernels.Vectors(self.keys, self.log_ways),
            self.block.tables,
            np.flatnonzero(self.open & ~last.touched),
            kernels.Last(raised, counts[:, raised], log_orders),
        )

    def _repack(self, parts: Sequence[SumPart], still_touched: BoolArray) -> None:
        """Close the places that later components leave unchanged, and repack the count vectors."""
        closing = np.flatnonzero(self.open & ~still_touched)
        self.open = np.any([self.open, *(p.touched for p in parts)], axis=0) & still_touched
        old, states = self.packing, self.order.states
        new = None if states is None else pack_by_state(self.block, parts, states)
        new = new or pack_counts(self.block, parts, self.open)
        keys = np.empty((len(self.keys), new.words), dtype=np.int64)
        kernels.close_places(
            old.digits,
            kernels.Vectors(self.keys, self.log_ways),
            self.block.tables,
            closing,
            kernels.Anew(new.digits.word, new.digits.step, new.places, keys),
        )
        self.keys, self.log_ways = _sorted(keys, self.log_ways)
        self.packing = new

    def _add(self, part: SumPart) -> bool:
        """Add every completion of a component, merging tables of similar size."""
        counts, log_orders = part.completions()
        moves = self.packing.pack(counts)
        self.steps += len(self.keys) * len(moves)
        if self.steps > self.most:
            return False
        most = _room(self.packing.words)
        tables: list[tuple[int, Table]] = []  # with the number of completions in each
        for n, (move, x) in enumerate(zip(moves, log_orders, strict=True)):
            size, table = 1, (self.keys + move, self.log_ways + x)
            while tables and (tables[-1][0] == size or n == len(moves) - 1):
                before, other = tables.pop()
                size, table = size + before, kernels.merge_tables(*other, *table)
                if len(table[0]) > most // 2:
                    table = self._renumbered(table)
                if len(table[0]) > most:
                    return False
            tables.append((size, table))
        ((_, table),) = tables
        self.keys, self.log_ways = self._renumbered(table)
        self.largest = max(self.largest, len(self.keys))
        return True

    def _renumbered(self, table: Table) -> Table:
        """Merge count vectors that differ only by a permutation of symmetric states."""
        if not self.packing.symmetric:
            return table
        keys, log_ways = table
        keys.sort(axis=1)
        return _sorted(keys, log_ways)


def _sorted(keys: IntArray, log_ways: FloatArray) -> Table:
    order = np.lexsort(keys.T[::-1])
    return kernels.merge_neighbours(keys[order], log_ways[order])
