"""The graph of data with holes: surrogates propose, a bound of the evidence decides.

Expected counts under a graph favour that graph: an edge that it lacks earns only the share of rows
that show both its ends. So the search starts from what the available cases say, each move on the
rows that show all it is about. Then, in rounds: fit, draw what is missing, and search the completed
rows as if they were data. Whatever is proposed is fitted to the data as they are, and accepted if
the variational bound of log p(D|S) rises. So the bound never falls, and the search ends.

For comparison, each surrogate may also decide alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from lacunet.arrays import BoolArray
from lacunet.data.table import Table
from lacunet.executor import SERIAL, Executor
from lacunet.graphs.averaging import (
    averaging_gains,
    is_averaged,
    likeliest_exponents,
    middle_exponents,
)
from lacunet.graphs.climb import climb, score_graph
from lacunet.graphs.complete import search_complete
from lacunet.graphs.completing import Completer
from lacunet.graphs.families import FamilyScores
from lacunet.graphs.journal import FORGETFUL, Journal, edges_of_graph, graph_of_edges
from lacunet.graphs.moves import every_move, moved
from lacunet.graphs.scoring import available_scores, complete_scores
from lacunet.graphs.searching import GraphScore
from lacunet.graphs.shaking import shaken
from lacunet.graphs.task import GraphTask
from lacunet.inference.problem import build_problem
from lacunet.learn.variational import Variational, at_hyperparameters, vary
from lacunet.model.equivalence import find_compelled
from lacunet.model.network import Model

TOLERANCE = 1e-2  # nats: a fit that is only compared ends where a step gains less
RISE = 0.5  # nats that another graph must be above: less is not worth another round
LEFT = 0.8  # of what was to be done before a round, as it is shown: nobody knows how many follow
CLOSE = 5.0  # nats below the best bound: bounds are not sure to tell such graphs apart
FINALISTS = 2  # graphs that are kept, at most: to weigh one takes as long as a round
# Places that a graph is shaken in where nothing else leads further, times the square of the
# variables: so a fit of each costs no more in all where there are many.
SHAKES = 1600
MOSTROUNDS = 20  # where completed rows decide: their draws differ, and may lead to and fro
PIECE = "rounds"  # of the journal


def independences_of(parents: BoolArray) -> bytes:
    """Tell graphs apart that say different things: which edges they have, which are compelled."""
    return find_compelled(parents.T).tobytes() + (parents | parents.T).tobytes()


@dataclass(frozen=True, eq=False)
class Fitted:
    """A graph, fitted to the data as they are."""

    parents: BoolArray  # (n, n) whether u is a parent of v, at [v, u]
    posterior: Variational  # of parameters and of what is missing, and the bound
    log_prior: float  # of the graph, up to a constant
    alpha: float | str  # the prior, as it was asked for

    @property
    def value(self) -> float:
        """What graphs are compared by: the bound of log p(D|S), and log p(S)."""
        return self.bound + self.log_prior

    @property
    def bound(self) -> float:
        """A lower bound of log p(D|S)."""
        return self.posterior.bound + self.averaging

    @cached_property
    def averaging(self) -> float:
        """What averaging over sizes adds to the bound: the same q(hidden) under the mixture."""
        q = self.posterior
        problem = q.problem
        return float(averaging_gains(problem.network, self.alpha, problem.alpha, q.N).sum())

    @property
    def model(self) -> Model:
        """The graph with its expected parameters."""
        return self.posterior.model

    @cached_property
    def independences(self) -> bytes:
        """The same for graphs that say the same."""
        return independences_of(self.parents)

    def to_the_end(self) -> Fitted:
        """Fit it until the bound stands still."""
        return replace(self, posterior=vary(self.posterior))


@dataclass(frozen=True, eq=False)
class Climbs:
    """The best graph that was found, and the way there."""

    best: Fitted
    bounds: tuple[float, ...]  # with log p(S), of every graph that was accepted
    scored: int  # families scored, by surrogates
    fitted: int  # graphs fitted
    close: tuple[Fitted, ...] = ()  # other graphs whose bound is nearly that of the best

    def met(self, other: Fitted) -> Climbs:
        """Say the same after a graph was fitted and not accepted."""
        close = _finalists(self.best, (*self.close, other))
        return replace(self, fitted=self.fitted + 1, close=close)

    def accepted(self, other: Fitted) -> Climbs:
        """Say the same after a graph took the place of the best."""
        close = _finalists(other, (*self.close, self.best))
        return Climbs(other, (*self.bounds, other.value), self.scored, self.fitted + 1, close)


def _finalists(best: Fitted, others: tuple[Fitted, ...]) -> tuple[Fitted, ...]:
    """The other graphs that are close, each with other independences."""
    near = sorted((one for one in others if one.value > best.value - CLOSE), key=lambda g: -g.value)
    distinct = {one.independences: one for one in [best, *near][::-1]}  # the first counts
    return tuple(one for one in near if distinct[one.independences] is one)[: FINALISTS - 1]


def search_incomplete(
    task: GraphTask, executor: Executor = SERIAL, journal: Journal = FORGETFUL
) -> Climbs:
    """Search in rounds until neither completed rows nor single moves lead to a better graph."""
    seen = available_scores(task)
    stand = journal.get(PIECE)
    found = _first(task, seen, executor) if stand is None else _taken_up(task, stand)
    left = 1.0
    while not (stand and stand["ended"]):
        stand = _kept(found, journal, ended=False)
        done = len(found.bounds)
        executor.say(f"round {done}, bound {found.best.bound:,.1f}", 1.0 - left)
        found, left = ROUNDS[task.how.score](task, found, seen, executor.silent()), left * LEFT
        if len(found.bounds) == done:
            stand = _kept(found, journal, ended=True)
    best = found.best.to_the_end()
    bounds = (*found.bounds[:-1], best.value)
    return replace(found, best=best, bounds=bounds, scored=found.scored + seen.scored)


def _first(task: GraphTask, seen: FamilyScores, executor: Executor) -> Climbs:
    """Climb by available cases; where the bound decides, no lower than the graph to start from."""
    executor.say("available cases", 0.0)
    near, rng = score_graph(task.start, seen), np.random.default_rng([task.how.seed, 0])
    best = fit(task, climb(task.start, seen, task.limits, rng, near).parents)
    found = Climbs(best, (best.value,), scored=0, fitted=1)
    if task.how.score is not GraphScore.BOUND:
        return found
    start = fit(task, task.start)
    return Climbs(start, (start.value,), 0, 2) if start.value > best.value else found.met(start)


def _kept(found: Climbs, journal: Journal, *, ended: bool) -> dict[str, Any]:
    """Keep where the search stands."""
    stand: dict[str, Any] = {
        "edges": edges_of_graph(found.best.parents),
        "close": [edges_of_graph(one.parents) for one in found.close],
        "bounds": found.bounds,
        "fitted": found.fitted,
        "ended": ended,
    }
    journal.put(PIECE, **stand)
    return stand


def _taken_up(task: GraphTask, stand: dict[str, Any]) -> Climbs:
    """Fit what a search that was stopped had found."""
    n = len(task.start)
    graphs = (graph_of_edges(edges, n) for edges in (stand["edges"], *stand["close"]))
    best, *close = (fit(task, graph) for graph in graphs)
    return Climbs(best, tuple(stand["bounds"]), 0, stand["fitted"], tuple(close))


def fit(task: GraphTask, parents: BoolArray) -> Fitted:
    """Fit a graph: steps of variational Bayes, from what was seen whole.

    Tables that are averaged over sizes get those that a first fit makes most probable.
    """
    network = task.network(parents)
    problem = build_problem(task.table, network, middle_exponents(network, task.alpha))
    found = vary(at_hyperparameters(problem, problem.prior), tolerance=TOLERANCE)
    if is_averaged(task.alpha):
        own = replace(problem, alpha=likeliest_exponents(network, task.alpha, found.N))
        found = vary(at_hyperparameters(own, own.alpha + found.N), tolerance=TOLERANCE)
    return Fitted(parents, found, float(task.log_priors(parents).sum()), task.alpha)


def _by_bound(task: GraphTask, found: Climbs, seen: FamilyScores, executor: Executor) -> Climbs:
    """Accept the first proposal whose bound is above that of the best graph."""
    for parents in _proposals(task, found, seen, executor):
        other = fit(task, parents)
        if other.value > found.best.value + RISE:
            return found.accepted(other)
        found = found.met(other)
    return found


def _by_expected(task: GraphTask, found: Climbs, _: FamilyScores, executor: Executor) -> Climbs:
    """Accept what is better on rows completed under the graph before."""
    completed = _completed(task, found)
    graph = _search_completed(task, found, completed, executor)
    scores = complete_scores(task, completed)
    after, before = (score_graph(g, scores).score for g in (graph, found.best.parents))
    if after > before + RISE and len(found.bounds) < MOSTROUNDS:
        return replace(found.accepted(fit(task, graph)), close=())
    return found


def _by_available(_: GraphTask, found: Climbs, __: FamilyScores, ___: Executor) -> Climbs:
    """Accept nothing: the climb on available cases has said all they say."""
    return found


ROUNDS = {
    GraphScore.BOUND: _by_bound,
    GraphScore.EXPECTED: _by_expected,
    GraphScore.AVAILABLE: _by_available,
}


def _completed(task: GraphTask, found: Climbs) -> Table:
    """Draw what is missing; a round needs no other's draws, so that a search can be taken up."""
    rng = np.random.default_rng([task.how.seed, len(found.bounds)])
    return Completer(task.table, rng)(found.best.model)


