"""Components with one hidden variable, all over a table: rows as sums of shared patterns.

Where a component is a single hidden variable with K states whose families all keep it as their last
axis, its log weight is a sum of contiguous blocks of log θ, one for each family around it (a latent
class model is the case in which that is every row). Rows share more than that: over any few
families only a handful of value combinations occur. So families are put into groups, the blocks of
each combination ("pattern") are summed once per E step, and a row adds up one pattern per group
instead of one block per family. A family that a row does not have adds nothing.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lacunet.inference.devices.device import Device
from lacunet.inference.kernels import numbers, particles
from lacunet.inference.kernels import rows as kernels
from lacunet.inference.kernels.lanes import padded
from lacunet.inference.kernels.particles import ParticleState
from lacunet.inference.plans.pattern_covariance import less_pattern_covariance
from lacunet.inference.plans.plan import (
    ComponentRows,
    EStep,
    FreeCoordinates,
    JointStates,
    LinearMap,
)
from lacunet.runtime.arrays import CodeArray, FloatArray, IndexArray, IntArray
from lacunet.runtime.executor import SERIAL, Executor

# Which families to put together, and the combinations of values that occur in a group.

CACHE_CELLS = 1 << 15  # pattern tables beyond 256 KiB fall out of the second-level cache
WIDTHS = (1, 8, 16, 32, 64, 128, 256, 512, 1024)  # candidate bounds on the patterns of one group


@dataclass(frozen=True, eq=False)
class Slot:
    """One family around the hidden variable."""

    first: int  # position of its first block in a flat vector
    blocks: int  # configurations of the other variables of the family
    codes: CodeArray  # (m,) the configuration of each row; -1: the row does not have the family
    holes: bool  # whether some rows do not have it


def choose_groups(radix: IntArray, rows: int, cells: int) -> list[slice]:
    """Take the grouping with the least work: patterns of rows, plus blocks of patterns."""

    def work(groups: Sequence[slice]) -> float:
        patterns = [min(rows, math.prod(radix[g].tolist())) for g in groups]
        choices = [int(np.sum(radix[g] > 1)) for g in groups]  # a root adds one block to all
        blocks = sum(p * c for p, c in zip(patterns, choices, strict=True))
        spill = max(1.0, cells * sum(patterns) / CACHE_CELLS)  # slower memory, all the time
        # A block or a pattern costs about twice a row's pattern: it is summed, spread and cleared.
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
    """Find the value combinations that occur in a group of slots, and each row's."""
    combinations = math.prod(radix.tolist())
    kind: Any = np.int32 if combinations < 1 << 31 else np.int64  # there may be millions of rows
    number: NDArray[Any] = np.zeros(
        len(slots[0].codes), dtype=kind
    )  # the combination, in mixed radix
    for slot, r in zip(slots, radix, strict=True):
        number *= kind(r)
        number += slot.codes
        number += slot.holes
    if combinations > 4 * len(number):  # a lookup table would be mostly air: sort instead
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
    return values - np.array([s.holes for s in slots]), index


