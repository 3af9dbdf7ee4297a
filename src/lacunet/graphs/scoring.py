"""Who scores the families of a task: counts of categories, and statistics of numbers."""

from lacunet.data.table import Table
from lacunet.graphs.available import AvailableCases
from lacunet.graphs.families import CompleteCounts, FamilyScores
from lacunet.graphs.numbers import MixedFamilies, NumberFamilies, categories_of
from lacunet.graphs.task import GraphTask


def complete_scores(task: GraphTask, table: Table) -> FamilyScores:
    """Score families in a table that shows every category: that of the task, or its completion."""
    tables = task.known.tables
    if not task.numbers.any():
        return FamilyScores(CompleteCounts(table, task.alpha, tables))
    categories = CompleteCounts(categories_of(table), task.alpha, tables)
    numbers = NumberFamilies(table, task.variables, task.alpha)
    return FamilyScores(MixedFamilies(categories, numbers))


def available_scores(task: GraphTask) -> FamilyScores:
    """Score families in a table with holes, each move on the rows that show all it is about."""
    if not task.numbers.any():
        return FamilyScores(AvailableCases(task.table, task.alpha))
    categories = AvailableCases(categories_of(task.table), task.alpha)
    numbers = NumberFamilies(task.table, task.variables, task.alpha)
    return FamilyScores(MixedFamilies(categories, numbers))
