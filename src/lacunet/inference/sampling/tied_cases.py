"""Taking in cases where tables are tied: a case may then use one parameter several times.

Its probability given a particle, with the parameters integrated out, is a product over families
taken one after the other, each of which counts for those that follow: Pólya's urn.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy.special import logsumexp

from lacunet.arrays import BoolArray, FloatArray, IndexArray, IntArray
from lacunet.errors import OptionError
from lacunet.inference.kernels.taking_in import Swarm, effective
from lacunet.inference.plans.plan import Choice, Plan
from lacunet.inference.problem import Problem
from lacunet.model.layout import Layout

Grouped: TypeAlias = tuple[IntArray, IntArray, IntArray]
LARGEST = 1 << 14  # joint hidden cells of one component that are written out


def can_take_in(problem: Problem) -> bool:
    """Whether every component is small enough to be written out."""
    return all(int(max(plan.sizes(), default=0)) <= LARGEST for plan in problem.components.plans)


def check_can_take_in(problem: Problem) -> None:
    """Refuse components that are too large, before they are written out."""
    if not can_take_in(problem):
        raise OptionError(
            f"particles write out what a row hides where tables are tied, at most {LARGEST:,} "
            "joint states, and a row has more. Use --method ais."
        )


@dataclass(frozen=True, eq=False)
class Urn:
    """A distinct component: K joint cells that are possible, F families. Places are slots."""

    cells: IntArray  # (K, F) positions
    slots: IntArray  # (K, F) whose parameters they have
    rows: IntArray  # (K, F) configurations of these
    learned: BoolArray  # (K, F) whether it is a parameter, not a known number
    before: IntArray  # (K, F) how often earlier families of the case use the same parameter,
    before_row: IntArray  # (K, F) and one of the same configuration
    log_known: FloatArray  # (K,) what known numbers say

    @classmethod
    def of(cls, layout: Layout, choice: Choice) -> "Urn":
        """Leave impossible cells out, and look for places that are used more than once."""
        given = np.ones(layout.size) if layout.given is None else layout.given
        known = np.where(layout.learned, 1.0, given)[choice.cells]
        possible = (known > 0.0).all(axis=1)
        cells, log_known = choice.cells[possible], np.log(known[possible]).sum(axis=1)
        slots, learned = layout.slots[cells], layout.learned[cells]
        rows = layout.ij[slots].astype(np.int64)
        before, before_row = _used_before(slots, learned), _used_before(rows, learned)
        return cls(cells, slots, rows, learned, before, before_row, log_known)


def _used_before(x: IntArray, learned: BoolArray) -> IntArray:
    """How many of the learned families before each have the same number, (K, F)."""
    same = (x[:, :, None] == x[:, None, :]) & learned[:, None, :]
    return np.asarray(np.sum(np.tril(same, -1), axis=2))


def _grouped(x: IntArray | IndexArray) -> Grouped:
    """Positions in the order of some numbers, where each number starts, and which there are."""
    order = np.argsort(x, kind="stable")
    used, starts = np.unique(x[order], return_index=True)
    return order, starts, used.astype(np.int64)


class TiedCases:
    """Takes in the cases of one plan, with tables that are tied."""

    def __init__(self, layout: Layout, plan: Plan) -> None:
        self.layout, self.plan = layout, plan

    @cached_property
    def urns(self) -> list[Urn]:
        """All distinct components, written out."""
        return [Urn.of(self.layout, choice) for choice in self.plan.choices()]

    def take_in(self, cases: IntArray, swarm: Swarm, least: float, rng: Any) -> int:
        """Take in cases until fewer than `least` particles count; return how many."""
        everyone = np.arange(len(swarm.A))[:, None]
        own, sums = self._pooled(swarm.A)
        for n, case in enumerate(cases):
            urn = self.urns[case]
            log_p = _log_predictive(urn, own, sums)  # (particles, K)
            total = logsumexp(log_p, axis=1)
            np.add(swarm.log_weights, total, out=swarm.log_weights)
            cumulative = np.cumsum(np.exp(log_p - total[:, None]), axis=1)
            u = rng.random(len(log_p)) * cumulative[:, -1]
            drawn = np.sum(u[:, None] >= cumulative, axis=1)
            swarm.A[everyone, urn.cells[drawn]] += 1.0
            np.add.at(own, (everyone, urn.slots[drawn]), urn.learned[drawn])
            np.add.at(sums, (everyone, urn.rows[drawn]), urn.learned[drawn])
            if effective(swarm.log_weights) < least:
                return n + 1
        return len(cases)

    def _pooled(self, A: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Exponents of every slot, (particles, size), and their sums, (…, configurations)."""
        learned = np.where(self.layout.learned, A, 0.0)
        own = np.zeros_like(A)
        order, starts, used = self._by_slot
        own[:, used] = np.add.reduceat(learned[:, order], starts, axis=1)
        order, starts, _ = self._by_row
        return own, np.add.reduceat(own[:, order], starts, axis=1)

    @cached_property
    def _by_slot(self) -> Grouped:
        return _grouped(self.layout.slots)

    @cached_property
    def _by_row(self) -> Grouped:
        return _grouped(self.layout.ij)


def _log_predictive(urn: Urn, own: FloatArray, sums: FloatArray) -> FloatArray:
    """Log probability of each joint cell given exponents, (particles, K)."""
    hits = np.where(urn.learned, own[:, urn.slots] + urn.before, 1.0)
    cases = np.where(urn.learned, sums[:, urn.rows] + urn.before_row, 1.0)
    return np.asarray(np.log(hits / cases).sum(axis=2) + urn.log_known)


def tied_cases(problem: Problem) -> Iterator[TiedCases]:
    """One for each plan of a problem."""
    check_can_take_in(problem)
    yield from (TiedCases(problem.layout, plan) for plan in problem.components.plans)
