"""What filling in holes returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lacunet.api.results import Assigned, AssignedNumber, Assignment
from lacunet.models.ensemble import Ensemble
from lacunet.selection.ensembles import Pool
from lacunet.tabular import Columns, Grid, Printable, library_of, measured, probability

OF_CATEGORIES = ("row", "column", "state", "probability")
OF_NUMBERS = ("mean", "sd")


@dataclass(frozen=True, eq=False, repr=False)
class Imputation(Printable):
    """A table without holes, and what was thought of each; `to_frame` gives the latter."""

    all_filled: tuple[Any, ...]  # completed tables, of the kind that was given: as many as asked
    cells: Assignment  # what is known of columns with holes, row by row
    pool: Pool  # who was asked

    @property
    def filled(self) -> Any:
        """The completed table, or the first of several."""
        return self.all_filled[0]

    @property
    def holes(self) -> int:
        """How many there were."""
        open_ = [v.missing for v in self.cells.variables] + [v.missing for v in self.cells.numbers]
        return int(np.sum([missing.sum() for missing in open_]))

    def brief(self) -> str:
        """Say what was done."""
        return f"{self._title}, mostly by {self.pool.chosen}"

    def tidy(self) -> Columns:
        """Give a row for each state of each hole, as `tidy_cells`."""
        return tidy_cells(self.cells, self.pool.ensemble)

    def usual_library(self) -> str:
        """Name the library that the rows came in."""
        return library_of(self.filled)

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        told = [*map(_category, self.cells.variables), *map(_number, self.cells.numbers)]
        note = "How sure: mean probability of the most probable state; of numbers, mean sd."
        notes = (note,) if told else ()
        grid = Grid(self._title, ("column", "holes", "how sure"), tuple(told), notes=notes)
        return grid, self.pool.by_kind

    def sureness(self) -> dict[str, dict[str, float]]:
        """Of each column with holes: how many, and how sure on average."""
        categories = {
            v.name: {"holes": int(v.missing.sum()), "mean_probability": _sure(v)}
            for v in self.cells.variables
        }
        return categories | {
            v.name: {"holes": int(v.missing.sum()), f"mean_{v.titles[1]}": _spread(v)}
            for v in self.cells.numbers
        }

    @property
    def _title(self) -> str:
        often = f", {len(self.all_filled)} times" if len(self.all_filled) > 1 else ""
        return f"{self.holes:,} hole{'s' * (self.holes != 1)} filled in{often}"


def tidy_cells(cells: Assignment, ensemble: Ensemble) -> Columns:
    """Give a row for each state of each hole: row (from 0), column, state, probability.

    A number has one row, without a state: mean and sd (of a lognormal: geometric mean, factor).
    """
    numbers = any(not v.family.tabular for v in ensemble.variables)
    names = (*OF_CATEGORIES, *(OF_NUMBERS if numbers else ()))
    parts = [*map(_states, cells.variables), *map(_moments, cells.numbers)]
    columns = {name: [x for part in parts for x in part[name]] for name in names}
    order = np.argsort(np.array(columns["row"], dtype=np.int64), kind="stable").tolist()
    return {name: [values[i] for i in order] for name, values in columns.items()}


def _states(v: Assigned) -> dict[str, list[Any]]:
    rows, states = np.flatnonzero(v.missing), len(v.states)
    cells = len(rows) * states
    return {
        "row": np.repeat(rows, states).tolist(),
        "column": [v.name] * cells,
        "state": list(v.states) * len(rows),
        "probability": v.probabilities[rows].reshape(-1).tolist(),
        "mean": [None] * cells,
        "sd": [None] * cells,
    }


def _moments(v: AssignedNumber) -> dict[str, list[Any]]:
    rows = np.flatnonzero(v.missing)
    return {
        "row": rows.tolist(),
        "column": [v.name] * len(rows),
        "state": [None] * len(rows),
        "probability": [None] * len(rows),
        "mean": v.mean[rows].tolist(),
        "sd": v.spread[rows].tolist(),
    }


def _sure(v: Assigned) -> float:
    """Mean probability of what is most probable."""
    return float(np.nanmean(v.probabilities[v.missing].max(axis=1)))


def _spread(v: AssignedNumber) -> float:
    """Mean standard deviation; of logarithms, mean factor."""
    return float(np.nanmean(v.spread[v.missing]))


def _category(v: Assigned) -> tuple[str, ...]:
    return v.name, f"{int(v.missing.sum()):,}", probability(_sure(v), exact=False)


def _number(v: AssignedNumber) -> tuple[str, ...]:
    sign = "±" if v.titles[1] == "sd" else "×"
    return v.name, f"{int(v.missing.sum()):,}", f"{sign} {measured(_spread(v))}"
