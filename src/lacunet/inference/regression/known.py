"""Rows that a model with predictors is held against, or asked about: its covariates read anew."""

from collections.abc import Sequence

import numpy as np

from lacunet.data.kinds import ColumnKind, Kinds
from lacunet.data.table import Column, Table
from lacunet.errors import DataError
from lacunet.inference.problem import build_problem
from lacunet.inference.regression.classes import ClassProblem, build_class_problem
from lacunet.inference.regression.design import Design, design_of, unknown_words
from lacunet.inference.regression.rows import without_covariates
from lacunet.models.network import Model
from lacunet.models.predictors import Covariates
from lacunet.runtime.arrays import CodeArray


def kinds_of_covariates(known: Covariates) -> Kinds:
    """What the columns of covariates must be read as."""
    binned = {one.name: one.bins for one in known.covariates if one.bins is not None}
    kinds = {
        one.name: ColumnKind.GAUSSIAN if one.number else ColumnKind.CATEGORICAL
        for one in known.covariates
        if one.name not in binned
    }
    anything = dict.fromkeys(known.names, (-np.inf, np.inf))  # nothing, too: holes have their words
    return Kinds(kinds, bins=binned, ends=anything, wanted=frozenset(known.names))


def check_shown(known: Covariates, there: Sequence[str]) -> None:
    """Refuse data without a column for every covariate."""
    absent = [repr(name) for name in known.names if name not in there]
    if absent:
        several = len(absent) > 1
        raise DataError(
            f"the data have no column{'s' * several} {', '.join(absent)}, from which the model "
            f"predicts classes. Their columns are {', '.join(map(repr, there))}. Add "
            f"{'them' if several else 'it'}, or take a model without covariates."
        )


def design_of_rows(known: Covariates, columns: Sequence[Column], codes: CodeArray) -> Design:
    """Make the design of rows in their order, (rows, covariates); refuse holes by their place."""
    holes = codes < 0
    if holes.any():
        row, j = np.argwhere(holes)[0].tolist()
        lack = int(holes.any(axis=1).sum())
        more = f" ({lack:,} of {len(codes):,} rows lack a covariate)" if lack > 1 else ""
        raise DataError(
            f"column {known.names[j]!r}, row {row + 1}: the cell is missing{more}. Classes are "
            "predicted from covariates, which are not modelled themselves: fill it in, or leave "
            "such rows out."
        )
    for j, (one, column) in enumerate(zip(known.covariates, columns, strict=True)):
        unknown = np.isnan(one.columns(column.states)[codes[:, j]]).any(axis=1)
        if unknown.any():
            row = int(np.argmax(unknown))
            told = column.labels[codes[row, j]]
            raise DataError(f"row {row + 1}, {unknown_words(one, told)}")
    return design_of(known, columns, codes)


def class_problem_of(model: Model, table: Table) -> ClassProblem:
    """Join a model with predictors and a table that shows its items and all covariates."""
    known = model.predictors
    assert known is not None
    names = [column.name for column in table.columns]
    places = [names.index(name) for name in known.names]
    design = design_of(known, [table.columns[j] for j in places], table.codes[:, places])
    wanted = {model.network.variables[i].name for i in model.network.observed}
    others = [name for name in names if name not in wanted]
    plain = build_problem(without_covariates(table, others), model.network, model.alpha)
    root = model.network.index(known.variable)
    exponent = float(plain.layout.table(model.alpha, root)[0])
    return build_class_problem(plain, design, exponent, known.coefficient_sd)
