"""Hill climbing over graphs, iterated local search, and exact search.

A climb ends where no single move helps, often because several edges must change together. The
search then reverses covered edges at random, replaces edges around some variables, and climbs
again. Most families are scored already, so this is cheap. Exact search uses dynamic programming
over sets of variables (Silander & Myllymäki 2006).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import NamedTuple

import numpy as np

from lacunet.errors import OptionError
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.checkpoint import NULL_CHECKPOINT, Checkpoint
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.runtime.jit import kernel
from lacunet.structure.counting import Columns, Prior, child_of, log_bd, refine
from lacunet.structure.families import CompleteCounts, FamilyScores, GraphPrior, largest_family
from lacunet.structure.moves import (
    ADD,
    EQUAL,
    REVERSE,
    Limits,
    edges_of_graph,
    find_best,
    graph_of_edges,
    scatter,
    turn_covered,
)

MOST_STEPS = 20  # per variable; gains on different rows may lead to cycles
MOST_SWEEPS = 6  # of a search by gains, with the same reason
MEMORY = 1 << 30  # bytes that an exact search may take
FEWEST = 40  # perturbations without gain before a search ends, about, at least


class GraphScore(StrEnum):
    """The criterion for graphs if values are missing."""

    BOUND = "bound"  # a lower bound on log p(D|S)
    AVAILABLE = "available"  # each move is scored on the rows with all its variables observed
    EXPECTED = "expected"  # rows completed under the previous graph: structural EM


@dataclass(frozen=True)
class GraphSearch:
    """Options of the search for a graph."""

    sweeps: int = 1  # sweeps over all variables without gain before a search ends
    restarts: int = 2  # searches after the first, all from the same graph
    probes: int = 3  # with missing values: moves of each kind tried if completed rows do not help
    exact: bool = False  # exact search instead; only with few variables
    seed: int = 0
    score: GraphScore = GraphScore.BOUND  # with missing values: the criterion
    prior: GraphPrior = GraphPrior.UNIFORM  # over graphs

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not isinstance(value, str) and value < 0:
                raise OptionError(f"{name} {value} is not allowed: give 0 or more.")


ONE_CLIMB = GraphSearch(sweeps=0, restarts=0)


@dataclass(frozen=True, eq=False)
class ScoredGraph:
    """A graph with the scores of its families."""

    parents: BoolArray  # (n, n) whether u is a parent of v, at [v, u]
    families: FloatArray  # (n,) scores of its families
    gains: FloatArray  # (n, n) at [v, u], of adding u to the parents of v, or removing it
    steps: int = 0  # moves made
    gained: float = 0.0  # sum of the gains of these moves
    scored: int = 0  # families scored by the search

    @property
    def score(self) -> float:
        """The score of the graph."""
        return float(self.families.sum())


def score_graph(parents: BoolArray, scores: FamilyScores) -> ScoredGraph:
    """Score a graph."""
    scored = [scores(v, pa) for v, pa in enumerate(parents)]
    families, gains = (np.array(values) for values in zip(*scored, strict=True))
    return ScoredGraph(parents, families, gains)


def climb(
    start: BoolArray,
    scores: FamilyScores,
    limits: Limits,
    rng: np.random.Generator,
    near: ScoredGraph | None = None,
) -> ScoredGraph:
    """Make the best move as long as one gains; ties are broken at random.

    `near` is a scored graph that shares most families with the start.
    """
    near = near or score_graph(start, scores)
    parents, families, gains = start.copy(), near.families.copy(), near.gains.copy()
    changed = np.flatnonzero((parents != near.parents).any(axis=1)).tolist()
    steps, gained = 0, 0.0
    while True:
        for v in changed:
            families[v], gains[v] = scores(v, parents[v])
        top, tied = find_best(parents, limits, gains)
        if top <= EQUAL or steps == MOST_STEPS * len(parents):
            return ScoredGraph(parents, families, gains, steps, gained)
        kind, u, v = tied[int(rng.integers(len(tied)))].tolist()
        parents[v, u] = kind == ADD
        parents[u, v] |= kind == REVERSE
        changed = [v, u] if kind == REVERSE else [v]
        steps, gained = steps + 1, gained + top


def search(
    starts: Sequence[BoolArray],
    scores: FamilyScores,
    limits: Limits,
    options: GraphSearch,
    executor: Executor = SERIAL,
    checkpoint: Checkpoint = NULL_CHECKPOINT,
) -> ScoredGraph:
    """Search several times from each graph, and return the best graph."""
    turns = [(start, k) for k in range(1 + options.restarts) for start in starts]
    once = partial(_search_once, scores, limits, options, checkpoint)
    ends = executor.count(once, turns, "search", first=0, total=len(turns))
    best, steps = max(ends, key=lambda one: one.score), sum(one.steps for one in ends)
    return replace(best, steps=steps, scored=scores.scored)


def _search_once(
    scores: FamilyScores,
    limits: Limits,
    options: GraphSearch,
    checkpoint: Checkpoint,
    turn: tuple[BoolArray, int],
) -> ScoredGraph:
    """Climb, then perturb around every variable in turn until that gains nothing."""
    start, k = turn
    rng, piece, in_vain = np.random.default_rng([options.seed, k]), f"search {k + 1}", 0
    if saved := checkpoint.get(piece):
        rng.bit_generator.state = saved["rng"]
        best = score_graph(graph_of_edges(saved["edges"], len(start)), scores)
        best, in_vain = replace(best, steps=saved["steps"]), saved["in vain"]
    else:
        best = climb(start, scores, limits, rng)
    while in_vain < options.sweeps * max(1, FEWEST // len(start)):
        best, gained = _sweep(best, scores, limits, rng)
        in_vain = 0 if gained else in_vain + 1
        state = {"rng": rng.bit_generator.state, "in vain": in_vain, "steps": best.steps}
        checkpoint.put(piece, edges=edges_of_graph(best.parents), **state)
    return best


def search_by_gains(
    start: BoolArray, scores: FamilyScores, limits: Limits, rng: np.random.Generator
) -> BoolArray:
    """Search by the sum of the gains of moves, if graphs have no comparable scores.

    Gains may come from different rows, so the sum is approximate; the caller checks the graph.
    """
    best, in_vain, often = climb(start, scores, limits, rng), 0, max(1, FEWEST // len(start))
    for _ in range(MOST_SWEEPS * often):
        best, gained = _sweep(best, scores, limits, rng, by_gains=True)
        in_vain = 0 if gained else in_vain + 1
        if in_vain == often:
            break
    return best.parents


def _sweep(
    best: ScoredGraph,
    scores: FamilyScores,
    limits: Limits,
    rng: np.random.Generator,
    *,
    by_gains: bool = False,
) -> tuple[ScoredGraph, bool]:
    """Climb from perturbations around every variable in turn: the best, and whether it gained.

    An equally good graph replaces the current one.
    """
    improved, steps = False, best.steps
    for v in rng.permutation(len(best.parents)).tolist():
        turned = best.parents.copy()
        turn_covered(turned, limits, rng)
        apart = turned.copy()
        scatter(apart, v, limits, rng)
        other = climb(apart, scores, limits, rng, best)
        steps += other.steps
        gain = other.score - best.score
        if by_gains:
            gain = other.gained + _gain_of(turned, apart, scores)
        improved |= gain > EQUAL
        best = other if gain >= -EQUAL else best
    return replace(best, steps=steps), improved


def _gain_of(before: BoolArray, after: BoolArray, scores: FamilyScores) -> float:
    """Sum the gains from one graph to another, the best change of a family first."""
    gain, now = 0.0, before.copy()
    for v in np.flatnonzero((before != after).any(axis=1)).tolist():
        for changes in (before[v] & ~after[v], after[v] & ~before[v]):
            left = np.flatnonzero(changes).tolist()
            while left:
                gains = scores(v, now[v]).gains
                u = max(left, key=gains.__getitem__)
                gain += gains[u]
                left.remove(u)
                now[v, u] = not now[v, u]
    return gain


class ParentChoice(NamedTuple):
    """The candidate parents of a variable, numbered without itself."""

    others: IntArray  # (n - 1,) the other variables
    allowed: BoolArray  # (n - 1,) whether each may be a parent
    required: int  # the set of required parents, as bits
    most: int  # maximum number of parents
    largest: float  # maximum size of the table
    log_prior: FloatArray  # (n,) of one set, by its size


def needed_memory(n: int) -> int:
    """Compute the bytes for best scores by variable and candidate set, and for sinks of sets."""
    return (n * 8 << (n - 1)) + (9 << n)


def check_size(n: int) -> None:
    """Refuse more variables than fit into memory."""
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
) -> ScoredGraph:
    """Find the best of all allowed graphs; `log_prior[v, k]` is that of k parents of v."""
    n = len(counts.cards)
    log_priors = np.zeros((n, n)) if log_prior is None else log_prior
    check_size(n)
    best = np.empty((n, 1 << (n - 1)))
    for v in range(n):
        executor.report(f"families of variable {v + 1} of {n}", v / n)
        most = largest_family(counts.cards[v], n, counts.cases)
        choice = choice_of(limits, v, counts.cards, most, log_priors[v])
        best[v] = score_sets(counts.columns, v, choice, counts.prior)
        for b in range(n - 1):  # the score of each set becomes the best of its subsets
            halves = best[v].reshape(-1, 2, 1 << b)  # sets without b, and with it
            np.maximum(halves[:, 1], halves[:, 0], out=halves[:, 1])
    parents, families = trace_back(best, find_sinks(best))
    return ScoredGraph(parents, families, np.empty((n, 0)), scored=n << (n - 1))


def choice_of(
    limits: Limits, v: int, cards: FloatArray, most: float, log_prior: FloatArray
) -> ParentChoice:
    """Collect the candidate parents of a variable; `most` is the size that its table may have."""
    largest = max(most, float(cards[v] * cards[limits.required[v]].prod()))
    others = np.delete(np.arange(len(limits.most)), v)
    required = int(sum(1 << k for k, u in enumerate(others) if limits.required[v, u]))
    allowed, log_prior = limits.allowed[v, others], np.ascontiguousarray(log_prior)
    return ParentChoice(others, allowed, required, int(limits.most[v]), largest, log_prior)


@kernel
def score_sets(columns: Columns, v: int, choice: ParentChoice, prior: Prior) -> FloatArray:
    """Score the child with each set of parents, as bits; −inf: not allowed.

    A score is log BD plus the log prior of the set. Sets grow by one variable at a time, so each
    step refines the previous configurations.
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
                family = log_bd(child, j[depth], q[depth], cells[depth], prior)
                scores[chosen] = family + choice.log_prior[depth]
        elif depth == 0:
            return scores
        else:
            after, chosen, depth = path[depth] + 1, chosen ^ 1 << path[depth], depth - 1


@kernel
def _without(chosen: int, v: int) -> int:
    """Drop bit v from a set of variables: the bits above it move down by one."""
    low = (1 << v) - 1
    return (chosen & low) | ((chosen >> 1) & ~low)


@kernel
def find_sinks(best: FloatArray) -> IntArray:
    """Find a sink of the best graph over each set of variables, given as bits."""
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
    """Reconstruct the parents of every variable, the smallest optimal sets, and their scores."""
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
