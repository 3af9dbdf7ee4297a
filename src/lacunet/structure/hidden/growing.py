"""Add one hidden variable to a graph: propose it, fit it, and search the graph again around it.

Without a hidden parent its children all depend on each other, so the learned graph has a
near-clique in its place (Elidan, Lotner, Friedman & Koller 2001). With few rows the graph has fewer
edges, so small groups of dependent columns are candidates, too. The variational bound chooses
among proposals; measured evidence compares the best with the graph without the variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from lacunet.fitting.diagnose import Variational
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.runtime.checkpoint import NULL_CHECKPOINT, Checkpoint
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.structure.hidden.latent_graph import (
    RISE,
    CompletedGraph,
    LatentGraph,
    LatentGraphFit,
    complete,
    edge_matrix,
    fit,
    numbers_of,
    problem_of,
)
from lacunet.structure.hidden.local_classes import LocalModels, find_islands
from lacunet.structure.learned import Learned
from lacunet.structure.moves import Limits, edges_of_graph, graph_of_edges
from lacunet.structure.scoring import complete_scores, search_complete
from lacunet.structure.task import GraphTask

# A hidden variable needs three neighbours: with two it is equivalent to an edge between them.
FEWEST_IN_CLIQUE = 3
MOST = 12  # most members of a group from the graph
LARGEST = 5  # most members of a group of dependent columns
PAIRS = 200  # most pairs of columns that such groups grow from
BEAM = 20  # most groups of each size: all groups of six columns
FITTED = 16  # most proposals fitted, those with the largest local gains
IMPROVED = 4  # most fitted proposals around which the graph is searched again
ROUNDS = 10  # most rounds of such a search


@dataclass(frozen=True, eq=False)
class Growing:
    """The search for hidden variables of one task, with one random generator."""

    task: GraphTask
    rng: np.random.Generator
    checkpoint: Checkpoint = NULL_CHECKPOINT
    executor: Executor = SERIAL

    @cached_property
    def columns(self) -> LatentGraph:
        """The columns, without edges."""
        task, n = self.task, len(self.task.variables)
        numbers = numbers_of(task.table, task.variables)
        return LatentGraph(task.table.columns, (), np.zeros((n, n), bool), task.known, numbers)

    @cached_property
    def constant(self) -> BoolArray:
        """Which columns have one state: edges with them change nothing, (n,)."""
        return np.array([len(c.states) == 1 for c in self.task.table.columns])

    @cached_property
    def closed(self) -> BoolArray:
        """Which columns get no hidden parent, (n,): constants, and those with known parents."""
        known_parents = [c.name in self.task.known.ordered_parents for c in self.task.table.columns]
        return self.constant | known_parents

    def first(self, learned: Learned) -> LatentGraphFit:
        """Convert a learned graph over the columns."""
        graph = self.columns.with_graph(edge_matrix(learned.network))
        return LatentGraphFit(graph, learned.posterior)

    def one_more(self, now: LatentGraphFit) -> list[LatentGraphFit]:
        """Find graphs with one more hidden variable: proposals searched again, and the best one.

        There are several because bounds are looser with more hidden variables.
        """
        piece = hidden_piece(len(now.graph.sizes) + 1)
        best = self._once(piece, partial(self._proposed, now))
        again = [self._improved(one, f"{piece}, graph {k}") for k, one in enumerate(best, 1)]
        ranked = sorted(again, key=lambda one: -one.value)
        first: dict[Any, LatentGraphFit] = {}  # by graph and numbers of states
        for one in (*ranked, *(one.brought_close() for one in best[:1])):
            first.setdefault((one.graph.sizes, one.graph.parents.tobytes()), one)
        return [*first.values()]

    def taken_over(self, other: LatentGraphFit, number: int) -> LatentGraphFit:
        """Fit a graph that a search under another prior selected."""

        def fitted() -> list[LatentGraphFit]:
            return [self._fit(complete(self.task.table, other, self.rng))]

        return self._once(f"{hidden_piece(number)}, taken over", fitted)[0].brought_close()

    def without_again(self, now: LatentGraphFit, other: LatentGraphFit) -> LatentGraphFit:
        """Search again without hidden variables, from rows completed by a graph with some.

        Otherwise a hidden variable could win because the search without it ended too early.
        """
        if self.task.complete:  # the rows are the same
            return now

        def searched() -> list[LatentGraphFit]:
            data = complete(self.task.table, other, self.rng)
            for h in reversed(other.graph.hidden):
                data = data.without(h)
            data = replace(data, graph=now.graph)
            parents = search_complete(self._completed(data), [now.graph.parents]).parents
            return [self._fit(data.with_graph(parents), now.value)]

        piece = "without hidden variables"
        improved = self._improved(self._once(piece, searched)[0], piece)
        return max(now, improved, key=lambda one: one.value)

    def _once(
        self, piece: str, work: Callable[[], Sequence[LatentGraphFit]]
    ) -> Sequence[LatentGraphFit]:
        """Compute the results of a piece of work, or restore them from the checkpoint."""
        if saved := self.checkpoint.get(piece):
            self.rng.bit_generator.state = saved["rng"]
            return [self._read(graph) for graph in saved["graphs"]]
        fits = work()
        written = [
            {
                "sizes": one.graph.sizes,
                "edges": edges_of_graph(one.graph.parents),
                "counts": one.posterior.N.tolist(),
                "bound": one.posterior.bound,
            }
            for one in fits
        ]
        self.checkpoint.put(piece, rng=self.rng.bit_generator.state, graphs=written)
        return fits

    def _read(self, saved: dict[str, Any]) -> LatentGraphFit:
        sizes = tuple(saved["sizes"])
        parents = graph_of_edges(saved["edges"], self.columns.n + len(sizes))
        graph = replace(self.columns, sizes=sizes, parents=parents)
        problem = problem_of(self.task.table, self.task.alpha, graph)
        q = Variational(problem, np.array(saved["counts"]), saved["bound"])
        return LatentGraphFit(graph, q)

    def _fit(self, start: CompletedGraph, above: float = -np.inf) -> LatentGraphFit:
        return fit(self.task.table, self.task.alpha, start, above)

    def _improved(self, now: LatentGraphFit, piece: str) -> LatentGraphFit:
        """Search the graph and the numbers of states again as long as the bound rises."""
        for k in range(1, ROUNDS + 1):
            self.executor.report(f"bound {now.value:,.1f}", 0.5)
            better = self._once(f"{piece}, round {k}", partial(self._changed, now))
            if not better:
                break
            now = better[0]
        return now.brought_close()

    def _changed(self, now: LatentGraphFit) -> list[LatentGraphFit]:
        """Find the first change that raises the bound, if any."""
        models = self._local_models(now)
        for proposal in self._changes(models):
            other = self._fit(proposal, now.value + RISE)
            if other.value > now.value + RISE:
                return [other]
        return []

    def _local_models(self, now: LatentGraphFit) -> LocalModels:
        data = complete(self.task.table, now, self.rng)
        return LocalModels(data, self.task.alpha, self.rng)

    def _changes(self, models: LocalModels) -> Iterator[CompletedGraph]:
        """Propose the best graph of completed rows, then other numbers of states."""
        graph, data = models.graph, models.data
        parents = search_complete(self._completed(data), [graph.parents]).parents
        if (parents != graph.parents).any() and has_sense(graph.with_graph(parents)):
            yield data.with_graph(parents)
        for h in graph.hidden:
            for k in (graph.states(h) + 1, graph.states(h) - 1):
                if k >= 2:
                    local = models.take(graph.neighbours(h)).fit(self.task.alpha, k)
                    yield data.with_states(h, k, local.draw(self.rng))

    def _proposed(self, now: LatentGraphFit) -> list[LatentGraphFit]:
        """Fit proposals, and return the best."""
        models = self._local_models(now)
        proposals = [*self._splits(models), *self._groups(models)]
        fitted = [self._fit(one) for one in proposals if has_sense(one.graph)]
        return sorted(fitted, key=lambda one: -one.value)[:IMPROVED]

    def _splits(self, models: LocalModels) -> Iterator[CompletedGraph]:
        """Replace a hidden variable by two if these explain its neighbours better."""
        for _, h, two in models.splits():
            first, second = two.classes
            data = models.data.with_states(h, first.states, first.draw(self.rng))
            wider = split_off(data.graph, h, two.groups[1], second.states)
            yield data.with_hidden(wider, second.draw(self.rng))

    def _groups(self, models: LocalModels) -> list[CompletedGraph]:
        """Add a hidden parent of a group of variables, by decreasing local gain."""
        graph, data, limits = models.graph, models.data, self.limits(models.graph)
        completed = self._completed(data)
        scores = complete_scores(completed, completed.table)
        islands = [tuple(sorted(members)) for members, _ in find_islands(models)]
        touching = graph.parents | graph.parents.T
        free = {*np.flatnonzero(~self.closed).tolist(), *graph.hidden}
        proposed = (*groups_of(touching), *islands, *dependent_groups(models.near))
        candidates = []
        for group in sorted({tuple(v for v in group if v in free) for group in proposed}):
            members = list(group)
            shared = graph.parents[members, graph.n :].all(axis=0).any()  # a hidden parent of all
            if len(group) < FEWEST_IN_CLIQUE or shared or (limits.most[members] == 0).any():
                continue
            one, inside = models.one(group), _inside(graph, group)
            gain = one.value - sum(scores(v, inside[v]).score for v in group)
            wider = behind(graph, group, one.states, limits)
            candidates.append((gain, data.with_hidden(wider, one.draw(self.rng))))
        candidates.sort(key=lambda one: -one[0])
        return [proposal for _, proposal in candidates[:FITTED]]

    def _completed(self, data: CompletedGraph) -> GraphTask:
        """Make the search task of completed rows, without restarts."""
        graph = data.graph
        return GraphTask(
            data.table(),
            graph.variables,
            self.task.alpha,
            replace(self.task.options, restarts=0),
            self.limits(graph),
            graph.parents,
            self.task.known,
        )

    def limits(self, graph: LatentGraph) -> Limits:
        """Extend the limits of the columns to hidden variables."""
        allowed, required, most = self.task.limits
        n, m = graph.n, len(graph.sizes)
        may = np.ones((n + m, n + m), dtype=bool)
        may[:n, :n] = allowed
        may[:n, n:] = ~self.closed[:, None]
        may[n:, :n] = ~(self.constant | self.task.numbers)
        np.fill_diagonal(may, False)
        must = np.zeros_like(may)
        must[:n, :n] = required
        return Limits(may, must, np.concatenate([most, np.full(m, max(most, default=0))]))


def hidden_piece(number: int) -> str:
    """Name the search for a hidden variable in the checkpoint."""
    return f"hidden variable {number}"


def has_sense(graph: LatentGraph) -> bool:
    """Whether every hidden variable has a child and enough neighbours to be identifiable."""
    return all(
        graph.parents[:, h].any() and len(graph.neighbours(h)) >= FEWEST_IN_CLIQUE
        for h in graph.hidden
    )


def split_off(graph: LatentGraph, h: int, some: Sequence[int], states: int) -> LatentGraph:
    """Move some neighbours of a hidden variable to a new hidden child of it."""
    wider = graph.with_hidden(states, [h], [])
    parents, new = wider.parents.copy(), wider.hidden[-1]
    for v in some:
        parents[v, new], parents[v, h] = parents[v, h], False
        parents[new, v], parents[h, v] = parents[h, v], False
    return wider.with_graph(parents)


def behind(graph: LatentGraph, group: Sequence[int], states: int, limits: Limits) -> LatentGraph:
    """Replace the edges within a group by a hidden parent of all members.

    Required edges stay; a member with too many parents loses some others.
    """
    inside = _inside(graph, group) & ~limits.required
    wider = graph.with_graph(graph.parents & ~inside).with_hidden(states, [], list(group))
    parents = wider.parents.copy()
    for v in group:
        others = np.flatnonzero(parents[v, :-1] & ~limits.required[v])
        parents[v, others[: max(0, int(parents[v].sum() - limits.most[v]))]] = False
    return wider.with_graph(parents)


def _inside(graph: LatentGraph, group: Sequence[int]) -> BoolArray:
    """Select the edges of a graph within a group."""
    inside = np.zeros_like(graph.parents)
    inside[np.ix_(group, group)] = graph.parents[np.ix_(group, group)]
    return inside


def groups_of(touching: BoolArray) -> list[tuple[int, ...]]:
    """List near-cliques, neighbourhoods and components of an undirected graph, (n, n)."""
    _, component = connected_components(touching, directed=False)
    groups = [
        *near_cliques(touching),
        *({v, *np.flatnonzero(row).tolist()} for v, row in enumerate(touching)),
        *(np.flatnonzero(component == k).tolist() for k in np.unique(component)),
    ]
    return sorted({tuple(sorted(g)) for g in groups if FEWEST_IN_CLIQUE <= len(g) <= MOST})


def near_cliques(touching: BoolArray) -> Iterator[set[int]]:
    """Grow a group from every edge while each member is adjacent to at least half of the others."""
    for u, v in np.argwhere(np.triu(touching)).tolist():
        group = {u, v}
        while True:
            ties = touching[:, sorted(group)].sum(axis=1)
            others = [w for w in np.argsort(-ties, kind="stable").tolist() if w not in group]
            wider = next((w for w in others if is_near_clique(touching, group | {w})), None)
            if wider is None:
                break
            group.add(wider)
        yield group


def is_near_clique(touching: BoolArray, group: set[int]) -> bool:
    """Whether each member is adjacent to at least half of the others."""
    members = sorted(group)
    inside = touching[np.ix_(members, members)].sum(axis=1)
    return bool((2 * inside >= len(members) - 1).all())


def dependent_groups(near: FloatArray) -> list[tuple[int, ...]]:
    """Find small groups that maximise the weakest dependence within the group, by beam search.

    `near`, (n, n), is the strength of dependence of each pair.
    """

    def weakest(group: tuple[int, ...]) -> float:
        return float(near[np.ix_(group, group)][np.triu_indices(len(group), 1)].min())

    n = len(near)
    beam: list[tuple[int, ...]] = [(v,) for v in range(n)]
    groups: list[tuple[int, ...]] = []
    for size in range(2, min(LARGEST, n) + 1):
        wider = {tuple(sorted((*group, v))) for group in beam for v in range(n) if v not in group}
        width = BEAM if size >= FEWEST_IN_CLIQUE else PAIRS
        beam = sorted(wider, key=lambda group: (-weakest(group), group))[:width]
        groups += beam if size >= FEWEST_IN_CLIQUE else []
    return groups
