"""Numbers in groups of neighbours: what associations are counted in.

Who goes with whom, and who hangs where, is proposed by counts of categories. What a proposal is
worth, the numbers themselves decide.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lacunet.data.table import Column, Table
from lacunet.models.network import Variable
from lacunet.runtime.arrays import FloatArray, IntArray

MOST = 6  # groups of a column: as many as tell a few classes apart
MEMBERS = 20  # cases in each group, about, at least; two groups there are in any case


@dataclass(frozen=True, eq=False)
class Number:
    """A column of numbers: its variable, and its values in groups of about as many cases."""

    variable: Variable
    group: IntArray  # (values,) of each value, in their order


def numbers_of(table: Table, variables: Sequence[Variable]) -> dict[int, Number]:
    """Give the columns of numbers of a table, by their places; `variables` are of all columns."""
    places = [j for j, column in enumerate(table.columns) if column.kind.number]
    return {j: Number(variables[j], _groups(_cases(table, j))) for j in places}


def group_column(column: Column, number: Number) -> Column:
    """Give a column of groups, with their numbers for states."""
    return Column(column.name, tuple(range(int(number.group.max(initial=0)) + 1)))


def _cases(table: Table, j: int) -> FloatArray:
    """How often each value of a column occurs, (values,)."""
    seen = table.codes[:, j] >= 0
    return np.bincount(
        table.codes[seen, j], table.counts[seen], len(table.columns[j].states)
    ).astype(np.float64)


def _groups(cases: FloatArray) -> IntArray:
    """Cut values, which are in order, where about as many cases are on either side.

    A value that many cases have is not cut: groups that it would fill are left out.
    """
    many = int(np.clip(cases.sum() // MEMBERS, 2, MOST))
    middle = (np.cumsum(cases) - cases / 2) / cases.sum()
    found = np.unique(np.floor(middle * many), return_inverse=True)[1]
    return np.asarray(found, dtype=np.int64)
