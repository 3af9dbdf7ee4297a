"""The graph of data with holes: surrogates propose, a bound of the evidence decides.

Expected counts under a graph favour that graph: an edge that it lacks earns only the share of rows
that show both its ends. So the search starts from what the available cases say, each move on the
rows that show all it is about. Then, in rounds: fit, draw what is missing, and search the completed
rows as if they were data. Whatever is proposed is fitted to the data as they are, and accepted if
the variational bound of log p(D|S) rises. So the bound never falls, and the search ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from lacunet.arrays import BoolArray
from lacunet.data.table import Table
from lacunet.executor import SERIAL, Executor
from lacunet.graphs.available import AvailableCases
from lacunet.graphs.climb import climb, score_graph
from lacunet.graphs.complete import search_complete
from lacunet.graphs.completing import Completer
from lacunet.graphs.families import CompleteCounts, FamilyScores
from lacunet.graphs.moves import every_move, moved
from lacunet.graphs.task import GraphTask
from lacunet.inference.problem import build_problem
from lacunet.learn.variational import Variational, at_hyperparameters, vary
from lacunet.model import conjugacy
from lacunet.model.network import Model
from lacunet.model.prior import dirichlet

TOLERANCE = 1e-2  # nats: a fit that is only compared ends where a step gains less
RISE = 0.5  # nats that the bound of another graph must be above: less is not worth another round
LEFT = 0.8  # of what was to be done before a round, as it is shown: nobody knows how many follow


@dataclass(frozen=True, eq=False)
class Fitted:
    """A graph, fitted to the data as they are."""

    parents: BoolArray  # (n, n) whether u is a parent of v, at [v, u]
    posterior: Variational  # of parameters and of what is missing, and the bound

    @property
    def bound(self) -> float:
        """A lower bound of log p(D|S)."""
        return self.posterior.bound

    @property
    def model(self) -> Model:
        """The graph with its expected parameters."""
        problem, exponents = self.posterior.problem, self.posterior.exponents
        theta = conjugacy.mean(exponents, problem.layout)
        return Model(problem.network, theta, problem.alpha, exponents)


@dataclass(frozen=True, eq=False)
class Climbs:
    """The best graph that was found, and how the bound rose."""

    best: Fitted
    bounds: tuple[float, ...]  # of every graph that was accepted
    scored: int  # families scored, by surrogates
    fitted: int  # graphs fitted


def search_incomplete(task: GraphTask, executor: Executor = SERIAL) -> Climbs:
    """Search in rounds until neither completed rows nor single moves lead to a better bound."""
    seen = FamilyScores(AvailableCases(task.table, task.alpha))
    executor.say("available cases", 0.0)
    near = score_graph(task.start, seen)
    rng = np.random.default_rng([task.how.seed, 0])
    first = climb(task.start, seen, task.limits, rng, near).parents
    best = max((fit(task, g) for g in (task.start, first)), key=lambda one: one.bound)
    bounds, scored, fitted = [best.bound], seen.scored, 2
    left = 1.0
    while True:
        executor.say(f"round {len(bounds)}, bound {best.bound:,.1f}", 1.0 - left)
        rng = np.random.default_rng([task.how.seed, len(bounds)])  # a round needs no other's draws
        completed, left = Completer(task.table, rng)(best.model), left * LEFT
        better = None
        for parents in _proposals(task, best.parents, completed, seen, executor.silent()):
            other, fitted = fit(task, parents), fitted + 1
            if other.bound > best.bound + RISE:
                better = other
                break
        if better is None:
            break
        best = better
        bounds.append(best.bound)
    best = replace(best, posterior=vary(best.posterior))
    return Climbs(best, (*bounds[:-1], best.bound), seen.scored + scored, fitted)


def fit(task: GraphTask, parents: BoolArray) -> Fitted:
    """Fit a graph: steps of variational Bayes, from what was seen whole."""
    network = task.network(parents)
    problem = build_problem(task.table, network, dirichlet(network, task.alpha))
    start = at_hyperparameters(problem, problem.prior)
    return Fitted(parents, vary(start, tolerance=TOLERANCE))


def _proposals(
    task: GraphTask,
    parents: BoolArray,
    completed: Table,
    seen: FamilyScores,
    executor: Executor,
) -> Iterator[BoolArray]:
    """Give the best graph of completed rows, then single moves, most promising first.

    Expected counts ask too much of moves away from a graph, available cases have less to say: a
    move is promising by the sum of what it gains in both.
    """
    once = replace(task, table=completed, how=replace(task.how, restarts=0))
    graph = search_complete(once, [parents, task.start], executor).parents
    if (graph != parents).any():
        yield graph
    expected = FamilyScores(CompleteCounts(completed, task.alpha))
    gains = np.array([expected(v, pa).gains + seen(v, pa).gains for v, pa in enumerate(parents)])
    possible = every_move(parents, task.limits, gains)
    for move in possible[: task.how.probes]:
        yield moved(parents, move)
