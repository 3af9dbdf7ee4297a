"""What goes with classes, after they were fitted."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from lacunet.data.table import Table
from lacunet.errors import DataError
from lacunet.likelihoods.unit import unit_of_squares
from lacunet.runtime.arrays import BoolArray
from lacunet.summaries.identification import Identified, Reasons, Why
from lacunet.summaries.regression.coefficients import Coefficients, WaldTest, wald
from lacunet.summaries.three_step.assigned import AssignedRows, Assigning, Correction
from lacunet.summaries.three_step.first_step import FirstStep
from lacunet.summaries.three_step.outcome import EVERY, Outcome
from lacunet.summaries.three_step.outcome_by_class import OutcomeStep
from lacunet.summaries.three_step.outcome_kinds import CategoryOutcome, NumberOutcome, OutcomeKind
from lacunet.tabular import Columns, Grid, Printable, probability, share


@dataclass(frozen=True, eq=False, repr=False)
class ThreeStep(Printable):
    """Classes as they were fitted, how well rows show them, and what goes with them."""

    rows: AssignedRows
    assigning: Assigning
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)  # by name
    coefficients: Coefficients | None = None  # of covariates, if there are any
    notes: tuple[str, ...] = ()

    def tidy(self) -> Columns:
        """Give a row for each number of the outcomes; without any, for each coefficient."""
        if not self.outcomes:
            return {} if self.coefficients is None else self.coefficients.tidy()
        parts = [outcome.tidy() for outcome in self.outcomes.values()]
        return {name: [x for part in parts for x in part[name]] for name in parts[0]}

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        found = [self._errors_grid()]
        if self.coefficients is not None:
            found += self.coefficients.grids()
        for outcome in self.outcomes.values():
            found += outcome.grids()
        return found

    def _errors_grid(self) -> Grid:
        name = self.rows.variable.name
        header = (name, *(f"given {label}" for label in self.rows.classes), "size")
        errors, sizes = self.rows.every_error.tolist(), self.rows.every_size.tolist()
        rows = tuple(
            (label, *map(probability, given), share(size))
            for label, given, size in zip(self.rows.classes, errors, sizes, strict=True)
        )
        flags = (f"- {flag}" for flag in self.rows.flags)
        title = f"How rows are given classes ({self.assigning}): p(given | {name})"
        return Grid(title, header, rows, notes=(*self.notes, *flags))


def outcome_of(
    rows: AssignedRows,
    table: Table,
    name: str,
    correction: Correction | None,
    level: float,
    first: FirstStep | None,
) -> Outcome:
    """Estimate the outcome of a column; of numbers BCH is usual, of categories ML."""
    place = [c.name for c in table.columns].index(name)
    column, codes = table.columns[place], table.codes[:, place]
    shown: BoolArray = np.asarray(codes >= 0)
    cases = float(rows.counts[shown].sum())
    if cases <= len(rows.classes):
        raise DataError(f"outcome '{name}' is shown by {cases:g} cases: too few to tell.")
    own = rows.only(shown)
    centre, unit = 0.0, 1.0
    if column.kind.number:
        seen = np.bincount(codes[shown], own.counts, len(column.states))
        measured = unit_of_squares(name, column.states, seen / seen.sum())
        centre, unit = measured.origin, measured.size or 1.0
        y = replace(measured, size=unit).numbers(column.states).array[codes[shown]]
        kind: OutcomeKind = NumberOutcome(y)
    else:
        kind = CategoryOutcome(codes[shown].astype(np.int64), column.labels)
    how = correction or (Correction.BCH if column.kind.number else Correction.ML)
    step = OutcomeStep(rows, kind, shown, how, first)
    found = step.estimates()
    kept, every = np.flatnonzero(rows.kept).tolist(), range(len(rows.classes))

    def test(title: str, which: Sequence[int]) -> WaldTest:
        if not set(which) <= set(kept):
            df = (len(which) - 1) * max(1, len(kind.titles) - 1)
            return wald(title, np.full(df, np.nan), np.eye(df))
        return step.differences(found, title, [kept.index(c) for c in which])

    pairs = itertools.combinations(every, 2)
    return Outcome(
        name,
        rows.variable.name,
        rows.classes,
        kind.titles,
        how,
        _of_all_classes(found, rows).times(unit, centre),
        test(EVERY, every),
        tuple(test(f"{rows.classes[a]} and {rows.classes[b]}", (a, b)) for a, b in pairs),
        level,
        own.cases,
        float(rows.counts[~shown].sum()),
        rows.degrees,
        rows.design_words,
        column.kind.number,
    )


def _of_all_classes(found: Identified, rows: AssignedRows) -> Identified:
    """Put in classes that no row is given."""
    K, c = len(rows.kept), found.estimate.shape[1]
    estimate, covariance = np.full((K, c), np.nan), np.full((K, c, K, c), np.nan)
    why: Reasons = np.full((K, c), Why.EMPTY_CLASS, dtype=object)
    kept = np.flatnonzero(rows.kept)
    estimate[kept], why[kept] = found.estimate, found.why
    covariance.swapaxes(1, 2)[np.ix_(kept, kept)] = found.covariance.swapaxes(1, 2)
    return Identified(estimate, covariance, why)
