"""Latent trees: every column is a leaf, and what joins the columns is hidden.

The search begins with a tree over islands, then makes changes that completed rows propose (of
leaves, numbers of states, splits, mergers) as long as one raises the bound.
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

LEFT = 0.9  # of what was to be done before a change, as it is shown: the number is unknown
SINGLES = 3  # changes that are tried by themselves where all together do not help
FEWEST_COLUMNS = 3  # of fewer, nothing tells how a hidden variable joins them,
FEWEST_IN_TREE = 2  # but one does, where all hang together whatever the data tell


class TreeShape(StrEnum):
    """What the graph of columns and hidden variables looks like."""

    TREE = "tree"
    FOREST = "forest"
    NAIVE = "naive"


@dataclass(frozen=True, eq=False, repr=False)
class LatentTree(Printable):
    """The best latent tree, forest or class model that was found, and what it is worth."""

    shape: TreeShape
    model: Model  # its parameters are posterior means
    alpha: float | str  # the prior, as it was asked for
    log_evidence: float  # log p(D|S), all labellings of hidden states
    by: str  # how that is known, in words
    bounds: tuple[float, ...] = ()  # of each tree that was accepted
    fitted: int = 0  # trees that were fitted to see whether they are better
    flags: tuple[Flag, ...] = ()

    @property
    def network(self) -> Network:
        """The graph."""
        return self.model.network

    @property
    def hidden(self) -> dict[str, int]:
        """The hidden variables, and how many states each has."""
        return self.network.hidden_sizes

    def tidy(self) -> Columns:
        """Give a row for each variable: its states, and its parents."""
        return self.network.tidy()

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        what = hidden_variables(len(self.hidden))
        title = f"log p(D|S) ≈ {self.log_evidence:.2f} ({self.by}); {what}"
        notes = [f"Prior: {describe_alpha(self.alpha)}."]
        if self.bounds:
            times, nats = len(self.bounds) - 1, self.bounds[-1] - self.bounds[0]
            found = f"bound raised {times} times, by {nats:.1f} nats."
            notes.append(f"Trees fitted: {self.fitted}; {found}")
        return [hidden_grid(self.model, title, (*notes, *map("- {}".format, self.flags)))]


def mean_model(model: Model) -> Model:
    """Give a fitted model its expected parameters in the place of its estimate."""
    return replace(model, theta=model.predictive.theta)


def check_columns(table: Table, fewest: int = FEWEST_COLUMNS) -> None:
    """Refuse a table whose columns no hidden variable can join."""
    if len(table.columns) < fewest:
        raise DataError(
            f"{table.source} has {len(table.columns)} columns: hidden variables behind them can be "
            f"told only from {fewest} or more. Learn a graph without hidden variables, or "
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
    """Learn a latent tree over the columns of a table, or a forest, if it may fall apart.

    With a goal, its evidence is measured.
    """
    check_columns(table, FEWEST_COLUMNS if apart else FEWEST_IN_TREE)
    executor.say(PREPARING, 0.0)
    graph, rng = empty_graph(table, prior=prior), np.random.default_rng([seed, 1])
    best, values, fitted = _search(table, alpha, graph, apart, rng, executor)
    found = LatentTree(
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
        return found
    problem = best.posterior.problem
    prepare_sampling(executor, problem.network)
    measured = measure(problem, goal=goal, seed=seed, executor=executor)
    by = f"measured by {measured.method}{measured.error}: {measured.verdict}"
    flags = (*found.flags, *measured.notes)
    return replace(found, log_evidence=measured.value, by=by, flags=flags)


def _search(
    table: Table,
    alpha: float | str,
    columns: LatentGraph,
    apart: bool,
    rng: np.random.Generator,
    executor: Executor,
) -> tuple[LatentGraphFit, tuple[float, ...], int]:
    """Give the best tree, bounds of those that were accepted, and how many were fitted."""
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
        executor.say(f"tree {fitted}, bound {best.value:,.1f}", 1.0 - left)
    best = best.brought_close()
    return best, (*values, best.value), fitted


def tree_graph(n: int, m: int, homes: Sequence[int], links: Sequence[tuple[int, int]]) -> BoolArray:
    """Give the edges of a tree or a forest: (n + m, n + m), parents of v at [v].

    `homes[v]` is the hidden variable of column v (−1: none), `links` join hidden ones, by number.
    """
    parents = np.zeros((n + m, n + m), dtype=bool)
    for v, home in enumerate(homes):
        if home >= 0:
            parents[v, home] = True
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
    """Give the hidden variable behind each column; −1 where there is none."""
    return [int(row.argmax()) if row.any() else -1 for row in graph.parents[: graph.n]]


def links_of(graph: LatentGraph) -> list[tuple[int, int]]:
    """Give the edges between hidden variables."""
    n = graph.n
    return [(int(u) + n, int(v) + n) for v, u in np.argwhere(graph.parents[n:, n:])]


def best_tree(now: LocalModels, *, apart: bool) -> LatentGraph:
    """Give the tree of the strongest dependences in completed rows; a forest if it may fall apart.

    Hidden variables that nothing hangs on are left as they are: they have no effect.
    """
    graph, n, m = now.graph, now.graph.n, len(now.graph.sizes)

    def of_categories(seen: Table) -> Statistics:
        return (CompleteCounts if seen.complete else AvailableCases)(seen, now.alpha)

    statistics = statistics_of(now.data.table(), graph.variables, now.alpha, of_categories)
    none = np.zeros(n + m, dtype=bool)
    scores = np.array([statistics(v, none) for v in range(n + m)])
    gains = scores - np.diag(scores)[:, None]  # log Bayes factors of each to depend on each
    homes = []
    for v in range(n):
        home = n + int(gains[v, n:].argmax())
        homes.append(-1 if apart and gains[v, home] <= 0 else home)
    between = gains[n:, n:]
    strength = (between + between.T) / 2
    links = [(n + a, n + b) for a, b in strongest_tree(strength) if not apart or strength[a, b] > 0]
    return graph.with_graph(tree_graph(n, m, homes, links))


def cleared(data: CompletedGraph) -> CompletedGraph:
    """Take hidden variables away that join nothing."""
    for h in reversed(data.graph.hidden):
        if len(data.graph.neighbours(h)) < 2:
            return cleared(data.without(h))
    return data


# Completed rows by a tree, and whether it may be a forest: proposals, the most promising first.
Moves: TypeAlias = Callable[[LocalModels, bool], Iterator[CompletedGraph]]


def regrafted(now: LocalModels, apart: bool) -> Iterator[CompletedGraph]:
    """Hang every column, and every hidden variable, where completed rows would have it."""
    graph, data = now.graph, now.data
    if not graph.sizes:  # a forest without hidden variables: there is nothing to hang columns on
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
            own = [*homes[:v], others[v], *homes[v + 1 :]]
            yield data.with_graph(tree_graph(n, m, own, links_of(graph)))


def resized(now: LocalModels, _apart: bool) -> Iterator[CompletedGraph]:
    """Give hidden variables a state more or less: all that gain by it, then the best of them."""
    found = []
    for h in now.graph.hidden:
        rows, states = now.take(now.graph.neighbours(h)), now.graph.states(h)
        own = rows.fit(now.alpha, states).value
        others = [rows.fit(now.alpha, k) for k in (states + 1, states - 1) if k >= 2]
        better = max(others, key=lambda classes: classes.value)
        if better.value > own + RISE:
            found.append((better.value - own, h, better.states, better.draw(now.rng)))
    found.sort(key=lambda one: -one[0])
    for chosen in (found, *([one] for one in found[:SINGLES] if len(found) > 1)):
        data = now.data
        for _, h, states, drawn in chosen:
            data = data.with_states(h, states, drawn)
        if chosen:
            yield data


def split(now: LocalModels, _apart: bool) -> Iterator[CompletedGraph]:
    """Put two hidden variables in the place of one whose neighbours it does not explain."""
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
        homes = [new if v in theirs else home for v, home in enumerate(homes_of(now.graph))]
        yield data.with_graph(tree_graph(graph.n, len(graph.sizes), homes, links))


def merged(now: LocalModels, _apart: bool) -> Iterator[CompletedGraph]:
    """Put one hidden variable in the place of two that are joined."""
    found = []
    for a, b in links_of(now.graph):
        groups = [[v for v in now.graph.neighbours(h) if v not in (a, b)] for h in (a, b)]
        one = now.one([*groups[0], *groups[1]], max(now.graph.states(h) for h in (a, b)))
        gain = one.value - now.both(groups).value if all(groups) else 0.0
        if gain >= 0:
            found.append((gain, a, b, one))
    for _, a, b, one in sorted(found, key=lambda one: -one[0])[:SINGLES]:
        data = now.data.with_states(a, one.states, one.draw(now.rng))
        graph = data.graph
        homes = [a if home == b else home for home in homes_of(graph)]
        links = [
            (a if u == b else u, a if v == b else v) for u, v in links_of(graph) if {u, v} != {a, b}
        ]
        yield data.with_graph(tree_graph(graph.n, len(graph.sizes), homes, links)).without(b)


MOVES: tuple[Moves, ...] = (regrafted, resized, split, merged)
