"""Particle updates by cases whose joint states are listed: known or tied tables, and numbers.

Kernels handle categories with separately learned tables. Here a case is an *urn*, the table cells
of each joint state, and *numbers* with the predictive densities of their families. A case may touch
a tied table several times: each family then counts for those that follow (Pólya's urn). Known
tables stay fixed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
from scipy.special import logsumexp

from lacunet.errors import OptionError
from lacunet.inference.kernels.draws import ParticleState, effective
from lacunet.inference.plans.plan import EStep
from lacunet.inference.problem import Problem
from lacunet.likelihoods import Likelihood, Segment, with_prior
from lacunet.likelihoods.joint_normal import BlockSpread, joint_statistics
from lacunet.models.latent_class import classes_of
from lacunet.models.layout import Layout
from lacunet.models.network import Network, Variable
from lacunet.models.surgery import members
from lacunet.runtime.arrays import BoolArray, FloatArray, IndexArray, IntArray

Grouped: TypeAlias = tuple[IntArray, IntArray, IntArray]
LARGEST = 1 << 14  # joint hidden states of a component that are listed


def is_written_out(problem: Problem) -> bool:
    """Whether particle updates list the joint states of components."""
    layout = problem.layout
    return problem.case_by_case and (bool(layout.leaders) or not layout.tabular)


def can_take_in(problem: Problem) -> bool:
    """Whether every component to be listed is small enough."""
    plans = problem.components.plans if is_written_out(problem) else ()
    return all(int(max(plan.sizes(), default=0)) <= LARGEST for plan in plans)


@dataclass(frozen=True, eq=False)
class CaseNumber:
    """A number of one case in each of its K joint states."""

    family: Likelihood
    block: IntArray  # (q, width) positions of all its configurations
    which: IntArray  # (K,) the configuration of each joint state
    T: FloatArray  # (K, width) statistics added there

    @cached_property
    def places(self) -> IntArray:
        """(K, width) positions of the configuration of each joint state."""
        return self.block[self.which]

    def hyper(self, A: FloatArray) -> FloatArray:
        """Hyperparameters of the configuration of each joint state, (particles, K, width)."""
        if self.family.apart:
            return A[:, self.places]
        at = Segment.of_table(self.family, *self.block.shape)
        table = self.family.by_configuration(A[:, self.block.reshape(-1)], at)
        return table.reshape(len(A), *self.block.shape)[:, self.which]

    def log_predictive(self, A: FloatArray) -> FloatArray:
        """Log density given hyperparameters, with parameters integrated out, (particles, K)."""
        return with_prior(self.family).log_predictive(self.hyper(A), self.T)

    def added(
        self,
        A: FloatArray,  # noqa: ARG002
        drawn: IntArray,
        rng: Any,  # noqa: ARG002
    ) -> tuple[IntArray, FloatArray]:
        """Positions and statistics that the case adds to each particle, (particles, width) each."""
        return self.places[drawn], self.T[drawn]


@dataclass(frozen=True, eq=False)
class CaseBlock(CaseNumber):
    """A block of numbers with a joint distribution, some of which may be missing."""

    x: FloatArray  # (o,) the observed numbers
    shown: IntArray  # (o,) their indices
    missing: IntArray  # (d − o,) indices of the missing ones

    def log_predictive(self, A: FloatArray) -> FloatArray:
        """Log density of the observed numbers, (particles, K)."""
        hyper, d = self.hyper(A), len(self.shown) + len(self.missing)
        spread = BlockSpread.over(hyper.reshape(-1, hyper.shape[-1]), d)
        return spread.log_density(self.x[None], self.shown).reshape(hyper.shape[:2])

    def added(self, A: FloatArray, drawn: IntArray, rng: Any) -> tuple[IntArray, FloatArray]:
        """Positions and statistics, with missing numbers drawn for each particle."""
        d = len(self.shown) + len(self.missing)
        whole = np.empty((len(A), d))
        whole[:, self.shown] = self.x
        if len(self.missing):
            spread = BlockSpread.over(self.hyper(A)[np.arange(len(A)), drawn], d)
            whole[:, self.missing] = spread.draw_given(self.x, self.shown, self.missing, rng)
        return self.places[drawn], joint_statistics(whole)


@dataclass(frozen=True, eq=False)
class Urn:
    """Cells of F tables that K joint states touch. Tied cells share a slot."""

    cells: IntArray  # (K, F) positions
    slots: IntArray  # (K, F) slots of their parameters
    rows: IntArray  # (K, F) configurations of the slots
    learned: BoolArray  # (K, F) whether a cell is learned, not known
    before: IntArray  # (K, F) how many earlier families of the case use the same slot,
    before_row: IntArray  # (K, F) and the same configuration
    log_known: FloatArray  # (K,) log weight of the known cells

    @classmethod
    def of(cls, layout: Layout, cells: IntArray) -> "Urn":
        """Look up known cells, and slots that are used more than once."""
        learned = layout.learned[cells]
        given = np.ones(cells.shape) if layout.given is None else layout.given[cells]
        with np.errstate(divide="ignore"):
            log_known = np.log(np.where(learned, 1.0, given)).sum(axis=1)
        slots = layout.slots[cells]
        rows = layout.ij[slots].astype(np.int64)
        before, before_row = _used_before(slots, learned), _used_before(rows, learned)
        return cls(cells, slots, rows, learned, before, before_row, log_known)

    def log_predictive(self, exponents: FloatArray, sums: FloatArray) -> FloatArray:
        """Log probability of each joint state given exponents, (particles, K)."""
        hits = np.where(self.learned, exponents[:, self.slots] + self.before, 1.0)
        cases = np.where(self.learned, sums[:, self.rows] + self.before_row, 1.0)
        return np.asarray(np.log(hits / cases).sum(axis=2) + self.log_known)


def _used_before(x: IntArray, learned: BoolArray) -> IntArray:
    """How many learned families before each have the same value, (K, F)."""
    same = (x[:, :, None] == x[:, None, :]) & learned[:, None, :]
    return np.asarray(np.sum(np.tril(same, -1), axis=2))


@dataclass(frozen=True, eq=False)
class WrittenCase:
    """A case with its joint states listed."""

    urn: Urn
    numbers: Sequence[CaseNumber]


class WrittenCases:
    """Particle updates by cases, given by their number."""

    def __init__(self, layout: Layout, write: Callable[[int], WrittenCase]) -> None:
        self.layout, self.write = layout, write
        self._written: dict[int, WrittenCase] = {}  # a cache: equal cases are listed once

    def take_in(self, cases: IntArray, particles: ParticleState, least: float, rng: Any) -> int:
        """Update by cases until fewer than `least` particles are effective; return how many."""
        every, A = np.arange(len(particles.A))[:, None], particles.A
        exponents, sums = self.pooled(A)
        for n, number in enumerate(cases.tolist()):
            if number not in self._written:
                self._written[number] = self.write(number)
            urn, numbers = self._written[number].urn, self._written[number].numbers
            log_p = urn.log_predictive(exponents, sums)  # (particles, K)
            for one in numbers:
                log_p += one.log_predictive(A)
            total = logsumexp(log_p, axis=1)
            np.add(particles.log_weights, total, out=particles.log_weights)
            cumulative = np.cumsum(np.exp(log_p - total[:, None]), axis=1)
            u = rng.random(len(log_p)) * cumulative[:, -1]
            drawn = np.sum(u[:, None] >= cumulative, axis=1)
            added = [one.added(A, drawn, rng) for one in numbers]
            A[every, urn.cells[drawn]] += 1.0
            for places, T in added:
                A[every, places] += T
            np.add.at(exponents, (every, urn.slots[drawn]), urn.learned[drawn])
            np.add.at(sums, (every, urn.rows[drawn]), urn.learned[drawn])
            if effective(particles.log_weights) < least:
                return n + 1
        return len(cases)

    def pooled(self, A: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Exponents of every slot, (particles, size), and sums, (particles, configurations)."""
        learned = np.where(self.layout.learned, A, 0.0)
        exponents, sums = np.zeros_like(A), np.zeros((len(A), self.layout.configurations))
        (order, starts, used), by_row = self._groups
        exponents[:, used] = np.add.reduceat(learned[:, order], starts, axis=1)
        order, starts, used = by_row
        sums[:, used] = np.add.reduceat(exponents[:, order], starts, axis=1)
        return exponents, sums

    @cached_property
    def _groups(self) -> tuple[Grouped, Grouped]:
        return _grouped(self.layout.slots), _grouped(self.layout.ij)


