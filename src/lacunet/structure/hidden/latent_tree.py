"""Latent trees: every column is a leaf, and all inner nodes are hidden variables.

The search begins with a tree over islands of columns. Completed rows then propose changes (of
leaves, numbers of states, splits, mergers), and a change is accepted if it raises the bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

import numpy as np

from lacunet.data.table import Table
from lacunet.errors import DataError
from lacunet.evidence.annealing import Goal
from lacunet.evidence.measure import measure
from lacunet.evidence.smc import prepare_sampling
from lacunet.fitting.prepare import PREPARING
from lacunet.flags import Flag
from lacunet.models.network import Model, Network
from lacunet.models.number_prior import NumberPrior
from lacunet.models.prior import describe_alpha
from lacunet.runtime.arrays import BoolArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.structure.families import CompleteCounts, Statistics
from lacunet.structure.hidden.latent_graph import (
    RISE,
    CompletedGraph,
    LatentGraph,
    LatentGraphFit,
    by_size,
    complete,
    empty_graph,
    fit,
    hidden_grid,
    hidden_variables,
)
from lacunet.structure.hidden.local_classes import LocalModels, find_islands, strongest_tree
from lacunet.structure.scoring import AvailableCases, statistics_of
from lacunet.structure.task import USUAL, check_seen, few_rows
from lacunet.tabular import Columns, Grid, Printable

LEFT = 0.9  # progress: share of the remaining work left after each round; their number is unknown
SINGLES = 3  # changes tried one by one if all together do not help
FEWEST_COLUMNS = 3  # fewer do not identify a hidden variable,
FEWEST_IN_TREE = 2  # but a tree joins two in any case


class TreeShape(StrEnum):
    """The shape of the graph of columns and hidden variables."""

    TREE = "tree"
    FOREST = "forest"
    NAIVE = "naive"


@dataclass(frozen=True, eq=False, repr=False)
class LatentTree(Printable):
    """The best latent tree, forest or class model found, and its evidence."""

    KEYS = (
        "shape log_evidence bounds hidden flags log_evidence_by=by graphs_fitted=fitted "
        "parents=network.parent_names"
    )

    shape: TreeShape
    model: Model  # parameters are posterior means
    alpha: float | str  # the prior, as given
    log_evidence: float  # log p(D|S), over all labellings of hidden states
    by: str  # the method, in words
    bounds: tuple[float, ...] = ()  # of each accepted tree
    fitted: int = 0  # trees fitted
    flags: tuple[Flag, ...] = ()

    @property
    def network(self) -> Network:
        """The graph."""
        return self.model.network

    @property
    def hidden(self) -> dict[str, int]:
        """The number of states of each hidden variable."""
        return self.network.hidden_sizes

    def tidy(self) -> Columns:
        """Return a row for each variable: its states, and its parents."""
        return self.network.tidy()

    def grids(self) -> Sequence[Grid]:
        """Return the tables that `print` and notebooks show."""
        what = hidden_variables(len(self.hidden))
        title = f"log p(D|S) ≈ {self.log_evidence:.2f} ({self.by}); {what}"
        notes = [f"Prior: {describe_alpha(self.alpha)}."]
        if self.bounds:
            times, nats = len(self.bounds) - 1, self.bounds[-1] - self.bounds[0]
            rises = f"bound raised {times} times, by {nats:.1f} nats."
            notes.append(f"Trees fitted: {self.fitted}; {rises}")
        return [hidden_grid(self.model, title, (*notes, *map("- {}".format, self.flags)))]


def mean_model(model: Model) -> Model:
    """Replace the estimated parameters of a model by their posterior means."""
    return replace(model, theta=model.predictive.theta)


def check_columns(table: Table, fewest: int = FEWEST_COLUMNS) -> None:
    """Refuse a table with too few columns to identify a hidden variable."""
    if len(table.columns) < fewest:
        raise DataError(
            f"{table.source} has {len(table.columns)} columns: hidden variables are identified "
            f"only from {fewest} or more. Learn a graph without hidden variables, or "
            "add columns."
        )
    check_seen(table)


def learn_tree(
    table: Table,
    alpha: float | str,
    *,
    apart: bool,
    seed: int = 0,
    goal: Goal | None = None,
    executor: Executor = SERIAL,
    prior: NumberPrior = USUAL,
) -> LatentTree:
    """Learn a latent tree over the columns of a table, or a latent forest if `apart`.

    With a goal, its evidence is measured.
    """
    check_columns(table, FEWEST_COLUMNS if apart else FEWEST_IN_TREE)
    executor.report(PREPARING, 0.0)
    graph, rng = empty_graph(table, prior=prior), np.random.default_rng([seed, 1])
    best, values, fitted = _search(table, alpha, graph, apart, rng, executor)
    learned = LatentTree(
        TreeShape.FOREST if apart else TreeShape.TREE,
        by_size(best.model),
        alpha,
        best.value,
        "variational bound, all labellings",
        values,
        fitted,
        tuple(few_rows(table)),
    )
    if goal is None:
        return learned
    problem = best.posterior.problem
    prepare_sampling(executor, problem.network)
    measured = measure(problem, goal=goal, seed=seed, executor=executor)
    by = f"measured by {measured.method}{measured.error}: {measured.verdict}"
    flags = (*learned.flags, *measured.notes)
    return replace(learned, log_evidence=measured.value, by=by, flags=flags)


def _search(
    table: Table,
    alpha: float | str,
    columns: LatentGraph,
    apart: bool,
    rng: np.random.Generator,
    executor: Executor,
) -> tuple[LatentGraphFit, tuple[float, ...], int]:
    """Find the best tree; return it, the bounds of accepted trees, and the number fitted."""
    data = CompletedGraph(columns, table.codes, table.counts)
    islands = find_islands(LocalModels(data, alpha, rng), executor.part(0.0, 0.3))
    for _, classes in islands:
        wider = data.graph.with_hidden(classes.states, [], [])
        data = data.with_hidden(wider, classes.draw(rng))
    tree = best_tree(LocalModels(data, alpha, rng), apart=apart)
    best = fit(table, alpha, cleared(data.with_graph(tree.parents)))
    values, fitted, in_vain, k, left = [best.value], 1, 0, 0, 0.7
    while in_vain < len(MOVES):
        in_vain += 1
        now = LocalModels(complete(table, best, rng), alpha, rng)
        for proposal in map(cleared, MOVES[k % len(MOVES)](now, apart)):
            above = best.value + RISE
            other = fit(table, alpha, proposal, above)
            fitted += 1
            if other.value > above:
                best, in_vain = other, 0
                values.append(other.value)
                break
        k, left = k + 1, left * LEFT
        executor.report(f"tree {fitted}, bound {best.value:,.1f}", 1.0 - left)
    best = best.brought_close()
    return best, (*values, best.value), fitted


def tree_graph(n: int, m: int, homes: Sequence[int], links: Sequence[tuple[int, int]]) -> BoolArray:
    """Make the edges of a tree or a forest: (n + m, n + m), parents of v at [v].

    `homes[v]` is the hidden parent of column v (−1: none), `links` are edges between hidden ones.
    """
    parents = np.zeros((n + m, n + m), dtype=bool)
    for v, parent in enumerate(homes):
        if parent >= 0:
            parents[v, parent] = True
    left = set(range(n, n + m))
    while left:  # edges point away from the first hidden variable of each part
        todo = [min(left)]
        left -= {*todo}
        while todo:
            u = todo.pop()
            for v in sorted(left & {a + b - u for a, b in links if u in (a, b)}):
                parents[v, u] = True
                left.remove(v)
                todo.append(v)
    return parents


def homes_of(graph: LatentGraph) -> list[int]:
    """Find the hidden parent of each column; −1: none."""
    return [int(row.argmax()) if row.any() else -1 for row in graph.parents[: graph.n]]


def links_of(graph: LatentGraph) -> list[tuple[int, int]]:
    """List the edges between hidden variables."""
    n = graph.n
    return [(int(u) + n, int(v) + n) for v, u in np.argwhere(graph.parents[n:, n:])]


def best_tree(now: LocalModels, *, apart: bool) -> LatentGraph:
    """Find the tree of the strongest dependences in completed rows, or the forest if `apart`.

    Hidden variables without children stay, because they have no effect.
    """
    graph, n, m = now.graph, now.graph.n, len(now.graph.sizes)

    def of_categories(seen: Table) -> Statistics:
        return (CompleteCounts if seen.complete else AvailableCases)(seen, now.alpha)

    statistics = statistics_of(now.data.table(), graph.variables, now.alpha, of_categories)
    none = np.zeros(n + m, dtype=bool)
    scores = np.array([statistics(v, none) for v in range(n + m)])
    gains = (
        scores - np.diag(scores)[:, None]
    )  # log Bayes factors for dependence of v on u, at [v, u]
    homes = []
    for v in range(n):
        parent = n + int(gains[v, n:].argmax())
        homes.append(-1 if apart and gains[v, parent] <= 0 else parent)
    gains_of_hidden = gains[n:, n:]
    strength = (gains_of_hidden + gains_of_hidden.T) / 2
    links = [(n + a, n + b) for a, b in strongest_tree(strength) if not apart or strength[a, b] > 0]
    return graph.with_graph(tree_graph(n, m, homes, links))


def cleared(data: CompletedGraph) -> CompletedGraph:
    """Remove hidden variables with fewer than two neighbours."""
    for h in reversed(data.graph.hidden):
        if len(data.graph.neighbours(h)) < 2:
            return cleared(data.without(h))
    return data


# A function of completed rows and `apart` that yields proposals, the most promising first.
Moves: TypeAlias = Callable[[LocalModels, bool], Iterator[CompletedGraph]]


def regrafted(now: LocalModels, apart: bool) -> Iterator[CompletedGraph]:
    """Move columns and hidden variables to their best places in completed rows."""
    graph, data = now.graph, now.data
    if not graph.sizes:
        return
    best = best_tree(now, apart=apart)
    homes, others = homes_of(graph), homes_of(best)
    moved = [v for v in range(graph.n) if homes[v] != others[v]]
    relinked = sorted(links_of(best)) != sorted(links_of(graph))
    if not moved and not relinked:
        return
    yield data.with_graph(best.parents)
    n, m = graph.n, len(graph.sizes)
    if moved and relinked:
        yield data.with_graph(tree_graph(n, m, homes, links_of(best)))
    if (moved and relinked) or len(moved) > 1:
        for v in moved[:SINGLES]:
            one_moved = [*homes[:v], others[v], *homes[v + 1 :]]
            yield data.with_graph(tree_graph(n, m, one_moved, links_of(graph)))


def resized(now: LocalModels, _apart: bool) -> Iterator[CompletedGraph]:
    """Add or drop a state: for all hidden variables that gain, then for the best ones singly."""
    gaining = []
    for h in now.graph.hidden:
        rows, states = now.take(now.graph.neighbours(h)), now.graph.states(h)
        value = rows.fit(now.alpha, states).value
        others = [rows.fit(now.alpha, k) for k in (states + 1, states - 1) if k >= 2]
        better = max(others, key=lambda classes: classes.value)
        if better.value > value + RISE:
            gaining.append((better.value - value, h, better.states, better.draw(now.rng)))
    gaining.sort(key=lambda one: -one[0])
    for chosen in (gaining, *([one] for one in gaining[:SINGLES] if len(gaining) > 1)):
        data = now.data
        for _, h, states, drawn in chosen:
            data = data.with_states(h, states, drawn)
        if chosen:
            yield data


def split(now: LocalModels, _apart: bool) -> Iterator[CompletedGraph]:
    """Replace a hidden variable by two if these explain its neighbours better."""
    for _, h, two in sorted(now.splits(), key=lambda one: -one[0])[:SINGLES]:
        first, second = two.classes
        data = now.data.with_states(h, first.states, first.draw(now.rng))
        graph = data.graph.with_hidden(second.states, [], [])
        data = data.with_hidden(graph, second.draw(now.rng))
        new, theirs = graph.hidden[-1], two.groups[1]
        links = [(h, new)]
        for a, b in links_of(now.graph):
            other = a + b - h
            links.append((new, other) if h in (a, b) and other in theirs else (a, b))
        homes = [new if v in theirs else parent for v, parent in enumerate(homes_of(now.graph))]
        yield data.with_graph(tree_graph(graph.n, len(graph.sizes), homes, links))


def merged(now: LocalModels, _apart: bool) -> Iterator[CompletedGraph]:
    """Replace two adjacent hidden variables by one."""
    candidates = []
    for a, b in links_of(now.graph):
        groups = [[v for v in now.graph.neighbours(h) if v not in (a, b)] for h in (a, b)]
        one = now.one([*groups[0], *groups[1]], max(now.graph.states(h) for h in (a, b)))
        gain = one.value - now.both(groups).value if all(groups) else 0.0
        if gain >= 0:
            candidates.append((gain, a, b, one))
    for _, a, b, one in sorted(candidates, key=lambda one: -one[0])[:SINGLES]:
        data = now.data.with_states(a, one.states, one.draw(now.rng))
        graph = data.graph
        homes = [a if parent == b else parent for parent in homes_of(graph)]
        links = [
            (a if u == b else u, a if v == b else v) for u, v in links_of(graph) if {u, v} != {a, b}
        ]
        yield data.with_graph(tree_graph(graph.n, len(graph.sizes), homes, links)).without(b)


MOVES: tuple[Moves, ...] = (regrafted, resized, split, merged)