@dataclass(frozen=True, eq=False)
class PatternPlan(EStep):
    """Rows as sums of patterns, patterns as sums of blocks of a flat vector."""

    pace: ClassVar[float] = 0.25
    variable: int  # the hidden one
    cells: int  # K, its states
    positions: IntArray  # (B,) where each block of K numbers starts in a flat vector
    starts: IndexArray  # (P + 1,) where the entries of each pattern start
    entries: IndexArray  # (E,) the blocks of the patterns
    index: IndexArray  # (m, G) the patterns of each row
    counts: FloatArray  # (m,) how often each row stands in the data
    rows: ComponentRows | None
    families: IntArray  # (F + 1,) where the blocks of each family start
    groups: IntArray  # (G + 1,) where the patterns of each group start

    @property
    def members(self) -> tuple[int, ...]:
        return (self.variable,)

    @cached_property
    def patterns(self) -> int:
        """Number of patterns, over all groups."""
        return len(self.starts) - 1

    @cached_property
    def width(self) -> int:
        """Columns of every table: the cells, padded to whole lanes."""
        return padded(self.cells)

    @cached_property
    def arrays(self) -> kernels.PatternArrays:
        """What kernels read."""
        return kernels.PatternArrays(
            self.positions, self.starts, self.entries, self.index, self.cells, self.width
        )

    def touched(self) -> FloatArray:
        lengths, blocks = np.diff(self.starts), np.zeros(len(self.index))
        for patterns in self.index.T:  # a group at a time: no second index in memory
            blocks += lengths[patterns]
        return blocks * self.cells

    def weighted(self, counts: FloatArray) -> "PatternPlan":
        used = np.flatnonzero(counts)
        return replace(self, index=self.index[used], counts=counts[used], rows=None)

    def on(self, device: Device) -> "PatternPlan":
        from lacunet.inference.plans.on_device import DevicePlan

        own = {f.name: getattr(self, f.name) for f in fields(self)}
        return DevicePlan(**(own | {"device": device}))

    @cached_property
    def places(self) -> IntArray:
        """Where the numbers of each block stand in a flat vector, (B, K)."""
        return np.asarray(self.positions[:, None] + np.arange(self.cells))

    def table(self, x: FloatArray, padding: float) -> FloatArray:
        """Sum the blocks of a flat vector for each pattern, (P, W)."""
        return kernels.sum_table(self.arrays, x, padding)

    def spread(self, table: FloatArray, out: FloatArray) -> None:
        """Add what was gathered by pattern to the positions of a flat vector."""
        kernels.spread_table(self.arrays, table, out)

    def expect_one(
        self, log_weights: FloatArray, out: FloatArray, executor: Executor = SERIAL
    ) -> float:
        if len(self.pieces) == 1:
            return kernels.expect_all(self.arrays, self.counts, log_weights, out)
        table = self.table(log_weights, padding=-np.inf)
        parts, values = zip(
            *executor.map(partial(self._expect_rows, table), self.pieces), strict=True
        )
        self._put_together(parts, out)
        return math.fsum(values)

    def tangent(self, log_weights: FloatArray, executor: Executor = SERIAL) -> LinearMap:
        # Posteriors are made anew for each direction: kept, they would be larger than the data.
        table = self.table(log_weights, padding=-np.inf)

        def change(direction: FloatArray) -> FloatArray:
            along = self.table(direction, padding=0.0)
            one = partial(self._tangent_rows, table, along)
            out = np.zeros(len(direction))
            self._put_together(executor.map(one, self.pieces), out)
            return out

        return change

    def _expect_rows(self, table: FloatArray, rows: slice) -> tuple[FloatArray, float]:
        """Expected counts of the blocks, (B, W), and log-likelihood, of some rows."""
        expected = np.zeros_like(table)
        value = kernels.expect_rows(table, self.index[rows], self.counts[rows], expected)
        return self._by_block(expected), value

    def _tangent_rows(self, table: FloatArray, along: FloatArray, rows: slice) -> FloatArray:
        """How the expected counts of the blocks move, (B, W), in some rows."""
        moved = np.zeros_like(along)
        kernels.tangent_rows(table, along, self.index[rows], self.counts[rows], moved)
        return self._by_block(moved)

    def _by_block(self, table: FloatArray) -> FloatArray:
        """What was gathered by pattern, (P, W); by block it is less to be added up, one by one."""
        blocks = np.zeros((len(self.positions), self.width))
        kernels.spread_patterns(self.starts, self.entries, table, blocks)
        return blocks

    def _put_together(self, parts: Sequence[FloatArray], out: FloatArray) -> None:
        """Add what pieces have of each block, in order, to the positions of a flat vector."""
        kernels.scatter_blocks(sum(parts[1:], parts[0]), self.positions, self.cells, out)

    def less_covariance(
        self, A: FloatArray, theta: FloatArray, coordinates: FreeCoordinates
    ) -> FloatArray:
        with np.errstate(divide="ignore"):
            table = self.table(np.log(theta), padding=-np.inf)
        return less_pattern_covariance(A, self.arrays, self.counts, table, theta, coordinates)

    def draw(self, log_weights: FloatArray, counts: FloatArray, rng: Any, out: FloatArray) -> None:
        numbers.draw_patterns(self.arrays, counts, log_weights, rng, out)

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

    def take_in(self, cases: IntArray, swarm: ParticleState, least: float, rng: Any) -> int:
        return particles.take_in_rows(self.arrays, cases, swarm, least, rng)

    def pass_over(
        self, cases: IntArray, drawn: int, beliefs: particles.PosteriorState, rng: Any
    ) -> float:
        return particles.pass_over_rows(self._written_out, cases, drawn, beliefs, rng)

    @cached_property
    def _written_out(self) -> particles.RowArrays:
        """The blocks of all rows."""
        length = np.diff(self.starts)[self.index]  # (m, G) blocks of each pattern of each row
        ends = np.cumsum(length.reshape(-1))
        within = np.arange(ends[-1]) - np.repeat(ends - length.reshape(-1), length.reshape(-1))
        first = np.repeat(self.starts[self.index].reshape(-1), length.reshape(-1))
        starts = np.concatenate([[0], np.cumsum(length.sum(axis=1))]).astype(np.int64)
        blocks = self.positions[self.entries[first + within]]
        return particles.RowArrays(starts, blocks, self.cells)

    def sizes(self) -> IntArray:
        return np.full(len(self.counts), self.cells)

    def choices(self) -> Iterator[JointStates]:
        """A row's cells are neighbours in each of its blocks."""
        for patterns, w in zip(self.index, self.counts, strict=True):
            blocks = np.concatenate(
                [self.entries[self.starts[p] : self.starts[p + 1]] for p in patterns]
            )
            yield JointStates(int(w), self.positions[blocks] + np.arange(self.cells)[:, None])


def pattern_plan(
    variable: int,
    cells: int,
    slots: Sequence[Slot],
    counts: FloatArray,
    where: ComponentRows | None = None,
) -> PatternPlan:
    """Group the slots and list the patterns that occur."""
    radix = np.array(
        [s.blocks + s.holes for s in slots], dtype=np.int64
    )  # a hole is one more value
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
