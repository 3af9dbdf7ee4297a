"""Taking in cases whose joint states are written out: known tables, tied tables, and numbers.

Kernels take in cases of categories whose tables are all learned, each by itself. Here a case is an
*urn*, the tables that each of its joint states touches, and *numbers*, whose density given a
particle is an integral that their family has. Tied tables may be touched several times by one case:
each family counts for those that follow (Pólya's urn). Numbers of known tables are as they are.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy.special import logsumexp

from lacunet.errors import OptionError
from lacunet.inference.kernels.taking_in import Swarm, effective
from lacunet.inference.plans.plan import Plan
from lacunet.inference.problem import Problem
from lacunet.likelihoods import Likelihood, Segment
from lacunet.model.layout import Layout
from lacunet.model.network import Network
from lacunet.runtime.arrays import BoolArray, FloatArray, IndexArray, IntArray

Grouped: TypeAlias = tuple[IntArray, IntArray, IntArray]
LARGEST = 1 << 14  # joint hidden cells of one component that are written out


def is_written_out(problem: Problem) -> bool:
    """Whether particles write out the joint states of its components."""
    layout = problem.layout
    return problem.case_by_case and (bool(layout.leaders) or not layout.tabular)


def can_take_in(problem: Problem) -> bool:
    """Whether every component that has to be written out is small enough."""
    plans = problem.components.plans if is_written_out(problem) else ()
    return all(int(max(plan.sizes(), default=0)) <= LARGEST for plan in plans)


def check_can_take_in(problem: Problem) -> None:
    """Refuse components that are too large, before they are written out."""
    if not can_take_in(problem):
        raise OptionError(
            "particles write out what a row hides where tables are tied or columns are numbers, at "
            f"most {LARGEST:,} joint states, and a row has more. Use --method ais."
        )


class Numbers(Protocol):
    """Numbers of one case in each of its K joint states."""

    def log_predictive(self, A: FloatArray) -> FloatArray:
        """Log density given hyperparameters, parameters integrated out, (particles, K)."""
        ...

    def added(self, A: FloatArray, drawn: IntArray, rng: Any, /) -> tuple[IntArray, FloatArray]:
        """Positions and statistics that the case adds to each particle, (particles, width) each."""
        ...


@dataclass(frozen=True, eq=False)
class Touched:
    """One family of numbers that a case touches."""

    family: Likelihood
    block: IntArray  # (q, width) positions of all its configurations
    which: IntArray  # (K,) the configuration that each joint state is in
    T: FloatArray  # (K, width) statistics that it adds there

    @cached_property
    def places(self) -> IntArray:
        """(K, width) positions of the configuration that each is in."""
        return self.block[self.which]

    def hyper(self, A: FloatArray) -> FloatArray:
        """Hyperparameters of these configurations, each by itself, (particles, K, width)."""
        if self.family.apart:
            return A[:, self.places]
        at = Segment.of_table(self.family, *self.block.shape)
        own = self.family.by_configuration(A[:, self.block.reshape(-1)], at)
        return own.reshape(len(A), *self.block.shape)[:, self.which]

    def log_predictive(self, A: FloatArray) -> FloatArray:
        """Log density given hyperparameters, (particles, K)."""
        return self.family.log_predictive(self.hyper(A), self.T)

    def added(self, _: FloatArray, drawn: IntArray, __: Any) -> tuple[IntArray, FloatArray]:
        """Positions and statistics, which are the same for all particles in a joint state."""
        return self.places[drawn], self.T[drawn]


@dataclass(frozen=True, eq=False)
class Urn:
    """What K joint states touch of F tables. Places are slots."""

    cells: IntArray  # (K, F) positions
    slots: IntArray  # (K, F) whose parameters they have
    rows: IntArray  # (K, F) configurations of these
    learned: BoolArray  # (K, F) whether it is a parameter, not a known number
    before: IntArray  # (K, F) how often earlier families of the case use the same parameter,
    before_row: IntArray  # (K, F) and one of the same configuration
    log_known: FloatArray  # (K,) what known numbers say

    @classmethod
    def of(cls, layout: Layout, cells: IntArray) -> "Urn":
        """Look up known numbers, and places that are used more than once."""
        learned = layout.learned[cells]
        given = np.ones(cells.shape) if layout.given is None else layout.given[cells]
        with np.errstate(divide="ignore"):
            log_known = np.log(np.where(learned, 1.0, given)).sum(axis=1)
        slots = layout.slots[cells]
        rows = layout.ij[slots].astype(np.int64)
        before, before_row = _used_before(slots, learned), _used_before(rows, learned)
        return cls(cells, slots, rows, learned, before, before_row, log_known)

    def log_predictive(self, own: FloatArray, sums: FloatArray) -> FloatArray:
        """Log probability of each joint state given exponents, (particles, K)."""
        hits = np.where(self.learned, own[:, self.slots] + self.before, 1.0)
        cases = np.where(self.learned, sums[:, self.rows] + self.before_row, 1.0)
        return np.asarray(np.log(hits / cases).sum(axis=2) + self.log_known)


def _used_before(x: IntArray, learned: BoolArray) -> IntArray:
    """How many of the learned families before each have the same number, (K, F)."""
    same = (x[:, :, None] == x[:, None, :]) & learned[:, None, :]
    return np.asarray(np.sum(np.tril(same, -1), axis=2))


@dataclass(frozen=True, eq=False)
class Written:
    """A case with its joint states written out."""

    urn: Urn
    numbers: Sequence[Numbers]


class WrittenCases:
    """Takes in cases, given by their number."""

    def __init__(self, layout: Layout, write: Callable[[int], Written]) -> None:
        self.layout, self.write = layout, write
        self._written: dict[int, Written] = {}

    def case(self, number: int) -> Written:
        """A case; equal ones are written out once."""
        if number not in self._written:
            self._written[number] = self.write(number)
        return self._written[number]

    def take_in(self, cases: IntArray, swarm: Swarm, least: float, rng: Any) -> int:
        """Take in cases until fewer than `least` particles count; return how many."""
        everyone = np.arange(len(swarm.A))[:, None]
        own, sums = self._pooled(swarm.A)
        for n, number in enumerate(cases.tolist()):
            case = self.case(number)
            urn, A = case.urn, swarm.A
            log_p = urn.log_predictive(own, sums)  # (particles, K)
            for one in case.numbers:
                log_p += one.log_predictive(A)
            total = logsumexp(log_p, axis=1)
            np.add(swarm.log_weights, total, out=swarm.log_weights)
            cumulative = np.cumsum(np.exp(log_p - total[:, None]), axis=1)
            u = rng.random(len(log_p)) * cumulative[:, -1]
            drawn = np.sum(u[:, None] >= cumulative, axis=1)
            added = [one.added(A, drawn, rng) for one in case.numbers]
            A[everyone, urn.cells[drawn]] += 1.0
            for places, T in added:
                A[everyone, places] += T
            np.add.at(own, (everyone, urn.slots[drawn]), urn.learned[drawn])
            np.add.at(sums, (everyone, urn.rows[drawn]), urn.learned[drawn])
            if effective(swarm.log_weights) < least:
                return n + 1
        return len(cases)

    def _pooled(self, A: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Exponents of every slot, (particles, size), and their sums, (…, configurations)."""
        learned = np.where(self.layout.learned, A, 0.0)
        own, sums = np.zeros_like(A), np.zeros((len(A), self.layout.configurations))
        order, starts, used = self._by_slot
        own[:, used] = np.add.reduceat(learned[:, order], starts, axis=1)
        order, starts, used = self._by_row
        sums[:, used] = np.add.reduceat(own[:, order], starts, axis=1)
        return own, sums

    @cached_property
    def _by_slot(self) -> Grouped:
        return _grouped(self.layout.slots)

    @cached_property
    def _by_row(self) -> Grouped:
        return _grouped(self.layout.ij)


