"""Imputation by an ensemble of models, weighted by their predictions of held-out cells."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from lacunet.api.assigning import assignment_of
from lacunet.api.inputs import as_table, check_ordered
from lacunet.api.options import PARALLEL, READ, SettingsLike, divide, with_options
from lacunet.api.results import Assigned, AssignedNumber, Assignment
from lacunet.api.stacking import ModelChoice, learn_chosen
from lacunet.data.frames import in_memory
from lacunet.data.read import read_rows
from lacunet.data.reading import Rows, as_values
from lacunet.data.table import Table
from lacunet.data.write import (
    Filling,
    Support,
    column_names,
    filled_array,
    filled_frame,
    whole_frame,
)
from lacunet.deprecation import renamed
from lacunet.errors import OptionError
from lacunet.inference.leaves import all_with_values
from lacunet.inference.queries.answers import draw_columns, fillings
from lacunet.models.ensemble import Ensemble, PredictiveModel
from lacunet.models.network import Network
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.progress import Listener, ignore
from lacunet.selection.ensembles import CellStack, draw_parameters
from lacunet.selection.held_out import hide_cells
from lacunet.selection.recipes import imputers
from lacunet.settings import DEFAULTS, Settings
from lacunet.tabular import (
    Columns,
    Grid,
    Printable,
    described,
    library_of,
    measured,
    probability,
    transposed,
)


@dataclass(frozen=True, eq=False, repr=False)
class Imputation(Printable):
    """A completed table, and the posterior of each imputed cell as `to_frame()`."""

    all_filled: tuple[Any, ...]  # completed tables, of the same type as the input
    cells: Assignment  # posteriors of columns with missing cells, by row
    cell_stack: CellStack  # the models

    pool = renamed("pool", "cell_stack")
    holes = renamed("holes", "missing_cells")

    @property
    def filled(self) -> Any:
        """The completed table, or the first of several."""
        return self.all_filled[0]

    @property
    def missing_cells(self) -> int:
        """Number of imputed cells."""
        open_ = [v.missing for v in self.cells.variables] + [v.missing for v in self.cells.numbers]
        return sum(int(missing.sum()) for missing in open_)

    def brief(self) -> str:
        return f"{self._title}, mostly by {self.cell_stack.chosen}"

    def tidy(self) -> Columns:
        return tidy_cells(self.cells, self.cell_stack.ensemble)

    def usual_library(self) -> str:
        """Name the dataframe library of the input."""
        return library_of(self.filled)

    def grids(self) -> Sequence[Grid]:
        rows: list[tuple[str, ...]] = [
            (v.name, f"{int(v.missing.sum()):,}", probability(_sure(v), exact=False))
            for v in self.cells.variables
        ]
        for v in self.cells.numbers:
            sign = "±" if v.titles[1] == "sd" else "×"
            rows.append((v.name, f"{int(v.missing.sum()):,}", f"{sign} {measured(_spread(v))}"))
        note = "Certainty: mean probability of the most probable state; of numbers, mean sd."
        notes = (note,) if rows else ()
        grid = Grid(self._title, ("column", "missing", "certainty"), tuple(rows), notes=notes)
        return grid, self.cell_stack.by_kind

    def sureness(self) -> dict[str, dict[str, float]]:
        """Count the missing cells of each column, and average their uncertainty."""
        categories = {
            v.name: {"missing": int(v.missing.sum()), "mean_probability": _sure(v)}
            for v in self.cells.variables
        }
        return categories | {
            v.name: {"missing": int(v.missing.sum()), f"mean_{v.titles[1]}": _spread(v)}
            for v in self.cells.numbers
        }

    def to_dict(self) -> dict[str, Any]:
        """Give the document of `--json`, without the cells."""
        models = self.cell_stack
        members = [{"name": m.name, "weight": m.weight} for m in models.ensemble.members]
        return described(
            self,
            "holes=missing_cells weights=cell_stack.weights",
            tables=len(self.all_filled),
            columns=self.sureness(),
            nats_per_hidden_cell={**models.scores, "together": models.together},
            members=members,
        )

    @property
    def _title(self) -> str:
        often = f", {len(self.all_filled)} times" if len(self.all_filled) > 1 else ""
        return (
            f"{self.missing_cells:,} missing value{'s' * (self.missing_cells != 1)} imputed{often}"
        )


def tidy_cells(cells: Assignment, ensemble: Ensemble) -> Columns:
    """List each state of each missing cell: row (from 0), column, state, probability.

    A number has one row, without a state: mean and sd (lognormal: geometric mean and factor).
    """
    names = ["row", "column", "state", "probability"]
    if any(not v.family.tabular for v in ensemble.variables):
        names += ["mean", "sd"]
    entries: list[tuple[Any, ...]] = []
    for v in cells.variables:
        for row in np.flatnonzero(v.missing).tolist():
            each = zip(v.states, v.probabilities[row].tolist(), strict=True)
            entries += [(row, v.name, state, p, None, None) for state, p in each]
    for x in cells.numbers:
        rows = np.flatnonzero(x.missing)
        moments = zip(rows.tolist(), x.mean[rows].tolist(), x.spread[rows].tolist(), strict=True)
        entries += [(row, x.name, None, None, mean, spread) for row, mean, spread in moments]
    entries.sort(key=itemgetter(0))
    return transposed(names, [cell[: len(names)] for cell in entries])


def _sure(v: Assigned) -> float:
    """Mean probability of the most probable state."""
    return float(np.nanmean(v.probabilities[v.missing].max(axis=1)))


def _spread(v: AssignedNumber) -> float:
    """Mean standard deviation; for a lognormal, mean factor."""
    return float(np.nanmean(v.spread[v.missing]))


Fillings: TypeAlias = Mapping[int, Filling]  # by the place of the column


class MissingCells(NamedTuple):
    """Rows with missing cells, and the model that fills them in."""

    rows: Rows
    predictive_model: PredictiveModel
    places: Sequence[int]  # positions of the columns in the source table
    learned: Network  # its numbers have the values of the training rows

    @property
    def open(self) -> BoolArray:
        """(rows, columns) cells to fill in: not values that are merely unknown."""
        missing = self.rows.codes < 0
        return missing if self.rows.unknown is None else missing & ~self.rows.unknown

    @property
    def predictive(self) -> PredictiveModel:
        """The model with the values of the number columns."""
        return all_with_values(self.predictive_model, self.rows.columns)

    def most_probable(self) -> Fillings:
        """Impute each missing cell by its most probable state, or the posterior mean of a number.

        A mean is rounded to the decimals of its column, and stays within its range.
        """
        filling: dict[int, Filling] = {}
        for j, (values, which) in fillings(self.predictive, self.rows.codes).items():
            imputed, column = self.open[:, j] & (which >= 0), self.rows.columns[j]
            if column.kind.number:
                expected = np.where(imputed, np.asarray(values, np.float64)[which], np.nan)
                filling[self.places[j]] = self._numbers(j, self._support(j).near(expected))
            else:
                codes = np.where(imputed, which, -1)
                filling[self.places[j]] = Filling(as_values(values), codes, self.rows.codes[:, j])
        return filling

    def drawn(self, rng: np.random.Generator) -> Fillings:
        """Impute each missing cell by a draw, joint over each row.

        A drawn number is replaced by the nearest training value, so that draws keep the range, the
        decimals and the shape of their column.
        """
        some = np.flatnonzero(self.open.any(axis=1))
        cells = np.full(self.rows.codes.shape, np.nan)
        if len(some):
            cells[some] = draw_columns(self.predictive, self.rows.codes[some], rng)
        filling: dict[int, Filling] = {}
        for j, column in enumerate(self.rows.columns):
            drawn = np.where(self.open[:, j], cells[:, j], np.nan)
            if np.isnan(drawn).all():
                continue
            if column.kind.number:
                filling[self.places[j]] = self._numbers(j, self._support(j).nearest(drawn))
            else:
                codes = np.nan_to_num(drawn, nan=-1).astype(np.int64)
                states = as_values(column.states)
                filling[self.places[j]] = Filling(states, codes, self.rows.codes[:, j])
        return filling

    def _support(self, j: int) -> Support:
        """Values that a column of numbers can have: those of the training rows."""
        place = self.learned.index(self.rows.columns[j].name)
        return Support.of(self.learned.variables[place].states)

    def _numbers(self, j: int, x: FloatArray) -> Filling:
        """Code the imputed numbers of a column, (rows,), NaN = none."""
        values = np.unique(x[~np.isnan(x)])
        shown = np.append(np.asarray(self.rows.columns[j].states, np.float64), np.nan)
        return Filling(
            values, _indices_in(x, values), _indices_in(shown[self.rows.codes[:, j]], values)
        )


def _indices_in(x: FloatArray, values: FloatArray) -> IntArray:
    """Index of each number among the sorted values; −1 if absent."""
    at = np.searchsorted(values, x)
    return np.where(np.append(values, np.nan)[at] == x, at, -1)


def filled(X: Any, imputed: Fillings) -> Any:
    """Fill the missing cells of a table, keeping its type and its column types."""
    return filled_frame(X, imputed) if hasattr(X, "columns") else filled_array(np.array(X), imputed)


HIDING, DRAWING = 0, 1  # streams of random numbers


@with_options(*READ, *PARALLEL, "kinds")
def impute(
    data: object,
    *,
    model: str = ModelChoice.AUTO.value,
    draw: bool = False,
    imputations: int | None = None,
    settings: SettingsLike = DEFAULTS,
    listener: Listener = ignore,
    **options: Any,
) -> Imputation:
    """Impute the missing cells of a table by an ensemble of models learned from it.

    Latent class models, networks and latent trees are learned with some cells held out. The weights
    maximise the likelihood of the held-out cells.

    Parameters
    ----------
    data
        The path of a file, a dataframe or an array: anything with an order of rows. Unused columns
        (`exclude`, `weights`) stay unchanged.
    model
        'auto', or models of one kind alone: 'classes', 'network' or 'tree'.
    draw
        Fill in one joint draw for each row, instead of the most probable states and the means. A
        drawn number is replaced by the nearest value of its column. A mean is rounded to the
        decimals of the column.
    imputations
        Number of completed tables to draw, for multiple imputation. Each has its own posterior draw
        of the parameters.
    settings, listener, **options
        By name, as seed, threads, kinds, missing, or as objects; see `select`.

    Examples
    --------
    >>> import lacunet, polars
    >>> rows = polars.DataFrame({"a": [1, 1, 2, 2] * 9, "b": ["x", "x", "y", None] * 9})
    >>> lacunet.impute(rows, threads=1).filled["b"][:4].to_list()
    ['x', 'x', 'y', 'y']
    """
    settings, reading = divide(settings, options)
    check_ordered(data)
    number = check_imputations(imputations)
    table = as_table(data, reading, numbers=True)
    cell_stack = learn_filling(table, model, settings, listener)
    states = {column.name: column.states for column in table.columns}
    rows = read_rows(data, states, missing=reading.missing, kinds=table.kinds)
    X = whole_frame(data) if isinstance(data, str | os.PathLike) else in_memory(data)
    names = column_names(data)
    places = [names.index(column.name) for column in rows.columns]
    missing = MissingCells(rows, cell_stack.ensemble, places, cell_stack.ensemble.network)
    if number is None and not draw:
        frames: tuple[Any, ...] = (filled(X, missing.most_probable()),)
    else:
        frames = drawn_tables(X, missing, cell_stack, table, number or 1, settings.seed)
    return Imputation(frames, cells_of(missing), cell_stack)


def learn_filling(
    table: Table, model: str, settings: Settings, listener: Listener = ignore
) -> CellStack:
    """Learn the ensemble that imputes the missing cells of a table."""
    held_out = hide_cells(table, np.random.default_rng([settings.seed, HIDING]))
    return learn_chosen(table, model, partial(imputers, table), held_out, settings, listener)


def drawn_tables(
    X: Any, missing: MissingCells, cell_stack: CellStack, table: Table, number: int, seed: int
) -> tuple[Any, ...]:
    """Draw completed tables, each with its own posterior draw of the parameters."""
    rng = np.random.default_rng([seed, DRAWING])
    draws = draw_parameters(cell_stack.ensemble, table, number, rng)
    return tuple(
        filled(X, missing._replace(predictive_model=predictive_model).drawn(rng))
        for predictive_model in draws
    )


def cells_of(missing: MissingCells) -> Assignment:
    """Compute the posterior of every column with missing cells."""
    predictive = missing.predictive
    open_ = {v for j, v in enumerate(predictive.network.observed) if missing.open[:, j].any()}
    wanted = [v for v in predictive.network.shown if v in open_]
    return assignment_of(predictive, missing.rows.codes, wanted)


def check_imputations(number: int | None) -> int | None:
    """Refuse fewer than one imputation."""
    if number is not None and number < 1:
        raise OptionError(f"{number} imputations: there must be at least 1.")
    return number
