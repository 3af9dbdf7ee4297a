"""The graph with the largest exact evidence of complete data."""

from collections.abc import Sequence

from lacunet.runtime.arrays import BoolArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.structure.exact import search_exactly
from lacunet.structure.families import CompleteCounts
from lacunet.structure.journal import FORGETFUL, Journal
from lacunet.structure.scoring import complete_scores
from lacunet.structure.searching import Found, search
from lacunet.structure.task import GraphTask

FEW = 6_000  # families: a search scores as many, so that the best of all graphs costs no more


def is_exact(task: GraphTask) -> bool:
    """Whether the best of all graphs is looked for: it was asked for, or it costs no more."""
    n = len(task.start)
    few = task.how.sweeps > 0 and n << (n - 1) <= FEW and not task.numbers.any()
    return task.how.exact or few


def search_complete(
    task: GraphTask,
    starts: Sequence[BoolArray],
    executor: Executor = SERIAL,
    journal: Journal = FORGETFUL,
) -> Found:
    """Search for the graph with the largest log BD, from each of some graphs."""
    if is_exact(task):
        counts = CompleteCounts(task.table, task.alpha, task.known.tables)
        return search_exactly(counts, task.limits, executor, task.log_prior)
    scores = complete_scores(task, task.table)
    return search(starts, scores, task.limits, task.how, executor, journal)
