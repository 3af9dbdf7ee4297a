"""Learn a graph from any table: complete or not."""

import math
from collections.abc import Iterator

from lacunet.data.table import Table
from lacunet.executor import SERIAL, Executor
from lacunet.flags import Flag, Kind
from lacunet.graphs.complete import is_exact, search_complete
from lacunet.graphs.incomplete import search_incomplete
from lacunet.graphs.knowledge import Knowledge
from lacunet.graphs.learned import Learned
from lacunet.graphs.searching import GraphSearch
from lacunet.graphs.task import GraphTask, graph_task
from lacunet.inference.problem import build_problem
from lacunet.learn.prepare import PREPARING
from lacunet.model import conjugacy
from lacunet.model.network import Model
from lacunet.model.prior import dirichlet

NOTHING = Knowledge()
DEFAULT = GraphSearch()


def learn_structure(
    table: Table,
    alpha: float | str,
    how: GraphSearch = DEFAULT,
    knowledge: Knowledge = NOTHING,
    executor: Executor = SERIAL,
) -> Learned:
    """Search for the graph with the largest evidence that keeps to what is known.

    Where cells are missing, a lower bound of the evidence takes its place.
    """
    task = graph_task(table, alpha, how, knowledge)
    executor.say(PREPARING, 0.0)
    return (_complete if table.complete else _incomplete)(task, executor)


def _complete(task: GraphTask, executor: Executor) -> Learned:
    found = search_complete(task, [task.start], executor)
    network = task.network(found.parents)
    alpha = dirichlet(network, task.alpha)
    exponents = build_problem(task.table, network, alpha).prior
    return Learned(
        model=Model(network, conjugacy.mean(exponents, network.layout), alpha, exponents),
        alpha=task.alpha,
        log_evidence=math.fsum(found.families),
        families=tuple(found.families.tolist()),
        scored=found.scored,
        steps=found.steps,
        exact=is_exact(task),
        flags=tuple(_flags(task)),
    )


def _incomplete(task: GraphTask, executor: Executor) -> Learned:
    found = search_incomplete(task, executor)
    q = found.best.posterior
    families = conjugacy.log_marginal(q.N, q.problem.alpha, q.problem.layout)
    return Learned(
        model=found.best.model,
        alpha=task.alpha,
        log_evidence=q.bound,
        families=tuple(families.tolist()),
        scored=found.scored,
        bounds=found.bounds,
        fitted=found.fitted,
        flags=tuple(_flags(task)),
    )


def _flags(task: GraphTask) -> Iterator[Flag]:
    rows, variables = task.table.rows, len(task.table.columns)
    if rows < variables:
        yield Flag(Kind.FEW_ROWS, detail={"rows": rows, "variables": variables})
