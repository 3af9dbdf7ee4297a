"""What is known of the evidence of graphs, and which of several that are close is the answer.

Learn a graph from any table: complete or not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

from lacunet.data.table import Table
from lacunet.evidence.annealing import Goal
from lacunet.evidence.estimate import Measurement
from lacunet.evidence.measure import measure
from lacunet.evidence.smc import prepare_sampling
from lacunet.fitting.diagnose import Variational
from lacunet.fitting.prepare import PREPARING
from lacunet.flags import Flag
from lacunet.inference.problem import Problem, build_problem
from lacunet.models import conjugacy
from lacunet.models.network import Network
from lacunet.models.number_prior import OF_GRAPHS, NumberPrior
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.runtime.files import StrPath
from lacunet.scores import ScoreInput
from lacunet.scores.approximations import csl
from lacunet.structure.completing import Missingness, missingness
from lacunet.structure.families import averaging_gains, likeliest_exponents, middle_exponents
from lacunet.structure.incomplete import Fitted, search_incomplete
from lacunet.structure.journal import FORGETFUL, Journal
from lacunet.structure.knowledge import Knowledge
from lacunet.structure.learned import Learned, sensitivity
from lacunet.structure.numbers import BetweenNumbers, between_numbers
from lacunet.structure.scoring import is_exact, search_complete
from lacunet.structure.searching import GraphSearch
from lacunet.structure.task import GraphTask, few_rows, graph_task

MOST_PARAMETERS = 3_000  # for CSL: it takes the determinant of so large a matrix


@dataclass(frozen=True, eq=False)
class Weighed:
    """A graph, and its evidence by what was found out about it."""

    fitted: Fitted
    csl: float | None = None  # an approximation; None where it does not exist or would not fit
    measured: Measurement | None = None

    def rank(self, *, without_csl: bool) -> float:
        """What decides, with log p(S): measured evidence, if there is; else CSL; else the bound."""
        known = self.fitted.posterior.bound if without_csl or self.csl is None else self.csl
        if self.measured is not None:
            known = self.measured.value
        return known + self.fitted.averaging + self.fitted.log_prior


def weigh(
    finalists: Sequence[Fitted], goal: Goal | None, seed: int, executor: Executor
) -> list[Weighed]:
    """Weigh graphs, the best first; with a goal, their evidence is measured."""
    titles = [f"evidence of graph {k + 1} of {len(finalists)}" for k in range(len(finalists))]
    parts = executor.beside(titles, [1.0] * len(finalists))
    each = partial(_weigh_one, goal, seed)
    found = executor.map(each, list(zip(finalists, parts, strict=True)))
    without = any(one.csl is None for one in found)  # then it cannot decide
    return sorted(found, key=lambda one: one.rank(without_csl=without), reverse=True)


def _weigh_one(goal: Goal | None, seed: int, task: tuple[Fitted, Executor]) -> Weighed:
    one, executor = task
    problem = one.posterior.problem
    found = Weighed(one, approximate(one, executor))
    if goal is None:
        return found
    prepare_sampling(executor, problem.network)
    measured = measure(problem, goal=goal, seed=seed, executor=executor)
    return replace(found, measured=measured)


def approximate(one: Fitted, executor: Executor) -> float | None:
    """CSL, from the expected parameters uphill."""
    problem = one.posterior.problem
    if problem.network.dimension > MOST_PARAMETERS:
        return None
    value = csl(ScoreInput(problem, one.model.theta, executor=executor)).value
    return value if math.isfinite(value) else None


NOTHING, USUAL = Knowledge(), OF_GRAPHS
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
        found = learn_task(task, executor, journal, goal)
    if how.sweeps == 0:  # one climb alone was asked for
        return found
    parents, other = found.parents, sensitivity(task, found.parents, found.model)
    return replace(found, sensitivity=other, flags=(*found.flags, *other.flags(parents.sum())))


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
    whole = build_problem(task.table, network, middle_exponents(network, task.alpha))
    problem = replace(whole, alpha=likeliest_exponents(network, task.alpha, whole.seen))
    families, gains = _families(problem, task.alpha, problem.seen)
    between = between_numbers(task.table, network)
    return Learned(
        posterior=Variational(problem, problem.seen, math.fsum(families)),
        alpha=task.alpha,
        families=tuple((families + gains).tolist()),
        averaging=math.fsum(gains),
        scored=found.scored,
        graph_prior=task.how.prior,
        log_prior=float(task.log_priors(found.parents).sum()),
        known=task.known,
        steps=found.steps,
        exact=is_exact(task),
        between=between,
        flags=_flags(task, between),
    )


def _families(problem: Problem, alpha: float | str, N: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Log BD of (expected) counts by family, and what averaging over exponents adds to each."""
    log_bd = conjugacy.log_marginal(N, problem.alpha, problem.layout) + problem.log_bases
    return log_bd, averaging_gains(problem.network, alpha, problem.alpha, N)


def _flags(
    task: GraphTask, between: BetweenNumbers | None, holes: Missingness | None = None
) -> tuple[Flag, ...]:
    """Say what a person should know; first, whether numbers depend on each other."""
    first = between.flags if between else ()
    return (*first, *few_rows(task.table), *(holes.flags if holes else ()))


def _incomplete(
    task: GraphTask, executor: Executor, journal: Journal, goal: Goal | None
) -> Learned:
    found = search_incomplete(task, executor.part(0.0, SEARCHING), journal)
    rest = executor.part(SEARCHING, 1.0)
    weighed = weigh([found.best, *found.close], goal, task.how.seed, rest)
    best = weighed[0]
    q = best.fitted.posterior
    families, gains = _families(q.problem, task.alpha, q.N)
    between, holes = between_numbers(task.table, q.problem.network), missingness(task.table)
    return Learned(
        posterior=q,
        alpha=task.alpha,
        families=tuple((families + gains).tolist()),
        averaging=math.fsum(gains),
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
        missingness=holes,
        flags=_flags(task, between, holes),
    )
