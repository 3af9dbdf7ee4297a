"""A graph gets one hidden variable more: proposed, fitted, and the graph searched again around it.

Groups of columns propose it, the bound of the evidence of the data as they are chooses among them.
Whether the best graph with it is better than the one without is left to whoever measures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from lacunet.runtime.arrays import BoolArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.structure.hidden.fitting import Filled, Fitted, Keeping, Proposal, complete, fit
from lacunet.structure.hidden.places import (
    FEWEST_IN_CLIQUE,
    Explaining,
    dependent_groups,
    find_islands,
    groups_of,
)
from lacunet.structure.hidden.sketch import Sketch, edge_matrix
from lacunet.structure.journal import FORGETFUL, Journal
from lacunet.structure.learned import Learned
from lacunet.structure.moves import Limits
from lacunet.structure.scoring import complete_scores, search_complete
from lacunet.structure.task import GraphTask

RISE = 0.5  # nats that another graph must be above: less is not worth another fit
FITTED = 16  # proposals that are fitted, those first that gain most by themselves
IMPROVED = 4  # of them, that the graph is searched again around
ROUNDS = 10  # of such a search, at most


@dataclass(frozen=True, eq=False)
class Growing:
    """A task, and chance."""

    task: GraphTask
    rng: np.random.Generator
    journal: Journal = FORGETFUL
    executor: Executor = SERIAL

    @cached_property
    def kept(self) -> Keeping:
        """What was done before the search was stopped."""
        return Keeping(self.task, self.rng, self.journal)

    @cached_property
    def constant(self) -> BoolArray:
        """Which columns have one state: nobody can tell edges with them from none, (n,)."""
        return np.array([len(c.states) == 1 for c in self.task.table.columns])

    @cached_property
    def closed(self) -> BoolArray:
        """Which columns get no hidden parent, (n,): a table that is settled has all its parents."""
        settled = [c.name in self.task.known.settled for c in self.task.table.columns]
        return self.constant | settled

    def first(self, learned: Learned) -> Fitted:
        """A graph over the columns alone, as it was learned."""
        sketch = self.kept.columns.with_graph(edge_matrix(learned.network))
        return Fitted(sketch, learned.posterior)

    def one_more(self, now: Fitted) -> list[Fitted]:
        """Give graphs with one hidden variable more, searched again, and the best as proposed.

        Bounds are further from the evidence the more is hidden: so these are several.
        """
        piece = hidden_piece(len(now.sketch.sizes) + 1)
        best = self.kept.once(piece, partial(self._proposed, now))
        again = [self.improved(one, f"{piece}, graph {k}") for k, one in enumerate(best, 1)]
        ranked = sorted(again, key=lambda one: -one.value)
        return distinct([*ranked, *(one.brought_close() for one in best[:1])])

    def taken_over(self, other: Fitted, number: int) -> Fitted:
        """Fit a graph that was found under another prior."""
        piece = f"{hidden_piece(number)}, taken over"
        return self.kept.once(piece, partial(self._taken_over, other))[0].brought_close()

    def _taken_over(self, other: Fitted) -> list[Fitted]:
        filled = complete(self.task.table, other, self.rng)
        return [self._fit(Proposal(other.sketch, filled))]

    def without_again(self, now: Fitted, other: Fitted) -> Fitted:
        """Search a graph without hidden variables again, from rows completed by one that has some.

        A hidden variable must not win because the search without it stopped short.
        """
        if self.task.complete:  # completed rows are those that were searched
            return now
        piece = "without hidden variables"
        found = self.kept.once(piece, partial(self._without, now, other))[0]
        return max(now, self.improved(found, piece), key=lambda one: one.value)

    def _without(self, now: Fitted, other: Fitted) -> list[Fitted]:
        filled = complete(self.task.table, other, self.rng)
        for h in reversed(other.sketch.hidden):
            filled = filled.without(h)
        rows = self._completed(now.sketch, filled)
        graph = search_complete(rows, [now.sketch.parents]).parents
        return [self._fit(Proposal(now.sketch.with_graph(graph), filled), now.value)]

    def _proposed(self, now: Fitted) -> list[Fitted]:
        """Fit proposals, and give the best."""
        filled = complete(self.task.table, now, self.rng)
        explaining = Explaining(now.sketch, filled, self.task.alpha, self.rng)
        proposals = [
            *self._splits(now.sketch, explaining),
            *self._groups(now.sketch, explaining),
        ]
        fitted = [self._fit(one) for one in proposals if has_sense(one.sketch)]
        return sorted(fitted, key=lambda one: -one.value)[:IMPROVED]

    def improved(self, now: Fitted, piece: str) -> Fitted:
        """Search the graph again, and the numbers of states, for as long as the bound rises."""
        for k in range(1, ROUNDS + 1):
            self.executor.say(f"bound {now.value:,.1f}", 0.5)
            better = self.kept.once(f"{piece}, round {k}", partial(self._changed, now))
            if not better:
                break
            now = better[0]
        return now.brought_close()

    def _changed(self, now: Fitted) -> list[Fitted]:
        """Give the first change that raises the bound, if any."""
        filled = complete(self.task.table, now, self.rng)
        for proposal in self._changes(now.sketch, filled):
            other = self._fit(proposal, now.value + RISE)
            if other.value > now.value + RISE:
                return [other]
        return []

    def _fit(self, proposal: Proposal, above: float = -np.inf) -> Fitted:
        return fit(self.task.table, self.task.alpha, proposal.sketch, proposal.start, above)

    def _groups(self, sketch: Sketch, explaining: Explaining) -> list[Proposal]:
        """Put a hidden variable behind groups, those first that it explains best."""
        rows, limits = explaining.rows, self.limits(sketch)
        completed = self._completed(sketch, rows)
        scores = complete_scores(completed, completed.table)
        islands = [tuple(sorted(island.members)) for island in find_islands(explaining)]
        touching = sketch.parents | sketch.parents.T
        free = {*np.flatnonzero(~self.closed).tolist(), *sketch.hidden}
        dependent = dependent_groups(explaining.near)
        proposed = (*groups_of(touching), *islands, *dependent)
        groups = {tuple(v for v in group if v in free) for group in proposed}
        found = []
        for group in sorted(
            g for g in groups if len(g) >= FEWEST_IN_CLIQUE and self._free(sketch, g)
        ):
            one, inside = explaining.one(group), _inside(sketch, group)
            gain = one.value - sum(scores(v, inside[v]).score for v in group)
            wider = behind(sketch, group, one.states, limits)
            found.append((gain, Proposal(wider, rows.with_column(one.draw(self.rng)))))
        found.sort(key=lambda one: -one[0])
        return [proposal for _, proposal in found[:FITTED]]

    def _splits(self, sketch: Sketch, explaining: Explaining) -> Iterator[Proposal]:
        """Put two hidden variables in the place of one whose neighbours it does not explain."""
        for h, _, two in explaining.splits(sketch):
            first, second = two.classes
            start = explaining.rows.with_states(h, first.draw(self.rng))
            wider = split_off(sketch.with_size(h, first.states), h, two.groups[1], second.states)
            yield Proposal(wider, start.with_column(second.draw(self.rng)))

    def _free(self, sketch: Sketch, group: Sequence[int]) -> bool:
        """Whether all may have a hidden parent, and have not the same one already."""
        parents = sketch.parents[list(group)]
        shared = parents[:, sketch.n :].all(axis=0).any()
        return bool((self.limits(sketch).most[list(group)] > 0).all()) and not shared

    def _changes(self, sketch: Sketch, filled: Filled) -> Iterator[Proposal]:
        """The best graph of completed rows, then other numbers of states."""
        graph = search_complete(self._completed(sketch, filled), [sketch.parents]).parents
        if (graph != sketch.parents).any() and has_sense(sketch.with_graph(graph)):
            yield Proposal(sketch.with_graph(graph), filled)
        explaining = Explaining(sketch, filled, self.task.alpha, self.rng)
        for h in sketch.hidden:
            states = sketch.sizes[h - sketch.n]
            for k in (states + 1, states - 1):
                if k >= 2:
                    drawn = explaining.exactly(sketch.neighbours(h), k).draw(self.rng)
                    yield Proposal(sketch.with_size(h, k), filled.with_states(h, drawn))

    def _completed(self, sketch: Sketch, filled: Filled) -> GraphTask:
        """Completed rows as the task of a search that tries a graph once."""
        return GraphTask(
            filled.table(sketch),
            sketch.variables,
            self.task.alpha,
            replace(self.task.how, restarts=0),
            self.limits(sketch),
            sketch.parents,
            self.task.known,
        )

    def limits(self, sketch: Sketch) -> Limits:
        """What is known of the columns' graph; of hidden variables, what follows from that."""
        allowed, required, most = self.task.limits
        n, m = sketch.n, len(sketch.sizes)
        may = np.ones((n + m, n + m), dtype=bool)
        may[:n, :n] = allowed
        may[:n, n:] = ~self.closed[:, None]
        may[n:, :n] = ~(self.constant | self.task.numbers)
        np.fill_diagonal(may, False)
        must = np.zeros_like(may)
        must[:n, :n] = required
        return Limits(may, must, np.concatenate([most, np.full(m, max(most, default=0))]))


