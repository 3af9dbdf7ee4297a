"""The column that says which group a row belongs to: what it must be like."""

import shlex
from dataclasses import replace

import numpy as np

from lacunet.data.table import Table
from lacunet.errors import DataError
from lacunet.runtime.arrays import BoolArray

MOST_GROUPS = 30  # each has parameters of its own
FEWEST_CASES = 10  # of a group: below, nothing can be told of its classes


def with_groups(table: Table, name: str) -> Table:
    """Give the rows that show their group; refuse a column that makes no groups.

    Groups that no row is in are no states any more.
    """
    column = [c.name for c in table.columns].index(name)
    given = table.columns[column]
    if given.kind.number:
        raise DataError(
            f"group '{name}' holds numbers. Put them into bins with --bin {shlex.quote(name)}=3, "
            f"or say that they are categories with --kinds {shlex.quote(name)}=categorical."
        )
    if len(table.columns) == 1:
        raise DataError(f"'{name}' is the only column: there are no items. Use more columns.")
    told = table.codes[:, column] >= 0
    cases = np.bincount(table.codes[told, column], table.counts[told], len(given.states))
    used = np.flatnonzero(cases > 0)
    labels = [given.labels[g] for g in used]
    if len(used) < 2:
        only = f"in all rows it is '{labels[0]}'" if labels else "it is missing in every row"
        raise DataError(
            f"group '{name}' makes no groups: {only}. Name a column with two values or more, or "
            "leave out --group."
        )
    if len(used) > MOST_GROUPS:
        raise DataError(
            f"group '{name}' has {len(used):,} values, and {MOST_GROUPS} groups are the most. Put "
            f"numbers into bins with --bin {shlex.quote(name)}=3, or put groups together; what "
            "predicts classes one value at a time is a covariate: --covariates."
        )
    for g in used:
        if cases[g] < FEWEST_CASES:
            raise DataError(
                f"group '{given.labels[g]}' of '{name}' has {cases[g]:,.4g} cases, and "
                f"{FEWEST_CASES} are the fewest to tell anything of its classes. Put it together "
                "with another group, or take its rows out of the data."
            )
    return _only(table, column, told, used.tolist())


def _only(table: Table, column: int, told: BoolArray, used: list[int]) -> Table:
    """Leave out rows without a group, and groups without rows."""
    states = tuple(table.columns[column].states[g] for g in used)
    columns = list(table.columns)
    columns[column] = replace(columns[column], states=states)
    codes = table.codes[told].copy()
    codes[:, column] = np.searchsorted(used, codes[:, column])
    lost = float(table.counts[~told].sum())
    share = 1.0 - lost / table.weight
    design = table.design if table.design is None or not lost else table.design.only(told, share)
    note = f"{lost:,g} of {table.weight:,g} cases do not show their group: they are left out."
    return replace(
        table,
        columns=tuple(columns),
        codes=codes,
        counts=table.counts[told],
        rows=table.rows - round(lost) if table.weights is None else table.rows,
        notes=(*table.notes, note) if lost else table.notes,
        design=design,
    )
