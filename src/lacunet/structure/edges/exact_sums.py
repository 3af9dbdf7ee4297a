"""Probabilities of edges summed over every graph, each counted once (Tian & He 2009).

A graph over a set of variables is a set of sources, whose parents lie outside, put before a graph
over the rest. Graphs with several sources would be counted for each choice of them: sums over
choices with alternating signs count each graph once. All in logs: at most 2^n of a sum cancels.
"""

from typing import NamedTuple

import numpy as np

from lacunet.models.table_sizes import LARGEST_TABLE
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.jit import kernel
from lacunet.structure.edges.chains import Cases
from lacunet.structure.exact import choice_of, score_sets
from lacunet.structure.moves import Limits

MOST_VARIABLES = 12  # 3^n additions for each of n (n − 1) edges: a second or two


class Sum(NamedTuple):
    """Sums with signs that are growing, one for each set of variables."""

    top: FloatArray  # (2^n,) log of the largest addend
    rest: FloatArray  # (2^n,) the sum, divided by it


def edge_probabilities(cases: Cases, limits: Limits) -> FloatArray:
    """p(u → v | D) at [v, u], (n, n), over all graphs that the limits allow."""
    n = len(cases.cards)
    scores = score_all_families(cases, limits)
    sums = np.stack([_over_subsets(x) for x in scores])
    log_all = log_sum_of_graphs(sums)
    P = np.zeros((n, n))
    sets = np.arange(1 << n)
    for v in range(n):
        for u in range(n):
            if u != v and limits.allowed[v, u]:
                with_edge = sums.copy()
                with_edge[v] = _over_subsets(np.where(sets >> u & 1, scores[v], -np.inf))
                P[v, u] = np.exp(log_sum_of_graphs(with_edge) - log_all)
    return P


def score_all_families(cases: Cases, limits: Limits) -> FloatArray:
    """Score every variable with every set of parents, (n, 2^n); −inf if it is not allowed."""
    n, columns = len(cases.cards), cases.columns
    sets, scores = np.arange(1 << n), np.full((n, 1 << n), -np.inf)
    cards = cases.cards.astype(np.float64)
    for v in range(n):
        choice = choice_of(limits, v, cards, LARGEST_TABLE, cases.log_prior[v])
        without = sets[sets >> v & 1 == 0]  # in their order, as sets of the others are numbered
        scores[v, without] = score_sets(columns, v, choice, cases.prior)
    return scores


def _over_subsets(log: FloatArray) -> FloatArray:
    """Log Σ over all subsets of each set, (2^n,)."""
    total, n = log.copy(), len(log).bit_length() - 1
    for b in range(n):
        halves = total.reshape(-1, 2, 1 << b)  # a view: sets without b, and with it
        halves[:, 1] = np.logaddexp(halves[:, 0], halves[:, 1])
    return total


@kernel
def log_sum_of_graphs(sums: FloatArray) -> float:
    """Log Σ over all graphs of Π exp(score); `sums[v, S]` is that over parents of v within S."""
    n = sums.shape[0]
    everything = (1 << n) - 1
    found = Sum(np.full(1 << n, -np.inf), np.zeros(1 << n))
    found.top[0], found.rest[0] = 0.0, 1.0
    chosen = np.zeros(1 << n)  # log weight of a set of sources with parents in `below`
    for below in range(1 << n):
        # All that adds to this set has been added: its subsets are smaller numbers.
        if not found.rest[below] > 0.0:
            continue
        log_below = found.top[below] + np.log(found.rest[below])
        others = everything ^ below
        sources = 0
        while sources != others:
            sources = (sources - others) & others  # the next subset of the others
            lowest = sources & -sources
            v = 0
            while lowest >> v != 1:
                v += 1
            chosen[sources] = chosen[sources ^ lowest] + sums[v, below]
            odd, bits = False, sources
            while bits:
                bits &= bits - 1
                odd = not odd
            _add(found, below | sources, log_below + chosen[sources], 1.0 if odd else -1.0)
    return float(found.top[everything] + np.log(max(found.rest[everything], 0.0)))


@kernel
def _add(found: Sum, at: int, log: float, sign: float) -> None:
    """Add an addend, given by its log."""
    if log == -np.inf:
        return
    if log > found.top[at]:
        found.rest[at] = found.rest[at] * np.exp(found.top[at] - log) + sign
        found.top[at] = log
    else:
        found.rest[at] += sign * np.exp(log - found.top[at])