def _grouped(x: IntArray | IndexArray) -> Grouped:
    """Positions sorted by value, the start of each value, and the distinct values."""
    order = np.argsort(x, kind="stable")
    used, starts = np.unique(x[order], return_index=True)
    return order, starts, used.astype(np.int64)


def written_cases(problem: Problem) -> Iterator[WrittenCases]:
    """List the cases of each plan of a problem."""
    if not can_take_in(problem):
        raise OptionError(
            "with tied tables or numeric columns, particles list the joint hidden states of a row: "
            f"at most {LARGEST:,}, and a row has more. Use --method ais."
        )
    for plan in problem.components.plans:
        cells = [choice.cells for choice in plan.completions.choices()]
        yield WrittenCases(problem.layout, partial(_write_choice, problem.network, cells))


def _write_choice(network: Network, cells: Sequence[IntArray], case: int) -> WrittenCase:
    return written(network, cells[case])


def written(network: Network, cells: IntArray) -> WrittenCase:
    """List joint states, (K, F) cells by value."""
    layout, places = network.layout, np.arange(network.layout.size)
    tables: list[IntArray] = []
    numbers: list[CaseNumber] = []
    for positions in cells.T:
        i = int(np.searchsorted(network.cells.offsets, positions[0], side="right")) - 1
        first = network.cells.ij[network.cells.offsets[i]]  # blocks are contiguous
        block = layout.table(places, i).reshape(-1, layout.widths[i])
        which, value = network.cells.ij[positions] - first, network.cells.k[positions]
        v = network.variables[i]
        if v.family.tabular:
            tables.append(block[which, value])
        else:
            numbers.append(CaseNumber(v.family, block, which, v.statistics[value]))
    urn = np.stack(tables, axis=1) if tables else np.zeros((len(cells), 0), dtype=np.int64)
    return WrittenCase(Urn.of(layout, urn), numbers)


