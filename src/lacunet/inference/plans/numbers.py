"""E steps with one hidden variable and numbers with too many values for a cell each.

Such a number is stored by its statistics: the log weight of a row is T(x)·η, with a block of η for
each component of T. T is a polynomial of x, so log weights are sums of patterns (`plans.patterns`)
plus matrix products with the powers of the numbers (`kernels.numbers`).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np

from lacunet.errors import OptionError
from lacunet.inference.devices.device import LEAST, DenseFeatures, Device, DeviceRows
from lacunet.inference.kernels import numbers as kernels
from lacunet.inference.kernels.draws import ParticleState, draw_number_cells
from lacunet.inference.kernels.numbers import NumberRows, NumberWeights
from lacunet.inference.kernels.rows import mark_blocks
from lacunet.inference.plans.joint_numbers import NUMBERS_AT_ONCE, BlockRows
from lacunet.inference.plans.pattern_covariance import covariance_of_features
from lacunet.inference.plans.patterns import PatternPlan
from lacunet.inference.plans.plan import (
    ComponentRows,
    DeviceableEStep,
    FeatureCovariance,
    FreeCoordinates,
    JointStates,
    LinearMap,
)
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.executor import Executor

MOST_FEATURES = 4096  # times classes: above, tangents are faster
BY_VALUE = "sequential updates need a problem with a cell for each value"


@dataclass(frozen=True, eq=False)
class Powers:
    """Map from the powers of each number to blocks of a flat vector. E entries."""

    positions: IntArray  # (E,) where a block of K numbers starts
    power: IntArray  # (E,) 0, 1 or 2
    column: IntArray  # (E,) index of the number
    factor: FloatArray  # (E,) coefficient of the power


@dataclass(frozen=True, eq=False)
class NumberPlan(DeviceableEStep):
    """Rows as sums of patterns and of polynomials of D numbers."""

    pace: ClassVar[float] = 0.3
    device_pace: ClassVar[float] = 2e-3
    patterns: PatternPlan  # of the other columns
    x: FloatArray  # (m, D) numbers in the unit of their families; 0 where missing
    marks: Any  # (m, D) bytes: 1 where observed; (0, D) if none is missing
    powers: Powers
    blocks: tuple[BlockRows, ...] = ()  # numbers with a joint distribution

    @property
    def counts(self) -> FloatArray:  # type: ignore[override]
        """Weight of each row."""
        return self.patterns.counts

    @property
    def rows(self) -> ComponentRows | None:  # type: ignore[override]
        """The data rows."""
        return self.patterns.rows

    @property
    def members(self) -> tuple[int, ...]:
        return (*self.patterns.members, *(v for block in self.blocks for v in block.members))

    def touched(self) -> FloatArray:
        products = sum(block.width for block in self.blocks)
        each = (3.0 * self.x.shape[1] + 2.0 * products) * self.patterns.width
        return np.asarray(self.patterns.touched() + each)

    def sizes(self) -> IntArray:
        return self.patterns.sizes()

    def weighted(self, counts: FloatArray) -> "NumberPlan":
        used = np.flatnonzero(counts)
        marks = self.marks[used] if len(self.marks) else self.marks
        blocks = tuple(block.only(used, len(counts)) for block in self.blocks)
        patterns = self.patterns.weighted(counts)
        return replace(self, patterns=patterns, x=self.x[used], marks=marks, blocks=blocks)

    def _shown(self, rows: slice, besides: FloatArray | None = None) -> NumberRows:
        marks = self.marks[rows] if len(self.marks) else self.marks
        extra = np.zeros((0, self.patterns.width)) if besides is None else besides[rows]
        return NumberRows(self.x[rows], marks, self.patterns.index[rows], extra)

    def _weights(self, flat: FloatArray, padding: float) -> NumberWeights:
        """Log weights of patterns and powers in a flat vector."""
        table = self.patterns.table(flat, padding)
        powers = self._powers_of(flat)
        if self.x.shape[1] and not len(self.marks):  # complete: constant terms go to all patterns
            table[: self._first] += powers[0].sum(axis=0)
        return NumberWeights(table, powers)

    def _powers_of(self, flat: FloatArray) -> FloatArray:
        """Log weights of the powers of each number in a flat vector, (3, D, W)."""
        powers, K = self.powers, self.patterns.cells
        blocks = np.maximum(flat[powers.positions[:, None] + np.arange(K)], LEAST)
        weights = np.zeros((3, self.x.shape[1], self.patterns.width))
        np.add.at(weights[:, :, :K], (powers.power, powers.column), powers.factor[:, None] * blocks)
        return weights

    @cached_property
    def _first(self) -> int:
        """Number of patterns of the first group; every row has one of them."""
        return int(self.patterns.index[:, 0].max(initial=-1)) + 1

    def _room(self) -> NumberWeights:
        width = self.patterns.width
        table = np.zeros((self.patterns.patterns, width))
        return NumberWeights(table, np.zeros((3, self.x.shape[1], width)))

    def _spread(self, sums: NumberWeights, out: FloatArray) -> None:
        """Add sums by pattern and power to the positions of a flat vector."""
        powers, K = self.powers, self.patterns.cells
        if not len(self.marks):
            sums.powers[0][:] += sums.table[: self._first].sum(axis=0)
        self.patterns.spread(sums.table, out)
        blocks = powers.factor[:, None] * sums.powers[powers.power, powers.column, :K]
        np.add.at(out, powers.positions[:, None] + np.arange(K), blocks)

    def expect_on_host(self, log_weights: FloatArray, out: FloatArray, executor: Executor) -> float:
        if self.blocks:
            posterior, log_z = self._posteriors(log_weights)
            self._gather(log_weights, posterior * self.counts[:, None], out, executor)
            return float(self.counts[self.counts > 0] @ log_z[self.counts > 0])
        one = partial(self._expect_rows, self._weights(log_weights, -np.inf))
        parts, values = zip(*executor.map(one, self.pieces), strict=True)
        self._spread(_sum(parts), out)
        return math.fsum(values)

    def _expect_rows(self, weights: NumberWeights, rows: slice) -> tuple[NumberWeights, float]:
        sums = self._room()
        return sums, kernels.expect_numbers(self._shown(rows), self.counts[rows], weights, sums)

    def _gather(
        self, log_weights: FloatArray, cells: FloatArray, out: FloatArray, executor: Executor
    ) -> None:
        """Add the statistics of rows with weights (m, W) of the hidden cells."""
        self._spread(_sum(executor.map(partial(self._gather_rows, cells), self.pieces)), out)
        for block in self.blocks:
            block.gather(log_weights, cells, out)

    def _gather_rows(self, cells: FloatArray, rows: slice) -> NumberWeights:
        sums = self._room()
        kernels.gather_numbers(self._shown(rows), cells[rows], sums)
        return sums

    def tangent_on_host(self, log_weights: FloatArray, executor: Executor) -> LinearMap:
        posterior, _ = self._posteriors(log_weights)

        def change(direction: FloatArray) -> FloatArray:
            moved = np.zeros_like(posterior)
            for block in self.blocks:
                block.weigh(log_weights[None], moved[:, None], direction)
            besides = moved.copy() if self.blocks else None
            along, shown = self._weights(direction, 0.0), self._shown(slice(None), besides)
            kernels.move_cells(shown, self.counts, posterior, along, moved)
            out = np.zeros(len(direction))
            self._gather(log_weights, moved, out, executor)
            for block in self.blocks:
                block.gather(log_weights, posterior * self.counts[:, None], out, direction)
            return out

        return change

    def _posteriors(
        self, log_weights: FloatArray, besides: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """(m, W) posterior of the hidden cells, and (m,) log-likelihood, of each row.

        `besides` are the log weights from blocks, (m, W), if already computed.
        """
        if self.blocks and besides is None:
            besides = np.zeros((len(self.x), self.patterns.width))
            for block in self.blocks:
                block.weigh(log_weights[None], besides[:, None])
        posterior = np.empty((len(self.x), self.patterns.width))
        log_z, weights = np.empty(len(self.x)), self._weights(log_weights, -np.inf)
        kernels.number_posteriors(self._shown(slice(None), besides), weights, posterior, log_z)
        return posterior, log_z

    def posterior(
        self, log_weights: FloatArray, first: int, last: int
    ) -> tuple[FloatArray, FloatArray]:
        posterior, log_z = self._posteriors(log_weights)
        N = self.patterns.put(posterior, first, last)
        powers, K = self.powers, self.patterns.cells
        present = self.marks if len(self.marks) else np.ones((len(self.x), self.x.shape[1]))
        x_powers = (present, self.x, self.x**2)
        inside = (powers.positions >= first) & (powers.positions + K <= last)
        for e in np.flatnonzero(inside):
            feature = powers.factor[e] * x_powers[powers.power[e]][:, powers.column[e]]
            at = powers.positions[e] - first
            N[:, at : at + K] += feature[:, None] * posterior[:, :K]
        for block in self.blocks:
            if first <= block.first < last:
                whole = np.zeros((len(N), len(log_weights)))
                block.by_row(log_weights, posterior, whole)
                N += whole[:, first:last]
        return log_z, N

    def missing_numbers(self, log_weights: FloatArray) -> float:
        if not any(block.members for block in self.blocks):
            return 0.0
        posterior, _ = self._posteriors(log_weights)
        cases = posterior * self.counts[:, None]
        return math.fsum(block.missing_numbers(log_weights, cases) for block in self.blocks)

    def subtract_covariance(
        self, A: FloatArray, theta: FloatArray, coordinates: FreeCoordinates
    ) -> FloatArray:
        raise TypeError("θ of numbers is not a probability: use tangents for the curvature")

    # Rows as a dense matrix of features: indicators of blocks, and powers of numbers. If no
    # number is missing, all powers 0 are one feature.

    @property
    def features(self) -> int:
        """F, the number of features."""
        D = self.x.shape[1]
        powers: int = 3 * D if len(self.marks) else 2 * D + 1
        return len(self.patterns.positions) + powers

    def features_of(self, rows: slice) -> FloatArray:
        """(n, F) features of some rows."""
        x, B = self.x[rows], len(self.patterns.positions)
        blocks = np.zeros((len(x), B))
        mark_blocks(self.patterns.starts, self.patterns.entries, self.patterns.index[rows], blocks)
        present = self.marks[rows].astype(float) if len(self.marks) else np.ones((len(x), 1))
        return np.hstack([blocks, present, x, x**2])

    def weights_of_features(self, flat: FloatArray) -> FloatArray:
        """Log weights of each feature in each class, (F, K)."""
        powers = self._powers_of(flat)[:, :, : self.patterns.cells]
        present = powers[0] if len(self.marks) else powers[0].sum(axis=0, keepdims=True)
        return np.vstack([flat[self.patterns.places], present, powers[1], powers[2]])

    def spread_features(self, counts: FloatArray, out: FloatArray) -> None:
        """Add sums by feature, (F, K), to the positions of a flat vector."""
        B, D, K = len(self.patterns.positions), self.x.shape[1], self.patterns.cells
        np.add.at(out, self.patterns.places, counts[:B])
        present, x, squares = np.split(counts[B:], [len(counts) - B - 2 * D, len(counts) - B - D])
        sums = np.stack([np.broadcast_to(present, (D, K)), x, squares])
        blocks = self.powers.factor[:, None] * sums[self.powers.power, self.powers.column]
        np.add.at(out, self.powers.positions[:, None] + np.arange(K), blocks)

    def covariance(self, log_weights: FloatArray) -> FeatureCovariance | None:
        if self.blocks or self.features * self.patterns.cells > MOST_FEATURES:
            return None
        posterior, _ = self._posteriors(log_weights)
        by_class = np.ascontiguousarray(posterior[:, : self.patterns.cells])
        matrix = covariance_of_features(self.features_of, by_class, self.counts)
        return FeatureCovariance(matrix, lambda flat: self.weights_of_features(flat).T.reshape(-1))

    def on(self, device: Device | None) -> Self:
        if device is not None and self.blocks:
            raise OptionError(
                "--device cuda takes numbers one by one, and these have covariances. Use "
                "--covariance diagonal, or --device cpu."
            )
        return super().on(device)

    def hold(self, device: Device) -> DeviceRows:
        rows = DenseFeatures(self.features_of, self.features, self.counts, self.patterns.cells)
        return device.hold_dense(rows)

    def to_blocks(self, flat: FloatArray) -> FloatArray:
        if flat.ndim == 1:
            return self.weights_of_features(flat)
        return np.stack([self.weights_of_features(one) for one in flat])

    def from_blocks(self, counts: FloatArray, out: FloatArray) -> None:
        batches = counts.reshape(-1, *counts.shape[-2:])
        for batch, flat in zip(batches, np.atleast_2d(out), strict=True):
            self.spread_features(batch, flat)

    def draw(self, log_weights: FloatArray, counts: FloatArray, rng: Any, out: FloatArray) -> None:
        width = self.patterns.width + sum(block.d**2 for block in self.blocks)
        step = max(1, NUMBERS_AT_ONCE // max(1, len(self.x) * width))  # chains that fit into memory
        for first in range(0, len(log_weights), step):
            some = slice(first, first + step)
            self._draw_chains(log_weights[some], counts, rng, out[some])

    def _draw_chains(
        self, log_weights: FloatArray, counts: FloatArray, rng: Any, out: FloatArray
    ) -> None:
        cells = np.zeros((len(self.x), len(log_weights), self.patterns.width))
        for block in self.blocks:
            block.weigh(log_weights, cells)
        for c, (flat, N) in enumerate(zip(log_weights, out, strict=True)):
            besides = np.ascontiguousarray(cells[:, c]) if self.blocks else None
            posterior, _ = self._posteriors(flat, besides)
            draw_number_cells(counts, self.patterns.cells, rng, posterior)
            self._spread(self._gather_rows(posterior, slice(None)), N)
            cells[:, c] = posterior
        for block in self.blocks:
            block.draw(log_weights, cells, rng, out)

    def take_in(self, cases: IntArray, particles: ParticleState, least: float, rng: Any) -> int:
        raise TypeError(BY_VALUE)

    def choices(self) -> Iterator[JointStates]:
        raise TypeError(BY_VALUE)


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """A column of numbers that is stored by its statistics."""

    x: FloatArray  # (m,) in the unit of the family; 0 where missing
    present: BoolArray  # (m,) whether it is observed
    first: int  # position of its first block in a flat vector
    powers: FloatArray  # (width, 3) T(x) as a polynomial


def number_plan(
    patterns: PatternPlan, columns: Sequence[NumberColumn], blocks: Sequence[BlockRows]
) -> NumberPlan:
    """Combine patterns of rows with the numbers of the same rows."""
    whole = all(column.present.all() for column in columns)
    none = np.zeros((0, len(columns)), dtype=np.uint8)
    marks = none if whole else np.stack([c.present for c in columns], axis=1).astype(np.uint8)
    entries = [
        (column.first + place * patterns.cells, power, j, column.powers[place, power])
        for j, column in enumerate(columns)
        for place, power in np.argwhere(column.powers)
    ]
    of_entry = np.array(entries, dtype=np.float64).reshape(-1, 4)
    positions, power, of = of_entry[:, :3].astype(np.int64).T
    x = np.array([column.x for column in columns]).T.reshape(len(patterns.counts), len(columns))
    powers = Powers(positions, power, of, of_entry[:, 3])
    return NumberPlan(patterns, np.ascontiguousarray(x), marks, powers, tuple(blocks))


def _sum(parts: Sequence[NumberWeights]) -> NumberWeights:
    """Sum of parts, added in order."""
    first, *others = parts
    for part in others:
        first.table[:] += part.table
        first.powers[:] += part.powers
    return first
