"""Learn a graph from any table: complete or not."""

import math
from contextlib import closing

from lacunet.data.table import Table
from lacunet.evidence.clock import Goal
from lacunet.executor import SERIAL, Executor
from lacunet.files import StrPath
from lacunet.flags import Flag
from lacunet.graphs.between_numbers import BetweenNumbers, between_numbers
from lacunet.graphs.complete import is_exact, search_complete
from lacunet.graphs.incomplete import search_incomplete
from lacunet.graphs.journal import FORGETFUL, Journal
from lacunet.graphs.knowledge import Knowledge
from lacunet.graphs.learned import Learned
from lacunet.graphs.searching import GraphSearch
from lacunet.graphs.task import GraphTask, few_rows, graph_task
from lacunet.graphs.weighing import weigh
from lacunet.inference.problem import build_problem
from lacunet.learn.prepare import PREPARING
from lacunet.learn.variational import Variational
from lacunet.model import conjugacy
from lacunet.model.network import Network
from lacunet.model.number_prior import NumberPrior
from lacunet.model.prior import dirichlet

NOTHING, USUAL = Knowledge(), NumberPrior()
DEFAULT = GraphSearch()
SEARCHING = 0.9  # of the work, about; the rest is to weigh what was found


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
        return learn_task(task, executor, journal, goal)


def learn_task(
    task: GraphTask,
    executor: Executor = SERIAL,
    journal: Journal = FORGETFUL,
    goal: Goal | None = None,
) -> Learned:
    """Search as a task says."""
    executor.say(PREPARING, 0.0)
    if task.complete:
        return _complete(task, executor, journal)
    return _incomplete(task, executor, journal, goal)


def find_graph(task: GraphTask) -> Network:
    """Search, and give the graph alone: nothing is found out about its evidence."""
    if task.complete:
        return task.network(search_complete(task, [task.start]).parents)
    return task.network(search_incomplete(task).best.parents)


def _complete(task: GraphTask, executor: Executor, journal: Journal) -> Learned:
    found = search_complete(task, [task.start], executor, journal)
    network = task.network(found.parents)
    alpha = dirichlet(network, task.alpha)
    problem = build_problem(task.table, network, alpha)
    families = found.families - task.log_priors(found.parents)
    if not network.plain:  # the search scores all tables as if they were learned
        families = conjugacy.log_marginal(problem.seen, alpha, network.layout)
    families = families + problem.log_bases
    between = between_numbers(task.table, network)
    return Learned(
        posterior=Variational(problem, problem.seen, math.fsum(families)),
        alpha=task.alpha,
        families=tuple(families.tolist()),
        scored=found.scored,
        graph_prior=task.how.prior,
        log_prior=float(task.log_priors(found.parents).sum()),
        known=task.known,
        steps=found.steps,
        exact=is_exact(task),
        between=between,
        flags=_flags(task, between),
    )


def _flags(task: GraphTask, between: BetweenNumbers | None) -> tuple[Flag, ...]:
    """Say what a person should know; first, whether numbers depend on each other."""
    return (*(between.flags if between else ()), *few_rows(task.table))


def _incomplete(
    task: GraphTask, executor: Executor, journal: Journal, goal: Goal | None
) -> Learned:
    found = search_incomplete(task, executor.part(0.0, SEARCHING), journal)
    rest = executor.part(SEARCHING, 1.0)
    weighed = weigh([found.best, *found.close], goal, task.how.seed, rest)
    best = weighed[0]
    q = best.fitted.to_the_end().posterior
    between = between_numbers(task.table, q.problem.network)
    families = conjugacy.log_marginal(q.N, q.problem.alpha, q.problem.layout) + q.problem.log_bases
    return Learned(
        posterior=q,
        alpha=task.alpha,
        families=tuple(families.tolist()),
        scored=found.scored,
        graph_prior=task.how.prior,
        log_prior=best.fitted.log_prior,
        known=task.known,
        score=task.how.score,
        csl=best.csl,
        measured=best.measured,
        finalists=len(weighed),
        bounds=found.bounds,
        fitted=found.fitted,
        between=between,
        flags=_flags(task, between),
    )
