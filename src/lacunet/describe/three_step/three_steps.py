"""What goes with classes, after they were fitted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from lacunet.arrays import BoolArray
from lacunet.data.table import Table
from lacunet.describe.regression.coefficients import Coefficients
from lacunet.describe.three_step.assigned import AssignedRows, Assigning, Correction
from lacunet.describe.three_step.first_step import FirstStep
from lacunet.describe.three_step.outcome import Outcome
from lacunet.describe.three_step.outcome_by_class import outcome_by_class
from lacunet.describe.three_step.outcome_kinds import CategoryOutcome, NumberOutcome, OutcomeKind
from lacunet.errors import DataError
from lacunet.tabular import Columns, Grid, Printable, probability


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
        rows = tuple(
            (label, *map(probability, errors), probability(size))
            for label, errors, size in zip(
                self.rows.classes, self.rows.errors.tolist(), self.rows.sizes.tolist(), strict=True
            )
        )
        title = f"How rows are given classes ({self.assigning}): p(given | {name})"
        return Grid(title, header, rows, notes=self.notes)


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
    kind: OutcomeKind = (
        NumberOutcome(np.array(column.states, dtype=np.float64)[codes[shown]])
        if column.kind.number
        else CategoryOutcome(codes[shown].astype(np.int64), column.labels)
    )
    how = correction or (Correction.BCH if column.kind.number else Correction.ML)
    told, covariance = outcome_by_class(rows, kind, shown, how, first)
    missing = float(rows.counts[~shown].sum())
    by_class = rows.variable.name, rows.classes, kind.titles
    survey = rows.degrees, rows.design_words
    return Outcome(name, *by_class, how, told, covariance, level, cases, missing, *survey)
