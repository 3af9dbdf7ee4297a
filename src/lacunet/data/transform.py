"""Transform tables: missing cells as a state or as indicator columns, rows in groups."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lacunet.data.distinct import collapse, merge, places, smallest
from lacunet.data.table import Column, Table
from lacunet.errors import DataError
from lacunet.runtime.arrays import BoolArray, CodeArray

MISSING_STATE = "(missing)"
_MISSING_STATE = re.compile(r"\(missing( \d+)?\)")
SEEN, MISSING = "seen", "missing"  # states of a missingness indicator
MOST_GROUPS = 30  # each has separate parameters
FEWEST_CASES = 10  # of a group whose classes can be estimated


def missing_state(column: Column) -> str:
    """Name the state of a missing cell, distinct from the other states of the column.

    >>> missing_state(Column("x", ("no", "yes"))), missing_state(Column("x", ("a", "(missing)")))
    ('(missing)', '(missing 2)')
    """
    name, number = MISSING_STATE, 2
    while name in column.labels:
        name, number = f"(missing {number})", number + 1
    return name


def put_missing_states(codes: CodeArray, columns: Sequence[Column]) -> None:
    """Recode missing cells as the missing state of their column, in place, if it has one.

    New rows are read like this for a model that was fitted to a table of `missing_as_state`.
    """
    for j, column in enumerate(columns):
        if has_missing_state(column):
            codes[codes[:, j] < 0, j] = len(column.states) - 1


def has_missing_state(column: Column) -> bool:
    """Whether the last state of a column represents a missing cell."""
    return _MISSING_STATE.fullmatch(column.labels[-1]) is not None


def missing_as_state(table: Table, *, merged: bool = True) -> Table:
    """Add a state of missing cells to every column that has some; other columns stay.

    The new state is the last, so other codes do not change. Without `merged`, equal rows stay
    apart, in their order.
    """
    columns, changed = list(table.columns), []
    number = next((c.name for c in columns if c.kind.number), None)
    if number is not None:
        raise DataError(
            f"'{number}' holds numbers: a missing cell can be an answer of categories only. Put "
            f"its values into bins with --bin {shlex.quote(number)}=5, or leave out "
            "--missing-as-state."
        )
    for j in np.flatnonzero((table.codes < 0).any(axis=0)):
        column, name = columns[j], missing_state(columns[j])
        columns[j] = replace(column, states=(*column.states, name))
        changed.append(f"column '{column.name}': a missing cell counts as its state '{name}'.")
    notes = (*table.notes, *(changed or ["no cell is missing: no column gets a state for it."]))
    return with_missing_states(replace(table, columns=tuple(columns), notes=notes), merged=merged)


def with_missing_states(table: Table, *, merged: bool = True) -> Table:
    """Recode missing cells as the missing state of their column, if it has one."""
    kind = smallest(max(len(c.states) for c in table.columns))
    codes: CodeArray = np.array(table.codes, dtype=kind)  # a copy: it is changed in place
    put_missing_states(codes, table.columns)
    if not merged:
        return replace(table, codes=codes)
    # A cell may already have had the missing state, so rows may be equal now.
    design = None if table.design is None else table.design.moved(places(codes))
    codes, counts = collapse(*merge(codes, table.counts, np.ones(len(codes), dtype=np.int64)))
    return replace(table, codes=codes, counts=counts, design=design)


def with_masks(table: Table) -> tuple[Table, dict[str, str]]:
    """Add a missingness indicator for every column with missing cells.

    Returns the table and the name of each indicator, by its column.
    """
    missing = table.codes < 0
    wanted = np.flatnonzero(missing.any(axis=0))
    names: dict[str, str] = {}
    for j in wanted:
        name = f"{table.columns[j].name} is missing"
        while name in {*(c.name for c in table.columns), *names.values()}:
            name += "?"
        names[table.columns[j].name] = name
    masks = [Column(name, (SEEN, MISSING)) for name in names.values()]
    codes: CodeArray = np.column_stack([table.codes, missing[:, wanted].astype(table.codes.dtype)])
    return replace(table, columns=(*table.columns, *masks), codes=codes), names


def with_groups(table: Table, name: str) -> Table:
    """Select the rows with an observed group; refuse a column that is not suitable.

    Groups without rows are removed from its states.
    """
    column = [c.name for c in table.columns].index(name)
    given = table.columns[column]
    if given.kind.number:
        raise DataError(
            f"group '{name}' holds numbers. Put them into bins with --bin {shlex.quote(name)}=3, "
            f"or declare categories with --kinds {shlex.quote(name)}=categorical."
        )
    if len(table.columns) == 1:
        raise DataError(f"'{name}' is the only column: there are no items. Use more columns.")
    seen = table.codes[:, column] >= 0
    cases = np.bincount(table.codes[seen, column], table.counts[seen], len(given.states))
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
    for text, n in zip(labels, cases[used], strict=True):
        if n < FEWEST_CASES:
            raise DataError(
                f"group '{text}' of '{name}' has {n:,.4g} cases, and "
                f"{FEWEST_CASES} is the minimum to estimate its classes. Put it together "
                "with another group, or take its rows out of the data."
            )
    columns = list(table.columns)
    columns[column] = replace(given, states=tuple(given.states[g] for g in used.tolist()))
    codes = table.codes[seen].copy()
    codes[:, column] = np.searchsorted(used, codes[:, column])
    return _with_rows(table, seen, columns, codes)


def _with_rows(table: Table, seen: BoolArray, columns: Sequence[Column], codes: CodeArray) -> Table:
    """Leave out rows without a group."""
    lost = float(table.counts[~seen].sum())
    design = table.design
    if design is not None and lost:
        design = design.only(seen, 1.0 - lost / table.weight)
    note = f"{lost:,g} of {table.weight:,g} cases do not show their group: they are left out."
    return replace(
        table,
        columns=tuple(columns),
        codes=codes,
        counts=table.counts[seen],
        rows=table.rows - round(lost) if table.weights is None else table.rows,
        notes=(*table.notes, note) if lost else table.notes,
        design=design,
    )
