"""E steps of components with one hidden variable: rows as sums of shared patterns.

Suppose that a hidden variable with K states is the last axis of all its families, as in latent
class models. Then its log weights are a sum of contiguous blocks of log θ, one per family. A few
families together have few value combinations (*patterns*). So families are grouped, each E step
sums the blocks of each pattern once, and a row adds one pattern per group.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lacunet.inference.devices.device import Device, DeviceRows, Field, pack
from lacunet.inference.kernels import draws
from lacunet.inference.kernels import rows as kernels
from lacunet.inference.kernels.draws import ParticleState
from lacunet.inference.kernels.lanes import padded
from lacunet.inference.plans.pattern_covariance import subtract_pattern_covariance
from lacunet.inference.plans.plan import (
    ComponentRows,
    DeviceableEStep,
    FreeCoordinates,
    JointStates,
    LinearMap,
)
from lacunet.runtime.arrays import CodeArray, FloatArray, IndexArray, IntArray
from lacunet.runtime.executor import Executor

# Grouping of families, and the value combinations that occur in a group.

CACHE_CELLS = 1 << 15  # larger pattern tables (256 KiB) exceed the second-level cache
WIDTHS = (1, 8, 16, 32, 64, 128, 256, 512, 1024)  # candidate bounds on the patterns of one group


@dataclass(frozen=True, eq=False)
class Slot:
    """A family around the hidden variable."""

    first: int  # position of its first block in a flat vector
    blocks: int  # configurations of the other variables of the family
    codes: CodeArray  # (m,) the configuration of each row; -1 without the family
    incomplete: bool  # whether some rows lack the family


def choose_groups(radix: IntArray, rows: int, cells: int) -> list[slice]:
    """Choose the grouping with the least work: patterns of rows plus blocks of patterns."""

    def work(groups: Sequence[slice]) -> float:
        patterns = [min(rows, math.prod(radix[g].tolist())) for g in groups]
        choices = [int(np.sum(radix[g] > 1)) for g in groups]  # a root adds one block to all
        blocks = sum(p * c for p, c in zip(patterns, choices, strict=True))
        spill = max(1.0, cells * sum(patterns) / CACHE_CELLS)  # slower memory
        # A block or a pattern costs about twice a row's pattern: sum, spread and clear.
        adds: int = rows * len(groups) + 2 * (blocks + sum(patterns))
        return adds * math.sqrt(math.sqrt(spill))

    return min((list(_group(radix, width)) for width in WIDTHS), key=work)


def _group(radix: IntArray, width: int) -> Iterator[slice]:
    """Cut neighbouring slots into groups of at most `width` value combinations."""
    first, combinations = 0, 1
    for j, r in enumerate(radix):
        if j > first and combinations * r > width:
            yield slice(first, j)
            first, combinations = j, 1
        combinations *= int(r)
    yield slice(first, len(radix))


def find_patterns(slots: Sequence[Slot], radix: IntArray) -> tuple[IntArray, IntArray]:
    """Value combinations that occur in a group of slots, and each row's index."""
    combinations = math.prod(radix.tolist())
    kind: Any = np.int32 if combinations < 1 << 31 else np.int64  # there may be millions of rows
    number: NDArray[Any] = np.zeros(len(slots[0].codes), dtype=kind)  # in mixed radix
    for slot, r in zip(slots, radix, strict=True):
        number *= kind(r)
        number += slot.codes
        number += slot.incomplete
    if combinations > 4 * len(number):  # a lookup table would be mostly empty: sort instead
        seen, index = np.unique(number, return_inverse=True)
    else:
        occurs = np.zeros(combinations, dtype=bool)
        occurs[number] = True
        seen = np.flatnonzero(occurs)
        index = (np.cumsum(occurs, dtype=kind) - kind(1))[number]
    values = np.empty((len(seen), len(radix)), dtype=np.int64)
    rest = seen.copy()
    for j in reversed(range(len(radix))):
        rest, values[:, j] = np.divmod(rest, radix[j])
    return values - np.array([s.incomplete for s in slots]), index


