"""Who scores the families of a task: counts of categories, and statistics of numbers."""

from collections.abc import Callable, Sequence

from lacunet.data.table import Table
from lacunet.models.network import Variable
from lacunet.runtime.arrays import CodeArray
from lacunet.structure.available import AvailableCases
from lacunet.structure.families import CompleteCounts, FamilyScores, Statistics
from lacunet.structure.numbers import MixedFamilies, NumberFamilies, are_numbers, categories_of
from lacunet.structure.paired import PairedCases
from lacunet.structure.task import GraphTask


def complete_scores(task: GraphTask, table: Table) -> FamilyScores:
    """Score families in a table that shows every category: that of the task, or its completion."""
    told = statistics_of(
        table,
        task.variables,
        task.alpha,
        lambda one: CompleteCounts(one, task.alpha, task.known.tables),
    )
    return FamilyScores(told, task.log_prior)


def available_scores(task: GraphTask, *, as_pairs: bool = False) -> FamilyScores:
    """Score families in a table with holes, each move on the rows that show all it is about."""
    return FamilyScores(
        statistics_of(
            task.table,
            task.variables,
            task.alpha,
            lambda one: AvailableCases(one, task.alpha, as_pairs=as_pairs),
        ),
        task.log_prior,
    )


def paired_scores(task: GraphTask, drawn: CodeArray) -> FamilyScores:
    """Score families in completed rows, (times, rows, columns): each move where both ends show."""
    kept = ~task.numbers
    return FamilyScores(
        statistics_of(
            task.table,
            task.variables,
            task.alpha,
            lambda _: PairedCases(task.table, drawn, kept, task.alpha),
        ),
        task.log_prior,
    )


def statistics_of(
    table: Table,
    variables: Sequence[Variable],
    alpha: float | str,
    of_categories: Callable[[Table], Statistics],
) -> Statistics:
    """Give who scores families of a table: its categories are left to somebody, numbers added."""
    if not are_numbers(table).any():
        return of_categories(table)
    categories = categories_of(table)
    counted = None if categories is None else of_categories(categories)
    return MixedFamilies(counted, NumberFamilies(table, variables, alpha))
