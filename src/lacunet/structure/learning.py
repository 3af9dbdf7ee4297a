"""Learn a graph from any table: search, then compare the graphs with close bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial

import numpy as np

from lacunet.data.table import Table
from lacunet.evidence.annealing import Goal
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
from lacunet.runtime.checkpoint import NULL_CHECKPOINT, Checkpoint
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
from lacunet.structure.knowledge import Knowledge
from lacunet.structure.learned import EdgeSensitivity, Learned
from lacunet.structure.scoring import is_exact, search_complete
from lacunet.structure.searching import GraphSearch
from lacunet.structure.task import NOTHING, USUAL, GraphTask, few_rows, graph_task

MOST_PARAMETERS = 3_000  # of a graph scored by CSL, which takes the determinant of their matrix
SEARCHING = 0.9  # share of the search in the progress; comparing graphs takes the rest
FACTORS = (0.5, 2.0)  # of the exponents, in the sensitivity analysis
DEFAULT = GraphSearch()


def weigh(
    finalists: Sequence[GraphFit], goal: Goal | None, seed: int, executor: Executor
) -> list[GraphFit]:
    """Rank graphs by evidence, the best first; with a goal, the evidence is measured."""
    titles = [f"evidence of graph {k + 1} of {len(finalists)}" for k in range(len(finalists))]
    parts = executor.beside(titles, [1.0] * len(finalists))
    each = partial(_weigh_one, goal, seed)
    weighed = executor.map(each, list(zip(finalists, parts, strict=True)))
    without = any(one.csl is None for one in weighed)  # CSL is used for all graphs or for none
    return sorted(weighed, key=lambda one: one.log_joint(without_csl=without), reverse=True)


def _weigh_one(goal: Goal | None, seed: int, task: tuple[GraphFit, Executor]) -> GraphFit:
    fitted, executor = task
    problem = fitted.posterior.problem
    if problem.network.dimension <= MOST_PARAMETERS:  # CSL climbs from the expected parameters
        value = csl(ScoreInput(problem, fitted.model.theta, executor=executor)).value
        fitted = replace(fitted, csl=value if math.isfinite(value) else None)
    if goal is None:
        return fitted
    prepare_sampling(executor, problem.network)
    return replace(fitted, measured=measure(problem, goal=goal, seed=seed, executor=executor))


def learn_structure(
    table: Table,
    alpha: float | str,
    options: GraphSearch = DEFAULT,
    knowledge: Knowledge = NOTHING,
    executor: Executor = SERIAL,
    *,
    goal: Goal | None = None,
    resume: StrPath | None = None,
    prior: NumberPrior = USUAL,
) -> Learned:
    """Search for the most probable graph that satisfies the constraints.

    With missing values the criterion is a lower bound on the evidence. With a goal, the evidence of
    graphs with close bounds is measured. `resume` is a checkpoint file.
    """
    task = graph_task(table, alpha, options, knowledge, prior)
    with closing(Checkpoint(resume, task.fingerprint() if resume else None)) as checkpoint:
        learned = learn_task(task, executor, checkpoint, goal)
    if options.sweeps == 0:  # a single climb skips the sensitivity analysis
        return learned
    parents, sensitivity = learned.parents, _sensitivity(task, learned.parents, learned.model)
    return replace(
        learned, sensitivity=sensitivity, flags=(*learned.flags, *sensitivity.flags(parents.sum()))
    )


def _sensitivity(task: GraphTask, parents: BoolArray, model: Model) -> EdgeSensitivity:
    """Search again from a graph with half and twice the exponents.

    Missing values are imputed once from the model. The original prior is searched on the same rows,
    so that only the prior makes a difference.
    """
    table = task.table
    if not task.complete:
        table = Completer(table, np.random.default_rng([task.options.seed, 3]))(model)

    def again(task: GraphTask, start: BoolArray, alpha: float | str) -> BoolArray:
        # A climb on complete rows, or an exact search if that is fast.
        sweeps = task.options.sweeps if is_exact(task) else 0
        options = replace(task.options, sweeps=sweeps, restarts=0)
        return search_complete(
            replace(task, table=table, alpha=alpha, options=options), [start]
        ).parents

    def joined(parents: BoolArray) -> BoolArray:
        pairs: BoolArray = np.tril(parents | parents.T)
        return pairs

    original = parents if task.complete else again(task, parents, task.alpha)
    alphas = tuple(scale_alpha(task.alpha, factor) for factor in FACTORS)
    others = [again(task, parents, alpha) for alpha in alphas]
    names = [column.name for column in table.columns]
    differ = tuple(
        tuple((names[u], names[v]) for v, u in np.argwhere(joined(original) ^ joined(other)))
        for other in others
    )
    usual = None  # number of edges under the default prior, if the task has another
    if task.alpha != AVERAGED or task.options.prior is not GraphPrior.FAIR:
        fair = replace(task, options=replace(task.options, prior=GraphPrior.FAIR))
        usual = int(again(fair, task.start, AVERAGED).sum())
    return EdgeSensitivity(alphas, differ, not task.complete, usual)


def learn_task(
    task: GraphTask,
    executor: Executor = SERIAL,
    checkpoint: Checkpoint = NULL_CHECKPOINT,
    goal: Goal | None = None,
) -> Learned:
    """Search for the graph of a task."""
    executor.report(PREPARING, 0.0)
    if task.complete:
        best = search_complete(task, [task.start], executor, checkpoint)
        network = task.network(best.parents)
        whole = build_problem(task.table, network, middle_exponents(network, task.alpha))
        problem = replace(whole, alpha=likeliest_exponents(network, task.alpha, whole.seen))
        log_bd = conjugacy.log_marginal(whole.seen, problem.alpha, problem.layout)
        q = Variational(problem, problem.seen, math.fsum(log_bd + problem.log_bases))
        log_prior = float(task.log_priors(best.parents).sum())
        learned = _learned(task, q, log_prior, best.scored)
        return replace(learned, steps=best.steps, exact=is_exact(task))
    met = search_incomplete(task, executor.part(0.0, SEARCHING), checkpoint)
    rest = executor.part(SEARCHING, 1.0)
    weighed = weigh([met.best, *met.close], goal, task.options.seed, rest)
    best_fit, missing = weighed[0], missingness(task.table)
    learned = _learned(task, best_fit.posterior, best_fit.log_prior, met.scored)
    return replace(
        learned,
        score=task.options.score,
        csl=best_fit.csl,
        measured=best_fit.measured,
        finalists=len(weighed),
        bounds=met.bounds,
        fitted=met.fitted,
        missingness=missing,
        flags=(*learned.flags, *(missing.flags if missing else ())),
    )


def _learned(task: GraphTask, q: Variational, log_prior: float, scored: int) -> Learned:
    """Collect the results that do not depend on whether values are missing."""
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
        graph_prior=task.options.prior,
        log_prior=log_prior,
        known=task.known,
        between=between,
        flags=(*(between.flags if between else ()), *few_rows(task.table)),
    )


def find_graph(task: GraphTask) -> Network:
    """Search, and return the graph without its evidence."""
    if task.complete:
        return task.network(search_complete(task, [task.start]).parents)
    return task.network(search_incomplete(task).best.parents)
