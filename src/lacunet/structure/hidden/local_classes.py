"""Local latent class models: are some columns explained by one hidden variable, or better by two?

Where two explain a group of columns better, the group is split; islands are groups that grow until
that is so.
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

TOLERANCE = 1e-2  # nats gained by a step, where a local fit ends
MOST_STEPS = 200
MOST_STATES = 32
FEWEST = 4  # columns that two hidden variables may explain better than one


@dataclass(frozen=True, eq=False)
class LocalRows:
    """A few columns of a table, equal rows merged."""

    codes: CodeArray  # (distinct rows, columns), −1 = missing
    counts: FloatArray  # (distinct rows,)
    variables: tuple[Variable, ...]  # of the columns
    index: IntArray  # (rows,) which distinct row each row is

    @classmethod
    def of(cls, data: CompletedGraph, columns: Sequence[int]) -> LocalRows:
        """Take some columns."""
        chosen, own = list(columns), tuple(data.graph.variables[v] for v in columns)
        each = [data.codes[:, v].astype(np.int64) + 1 for v in chosen]
        first, index = distinct(each, [len(v.states) + 1 for v in own], len(data.codes))
        merged = np.ascontiguousarray(data.codes[first][:, chosen])
        return cls(merged, totals(index, data.counts, len(first)), own, index)

    def fit(self, alpha: float | str, states: int) -> LocalClasses:
        """Fit a number of classes, from rows that are merged into so many clusters."""
        network = over_leaves(self.variables, states)
        problem = problem_of_codes(self.codes, self.counts, network, dirichlet(network, alpha))
        start = at_theta(problem, agglomerated(problem, 0, 0))
        q = vary(start, tolerance=TOLERANCE, max_steps=MOST_STEPS)
        return LocalClasses(states, q, self.index)

    def best(self, alpha: float | str, near: int) -> LocalClasses:
        """Find the number of classes, two at least, with the highest bound: uphill from `near`."""
        most = max(2, min(MOST_STATES, len(self.counts)))  # a state for each different row
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
    """A latent class model of a few columns."""

    states: int
    posterior: Variational
    index: IntArray  # (rows,) which row of the problem each row is

    @cached_property
    def value(self) -> float:
        """The bound of the evidence, with all labellings."""
        return all_labellings(self.posterior)

    def draw(self, rng: np.random.Generator) -> CodeArray:
        """Draw the class of every row, (rows,)."""
        about = self.posterior.problem.about_hidden(self.posterior.model.theta)
        below = np.cumsum(about[0], axis=1)[self.index]
        drawn = (rng.random(len(below))[:, None] > below).sum(axis=1)
        found: CodeArray = np.minimum(drawn, self.states - 1).astype(np.int32)
        return found


@dataclass(frozen=True, eq=False)
class TwoGroups:
    """Two hidden variables, joined, each behind a group of columns."""

    groups: tuple[list[int], list[int]]
    classes: tuple[LocalClasses, LocalClasses]  # of each group by itself
    value: float  # a bound of the evidence of all their columns


@dataclass(frozen=True, eq=False)
class LocalModels:
    """Rows whose columns are explained by local models; hidden variables may be among them."""

    data: CompletedGraph  # −1 = missing
    alpha: float | str
    rng: np.random.Generator

    @property
    def graph(self) -> LatentGraph:
        """What the columns are."""
        return self.data.graph

    @cached_property
    def binned(self) -> Columns:
        """The rows with numbers in bins: what associations are counted in."""
        codes = self.data.codes.copy()
        cards = [len(column.states) for column in self.graph.all_columns]
        for v, number in self.graph.numbers.items():
            codes[:, v] = np.where(codes[:, v] >= 0, number.group[codes[:, v]], -1)
            cards[v] = len(number.bins)
        return Columns(np.ascontiguousarray(codes.T), self.data.counts, np.array(cards))

    @cached_property
    def near(self) -> FloatArray:
        """Log Bayes factors for the dependence of each pair, (n, n)."""
        return _association(self.binned, self.alpha)

    def take(self, members: Sequence[int]) -> LocalRows:
        """Take some columns."""
        return LocalRows.of(self.data, members)

    def one(self, members: Sequence[int], near: int = 2) -> LocalClasses:
        """Explain some columns by one hidden variable, with about so many states."""
        return self.take(members).best(self.alpha, near)

    def both(self, groups: Sequence[list[int]]) -> TwoGroups:
        """Explain two groups by a hidden variable each, the first a parent of the second."""
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
        found = fit(table, self.alpha, CompletedGraph(graph, codes, self.data.counts))
        return TwoGroups((first, second), each, found.value)

    def split(self, members: Sequence[int], one: LocalClasses) -> TwoGroups | None:
        """Find two groups that two hidden variables explain better than one does, if any."""
        if len(members) < FEWEST:
            return None
        own, state = list(members), one.draw(self.rng)
        # Members that go with each other even where one variable has the same state.
        codes = np.vstack([self.binned.codes[own], state])
        cards = np.array([*self.binned.cards[own], int(state.max()) + 1])
        given = _association(Columns(codes, self.data.counts, cards), self.alpha, [len(own)])
        near = self.near[np.ix_(own, own)]
        for apart in (_most_dependent(given[:-1, :-1]), _weakest_link(near)):
            groups = [[v for i, v in enumerate(own) if (i in apart) == side] for side in (0, 1)]
            if apart:
                two = self.both(groups)
                if two.value > one.value:
                    return two
        return None

    def splits(self) -> Iterator[tuple[float, int, TwoGroups]]:
        """Hidden variables whose neighbours two explain better than one, and what that gains."""
        for h in self.graph.hidden:
            around = self.graph.neighbours(h)
            one = self.one(around, self.graph.states(h))
            two = self.split(around, one)
            if two is not None:
                yield two.value - one.value, h, two


def _association(columns: Columns, alpha: float | str, given: Sequence[int] = ()) -> FloatArray:
    """Log Bayes factors for the dependence of each pair, on the rows that show all: (n, n)."""
    prior, parents = prior_of(alpha), np.array(given, dtype=np.int64)
    gains = np.zeros((len(columns.cards),) * 2)
    for v in range(len(gains)):
        if v not in given:
            gains[v] = available_gains(columns, v, parents, prior)
    gains = (gains + gains.T) / 2
    np.fill_diagonal(gains, -np.inf)
    return gains


def _most_dependent(gains: FloatArray) -> set[int]:
    """The most dependent pair, and what goes with both; two others at least stay behind."""
    a, b = (int(v) for v in np.unravel_index(int(gains.argmax()), gains.shape))
    if gains[a, b] <= 0:
        return set()
    found, with_both = {a, b}, gains[a] + gains[b]
    for v in np.argsort(-with_both).tolist():
        if v not in found and with_both[v] > 0 and len(found) < len(gains) - 2:
            found.add(v)
    return found


def _weakest_link(near: FloatArray) -> set[int]:
    """Cut the tree of the strongest associations at its weakest link; two stay on either side."""
    links = strongest_tree(near)
    for cut in sorted(range(len(links)), key=lambda i: near[links[i]]):
        beyond = {links[cut][1]}
        for a, b in links[cut + 1 :]:  # each link joins what comes later to what came before
            beyond |= {b} if a in beyond else set()
        if 2 <= len(beyond) <= len(near) - 2:
            return {*range(len(near))} - beyond
    return set()


def strongest_tree(strength: FloatArray) -> list[tuple[int, int]]:
    """Join all by the links that are strongest together (Prim), each from what was joined before.

    `strength` is (n, n); what stands on its diagonal does not matter.
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


