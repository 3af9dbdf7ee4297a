"""Learn a graph from any table: search, and weigh the graphs whose bounds are close."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from lacunet.data.table import Table
from lacunet.evidence.annealing import Goal
from lacunet.evidence.estimate import Measurement
from lacunet.evidence.measure import measure
from lacunet.evidence.smc import prepare_sampling
from lacunet.fitting.diagnose import Variational
from lacunet.fitting.prepare import PREPARING
from lacunet.inference.problem import build_problem
from lacunet.models import conjugacy
from lacunet.models.network import Model, Network
from lacunet.models.number_prior import NumberPrior
from lacunet.models.prior import scale_alpha
from lacunet.runtime.arrays import BoolArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.runtime.files import StrPath
from lacunet.scores import ScoreInput
from lacunet.scores.approximations import csl
from lacunet.structure.completing import Completer
from lacunet.structure.diagnostics import between_numbers, missingness
from lacunet.structure.families import (
    AVERAGED,
    GraphPrior,
    averaging_gains,
    likeliest_exponents,
    middle_exponents,
)
from lacunet.structure.incomplete import GraphFit, search_incomplete
from lacunet.structure.journal import FORGETFUL, Journal
from lacunet.structure.knowledge import Knowledge
from lacunet.structure.learned import EdgeSensitivity, Learned
from lacunet.structure.scoring import is_exact, search_complete
from lacunet.structure.searching import GraphSearch
from lacunet.structure.task import NOTHING, USUAL, GraphTask, few_rows, graph_task

MOST_PARAMETERS = 3_000  # for CSL: it takes the determinant of so large a matrix
SEARCHING = 0.9  # of the work, about; the rest is to weigh what was found
FACTORS = (0.5, 2.0)  # of the exponents, by which the sensitivity to the prior is found
DEFAULT = GraphSearch()


@dataclass(frozen=True, eq=False)
class WeighedGraph:
    """A graph, and its evidence by what was found out about it."""

    fitted: GraphFit
    csl: float | None = None  # an approximation; None where it does not exist or would not fit
    measured: Measurement | None = None

    def rank(self, *, without_csl: bool) -> float:
        """What decides, with log p(S): measured evidence, if there is; else CSL; else the bound."""
        known = self.fitted.posterior.bound if without_csl or self.csl is None else self.csl
        if self.measured is not None:
            known = self.measured.value
        return known + self.fitted.averaging + self.fitted.log_prior


def weigh(
    finalists: Sequence[GraphFit], goal: Goal | None, seed: int, executor: Executor
) -> list[WeighedGraph]:
    """Weigh graphs, the best first; with a goal, their evidence is measured."""
    titles = [f"evidence of graph {k + 1} of {len(finalists)}" for k in range(len(finalists))]
    parts = executor.beside(titles, [1.0] * len(finalists))
    each = partial(_weigh_one, goal, seed)
    found = executor.map(each, list(zip(finalists, parts, strict=True)))
    without = any(one.csl is None for one in found)  # then it cannot decide
    return sorted(found, key=lambda one: one.rank(without_csl=without), reverse=True)


def _weigh_one(goal: Goal | None, seed: int, task: tuple[GraphFit, Executor]) -> WeighedGraph:
    one, executor = task
    problem = one.posterior.problem
    value = None
    if problem.network.dimension <= MOST_PARAMETERS:  # CSL, from the expected parameters uphill
        value = csl(ScoreInput(problem, one.model.theta, executor=executor)).value
    found = WeighedGraph(one, value if value is not None and math.isfinite(value) else None)
    if goal is None:
        return found
    prepare_sampling(executor, problem.network)
    measured = measure(problem, goal=goal, seed=seed, executor=executor)
    return replace(found, measured=measured)


def learn_structure(
    table: Table,
    alpha: float | str,
    how: GraphSearch = DEFAULT,
    knowledge: Knowledge = NOTHING,
    executor: Executor = SERIAL,
    *,
    goal: Goal | None = None,
    resume: StrPath | None = None,
    prior: NumberPrior = USUAL,
) -> Learned:
    """Search for the most probable graph that keeps to what is known.

    Where cells are missing, a lower bound of the evidence takes its place; with a goal, that of the
    graphs that are close is measured. `resume` is the file of a search that may be stopped.
    """
    task = graph_task(table, alpha, how, knowledge, prior)
    with closing(Journal(resume, task.fingerprint() if resume else None)) as journal:
        found = learn_task(task, executor, journal, goal)
    if how.sweeps == 0:  # one climb alone was asked for
        return found
    parents, other = found.parents, _sensitivity(task, found.parents, found.model)
    return replace(found, sensitivity=other, flags=(*found.flags, *other.flags(parents.sum())))


def _sensitivity(task: GraphTask, parents: BoolArray, model: Model) -> EdgeSensitivity:
    """Search again from a graph with half and twice the exponents.

    Where cells are missing, rows are completed once from the model, and the graph is searched under
    its own prior too, so that only the prior makes a difference.
    """
    table = task.table
    if not task.complete:
        table = Completer(table, np.random.default_rng([task.how.seed, 3]))(model)

    def again(task: GraphTask, start: BoolArray, alpha: float | str) -> BoolArray:
        # A climb from a graph on rows without missing cells, or the best where that is quick.
        sweeps = task.how.sweeps if is_exact(task) else 0
        how = replace(task.how, sweeps=sweeps, restarts=0)
        return search_complete(replace(task, table=table, alpha=alpha, how=how), [start]).parents

    def joined(parents: BoolArray) -> BoolArray:
        pairs: BoolArray = np.tril(parents | parents.T)
        return pairs

    here = parents if task.complete else again(task, parents, task.alpha)
    alphas = tuple(scale_alpha(task.alpha, factor) for factor in FACTORS)
    others = [again(task, parents, alpha) for alpha in alphas]
    names = [column.name for column in table.columns]
    differ = tuple(
        tuple((names[u], names[v]) for v, u in np.argwhere(joined(here) ^ joined(other)))
        for other in others
    )
    usual = None  # the number of edges under the default prior, if this is another
    if task.alpha != AVERAGED or task.how.prior is not GraphPrior.FAIR:
        fair = replace(task, how=replace(task.how, prior=GraphPrior.FAIR))
        usual = int(again(fair, task.start, AVERAGED).sum())
    return EdgeSensitivity(alphas, differ, not task.complete, usual)


def learn_task(
    task: GraphTask,
    executor: Executor = SERIAL,
    journal: Journal = FORGETFUL,
    goal: Goal | None = None,
) -> Learned:
    """Search as a task says."""
    executor.say(PREPARING, 0.0)
    if task.complete:
        best = search_complete(task, [task.start], executor, journal)
        network = task.network(best.parents)
        whole = build_problem(task.table, network, middle_exponents(network, task.alpha))
        problem = replace(whole, alpha=likeliest_exponents(network, task.alpha, whole.seen))
        log_bd = conjugacy.log_marginal(whole.seen, problem.alpha, problem.layout)
        q = Variational(problem, problem.seen, math.fsum(log_bd + problem.log_bases))
        log_prior = float(task.log_priors(best.parents).sum())
        found = _learned(task, q, log_prior, best.scored)
        return replace(found, steps=best.steps, exact=is_exact(task))
    met = search_incomplete(task, executor.part(0.0, SEARCHING), journal)
    rest = executor.part(SEARCHING, 1.0)
    weighed = weigh([met.best, *met.close], goal, task.how.seed, rest)
    one, missing = weighed[0], missingness(task.table)
    found = _learned(task, one.fitted.posterior, one.fitted.log_prior, met.scored)
    return replace(
        found,
        score=task.how.score,
        csl=one.csl,
        measured=one.measured,
        finalists=len(weighed),
        bounds=met.bounds,
        fitted=met.fitted,
        missingness=missing,
        flags=(*found.flags, *(missing.flags if missing else ())),
    )


def _learned(task: GraphTask, q: Variational, log_prior: float, scored: int) -> Learned:
    """What is known of a graph, whether cells are missing or not."""
    problem = q.problem
    log_bd = conjugacy.log_marginal(q.N, problem.alpha, problem.layout) + problem.log_bases
    gains = averaging_gains(problem.network, task.alpha, problem.alpha, q.N)
    between = between_numbers(task.table, problem.network)
    return Learned(
        posterior=q,
        alpha=task.alpha,
        families=tuple((log_bd + gains).tolist()),
        scored=scored,
        averaging=math.fsum(gains),
        graph_prior=task.how.prior,
        log_prior=log_prior,
        known=task.known,
        between=between,
        flags=(*(between.flags if between else ()), *few_rows(task.table)),
    )


def find_graph(task: GraphTask) -> Network:
    """Search, and give the graph alone: nothing is found out about its evidence."""
    if task.complete:
        return task.network(search_complete(task, [task.start]).parents)
    return task.network(search_incomplete(task).best.parents)