@dataclass(frozen=True, eq=False)
class PatternPlan(DeviceableEStep):
    """Rows as sums of patterns, patterns as sums of blocks of a flat vector."""

    pace: ClassVar[float] = 0.25
    device_pace: ClassVar[float] = 5e-4
    variable: int  # the hidden one
    cells: int  # K, its states
    positions: IntArray  # (B,) where each block of K numbers starts in a flat vector
    starts: IndexArray  # (P + 1,) where the entries of each pattern start
    entries: IndexArray  # (E,) the blocks of the patterns
    index: IndexArray  # (m, G) the patterns of each row
    counts: FloatArray  # (m,) weight of each row
    rows: ComponentRows | None
    families: IntArray  # (F + 1,) where the blocks of each family start
    groups: IntArray  # (G + 1,) where the patterns of each group start

    @property
    def members(self) -> tuple[int, ...]:
        return (self.variable,)

    @cached_property
    def patterns(self) -> int:
        """Number of patterns in all groups."""
        return len(self.starts) - 1

    @cached_property
    def width(self) -> int:
        """Columns of every table: the cells, padded to whole lanes."""
        return padded(self.cells)

    @cached_property
    def arrays(self) -> kernels.PatternArrays:
        """Arguments of the kernels."""
        return kernels.PatternArrays(
            self.positions, self.starts, self.entries, self.index, self.cells, self.width
        )

    def touched(self) -> FloatArray:
        lengths, blocks = np.diff(self.starts), np.zeros(len(self.index))
        for patterns in self.index.T:  # a group at a time, to save memory
            blocks += lengths[patterns]
        return blocks * self.cells

    def sizes(self) -> IntArray:
        return np.full(len(self.counts), self.cells)

    def weighted(self, counts: FloatArray) -> "PatternPlan":
        used = np.flatnonzero(counts)
        return replace(self, index=self.index[used], counts=counts[used], rows=None)

    @cached_property
    def places(self) -> IntArray:
        """Positions of the numbers of each block in a flat vector, (B, K)."""
        return np.asarray(self.positions[:, None] + np.arange(self.cells))

    def hold(self, device: Device) -> DeviceRows:
        return device.hold(pack(self._fields(), self.counts, self.cells))

    def to_blocks(self, flat: FloatArray) -> FloatArray:
        return np.asarray(flat[..., self.places])

    def from_blocks(self, counts: FloatArray, out: FloatArray) -> None:
        out[..., self.places] += counts

    def _fields(self) -> Sequence[Field]:
        """The block of each family, by row."""
        family = np.repeat(np.arange(len(self.families) - 1), np.diff(self.families))[self.entries]
        pattern = np.repeat(np.arange(self.patterns), np.diff(self.starts))
        group = np.searchsorted(self.groups, pattern, side="right") - 1
        fields = []
        for f, (first, last) in enumerate(pairwise(self.families)):
            in_family = family == f
            values = np.full(self.patterns, -1, dtype=np.int32)
            values[pattern[in_family]] = self.entries[in_family] - first
            fields.append(Field(values[self.index[:, group[in_family][0]]], int(last - first)))
        return fields

    def table(self, x: FloatArray, padding: float) -> FloatArray:
        """Sum the blocks of a flat vector for each pattern, (P, W)."""
        return kernels.sum_table(self.arrays, x, padding)

    def spread(self, table: FloatArray, out: FloatArray) -> None:
        """Add sums by pattern to the positions of a flat vector."""
        kernels.spread_table(self.arrays, table, out)

    def expect_on_host(self, log_weights: FloatArray, out: FloatArray, executor: Executor) -> float:
        if len(self.pieces) == 1:
            return kernels.expect_all(self.arrays, self.counts, log_weights, out)
        one = partial(self._expect_rows, self.table(log_weights, padding=-np.inf))
        parts, values = zip(*executor.map(one, self.pieces), strict=True)
        self._add_blocks(parts, out)
        return math.fsum(values)

    def tangent_on_host(self, log_weights: FloatArray, executor: Executor) -> LinearMap:
        # Posteriors are recomputed for each direction: stored, they would be larger than the data.
        table = self.table(log_weights, padding=-np.inf)

        def change(direction: FloatArray) -> FloatArray:
            one = partial(self._tangent_rows, table, self.table(direction, padding=0.0))
            out = np.zeros(len(direction))
            self._add_blocks(executor.map(one, self.pieces), out)
            return out

        return change

    def _expect_rows(self, table: FloatArray, rows: slice) -> tuple[FloatArray, float]:
        """Expected counts of the blocks, (B, W), and log-likelihood, of some rows."""
        expected = np.zeros_like(table)
        value = kernels.expect_rows(table, self.index[rows], self.counts[rows], expected)
        return self._by_block(expected), value

    def _tangent_rows(self, table: FloatArray, along: FloatArray, rows: slice) -> FloatArray:
        """Changes of the expected counts of the blocks, (B, W), in some rows."""
        moved = np.zeros_like(along)
        kernels.tangent_rows(table, along, self.index[rows], self.counts[rows], moved)
        return self._by_block(moved)

    def _by_block(self, table: FloatArray) -> FloatArray:
        """Sum a table of patterns, (P, W), by block."""
        blocks = np.zeros((len(self.positions), self.width))
        kernels.spread_patterns(self.starts, self.entries, table, blocks)
        return blocks

    def _add_blocks(self, parts: Sequence[FloatArray], out: FloatArray) -> None:
        """Add the blocks of all pieces, in order, to the positions of a flat vector."""
        kernels.scatter_blocks(sum(parts[1:], parts[0]), self.positions, self.cells, out)

    def subtract_covariance(
        self, A: FloatArray, theta: FloatArray, coordinates: FreeCoordinates
    ) -> FloatArray:
        with np.errstate(divide="ignore"):
            table = self.table(np.log(theta), padding=-np.inf)
        return subtract_pattern_covariance(A, self.arrays, self.counts, table, theta, coordinates)

    def posterior(
        self, log_weights: FloatArray, first: int, last: int
    ) -> tuple[FloatArray, FloatArray]:
        log_z, posterior = np.empty(len(self.index)), np.empty((len(self.index), self.width))
        table = self.table(log_weights, padding=-np.inf)
        kernels.posterior_rows(table, self.index, posterior, log_z)
        return log_z, self.put(posterior, first, last)

    def put(self, posterior: FloatArray, first: int, last: int) -> FloatArray:
        """E[N] of each row in families first to last, from the posterior of its cells, (m, W)."""
        N = np.zeros((len(posterior), last - first))
        if N.size:
            kernels.put_posteriors(self.arrays, posterior, first, N)
        return N

    def draw(self, log_weights: FloatArray, counts: FloatArray, rng: Any, out: FloatArray) -> None:
        draws.draw_patterns(self.arrays, counts, log_weights, rng, out)

    def take_in(self, cases: IntArray, particles: ParticleState, least: float, rng: Any) -> int:
        return draws.take_in_rows(self.arrays, cases, particles, least, rng)

    def choices(self) -> Iterator[JointStates]:
        for patterns, w in zip(self.index, self.counts, strict=True):
            blocks = [self.entries[self.starts[p] : self.starts[p + 1]] for p in patterns]
            yield JointStates(int(w), self.places[np.concatenate(blocks)].T)


