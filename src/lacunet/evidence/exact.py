"""The evidence itself, where it can be computed: BD summed over all completions.

What was seen whole is absorbed in closed form. What is hidden is added component by component to a
table from the counts that completions leave to the number of ways to leave them (dynamic
programming), so that a few distinct rows with hundreds of cases are no more than their counts. The
last component is summed as it is reached, without a table.
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
MOST_VECTORS = 1 << 23  # count vectors in a table, if an integer holds one: below a GiB in all
MOST_OFF = 2  # times as many steps as planned may be taken: of symmetric states plans are estimates
# Beyond these nothing is planned, for planning itself would take long.
MOST_COMPONENTS = 10_000  # in all
PLANNED = 100  # multiplications of a plan, for each step that the sum may take
MOST_CONNECTED = 200  # in one block
MOST_ENTRIES = 1 << 22  # joint cells, or cases, times places of a block

Table: TypeAlias = tuple[IntArray, FloatArray]  # sorted count vectors, and the log ways to each


@dataclass(frozen=True)
class ExactEvidence:
    """An evidence without an error."""

    value: float  # log p(D|S), all labellings included
    terms: int  # completions; those that only exchange equal cases count as one
    states: int  # count vectors that they were merged into, at most at a time
    steps: int  # additions to a count vector


@dataclass(frozen=True, eq=False)
class ExactPlan:
    """A sum over completions that can be done."""

    constant: float  # log evidence of what every completion has
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
    """Plan the sum, or refuse it, before anything large is made."""
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
        if planning_work(block) > PLANNED * largest:  # the plan would take longer than the sum
            raise _too_large(problem, largest)
        order = order_parts(block, lambda words: min(_room(words), largest))
        steps += math.inf if order is None else order.steps
        if order is None or steps > largest:
            raise _too_large(problem, largest)
        blocks.append((block, order))
    return ExactPlan(places.constant, tuple(blocks))


def _room(words: int) -> int:
    """How many count vectors of that many integers fit into memory."""
    return 3 * MOST_VECTORS // (2 + words)


def _too_large(problem: Problem, largest: int) -> OptionError:
    """Say how large the sum would be, and what to do instead."""
    digits = sum(log_ways(w, k) for w, k in choice_sizes(problem)) / math.log(10)
    count = f"{terms(problem):,}" if digits < 15 else f"about 10^{digits:.0f}"
    return OptionError(
        f"the exact evidence is a sum over {count} completions of what is hidden, and adding them "
        f"up by their counts may take more than {largest:,} steps or {MOST_VECTORS:,} count "
        "vectors at a time. Estimate it by sampling instead (--method ais): that has an error bar."
    )


class _Table:
    """The count vectors of a block, packed and sorted, and the log number of ways to each."""

    def __init__(self, block: SumBlock, order: Order, most: float) -> None:
        """Start with no component; at most so many steps are taken."""
        self.block, self.order, self.most = block, order, most
        self.keys = np.zeros((1, 1), dtype=np.int64)
        self.log_ways: FloatArray = np.zeros(1)
        self.open = np.zeros(len(block.tables), dtype=np.bool_)  # places that are not closed
        self.packing: CountPacking = pack_counts(block, (), self.open)
        self.largest, self.steps = 1, 0

    def add_parts(self) -> bool:
        """Add all components but the last; False, if it turns out to be too much after all."""
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
        """Add the last component, and sum over everything."""
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
        """Close the places that nothing touches any more; pack what some components leave."""
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
        """Add every way to complete a component, merging tables of about the same size."""
        counts, log_orders = part.completions()
        moves = self.packing.pack(counts)
        self.steps += len(self.keys) * len(moves)
        if self.steps > self.most:
            return False
        most = _room(self.packing.words)
        held: list[tuple[int, Table]] = []  # tables, and the number of ways in each
        for n, (move, x) in enumerate(zip(moves, log_orders, strict=True)):
            size, table = 1, (self.keys + move, self.log_ways + x)
            while held and (held[-1][0] == size or n == len(moves) - 1):
                before, other = held.pop()
                size, table = size + before, kernels.merge_tables(*other, *table)
                if len(table[0]) > most // 2:
                    table = self._renumbered(table)
                if len(table[0]) > most:
                    return False
            held.append((size, table))
        ((_, table),) = held
        self.keys, self.log_ways = self._renumbered(table)
        self.largest = max(self.largest, len(self.keys))
        return True

    def _renumbered(self, table: Table) -> Table:
        """Make vectors one that differ by a renumbering of states, where that changes nothing."""
        if not self.packing.symmetric:
            return table
        keys, log_ways = table
        keys.sort(axis=1)
        return _sorted(keys, log_ways)


def _sorted(keys: IntArray, log_ways: FloatArray) -> Table:
    order = np.lexsort(keys.T[::-1])
    return kernels.merge_neighbours(keys[order], log_ways[order])
