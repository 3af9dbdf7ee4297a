"""Incomplete data as a bag of distinct local components and their counts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from lacunet.errors import ModelError
from lacunet.inference.plans.clique_trees import CodedRows, Collectors, write_kinds
from lacunet.inference.plans.decompose import (
    Parts,
    decompose,
    distinct,
    graph_of,
    hole_patterns,
    ragged,
    totals,
)
from lacunet.inference.plans.joint_numbers import BlockRows, hole_groups
from lacunet.inference.plans.numbers import NumberColumn, number_plan
from lacunet.inference.plans.patterns import Slot, pattern_plan
from lacunet.inference.plans.plan import ComponentRows, Components, EStep
from lacunet.inference.plans.trees import tree_plan
from lacunet.models.latent_class import find_classes
from lacunet.models.layout import Cells
from lacunet.models.network import Network
from lacunet.models.surgery import members, statistics_of
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IntArray

# Which variables are seen by their statistics, not by their values: a rule of the data alone.

MANY = 256  # different values, above which a number is seen by its statistics


def compact_cells(network: Network) -> Cells:
    """Cells for learning: numbers with many values by their statistics, below classes alone.

    In other networks, other parents and other hidden variables need a cell for each value.
    """
    classes = find_classes(network)
    joint = [v.name for v in network.variables if v.family.stands_at is not None]
    if classes is None and joint:
        raise ModelError(
            f"{', '.join(map(repr, joint))} have a joint distribution (--covariance). That needs "
            "a latent class model: one hidden variable that is the only parent of every column. In "
            "other networks give each number a distribution of its own."
        )
    dense = frozenset(
        i
        for i, v in enumerate(network.variables)
        if classes is not None
        and i in classes.leaves
        and (
            v.family.stands_at is not None or (v.family.powers is not None and len(v.states) > MANY)
        )
    )
    return Cells(network, dense) if dense else network.by_value


@dataclass(frozen=True)
class Collector:
    """The block of a family, where configurations of its variables are counted."""

    family: int
    first: int  # its first position in a flat vector
    strides: dict[int, int]  # how far neighbouring states of each of its variables are apart


class SeenRows(NamedTuple):
    """What rows show of a collector. An entry for each row, or several: those of statistics."""

    rows: IntArray  # (e,)
    positions: IntArray  # (e,) of a flat vector
    worth: FloatArray  # (e,) cases that a row adds there


class Builder:
    """Turns coded rows into components.

    Without `cells` every value has its own. With `keep_rows`, plans know which rows their
    components come from.
    """

    def __init__(
        self,
        network: Network,
        codes: CodeArray,
        counts: FloatArray,
        *,
        cells: Cells | None = None,
        keep_rows: bool = False,
    ) -> None:
        self.network, self.cells = network, cells or network.by_value
        self.layout = self.cells.layout
        self.counts, self.keep_rows = counts, keep_rows
        self.table = codes
        self.codes = dict(zip(network.observed, codes.T, strict=True))
        # A hidden variable with one state is known.
        known = [i for i in network.hidden if self.layout.cards[i] == 1 and not self._half_shown]
        zeros = np.broadcast_to(np.zeros(1, codes.dtype), len(counts))
        self.codes |= dict.fromkeys(known, zeros)
        self.hidden = [i for i in network.hidden if i not in known]
        self.patterns, self.pattern_of_row = hole_patterns(codes)
        own = [f for f in range(len(network.variables)) if members(self.network, f)]
        self.collectors = [self._family(f) for f in own]

    @cached_property
    def parts(self) -> Parts:
        """How each pattern of holes falls apart."""
        unobserved = np.zeros((len(self.patterns), len(self.network.variables)), dtype=np.bool_)
        unobserved[:, list(self.network.observed)] = self.patterns
        unobserved[:, self.hidden] = True
        return decompose(self.network, unobserved)

    def build(self) -> Components:
        """Count what was seen whole, merge equal components, and plan them."""
        return Components(self._seen(), tuple(self._plans()), self.cells)

    def _plans(self) -> Iterator[EStep]:
        for v, rows, slots in self._single_variables():
            all_rows = len(rows) == len(self.counts)  # and need no copy
            cells, counts = self.layout.cards[v], self.counts if all_rows else self.counts[rows]
            numbers = [i for i in sorted(self.cells.dense) if v in self.layout.families[i]]
            if not (self.keep_rows or numbers):
                yield pattern_plan(v, cells, *self._merged(slots, counts))
                continue
            kept = ComponentRows(rows, np.arange(len(rows)))
            plan = pattern_plan(v, cells, slots, counts, kept)
            stands_at = {i: self.network.variables[i].family.stands_at for i in numbers}
            columns = [self._numbers(i, rows) for i in numbers if stands_at[i] is None]
            blocks = [self._block(i, rows) for i in numbers if self._leads(i)]
            yield number_plan(plan, columns, blocks) if numbers else plan
        others = np.flatnonzero(~self._single)
        if len(others):
            yield self._tree_plan(others)

    def _family(self, f: int) -> Collector:
        layout = self.layout
        strides = {v: layout.stride(f, v) for v in layout.families[f]}
        return Collector(f, int(layout.offsets[f]), strides)

    @cached_property
    def _single(self) -> BoolArray:
        """(C,) which components are one variable that is contiguous everywhere."""
        contiguous = np.ones(len(self.network.variables), dtype=np.bool_)
        for c in self.collectors:
            contiguous[[v for v, stride in c.strides.items() if stride != 1]] = False
        return np.asarray((self.parts.size == 1) & contiguous[self.parts.seed])

    def _seen(self) -> FloatArray:
        """Count every collector whose variables were all seen."""
        size = self.layout.size
        N = np.zeros(size)
        for c in self.collectors:
            seen = self.seen_whole(c)
            N += totals(seen.positions, self.counts[seen.rows] * seen.worth, size)
        return N

    def seen_whole(self, c: Collector) -> SeenRows:
        """What rows show that show all of a collector."""
        if not all(v in self.codes for v in c.strides):
            nothing = np.zeros(0, dtype=np.int64)
            return SeenRows(nothing, nothing, np.zeros(0))
        whole = np.ones(len(self.counts), dtype=bool)
        for v in {*c.strides, *members(self.network, c.family)}:
            whole &= self.codes[v] >= 0
        rows = np.flatnonzero(whole)
        if c.family not in self.cells.dense:
            return SeenRows(rows, self._offsets(c, rows), np.ones(len(rows)))
        # A number by its statistics: a case is worth T(x) at each place.
        shown = {j: self.codes[j][rows] for j in members(self.network, c.family)}
        T = statistics_of(self.network, c.family, shown)
        places = np.arange(T.shape[1]) * c.strides[c.family]
        at = self._offsets(c, rows, besides=(c.family,))[:, None] + places
        return SeenRows(np.repeat(rows, len(places)), at.reshape(-1), T.reshape(-1))

    def _offsets(self, c: Collector, rows: IntArray, besides: Sequence[int] = ()) -> IntArray:
        """Where the observed values of some rows point to in a collector."""
        offset = np.full(len(rows), c.first, dtype=np.int64)
        for v, stride in c.strides.items():
            if v not in besides:
                offset += self.codes[v][rows].astype(np.int64) * stride
        return offset

    def _numbers(self, i: int, rows: IntArray) -> NumberColumn:
        """What rows show of a number by its statistics."""
        powers = self.network.variables[i].family.powers
        assert powers is not None  # or its cells would be its values
        return NumberColumn(*self._values(i, rows), int(self.layout.offsets[i]), powers)

    def _values(self, i: int, rows: IntArray) -> tuple[FloatArray, BoolArray]:
        """Numbers as their family sees them, 0 where one is missing; whether it is there."""
        codes = self.codes[i][rows]
        return np.where(codes >= 0, self.network.variables[i].values_of(codes), 0.0), codes >= 0

    def _leads(self, i: int) -> bool:
        """Whether the parameters of a joint distribution stand at this variable."""
        v = self.network.variables[i]
        return v.family.stands_at == v.name

    def _block(self, i: int, rows: IntArray) -> BlockRows:
        """What rows show of the variables whose parameters stand at this one."""
        layout, variables = self.layout, tuple(members(self.network, i))
        found = [self._values(j, rows) for j in variables]
        x, present = (np.stack(parts, axis=1) for parts in zip(*found, strict=True))
        classes = layout.cards[layout.families[i][0]]
        first, width = int(layout.offsets[i]), layout.widths[i]
        return BlockRows(variables, first, classes, width, hole_groups(x, present))

    @cached_property
    def _half_shown(self) -> bool:
        """Whether some row shows a part of what has a joint distribution, but not all of it."""
        found = False
        for i in filter(self._leads, self.network.observed):
            shown = np.stack([self.codes[j] >= 0 for j in members(self.network, i)])
            found |= bool((shown.any(axis=0) & ~shown.all(axis=0)).any())
        return found

    def _single_variables(self) -> Iterator[tuple[int, IntArray, list[Slot]]]:
        """Each variable that is a component by itself and contiguous: its rows, their slots."""
        parts = self.parts
        for v in np.unique(parts.seed[self._single]).tolist():
            has = np.zeros(len(parts.barren), dtype=bool)
            has[parts.pattern[self._single & (parts.seed == v)]] = True
            rows = np.flatnonzero(has[self.pattern_of_row])
            slots = [
                self._slot(c, v, rows)
                for c in self.collectors
                if v in c.strides and c.family not in self.cells.dense
            ]
            yield v, rows, [s for s in slots if s is not None]

    def _slot(self, c: Collector, v: int, rows: IntArray) -> Slot | None:
        """Look at a family around v in some rows; None if no row has it."""
        barren = np.asarray(self.parts.barren[:, members(self.network, c.family)].all(axis=1))
        absent = barren[self.pattern_of_row[rows]]
        if absent.all():  # its other variables may be hidden, and have no codes
            return None
        cells = self.layout.cards[v]
        others = {u: s // cells for u, s in c.strides.items() if u != v}
        blocks = int(np.prod([self.layout.cards[u] for u in others], dtype=np.int64))
        holes = bool(absent.any())
        if len(others) == 1 and len(rows) == len(self.counts):
            (u,) = others  # a leaf of a latent class model: no copy, its holes are -1 already
            if not holes or (absent == (self.codes[u] < 0)).all():
                return Slot(c.first, blocks, self.codes[u], holes)
        codes = np.zeros(len(rows), dtype=np.int32)
        for u, step in others.items():
            codes += self.codes[u][rows].astype(np.int32) * np.int32(step)
        codes[absent] = -1
        return Slot(c.first, blocks, codes, holes)

    def _merged(self, slots: list[Slot], counts: FloatArray) -> tuple[list[Slot], FloatArray]:
        """Merge rows that are equal in every slot, unless the slots show all of a distinct row."""
        shown = {u for s in slots for c in self.collectors if c.first == s.first for u in c.strides}
        if set(self.network.observed) <= shown:
            return slots, counts
        first, index = distinct(
            [s.codes.astype(np.int64) + s.holes for s in slots],
            [s.blocks + s.holes for s in slots],
            len(counts),
        )
        merged = [Slot(s.first, s.blocks, s.codes[first], s.holes) for s in slots]
        return merged, totals(index, counts, len(first))

    def _tree_plan(self, which: IntArray) -> EStep:
        """Plan some components, (C',), of any shape."""
        parts, n = self.parts, len(self.network.variables)
        _, first, kind = np.unique(
            parts.signature[which], axis=0, return_index=True, return_inverse=True
        )
        order = np.argsort(first)  # kinds are numbered as they first occur
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        seen_in = which[first[order]]  # a component of each kind
        holes = parts.pattern[seen_in]
        graph = graph_of(self.network)
        kinds = write_kinds(graph, parts.barren[holes], parts.label[holes], parts.seed[seen_in])
        column = np.full(n, -1, dtype=np.int64)
        column[list(self.network.observed)] = np.arange(self.table.shape[1])
        cards = np.array(self.layout.cards, dtype=np.int64)
        first_of = np.array([c.first for c in self.collectors], dtype=np.int64)
        starts, variable = ragged([list(c.strides) for c in self.collectors])
        _, stride = ragged([list(c.strides.values()) for c in self.collectors])
        return tree_plan(
            kinds,
            Collectors(first_of, starts, variable, stride, cards),
            [v.name for v in self.network.variables],
            CodedRows(
                self.table,
                column,
                *self._pairs(parts.pattern[which], place[kind.reshape(-1)], len(order)),
            ),
            self.counts,
            keep_rows=self.keep_rows,
        )

    def _pairs(self, pattern: IntArray, kind: IntArray, kinds: int) -> tuple[IntArray, IntArray]:
        """The rows of each kind, in order, from the pattern and the kind of every component."""
        by_pattern = np.argsort(self.pattern_of_row, kind="stable")
        number = np.bincount(self.pattern_of_row, minlength=len(self.patterns))
        begin = np.cumsum(number) - number
        lengths = number[pattern]
        ends = np.cumsum(lengths)
        within = np.arange(int(lengths.sum())) - np.repeat(ends - lengths, lengths)
        rows = by_pattern[np.repeat(begin[pattern], lengths) + within]
        kind_of_row = np.repeat(kind, lengths)
        order = np.lexsort((rows, kind_of_row))
        starts = np.searchsorted(kind_of_row[order], np.arange(kinds + 1))
        return starts, rows[order]