def log_predictive(network: Network, A: FloatArray, cells: IntArray) -> FloatArray:
    """Log probability of each joint state (K, F) given hyperparameters, (particles, K)."""
    case = written(network, cells)
    pooled = WrittenCases(network.layout, lambda _: case).pooled(A)
    return case.urn.log_predictive(*pooled) + sum(one.log_predictive(A) for one in case.numbers)


@dataclass(frozen=True, eq=False)
class NumberLeaf:
    """A number, or a block of numbers with joint parameters, below the classes."""

    family: Likelihood
    variables: tuple[Variable, ...]  # (d,)
    columns: IntArray  # (d,) in the codes of a row
    places: IntArray  # (K, width) positions of each class

    def of(self, codes: IntArray) -> CaseNumber | None:
        """The observed part of a coded row, (columns,), if any."""
        codes, classes = codes[self.columns], np.arange(len(self.places))
        shown = np.flatnonzero(codes >= 0)
        if not len(shown):
            return None
        if len(codes) == 1:
            T = np.broadcast_to(self.variables[0].statistics[codes[0]], self.places.shape)
            return CaseNumber(self.family, self.places, classes, T)
        x = np.array([float(self.variables[k].values_of(codes[k])) for k in shown])
        missing = np.flatnonzero(codes < 0)
        unused = np.zeros(self.places.shape)
        return CaseBlock(self.family, self.places, classes, unused, x, shown, missing)


def block_cases(problem: Problem) -> Iterator[WrittenCases]:
    """List the cases of each plan of a latent class model with blocks; its cases are rows."""
    network, classes, layout = problem.network, classes_of(problem.network), problem.layout
    positions = np.arange(layout.size)
    tables, leaves = [], []
    for i in classes.leaves:
        family, places, around = (
            network.variables[i].family,
            layout.table(positions, i),
            members(network, i),
        )
        columns = np.array([network.observed.index(j) for j in around])
        if family.tabular:
            tables.append((int(columns[0]), places))
        elif around:
            variables = tuple(network.variables[j] for j in around)
            leaves.append(NumberLeaf(family, variables, columns, places))
    root = layout.table(positions, classes.root)

    def write(plan: EStep, case: int) -> WrittenCase:
        assert plan.rows is not None
        codes = problem.codes[int(plan.rows.rows[case])]
        shown = [places[:, codes[j]] for j, places in tables if codes[j] >= 0]
        numbers = [leaf.of(codes) for leaf in leaves]
        urn = Urn.of(layout, np.stack([root, *shown], axis=1))
        return WrittenCase(urn, [one for one in numbers if one is not None])

    for plan in problem.components.plans:
        yield WrittenCases(layout, partial(write, plan))
