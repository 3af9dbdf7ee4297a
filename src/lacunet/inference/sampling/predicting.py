"""Taking in cases where a value's probability is no quotient of two exponents: any families.

A case touches each family at most once, so its probability given a particle, with the parameters
integrated out, is a product over families of exp(log ∫(hyper + T(x)) − log ∫(hyper)): the integral
that each family knows. Slower than the kernels for categories, and the same for them (tests).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from lacunet.arrays import FloatArray, IntArray
from lacunet.inference.kernels.taking_in import Swarm, effective
from lacunet.inference.plans.plan import Plan
from lacunet.model.families import Family, Segment
from lacunet.model.network import Network


@dataclass(frozen=True, eq=False)
class Touched:
    """What the joint cells of a case touch of one family."""

    family: Family
    block: IntArray  # (q, width) positions of all its configurations
    which: IntArray  # (K,) the configuration that each is in
    T: FloatArray  # (K, width) statistics that it adds there

    @property
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


def take_in_by_statistics(
    network: Network, plan: Plan, cases: IntArray, swarm: Swarm, least: float, rng: Any
) -> int:
    """Take in cases of one plan until fewer than `least` particles count; return how many."""
    choices = list(plan.choices())
    for n, case in enumerate(cases):
        touched = list(touched_by(network, choices[case].cells))
        log_p = _log_predictive(touched, swarm.A)  # (particles, K)
        total = logsumexp(log_p, axis=1)
        np.add(swarm.log_weights, total, out=swarm.log_weights)
        cumulative = np.cumsum(np.exp(log_p - total[:, None]), axis=1)
        u = rng.random(len(log_p)) * cumulative[:, -1]
        drawn = np.sum(u[:, None] >= cumulative, axis=1)
        particle = np.arange(len(drawn))[:, None]
        for one in touched:
            swarm.A[particle, one.places[drawn]] += one.T[drawn]
        if effective(swarm.log_weights) < least:
            return n + 1
    return len(cases)


def log_predictive(network: Network, A: FloatArray, cells: IntArray) -> FloatArray:
    """Log probability of each joint cell (K, F) given hyperparameters, (particles, K)."""
    return _log_predictive(list(touched_by(network, cells)), A)


def touched_by(network: Network, cells: IntArray) -> Iterator[Touched]:
    """What joint cells (K, F) touch, one family after the other."""
    layout = network.layout
    for positions in cells.T:
        i = int(np.searchsorted(network.cells.offsets, positions[0], side="right")) - 1
        first = network.cells.ij[network.cells.offsets[i]]  # a block begins with its first
        table = layout.table(np.arange(layout.size), i).reshape(-1, layout.widths[i])
        which = network.cells.ij[positions] - first
        v = network.variables[i]
        yield Touched(v.family, table, which, v.statistics[network.cells.k[positions]])


def _log_predictive(touched: Sequence[Touched], A: FloatArray) -> FloatArray:
    found = np.zeros((len(A), len(touched[0].places)))
    for one in touched:
        found += one.family.log_predictive(one.hyper(A), one.T)
    return found
