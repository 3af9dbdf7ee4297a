"""Local latent class models: a test whether some columns need one hidden variable or two.

A group of columns is split if two hidden variables explain it better. Islands are groups of columns
that grow until they would be split.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lacunet.data.table import Table
from lacunet.fitting.agglomerate import agglomerated
from lacunet.fitting.diagnose import Variational, at_theta, vary
from lacunet.inference.plans.decompose import distinct, totals
from lacunet.inference.problem import problem_of_codes
from lacunet.models.latent_class import over_leaves
from lacunet.models.network import Variable
from lacunet.models.prior import dirichlet
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.structure.counting import Columns, prior_of
from lacunet.structure.hidden.latent_graph import (
    RISE,
    CompletedGraph,
    LatentGraph,
    all_labellings,
    fit,
)
from lacunet.structure.scoring import available_gains

TOLERANCE = 1e-2  # nats gained by a step below which a local fit ends
MOST_STEPS = 200
MOST_STATES = 32
FEWEST = 4  # least columns of a group that may be split


@dataclass(frozen=True, eq=False)
class LocalRows:
    """Some columns of a table, with equal rows merged."""

    codes: CodeArray  # (distinct rows, columns), −1 = missing
    counts: FloatArray  # (distinct rows,)
    variables: tuple[Variable, ...]  # of the columns
    index: IntArray  # (rows,) the distinct row of each row

    @classmethod
    def of(cls, data: CompletedGraph, columns: Sequence[int]) -> LocalRows:
        """Select some columns of completed rows."""
        chosen, variables = list(columns), tuple(data.graph.variables[v] for v in columns)
        each = [data.codes[:, v].astype(np.int64) + 1 for v in chosen]
        first, index = distinct(each, [len(v.states) + 1 for v in variables], len(data.codes))
        merged = np.ascontiguousarray(data.codes[first][:, chosen])
        return cls(merged, totals(index, data.counts, len(first)), variables, index)

    def fit(self, alpha: float | str, states: int) -> LocalClasses:
        """Fit a latent class model, from rows merged into as many clusters."""
        network = over_leaves(self.variables, states)
        problem = problem_of_codes(self.codes, self.counts, network, dirichlet(network, alpha))
        start = at_theta(problem, agglomerated(problem, 0, 0))
        q = vary(start, tolerance=TOLERANCE, max_steps=MOST_STEPS)
        return LocalClasses(states, q, self.index)

    def best(self, alpha: float | str, near: int) -> LocalClasses:
        """Find the number of classes, at least two, with the best bound, by steps from `near`."""
        most = max(2, min(MOST_STATES, len(self.counts)))  # at most a class for each distinct row
        best = self.fit(alpha, min(max(2, near), most))
        for change in (1, -1):
            start = best.states
            while 2 <= best.states + change <= most:
                other = self.fit(alpha, best.states + change)
                if other.value <= best.value + RISE:
                    break
                best = other
            if best.states != start:
                break
        return best


@dataclass(frozen=True, eq=False)
class LocalClasses:
    """A fitted latent class model of some columns."""

    states: int
    posterior: Variational
    index: IntArray  # (rows,) the distinct row of each row

    @cached_property
    def value(self) -> float:
        """The variational bound, with all labellings."""
        return all_labellings(self.posterior)

    def draw(self, rng: np.random.Generator) -> CodeArray:
        """Draw the class of every row, (rows,)."""
        about = self.posterior.problem.about_hidden(self.posterior.model.theta)
        below = np.cumsum(about[0], axis=1)[self.index]
        drawn = (rng.random(len(below))[:, None] > below).sum(axis=1)
        states: CodeArray = np.minimum(drawn, self.states - 1).astype(np.int32)
        return states


@dataclass(frozen=True, eq=False)
class TwoGroups:
    """Two adjacent hidden variables, each the parent of a group of columns."""

    groups: tuple[list[int], list[int]]
    classes: tuple[LocalClasses, LocalClasses]  # of each group by itself
    value: float  # variational bound for all columns


@dataclass(frozen=True, eq=False)
class LocalModels:
    """Local latent class models of completed rows, in which hidden variables are columns."""

    data: CompletedGraph  # −1 = missing
    alpha: float | str
    rng: np.random.Generator

    @property
    def graph(self) -> LatentGraph:
        """The graph of the rows."""
        return self.data.graph

    @cached_property
    def binned(self) -> Columns:
        """The rows with binned numbers, to compute associations."""
        codes = self.data.codes.copy()
        cards = [len(column.states) for column in self.graph.all_columns]
        for v, number in self.graph.numbers.items():
            codes[:, v] = np.where(codes[:, v] >= 0, number.group[codes[:, v]], -1)
            cards[v] = len(number.bins)
        return Columns(np.ascontiguousarray(codes.T), self.data.counts, np.array(cards))

    @cached_property
    def near(self) -> FloatArray:
        """Log Bayes factor for the dependence of each pair, (n, n)."""
        return _association(self.binned, self.alpha)

    def take(self, members: Sequence[int]) -> LocalRows:
        """Select some columns."""
        return LocalRows.of(self.data, members)

    def one(self, members: Sequence[int], near: int = 2) -> LocalClasses:
        """Fit one hidden variable to some columns, with about `near` states."""
        return self.take(members).best(self.alpha, near)

    def both(self, groups: Sequence[list[int]]) -> TwoGroups:
        """Fit a hidden variable to each of two groups, the first a parent of the second."""
        first, second = groups
        members, n = [*first, *second], len(first) + len(second)
        each = self.one(first), self.one(second)
        states = np.column_stack([classes.draw(self.rng) for classes in each])
        codes = np.column_stack([self.data.codes[:, members], states])
        parents = np.zeros((n + 2, n + 2), dtype=bool)
        parents[: len(first), n] = parents[len(first) : n, n + 1] = parents[n + 1, n] = True
        columns, known = self.graph.all_columns, self.graph.numbers
        graph = LatentGraph(
            tuple(columns[v] for v in members),
            tuple(classes.states for classes in each),
            parents,
            numbers={i: known[v] for i, v in enumerate(members) if v in known},
        )
        table = Table.from_codes(codes[:, :n], graph.columns, self.data.counts)
        fitted = fit(table, self.alpha, CompletedGraph(graph, codes, self.data.counts))
        return TwoGroups((first, second), each, fitted.value)

    def split(self, members: Sequence[int], one: LocalClasses) -> TwoGroups | None:
        """Find two groups that two hidden variables explain better than one does, if any."""
        if len(members) < FEWEST:
            return None
        columns, state = list(members), one.draw(self.rng)
        # Dependence of members given the state of the hidden variable.
        codes = np.vstack([self.binned.codes[columns], state])
        cards = np.array([*self.binned.cards[columns], int(state.max()) + 1])
        given = _association(Columns(codes, self.data.counts, cards), self.alpha, [len(columns)])
        near = self.near[np.ix_(columns, columns)]
        for apart in (_most_dependent(given[:-1, :-1]), _weakest_link(near)):
            groups = [[v for i, v in enumerate(columns) if (i in apart) == side] for side in (0, 1)]
            if apart:
                two = self.both(groups)
                if two.value > one.value:
                    return two
        return None

    def splits(self) -> Iterator[tuple[float, int, TwoGroups]]:
        """Find hidden variables whose neighbours two explain better than one, with the gains."""
        for h in self.graph.hidden:
            around = self.graph.neighbours(h)
            one = self.one(around, self.graph.states(h))
            two = self.split(around, one)
            if two is not None:
                yield two.value - one.value, h, two


def _association(columns: Columns, alpha: float | str, given: Sequence[int] = ()) -> FloatArray:
    """Log Bayes factors for the dependence of each pair, on the rows with both observed: (n, n)."""
    prior, parents = prior_of(alpha), np.array(given, dtype=np.int64)
    gains = np.zeros((len(columns.cards),) * 2)
    for v in range(len(gains)):
        if v not in given:
            gains[v] = available_gains(columns, v, parents, prior)
    gains = (gains + gains.T) / 2
    np.fill_diagonal(gains, -np.inf)
    return gains


def _most_dependent(gains: FloatArray) -> set[int]:
    """Select the most dependent pair and variables that depend on both, but leave at least two."""
    a, b = (int(v) for v in np.unravel_index(int(gains.argmax()), gains.shape))
    if gains[a, b] <= 0:
        return set()
    chosen, with_both = {a, b}, gains[a] + gains[b]
    for v in np.argsort(-with_both).tolist():
        if v not in chosen and with_both[v] > 0 and len(chosen) < len(gains) - 2:
            chosen.add(v)
    return chosen


def _weakest_link(near: FloatArray) -> set[int]:
    """Cut the maximum spanning tree at its weakest link, with at least two on either side."""
    links = strongest_tree(near)
    for link in sorted(range(len(links)), key=lambda i: near[links[i]]):
        beyond = {links[link][1]}
        for a, b in links[link + 1 :]:  # each link joins a later node to earlier ones
            beyond |= {b} if a in beyond else set()
        if 2 <= len(beyond) <= len(near) - 2:
            return {*range(len(near))} - beyond
    return set()


def strongest_tree(strength: FloatArray) -> list[tuple[int, int]]:
    """Find the maximum spanning tree by Prim's algorithm; each link is (joined before, new).

    `strength` is (n, n); the diagonal is ignored.
    """
    left = list(range(1, len(strength)))
    nearest = np.zeros(len(strength), dtype=np.int64)
    links = []
    while left:
        v = max(left, key=lambda u: (strength[u, nearest[u]], -u))
        left.remove(v)
        links.append((int(nearest[v]), v))
        for u in left:
            if strength[u, v] > strength[u, nearest[u]]:
                nearest[u] = v
    return links


Island = tuple[list[int], LocalClasses]  # columns, and the model of their hidden parent


def find_islands(models: LocalModels, executor: Executor = SERIAL) -> list[Island]:
    """Partition columns into islands, one after the other; one or two may be left over."""
    columns = range(models.graph.n)
    left, islands = set(columns), list[Island]()
    while len(left) >= min(3, len(columns)):
        island = _grow(models, left)
        islands.append(island)
        left -= {*island[0]}
        executor.report(f"{len(islands)} groups of columns", 1.0 - len(left) / len(columns))
    return islands


def _grow(models: LocalModels, left: set[int]) -> Island:
    """Grow an island from the most dependent pair."""
    near, rest = models.near, sorted(left)
    pairs = near[np.ix_(rest, rest)]
    members = [rest[v] for v in np.unravel_index(int(pairs.argmax()), pairs.shape)]
    classes = models.one(members)
    while len(members) < len(left):
        others = sorted(left - {*members})
        nearest = others[int(near[np.ix_(others, members)].max(axis=1).argmax())]
        wider = [*members, nearest]
        one = models.one(wider, classes.states)
        two = models.split(wider, one)
        if two is not None:
            place = next(i for i, group in enumerate(two.groups) if nearest not in group)
            return two.groups[place], two.classes[place]
        members, classes = wider, one
    return members, classes
