"""Which rows of a table are taken: covariates are given, not modelled, so none may be missing."""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

import numpy as np

from lacunet.data.table import Table
from lacunet.errors import DataError
from lacunet.inference.regression.design import shows_all


class MissingCovariates(StrEnum):
    """What is done about rows that do not show every covariate."""

    REFUSE = "refuse"
    DROP = "drop"


def with_covariates(table: Table, names: Sequence[str], missing: MissingCovariates) -> Table:
    """Give the rows that show every covariate; refuse to leave others out without being asked."""
    shown = shows_all(table, names)
    if shown.all():
        return table
    lost = float(table.counts[~shown].sum())
    there = [c.name for c in table.columns]
    each = ", ".join(
        f"'{name}' in {table.counts[table.codes[:, there.index(name)] < 0].sum():,g}"
        for name in names
    )
    told = f"{lost:,g} of {table.weight:,g} cases lack a covariate ({each})"
    if missing is MissingCovariates.REFUSE:
        raise DataError(
            f"{told}. Classes are predicted from covariates, which are not modelled themselves, so "
            "they cannot be missing. Give --missing-covariates drop to leave these cases out, or "
            "let the column be an item like the others (leave it out of --covariates): holes of "
            "items are no trouble."
        )
    if not shown.any():
        raise DataError(f"{told}: no row is left. Leave out the covariate that is never there.")
    return replace(
        table,
        codes=table.codes[shown],
        counts=table.counts[shown],
        design=table.design and table.design.only(shown, 1.0 - lost / table.weight),
        rows=table.rows - round(lost) if table.weights is None else table.rows,
        notes=(*table.notes, f"{told}: they are left out."),
    )


def without_covariates(table: Table, names: Sequence[str]) -> Table:
    """Give the items of a table, row by row: none are merged."""
    items = [j for j, column in enumerate(table.columns) if column.name not in names]
    if not items:
        raise DataError(
            "every column is a covariate, so there is no item left to tell classes by. Leave some "
            "of them out of --covariates."
        )
    columns = tuple(table.columns[j] for j in items)
    return replace(table, columns=columns, codes=np.ascontiguousarray(table.codes[:, items]))
