"""The best graph of all, by dynamic programming over sets of variables (Silander & Myllymäki 2006).

The best family of a variable within each set of others, then the best sink of each set: a graph
over a set is a sink with its best parents among the rest, and the best graph over the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lacunet.errors import OptionError
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.runtime.jit import kernel
from lacunet.structure.counting import Columns, Prior, child_of, log_bd, refine
from lacunet.structure.families import CompleteCounts, largest_family
from lacunet.structure.moves import Limits
from lacunet.structure.searching import Found

MEMORY = 1 << 30  # bytes that an exact search may take


class Choice(NamedTuple):
    """The parents that a variable may have, numbered without itself."""

    others: IntArray  # (n - 1,) the other variables
    allowed: BoolArray  # (n - 1,) whether each may be a parent
    required: int  # the set of those that must be
    most: int  # parents at most
    largest: float  # numbers that its table may have
    log_prior: FloatArray  # (n,) of one set of so many parents


def needed_memory(n: int) -> int:
    """Bytes for the best score of n variables in every set of others, and for every set's sink."""
    return (n * 8 << (n - 1)) + (9 << n)


def check_size(n: int) -> None:
    """Refuse more variables than fit into memory, before anything is made."""
    if needed_memory(n) > MEMORY:
        most = max(k for k in range(1, n) if needed_memory(k) <= MEMORY)
        raise OptionError(
            f"an exact search over {n} variables would score {n * 2.0 ** (n - 1):.2g} families and "
            f"take {needed_memory(n) / 2**30:,.1f} GiB; {most} variables fit into "
            f"{MEMORY / 2**30:g} GiB. Leave --exact out, or columns with --exclude."
        )


def search_exactly(
    counts: CompleteCounts,
    limits: Limits,
    executor: Executor = SERIAL,
    log_prior: FloatArray | None = None,
) -> Found:
    """Find the best graph of all that the limits allow; `log_prior` is that of k parents of v."""
    n = len(counts.cards)
    own = np.zeros((n, n)) if log_prior is None else log_prior
    check_size(n)
    best = np.empty((n, 1 << (n - 1)))
    for v in range(n):
        executor.say(f"families of variable {v + 1} of {n}", v / n)
        most = largest_family(counts.cards[v], n, counts.cases)
        choice = choice_of(limits, v, counts.cards, most, own[v])
        best[v] = score_sets(counts.columns, v, choice, counts.prior)
        take_best_subsets(best[v])
    parents, families = trace_back(best, find_sinks(best))
    return Found(parents, families, steps=0, scored=n << (n - 1))


def choice_of(
    limits: Limits, v: int, cards: FloatArray, most: float, log_prior: FloatArray
) -> Choice:
    """Give the parents that a variable may have, in a table of `most` numbers or what it needs."""
    largest = max(most, float(cards[v] * cards[limits.required[v]].prod()))
    others = np.delete(np.arange(len(limits.most)), v)
    required = int(sum(1 << k for k, u in enumerate(others) if limits.required[v, u]))
    allowed, own = limits.allowed[v, others], np.ascontiguousarray(log_prior)
    return Choice(others, allowed, required, int(limits.most[v]), largest, own)


@kernel
def score_sets(columns: Columns, v: int, choice: Choice, prior: Prior) -> FloatArray:
    """Score the child with each set of parents, one bit for each of the others; −inf: not allowed.

    A score is log BD and the log prior of the set.

    Sets grow by one variable at a time, so rows are cut by that variable alone.
    """
    k, m = choice.others.shape[0], columns.codes.shape[1]
    scores = np.full(1 << k, -np.inf)
    j, q = np.zeros((k + 1, m), dtype=np.int64), np.ones(k + 1, dtype=np.int64)
    child = child_of(columns, v)
    cells = np.full(k + 1, float(child.r))
    path, depth, chosen, after = np.zeros(k + 1, dtype=np.int64), 0, 0, 0
    if choice.required == 0:
        scores[0] = log_bd(child, j[0], 1, cells[0], prior) + choice.log_prior[0]
    while True:
        if after < k and depth < choice.most:
            u, place, after = choice.others[after], after, after + 1
            cells[depth + 1] = cells[depth] * columns.cards[u]
            if not choice.allowed[place] or cells[depth + 1] > choice.largest:
                continue
            x, r = columns.codes[u], columns.cards[u]
            q[depth + 1] = refine(j[depth], q[depth], x, r, j[depth + 1])
            depth, chosen = depth + 1, chosen | 1 << place
            path[depth] = place
            if chosen & choice.required == choice.required:
                own = log_bd(child, j[depth], q[depth], cells[depth], prior)
                scores[chosen] = own + choice.log_prior[depth]
        elif depth == 0:
            return scores
        else:
            after, chosen, depth = path[depth] + 1, chosen ^ 1 << path[depth], depth - 1


@kernel
def take_best_subsets(scores: FloatArray) -> None:
    """Replace the score of each set by the best of its subsets."""
    bit = 1
    while bit < scores.shape[0]:
        for chosen in range(scores.shape[0]):
            if chosen & bit:
                scores[chosen] = max(scores[chosen], scores[chosen ^ bit])
        bit <<= 1


@kernel
def _without(chosen: int, v: int) -> int:
    """Number a set of variables without v: the bits above it move down by one."""
    low = (1 << v) - 1
    return (chosen & low) | ((chosen >> 1) & ~low)


@kernel
def find_sinks(best: FloatArray) -> IntArray:
    """Give a sink of the best graph over each set of variables, one bit for each variable."""
    n = best.shape[0]
    total, sinks = np.full(1 << n, -np.inf), np.zeros(1 << n, dtype=np.int8)
    total[0] = 0.0
    for chosen in range(1, 1 << n):
        for v in range(n):
            if chosen >> v & 1:
                rest = chosen ^ 1 << v
                value = total[rest] + best[v, _without(rest, v)]
                if value > total[chosen]:
                    total[chosen], sinks[chosen] = value, v
    return sinks


def trace_back(best: FloatArray, sinks: IntArray) -> tuple[BoolArray, FloatArray]:
    """Give the parents of every variable, the smallest sets that are as good, and their scores."""
    n = len(best)
    parents, families = np.zeros((n, n), dtype=bool), np.empty(n)
    left = (1 << n) - 1
    while left:
        v = int(sinks[left])
        left ^= 1 << v
        chosen, families[v] = left, best[v, _without(left, v)]
        for u in range(n):
            if chosen >> u & 1 and best[v, _without(chosen ^ 1 << u, v)] == families[v]:
                chosen ^= 1 << u
        parents[v] = [bool(chosen >> u & 1) for u in range(n)]
    return parents, families
