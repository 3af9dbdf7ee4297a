"""Taking in cases where a value's probability is no quotient of two exponents: any families.

A case touches each family at most once, so its probability given a particle, with the parameters
integrated out, is a product over families of exp(log ∫(hyper + T(x)) − log ∫(hyper)): the integral
that each family knows. Slower than the kernels for categories, and the same for them (tests).
"""

from typing import Any

import numpy as np
from scipy.special import logsumexp

from lacunet.arrays import FloatArray, IntArray
from lacunet.inference.kernels.taking_in import Swarm, effective
from lacunet.inference.plans.plan import Plan
from lacunet.model.families import Segment
from lacunet.model.network import Network


def take_in_by_statistics(
    network: Network, plan: Plan, cases: IntArray, swarm: Swarm, least: float, rng: Any
) -> int:
    """Take in cases of one plan until fewer than `least` particles count; return how many."""
    choices = list(plan.choices())
    for n, case in enumerate(cases):
        cells = choices[case].cells
        log_p = log_predictive(network, swarm.A, cells)  # (particles, K)
        total = logsumexp(log_p, axis=1)
        np.add(swarm.log_weights, total, out=swarm.log_weights)
        cumulative = np.cumsum(np.exp(log_p - total[:, None]), axis=1)
        u = rng.random(len(log_p)) * cumulative[:, -1]
        drawn = np.sum(u[:, None] >= cumulative, axis=1)
        for particle, cell in enumerate(drawn):
            N = np.zeros(network.cells.size)
            N[cells[cell]] = 1.0
            swarm.A[particle] += network.to_statistics(N)
        if effective(swarm.log_weights) < least:
            return n + 1
    return len(cases)


def log_predictive(network: Network, A: FloatArray, cells: IntArray) -> FloatArray:
    """Log probability of each joint cell (K, F) given hyperparameters, (particles, K)."""
    layout, found = network.layout, np.zeros((len(A), len(cells)))
    for positions in cells.T:  # one family at a time
        variable = int(np.searchsorted(network.cells.offsets, positions[0], side="right")) - 1
        v = network.variables[variable]
        T = v.statistics
        table = layout.table(np.arange(layout.size), variable).reshape(-1, T.shape[1])
        first = network.cells.ij[network.cells.block(variable)].min()
        one = Segment.of_table(v.family, 1, T.shape[1])
        for cell, at in enumerate(positions):
            hyper = A[:, table[network.cells.ij[at] - first]]
            more = v.family.log_integral(hyper + T[network.cells.k[at]], one)
            found[:, cell] += more - v.family.log_integral(hyper, one)
    return found