def pattern_plan(
    variable: int,
    cells: int,
    slots: Sequence[Slot],
    counts: FloatArray,
    where: ComponentRows | None = None,
) -> PatternPlan:
    """Group the slots and list the patterns that occur."""
    # A missing family is one more value.
    radix = np.array([s.blocks + s.incomplete for s in slots], dtype=np.int64)
    block_start = np.concatenate([[0], np.cumsum([s.blocks for s in slots])])
    positions = np.concatenate([s.first + cells * np.arange(s.blocks) for s in slots])
    groups = choose_groups(radix, len(counts), cells)
    index = np.empty((len(counts), len(groups)), dtype=np.int32)
    starts: list[IntArray] = [np.zeros(1, dtype=np.int64)]
    entries: list[IntArray] = []
    first = [0]
    for g, group in enumerate(groups):
        values, index[:, g] = find_patterns(slots[group], radix[group])
        index[:, g] += first[-1]
        used = values >= 0
        entries.append((block_start[:-1][group] + values)[used])
        starts.append(starts[-1][-1] + np.cumsum(used.sum(axis=1)))
        first.append(first[-1] + len(values))
    return PatternPlan(
        variable,
        cells,
        positions.astype(np.int64),
        np.concatenate(starts).astype(np.int32),
        np.concatenate(entries).astype(np.int32),
        index,
        counts,
        where,
        block_start.astype(np.int64),
        np.array(first, dtype=np.int64),
    )