Island = tuple[list[int], LocalClasses]  # columns with one hidden variable behind them


def find_islands(models: LocalModels, executor: Executor = SERIAL) -> list[Island]:
    """Put columns into islands, one after the other; a column or two may be left over."""
    columns = range(models.graph.n)
    left, found = set(columns), list[Island]()
    while len(left) >= min(3, len(columns)):
        island = _grow(models, left)
        found.append(island)
        left -= {*island[0]}
        executor.say(f"{len(found)} groups of columns", 1.0 - len(left) / len(columns))
    return found


def _grow(models: LocalModels, left: set[int]) -> Island:
    """Grow an island from the nearest pair."""
    near, rest = models.near, sorted(left)
    pairs = near[np.ix_(rest, rest)]
    own = [rest[v] for v in np.unravel_index(int(pairs.argmax()), pairs.shape)]
    classes = models.one(own)
    while len(own) < len(left):
        others = sorted(left - {*own})
        nearest = others[int(near[np.ix_(others, own)].max(axis=1).argmax())]
        wider = [*own, nearest]
        one = models.one(wider, classes.states)
        two = models.split(wider, one)
        if two is not None:
            place = next(i for i, group in enumerate(two.groups) if nearest not in group)
            return two.groups[place], two.classes[place]
        own, classes = wider, one
    return own, classes
