"""Reduce incomplete data to distinct local components and their counts."""

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
    missing_patterns,
    ragged,
    totals,
)
from lacunet.inference.plans.joint_numbers import BlockRows, group_by_pattern
from lacunet.inference.plans.numbers import NumberColumn, number_plan
from lacunet.inference.plans.patterns import Slot, pattern_plan
from lacunet.inference.plans.plan import ComponentRows, Components, EStep
from lacunet.inference.plans.trees import tree_plan
from lacunet.models.latent_class import find_classes
from lacunet.models.layout import Cells
from lacunet.models.network import Network
from lacunet.models.surgery import members, statistics_of
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IntArray

# Variables stored by their statistics instead of their values; the data alone decide.

MANY = 256  # distinct values above which a number is stored by its statistics


def compact_cells(network: Network) -> Cells:
    """Cells for learning: in latent class models, numbers with many values by their statistics.

    Other networks need a cell for each value.
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
    """The block of a family in a flat vector of counts."""

    family: int
    first: int  # its first position in a flat vector
    strides: dict[int, int]  # stride of the states of each variable


class SeenRows(NamedTuple):
    """Counts that rows add to a collector: an entry for each row, or for each statistic."""

    rows: IntArray  # (e,)
    positions: IntArray  # (e,) of a flat vector
    worth: FloatArray  # (e,) what a row adds there


class Builder:
    """Turns coded rows into components.

    By default every value has a cell. With `keep_rows`, plans keep the rows of their components.
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
        self.patterns, self.pattern_of_row = missing_patterns(codes)
        families = [f for f in range(len(network.variables)) if members(self.network, f)]
        self.collectors = [self._family(f) for f in families]

    @cached_property
    def parts(self) -> Parts:
        """The components of each missing-data pattern."""
        unobserved = np.zeros((len(self.patterns), len(self.network.variables)), dtype=np.bool_)
        unobserved[:, list(self.network.observed)] = self.patterns
        unobserved[:, self.hidden] = True
        return decompose(self.network, unobserved)

    def build(self) -> Components:
        """Count fully observed families, merge equal components, and plan their E steps."""
        return Components(self._seen(), tuple(self._plans()), self.cells)

    def _plans(self) -> Iterator[EStep]:
        for v, rows, slots in self._single_variables():
            all_rows = len(rows) == len(self.counts)  # no copy needed
            cells, counts = self.layout.cards[v], self.counts if all_rows else self.counts[rows]
            numbers = [i for i in sorted(self.cells.dense) if v in self.layout.families[i]]
            if not (self.keep_rows or numbers):
                yield pattern_plan(v, cells, *self._merged(slots, counts))
                continue
            component_rows = ComponentRows(rows, np.arange(len(rows)))
            plan = pattern_plan(v, cells, slots, counts, component_rows)
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
        """(C,) which components are one variable that is the last axis of all its families."""
        contiguous = np.ones(len(self.network.variables), dtype=np.bool_)
        for c in self.collectors:
            contiguous[[v for v, stride in c.strides.items() if stride != 1]] = False
        return np.asarray((self.parts.size == 1) & contiguous[self.parts.seed])

    def _seen(self) -> FloatArray:
        """Counts of all fully observed families."""
        size = self.layout.size
        N = np.zeros(size)
        for c in self.collectors:
            seen = self.seen_whole(c)
            N += totals(seen.positions, self.counts[seen.rows] * seen.worth, size)
        return N

    def seen_whole(self, c: Collector) -> SeenRows:
        """Counts of a family in the rows that show it completely."""
        if not all(v in self.codes for v in c.strides):
            nothing = np.zeros(0, dtype=np.int64)
            return SeenRows(nothing, nothing, np.zeros(0))
        whole = np.ones(len(self.counts), dtype=bool)
        for v in {*c.strides, *members(self.network, c.family)}:
            whole &= self.codes[v] >= 0
        rows = np.flatnonzero(whole)
        if c.family not in self.cells.dense:
            return SeenRows(rows, self._offsets(c, rows), np.ones(len(rows)))
        # A number stored by its statistics adds T(x).
        shown = {j: self.codes[j][rows] for j in members(self.network, c.family)}
        T = statistics_of(self.network, c.family, shown)
        places = np.arange(T.shape[1]) * c.strides[c.family]
        at = self._offsets(c, rows, besides=(c.family,))[:, None] + places
        return SeenRows(np.repeat(rows, len(places)), at.reshape(-1), T.reshape(-1))

    def _offsets(self, c: Collector, rows: IntArray, besides: Sequence[int] = ()) -> IntArray:
        """Positions in a collector of the observed values of some rows."""
        offset = np.full(len(rows), c.first, dtype=np.int64)
        for v, stride in c.strides.items():
            if v not in besides:
                offset += self.codes[v][rows].astype(np.int64) * stride
        return offset

    def _numbers(self, i: int, rows: IntArray) -> NumberColumn:
        """The values of a number that is stored by its statistics."""
        powers = self.network.variables[i].family.powers
        assert powers is not None  # else it would be stored by its values
        return NumberColumn(*self._values(i, rows), int(self.layout.offsets[i]), powers)

    def _values(self, i: int, rows: IntArray) -> tuple[FloatArray, BoolArray]:
        """Values in the unit of the family, 0 where missing, and whether each is observed."""
        codes = self.codes[i][rows]
        return np.where(codes >= 0, self.network.variables[i].values_of(codes), 0.0), codes >= 0

    def _leads(self, i: int) -> bool:
        """Whether this variable holds the parameters of a joint distribution."""
        v = self.network.variables[i]
        return v.family.stands_at == v.name

    def _block(self, i: int, rows: IntArray) -> BlockRows:
        """The rows of the block whose parameters this variable holds."""
        layout, variables = self.layout, tuple(members(self.network, i))
        values = [self._values(j, rows) for j in variables]
        x, present = (np.stack(parts, axis=1) for parts in zip(*values, strict=True))
        classes = layout.cards[layout.families[i][0]]
        first, width = int(layout.offsets[i]), layout.widths[i]
        return BlockRows(variables, first, classes, width, group_by_pattern(x, present))

    @cached_property
    def _half_shown(self) -> bool:
        """Whether some row shows a block in part."""
        partly = False
        for i in filter(self._leads, self.network.observed):
            shown = np.stack([self.codes[j] >= 0 for j in members(self.network, i)])
            partly |= bool((shown.any(axis=0) & ~shown.all(axis=0)).any())
        return partly

    def _single_variables(self) -> Iterator[tuple[int, IntArray, list[Slot]]]:
        """Yield the rows and slots of each variable that is a contiguous component."""
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
        """Configurations of a family around v in some rows; None if no row has it."""
        barren = np.asarray(self.parts.barren[:, members(self.network, c.family)].all(axis=1))
        absent = barren[self.pattern_of_row[rows]]
        if absent.all():  # other variables may be hidden, without codes
            return None
        cells = self.layout.cards[v]
        others = {u: s // cells for u, s in c.strides.items() if u != v}
        blocks = int(np.prod([self.layout.cards[u] for u in others], dtype=np.int64))
        incomplete = bool(absent.any())
        if len(others) == 1 and len(rows) == len(self.counts):
            (u,) = others  # a leaf of a latent class model: its codes, without a copy
            if not incomplete or (absent == (self.codes[u] < 0)).all():
                return Slot(c.first, blocks, self.codes[u], incomplete)
        codes = np.zeros(len(rows), dtype=np.int32)
        for u, step in others.items():
            codes += self.codes[u][rows].astype(np.int32) * np.int32(step)
        codes[absent] = -1
        return Slot(c.first, blocks, codes, incomplete)

    def _merged(self, slots: list[Slot], counts: FloatArray) -> tuple[list[Slot], FloatArray]:
        """Merge rows that are equal in every slot, unless the slots show all columns."""
        shown = {u for s in slots for c in self.collectors if c.first == s.first for u in c.strides}
        if set(self.network.observed) <= shown:
            return slots, counts
        first, index = distinct(
            [s.codes.astype(np.int64) + s.incomplete for s in slots],
            [s.blocks + s.incomplete for s in slots],
            len(counts),
        )
        merged = [Slot(s.first, s.blocks, s.codes[first], s.incomplete) for s in slots]
        return merged, totals(index, counts, len(first))

    def _tree_plan(self, which: IntArray) -> EStep:
        """Plan components of any shape, given by their indices, (C',)."""
        parts, n = self.parts, len(self.network.variables)
        _, first, kind = np.unique(
            parts.signature[which], axis=0, return_index=True, return_inverse=True
        )
        order = np.argsort(first)  # kinds are numbered as they first occur
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        seen_in = which[first[order]]  # a component of each kind
        pattern = parts.pattern[seen_in]
        graph = graph_of(self.network)
        kinds = write_kinds(graph, parts.barren[pattern], parts.label[pattern], parts.seed[seen_in])
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
        """The rows of each kind, in order, given the pattern and the kind of every component."""
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
