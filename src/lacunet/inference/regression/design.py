"""The design: what covariates add to the log odds of classes, and what is thought of it before.

Numbers are standardised and states are held against a reference, but the prior knows neither unit
nor reference: before the data, each class c has a score

    a_c + Σ_numbers b_c (x − mean)/sd + Σ_categories u_c[state]

with independent Gaussians of mean 0, and log odds are differences of the scores of two classes.
What is written down (an intercept at the reference states, slopes, contrasts between states) is a
linear map of these, so that its prior has the covariance of that map, whatever the reference is.

Which rows of a table are taken: covariates are given, not modelled, so none may be missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from scipy.special import polygamma

from lacunet.data.table import Column, Table
from lacunet.errors import DataError, OptionError, did_you_mean
from lacunet.likelihoods.unit import unit_of_squares
from lacunet.models.predictors import Covariate, Covariates, Term
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IntArray

COEFFICIENT_SD = 1.5  # of a log odds ratio before the data: see `Settings.coefficient_sd`
DEPENDENT = 1e-9  # share of a column's variance that the others leave, below which it is none


@dataclass(frozen=True, eq=False)
class Design(Covariates):
    """Covariates as columns of numbers, one row for each pattern of their values."""

    matrix: FloatArray  # (patterns, p), the first column is 1
    pattern: IntArray  # (rows of the table,) which pattern each has

    def covariance(self, exponent: float, sd: float) -> FloatArray:
        """(p, p) prior covariance of the coefficients of one class, before differences.

        Scores a_c have the variance ψ′(α) of log γ, γ ~ Gamma(α): the log odds of two classes then
        have mean and covariance as under the Dirichlet prior with exponent α. `sd` is that of a log
        odds ratio of two classes for one standard deviation of a number, or between two states.
        """
        p = self.matrix.shape[1]
        found = np.zeros((p, p))
        found[0, 0] = float(polygamma(1, exponent))
        for one, place in zip(self.covariates, self.places, strict=True):
            if one.number:
                found[place, place] = sd**2 / 2.0
                continue
            # u_ref is in the intercept, and with the opposite sign in every contrast.
            of_state = sd**2 / 4.0
            found[0, 0] += of_state
            found[0, place] -= of_state
            found[place, 0] -= of_state
            found[place, place] += of_state * (1.0 + np.eye(len(one.titles)))
        return found


def build_design(table: Table, terms: Sequence[Term]) -> Design:
    """Make the design of the rows of a table, in which no covariate is missing."""
    columns = [_column(table, term.name) for term in terms]
    codes: CodeArray = table.codes[:, columns]
    found = Covariates(
        tuple(
            _covariate(table.columns[j], term, codes[:, i], table.counts)
            for i, (j, term) in enumerate(zip(columns, terms, strict=True))
        )
    )
    design = design_of(found, [table.columns[j] for j in columns], codes)
    _check_independent(design, table.counts)
    return design


def design_of(known: Covariates, columns: Sequence[Column], codes: CodeArray) -> Design:
    """Make the design of rows, (rows, covariates), of columns that are these covariates.

    None may be missing.
    """
    if not known.covariates:
        return Design((), np.ones((1, 1)), np.zeros(len(codes), dtype=np.int64))
    patterns, pattern = np.unique(codes, axis=0, return_inverse=True)
    parts = [np.ones((len(patterns), 1))]
    for i, (one, column) in enumerate(zip(known.covariates, columns, strict=True)):
        part = one.columns(column.states)[patterns[:, i]]
        if np.isnan(part).any():
            at = int(np.flatnonzero(np.isnan(part).any(axis=1))[0])
            raise DataError(unknown_words(one, column.labels[patterns[at, i]]))
        parts.append(part)
    return Design(known.covariates, np.hstack(parts), pattern.reshape(-1).astype(np.int64))


def unknown_words(one: Covariate, text: str) -> str:
    """Say that a state of a covariate was never seen."""
    return (
        f"covariate '{one.name}': the model was fitted to no row with '{text}', and does not know "
        f"its classes.{did_you_mean(text, one.labels)} It knows {', '.join(one.labels)}. Leave "
        "such rows out, or fit the model with some of them."
    )


def shows_all(table: Table, names: Sequence[str]) -> BoolArray:
    """(rows,) whether a row shows every covariate."""
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


def _covariate(column: Column, term: Term, codes: CodeArray, counts: FloatArray) -> Covariate:
    """Find out what a covariate is like in the rows to learn from."""
    seen = np.bincount(codes, counts, len(column.states))
    used = np.flatnonzero(seen)
    if len(used) < 2:
        raise DataError(
            f"covariate '{term.name}' has the same value in every row, so it cannot tell classes "
            "apart. Leave it out."
        )
    if _is_number(column, term):
        unit = unit_of_squares(term.name, column.states, seen / seen.sum())
        return Covariate(term.name, unit.origin, unit.size)
    order = dict.fromkeys([_reference(column, term, used), *used.tolist()])
    states = tuple(column.states[k] for k in range(len(column.states)))
    return Covariate(term.name, states=states, shown=tuple(order), bins=column.bins)


def _is_number(column: Column, term: Term) -> bool:
    """Whether a covariate is a number: so are columns of few whole numbers, unless C() is said."""
    if term.categories or column.bins is not None:
        return False
    numeric = column.kind.number or isinstance(column.states[0], int | float)
    return numeric and not isinstance(column.states[0], bool)


def _reference(column: Column, term: Term, used: IntArray) -> int:
    if term.reference is None:
        return int(used[0])
    shown = [column.labels[k] for k in used]
    if term.reference not in shown:
        raise OptionError(
            f"--covariates: '{term.reference}' is no state of '{term.name}' that the rows show."
            f"{did_you_mean(term.reference, shown)} Choose from {', '.join(shown)}."
        )
    return column.labels.index(term.reference)


def _check_independent(design: Design, counts: FloatArray) -> None:
    """Refuse a covariate that the others determine: its coefficient could be anything."""
    cases = np.bincount(design.pattern, counts, len(design.matrix))
    weighted = np.sqrt(cases / cases.sum())[:, None] * design.matrix
    for k, (name, place) in enumerate(design.named_places):
        others, own = weighted[:, : place.start], weighted[:, place]
        left = own - others @ np.linalg.lstsq(others, own, rcond=None)[0]
        if np.linalg.eigvalsh(left.T @ left).min() < DEPENDENT:
            before = ", ".join(f"'{other}'" for other in design.names[:k])
            raise DataError(
                f"covariate '{name}' is determined by {before or 'a constant'}: which "
                "of them predicts a class cannot be told. Leave one of them out."
            )


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