def hidden_piece(number: int) -> str:
    """Name the search for one hidden variable in a journal."""
    return f"hidden variable {number}"


def distinct(found: Sequence[Fitted]) -> list[Fitted]:
    """Leave out graphs that came before, with the same numbers of states."""
    first: dict[Any, Fitted] = {}
    for one in found:
        first.setdefault((one.sketch.sizes, one.sketch.parents.tobytes()), one)
    return list(first.values())


def has_sense(sketch: Sketch) -> bool:
    """Whether every hidden variable has a child, and joins as many variables as tell it apart."""
    return all(
        sketch.parents[:, h].any() and len(sketch.neighbours(h)) >= FEWEST_IN_CLIQUE
        for h in sketch.hidden
    )


def _inside(sketch: Sketch, group: Sequence[int]) -> BoolArray:
    """The edges of a graph within a group."""
    inside = np.zeros_like(sketch.parents)
    inside[np.ix_(group, group)] = sketch.parents[np.ix_(group, group)]
    return inside


def split_off(sketch: Sketch, h: int, who: Sequence[int], states: int) -> Sketch:
    """Give some neighbours of a hidden variable to a new one, which is its child."""
    wider = sketch.with_hidden(states, [h], [])
    parents, new = wider.parents.copy(), wider.hidden[-1]
    for v in who:
        parents[v, new], parents[v, h] = parents[v, h], False
        parents[new, v], parents[h, v] = parents[h, v], False
    return wider.with_graph(parents)


def behind(sketch: Sketch, group: Sequence[int], states: int, limits: Limits) -> Sketch:
    """Put a hidden variable behind a group, in the place of the edges within it.

    Edges that are required stay; a member that may have no more parents loses others of its own.
    """
    inside = _inside(sketch, group) & ~limits.required
    wider = sketch.with_graph(sketch.parents & ~inside).with_hidden(states, [], list(group))
    parents = wider.parents.copy()
    for v in group:
        others = np.flatnonzero(parents[v, :-1] & ~limits.required[v])
        parents[v, others[: max(0, int(parents[v].sum() - limits.most[v]))]] = False
    return wider.with_graph(parents)
