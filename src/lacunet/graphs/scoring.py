"""Who scores the families of a task: counts of categories, and statistics of numbers."""

from collections.abc import Callable

from lacunet.data.table import Table
from lacunet.graphs.available import AvailableCases
from lacunet.graphs.families import CompleteCounts, FamilyScores, Statistics
from lacunet.graphs.numbers import MixedFamilies, NumberFamilies, categories_of
from lacunet.graphs.task import GraphTask


def complete_scores(task: GraphTask, table: Table) -> FamilyScores:
    """Score families in a table that shows every category: that of the task, or its completion."""
    return _scores(task, table, lambda one: CompleteCounts(one, task.alpha, task.known.tables))


def available_scores(task: GraphTask) -> FamilyScores:
    """Score families in a table with holes, each move on the rows that show all it is about."""
    return _scores(task, task.table, lambda one: AvailableCases(one, task.alpha))


def _scores(
    task: GraphTask, table: Table, of_categories: Callable[[Table], Statistics]
) -> FamilyScores:
    if not task.numbers.any():
        return FamilyScores(of_categories(table))
    categories = categories_of(table)
    counted = None if categories is None else of_categories(categories)
    numbers = NumberFamilies(table, task.variables, task.alpha)
    return FamilyScores(MixedFamilies(counted, numbers))
