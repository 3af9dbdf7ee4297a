"""Holes as answers: a missing cell as one more state of its column, or as a column of its own."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lacunet.data.distinct import collapse, merge, places, smallest
from lacunet.data.table import Column, Table
from lacunet.errors import DataError
from lacunet.runtime.arrays import CodeArray

MISSING_STATE = "(missing)"
_MISSING_STATE = re.compile(r"\(missing( \d+)?\)")
SEEN, HOLE = "seen", "missing"  # states of a column that says whether another is missing


def missing_state(column: Column) -> str:
    """Name the state of a hole, so that it is none of the column's own.

    >>> missing_state(Column("x", ("no", "yes"))), missing_state(Column("x", ("a", "(missing)")))
    ('(missing)', '(missing 2)')
    """
    name, number = MISSING_STATE, 2
    while name in column.labels:
        name, number = f"(missing {number})", number + 1
    return name


def put_missing_states(codes: CodeArray, columns: Sequence[Column]) -> None:
    """Give holes the code of the state that stands for them, in place, where a column has one.

    That is how rows are read for a model that was fitted to a table of `missing_as_state`. In a
    column that had no holes then, a hole is still a hole.
    """
    for j, column in enumerate(columns):
        if has_missing_state(column):
            codes[codes[:, j] < 0, j] = len(column.states) - 1


def has_missing_state(column: Column) -> bool:
    """Whether the last state of a column stands for a hole."""
    return _MISSING_STATE.fullmatch(column.labels[-1]) is not None


def missing_as_state(table: Table, *, merged: bool = True) -> Table:
    """Make a hole a state of its own in every column that has one; other columns stay.

    The new state comes last, so the codes of all others stay. Rows that differed still differ.
    Unless they are to be merged, rows stay where they are, though some may be equal.
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
    told = replace(table, columns=tuple(columns), notes=notes)
    return with_missing_states(told, merged=merged)


def with_missing_states(table: Table, *, merged: bool = True) -> Table:
    """Give holes the state that stands for them, in the columns that have one."""
    kind = smallest(max(len(c.states) for c in table.columns))
    codes: CodeArray = np.array(table.codes, dtype=kind)  # a copy: it is changed in place
    put_missing_states(codes, table.columns)
    if not merged:
        return replace(table, codes=codes)
    # A cell may have named the state itself: such rows are equal now.
    design = None if table.design is None else table.design.moved(places(codes))
    codes, counts = collapse(*merge(codes, table.counts, np.ones(len(codes), dtype=np.int64)))
    return replace(table, codes=codes, counts=counts, design=design)


def with_masks(table: Table) -> tuple[Table, dict[str, str]]:
    """Add, for every column with holes, one that says whether it is missing.

    Returns the table and the name of each new column, by the column that it speaks of.
    """
    holes = table.codes < 0
    wanted = np.flatnonzero(holes.any(axis=0))
    names: dict[str, str] = {}
    taken = {c.name for c in table.columns}
    for j in wanted:
        name = f"{table.columns[j].name} is missing"
        while name in taken:
            name += "?"
        taken.add(name)
        names[table.columns[j].name] = name
    masks = [Column(name, (SEEN, HOLE)) for name in names.values()]
    codes: CodeArray = np.column_stack([table.codes, holes[:, wanted].astype(table.codes.dtype)])
    return replace(table, columns=(*table.columns, *masks), codes=codes), names