def _search_completed(
    task: GraphTask, found: Climbs, completed: Table, executor: Executor
) -> BoolArray:
    """Give the best graph of completed rows."""
    once = replace(task, table=completed, how=replace(task.how, restarts=0))
    return search_complete(once, [found.best.parents, task.start], executor).parents


def _proposals(
    task: GraphTask, found: Climbs, seen: FamilyScores, executor: Executor
) -> Iterator[BoolArray]:
    """Give the best graph of completed rows, single moves, most promising first, then shakes.

    Expected counts ask too much of moves away from a graph, available cases have less to say: a
    move is promising by the sum of what it gains in both.
    """
    parents, completed = found.best.parents, _completed(task, found)
    graph = _search_completed(task, found, completed, executor)
    if (graph != parents).any():
        yield graph
    expected = complete_scores(task, completed)
    gains = np.array([expected(v, pa).gains + seen(v, pa).gains for v, pa in enumerate(parents)])
    possible = every_move(parents, task.limits, gains)
    for move in possible[: task.how.probes]:
        yield moved(parents, move)
    if task.how.probes:
        yield from _shaken_apart(task, found, seen)


def _shaken_apart(task: GraphTask, found: Climbs, seen: FamilyScores) -> Iterator[BoolArray]:
    """Give graphs that available cases lead to from the graph at hand, shaken in one place.

    Where several edges are wrong at once no single one helps, and rows that were completed with
    them ask for them.
    """
    rng = np.random.default_rng([task.how.seed, len(found.bounds), 1])
    parents, met = found.best.parents, {found.best.independences}
    near = score_graph(parents, seen)
    for v in rng.permutation(len(parents))[: SHAKES // len(parents) ** 2].tolist():
        start = shaken(parents, v, task.limits, rng)
        graph = climb(start, seen, task.limits, rng, near).parents
        if (own := independences_of(graph)) not in met:
            met.add(own)
            yield graph