def _grouped(x: IntArray | IndexArray) -> Grouped:
    """Positions in the order of some numbers, where each number starts, and which there are."""
    order = np.argsort(x, kind="stable")
    used, starts = np.unique(x[order], return_index=True)
    return order, starts, used.astype(np.int64)


def written_cases(problem: Problem) -> Iterator[WrittenCases]:
    """One for each plan of a problem."""
    check_can_take_in(problem)
    yield from (_of_plan(problem.network, plan) for plan in problem.components.plans)


def _of_plan(network: Network, plan: Plan) -> WrittenCases:
    choices = list(plan.choices())
    return WrittenCases(network.layout, lambda case: written(network, choices[case].cells))


def written(network: Network, cells: IntArray) -> Written:
    """Write out joint states, (K, F) cells by value."""
    layout, places = network.layout, np.arange(network.layout.size)
    tables: list[IntArray] = []
    numbers: list[Numbers] = []
    for positions in cells.T:
        i = int(np.searchsorted(network.cells.offsets, positions[0], side="right")) - 1
        first = network.cells.ij[network.cells.offsets[i]]  # a block begins with its first
        block = layout.table(places, i).reshape(-1, layout.widths[i])
        which, value = network.cells.ij[positions] - first, network.cells.k[positions]
        v = network.variables[i]
        if v.family.tabular:
            tables.append(block[which, value])
        else:
            numbers.append(Touched(v.family, block, which, v.statistics[value]))
    own = np.stack(tables, axis=1) if tables else np.zeros((len(cells), 0), dtype=np.int64)
    return Written(Urn.of(layout, own), numbers)


def log_predictive(network: Network, A: FloatArray, cells: IntArray) -> FloatArray:
    """Log probability of each joint state (K, F) given hyperparameters, (particles, K)."""
    layout, case = network.layout, written(network, cells)
    own, sums = WrittenCases(layout, lambda _: case)._pooled(A)  # noqa: SLF001
    return case.urn.log_predictive(own, sums) + sum(one.log_predictive(A) for one in case.numbers)
