"""Covariates of classes: their design, its prior, and rows with missing covariates.

The prior is invariant to units and reference categories: class c has a score a_c + Σ_numbers
b_c (x − mean)/sd + Σ_categories u_c[state] with independent Gaussians of mean 0. Log odds are
differences of scores, and coefficients are linear in them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from scipy.special import polygamma

from lacunet.data.kinds import ColumnKind, Kinds
from lacunet.data.table import Column, Table
from lacunet.errors import DataError, OptionError, did_you_mean
from lacunet.likelihoods.unit import unit_of_squares
from lacunet.models.predictors import Covariate, Covariates, CovariateTerm
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IntArray

COEFFICIENT_SD = 1.5  # prior sd of a log odds ratio: see `Settings.coefficient_sd`
DEPENDENT = 1e-9  # share of unexplained variance below which a column is linearly dependent


@dataclass(frozen=True, eq=False)
class CovariateDesign(Covariates):
    """Design matrix of the covariates, one row for each pattern of their values."""

    matrix: FloatArray  # (patterns, p), the first column is 1
    pattern: IntArray  # (rows of the table,) pattern of each

    def covariance(self, exponent: float, sd: float) -> FloatArray:
        """(p, p) prior covariance of the coefficients of one class, before differences.

        Scores a_c have the variance ψ′(α) of log γ, γ ~ Gamma(α). Then log odds of two classes have
        the mean and covariance of the Dirichlet prior with exponent α. `sd` is that of a log odds
        ratio of two classes for one standard deviation of a number, or between two states.
        """
        p = self.matrix.shape[1]
        C = np.zeros((p, p))
        C[0, 0] = float(polygamma(1, exponent))
        for one, place in zip(self.covariates, self.places, strict=True):
            if one.number:
                C[place, place] = sd**2 / 2.0
                continue
            # u_ref is in the intercept, and with the opposite sign in every contrast.
            of_state = sd**2 / 4.0
            C[0, 0] += of_state
            C[0, place] -= of_state
            C[place, 0] -= of_state
            C[place, place] += of_state * (1.0 + np.eye(len(one.titles)))
        return C


def build_design(table: Table, terms: Sequence[CovariateTerm]) -> CovariateDesign:
    """Build the design of the rows of a table, in which no covariate is missing."""
    places = [_column(table, term.name) for term in terms]
    columns, codes = [table.columns[j] for j in places], table.codes[:, places]
    each = zip(columns, terms, codes.T, strict=True)
    known = Covariates(tuple(_covariate(*one, table.counts) for one in each))
    design = design_of(known, columns, codes)
    _check_independent(design, table.counts)
    return design


def design_of(known: Covariates, columns: Sequence[Column], codes: CodeArray) -> CovariateDesign:
    """Build the design of coded rows, (rows, covariates), without missing values."""
    if not known.covariates:
        return CovariateDesign((), np.ones((1, 1)), np.zeros(len(codes), dtype=np.int64))
    patterns, pattern = np.unique(codes, axis=0, return_inverse=True)
    parts = [np.ones((len(patterns), 1))]
    for i, (one, column) in enumerate(zip(known.covariates, columns, strict=True)):
        part = one.columns(column.states)[patterns[:, i]]
        if np.isnan(part).any():
            at = int(np.flatnonzero(np.isnan(part).any(axis=1))[0])
            raise DataError(_unknown_words(one, column.labels[patterns[at, i]]))
        parts.append(part)
    matrix = np.hstack(parts)
    return CovariateDesign(known.covariates, matrix, pattern.reshape(-1).astype(np.int64))


def _unknown_words(one: Covariate, text: str) -> str:
    return (
        f"covariate '{one.name}': no training row has '{text}', so its class probabilities are "
        f"unknown.{did_you_mean(text, one.labels)} Known values: {', '.join(one.labels)}. Leave "
        "such rows out, or fit the model with some of them."
    )


def shows_all(table: Table, names: Sequence[str]) -> BoolArray:
    """(rows,) whether all covariates of a row are observed."""
    columns = [_column(table, name) for name in names]
    return np.asarray((table.codes[:, columns] >= 0).all(axis=1))


def _column(table: Table, name: str) -> int:
    names = [column.name for column in table.columns]
    if name not in names:
        raise OptionError(
            f"--covariates: the data have no column '{name}'.{did_you_mean(name, names)} "
            f"Their columns are {', '.join(repr(n) for n in names)}."
        )
    return names.index(name)


def _covariate(
    column: Column, term: CovariateTerm, codes: CodeArray, counts: FloatArray
) -> Covariate:
    """Code a covariate by its values in the training rows: standardised, or by contrasts."""
    seen = np.bincount(codes, counts, len(column.states))
    used = np.flatnonzero(seen)
    if len(used) < 2:
        raise DataError(
            f"covariate '{term.name}' has the same value in every row, so it cannot predict "
            "classes. Leave it out."
        )
    # Columns of few integers are numbers too, except inside C().
    first = column.states[0]
    numeric = column.kind.number or isinstance(first, int | float)
    categories = term.categories or column.bins is not None or isinstance(first, bool)
    if numeric and not categories:
        unit = unit_of_squares(term.name, column.states, seen / seen.sum())
        return Covariate(term.name, unit.origin, unit.size)
    reference, shown = int(used[0]), [column.labels[k] for k in used]
    if term.reference is not None:
        if term.reference not in shown:
            raise OptionError(
                f"--covariates: '{term.reference}' is not a state of '{term.name}' that the rows "
                "show."
                f"{did_you_mean(term.reference, shown)} Choose from {', '.join(shown)}."
            )
        reference = column.labels.index(term.reference)
    order = dict.fromkeys([reference, *used.tolist()])
    return Covariate(term.name, states=tuple(column.states), shown=tuple(order), bins=column.bins)


def _check_independent(design: CovariateDesign, counts: FloatArray) -> None:
    """Refuse linearly dependent covariates: their coefficients are not identified."""
    cases = np.bincount(design.pattern, counts, len(design.matrix))
    weighted = np.sqrt(cases / cases.sum())[:, None] * design.matrix
    for k, (name, place) in enumerate(design.named_places):
        others, columns = weighted[:, : place.start], weighted[:, place]
        left = columns - others @ np.linalg.lstsq(others, columns, rcond=None)[0]
        if np.linalg.eigvalsh(left.T @ left).min() < DEPENDENT:
            before = ", ".join(f"'{other}'" for other in design.names[:k])
            raise DataError(
                f"covariate '{name}' is determined by {before or 'a constant'}: which "
                "of them predicts a class is not identified. Leave one of them out."
            )


class MissingCovariates(StrEnum):
    """Treatment of rows with missing covariates."""

    REFUSE = "refuse"
    DROP = "drop"


def with_covariates(table: Table, names: Sequence[str], missing: MissingCovariates) -> Table:
    """Keep the rows with all covariates observed; drop the others only with `missing` = DROP."""
    shown = shows_all(table, names)
    if shown.all():
        return table
    lost = float(table.counts[~shown].sum())
    all_names = [c.name for c in table.columns]
    each = ", ".join(
        f"'{name}' in {table.counts[table.codes[:, all_names.index(name)] < 0].sum():,g}"
        for name in names
    )
    lack = f"{lost:,g} of {table.weight:,g} cases lack a covariate ({each})"
    if missing is MissingCovariates.REFUSE:
        raise DataError(
            f"{lack}. Classes are predicted from covariates, which are not modelled themselves, so "
            "they cannot be missing. Give --missing-covariates drop to leave these cases out, or "
            "let the column be an item like the others (leave it out of --covariates): missing "
            "values of items are allowed."
        )
    if not shown.any():
        raise DataError(f"{lack}: no row is left. Leave out the covariate that is always missing.")
    return replace(
        table,
        codes=table.codes[shown],
        counts=table.counts[shown],
        design=table.design and table.design.only(shown, 1.0 - lost / table.weight),
        rows=table.rows - round(lost) if table.weights is None else table.rows,
        notes=(*table.notes, f"{lack}: they are left out."),
    )


def without_covariates(table: Table, names: Sequence[str]) -> Table:
    """Keep only the items of a table, without merging equal rows."""
    items = [j for j, column in enumerate(table.columns) if column.name not in names]
    if not items:
        raise DataError(
            "every column is a covariate, so no item is left to define classes. Leave some "
            "of them out of --covariates."
        )
    columns = tuple(table.columns[j] for j in items)
    return replace(table, columns=columns, codes=np.ascontiguousarray(table.codes[:, items]))


def kinds_of_covariates(known: Covariates) -> Kinds:
    """Column kinds of the covariates."""
    binned = {one.name: one.bins for one in known.covariates if one.bins is not None}
    kinds = {
        one.name: ColumnKind.GAUSSIAN if one.number else ColumnKind.CATEGORICAL
        for one in known.covariates
        if one.name not in binned
    }
    anything = dict.fromkeys(known.names, (-np.inf, np.inf))  # missing values are refused elsewhere
    return Kinds(kinds, bins=binned, ends=anything, wanted=frozenset(known.names))


def check_shown(known: Covariates, names: Sequence[str]) -> None:
    """Refuse data that lack the column of a covariate."""
    absent = [repr(name) for name in known.names if name not in names]
    if absent:
        several = len(absent) > 1
        raise DataError(
            f"the data have no column{'s' * several} {', '.join(absent)}, from which the model "
            f"predicts classes. Their columns are {', '.join(map(repr, names))}. Add "
            f"{'them' if several else 'it'}, or take a model without covariates."
        )


def design_of_rows(
    known: Covariates, columns: Sequence[Column], codes: CodeArray
) -> CovariateDesign:
    """Build the design of rows, (rows, covariates); name the cell of a missing covariate."""
    missing = codes < 0
    if missing.any():
        row, j = np.argwhere(missing)[0].tolist()
        lack = int(missing.any(axis=1).sum())
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
            words = _unknown_words(one, column.labels[codes[row, j]])
            raise DataError(f"row {row + 1}, {words}")
    return design_of(known, columns, codes)
