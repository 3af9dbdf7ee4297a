"""Results about rows and models: scores, likelihoods, assignments, and unusual rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lacunet.fitting.fit import Fit
from lacunet.flags import Flag, Kind
from lacunet.models.network import Model
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.states import State
from lacunet.scores import Evidence
from lacunet.tabular import (
    Columns,
    Grid,
    Printable,
    number,
    probability,
    transposed,
)
from lacunet.tabular.export import csv_table
from lacunet.tabular.frame import POLARS

RARE = 0.01  # tail probability below which a row is unusual
MOST_UNUSUAL = 5  # rows that are shown


@dataclass(frozen=True, eq=False, repr=False)
class Scores(Printable):
    """Every score of a model at exactly its parameters."""

    KEYS = "dimension log_likelihood log_prior flags scores=evidence refit?=fit"

    model: Model
    dimension: int  # d of the scores
    log_likelihood: float
    log_prior: float
    evidence: Mapping[str, Evidence]  # by name
    fit: Fit | None  # only after `refit`

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Warnings about the model and the data."""
        return () if self.log_likelihood > -np.inf else (Flag(Kind.IMPOSSIBLE_ROW),)

    def tidy(self) -> Columns:
        rows = ((e.name, e.value, e.stderr) for e in self.evidence.values())
        return transposed(("score", "value", "stderr"), rows)

    def grids(self) -> Sequence[Grid]:
        rows = tuple(
            (
                e.name,
                number(e.value, 4),
                "; ".join(f"{t} = {number(x, 4)}" for t, x in e.terms.items()),
            )
            for e in self.evidence.values()
        )
        notes = (
            *(f"- {flag}" for flag in self.flags),
            *(f"- {e.name}: {flag}" for e in self.evidence.values() for flag in e.flags),
            *(
                f"- {e.name}: standard error {e.stderr:.2g}"
                for e in self.evidence.values()
                if e.stderr is not None
            ),
        )
        title = (
            f"log p(D|θ) = {number(self.log_likelihood, 6)}, "
            f"log p(θ) = {number(self.log_prior, 6)}, "
            f"d = {self.dimension}"
        )
        return [Grid(title, ("score", "value", "addends"), rows, frozenset({0, 2}), notes)]


@dataclass(frozen=True, eq=False)
class Assigned:
    """A categorical variable in every row: its value, or its posterior where it is missing."""

    name: str
    states: tuple[str, ...]  # labels
    probabilities: FloatArray  # (rows, states) posterior; NaN if a row is impossible
    best: IntArray  # (rows,) index of the most probable state, or a draw; -1 if a row is impossible
    missing: BoolArray  # (rows,)
    values: tuple[State, ...]  # states of the labels
    hidden: bool = True  # whether it is never observed

    @property
    def assigned(self) -> BoolArray:
        """(rows,) Rows in which it is missing, and which are possible."""
        return self.missing & (self.best >= 0)

    @property
    def sizes(self) -> dict[str, int]:
        """Number of rows assigned to each state."""
        open_rows = self.best[self.missing]
        return {name: int((open_rows == k).sum()) for k, name in enumerate(self.states)}

    def columns(self) -> Columns:
        """Give the columns to append: its state, and the probability of each state."""
        values = (*self.values, None)  # an impossible row, -1, gets the last: an empty cell
        columns: dict[str, Sequence[Any]] = {
            self.name if self.hidden else f"{self.name} (imputed)": [values[k] for k in self.best]
        }
        each = enumerate(self.states)
        return columns | {f"p({self.name}={s})": self.probabilities[:, k].tolist() for k, s in each}


@dataclass(frozen=True, eq=False)
class AssignedNumber:
    """A number in every row: its value, or its posterior mean where it is missing."""

    name: str
    best: FloatArray  # (rows,) imputed: a draw, or the mean, rounded for whole numbers
    mean: FloatArray  # (rows,) posterior mean; for a lognormal, geometric mean
    spread: FloatArray  # (rows,) standard deviation; for a lognormal, its factor
    missing: BoolArray  # (rows,)
    titles: tuple[str, str] = ("mean", "sd")  # of `mean` and `spread`
    whole: bool = False  # a count or an ordered answer

    @property
    def cells(self) -> list[int | float | None]:
        """Cells of the output column: whole numbers as such, None if a row is impossible."""
        one = int if self.whole else float
        return [None if np.isnan(x) else one(x) for x in self.best.tolist()]

    def columns(self) -> Columns:
        """Give the columns to append: the number, its mean and its spread."""
        moments = zip(self.titles, (self.mean, self.spread), strict=True)
        return {f"{self.name} (imputed)": self.cells} | {
            f"{title}({self.name})": values.tolist() for title, values in moments
        }


@dataclass(frozen=True, eq=False, repr=False)
class Unusual(Printable):
    """Log-likelihoods and tail probabilities of rows."""

    KEYS = "unusual=rare note?"

    log_p: FloatArray  # (rows,) log p(observed cells)
    tail: FloatArray  # (rows,) p(a row with the same missing cells is at most as probable)
    note: str = ""  # a warning

    @property
    def rare(self) -> int:
        """Number of unusual rows."""
        return int((self.tail < RARE).sum())

    def tidy(self) -> Columns:
        return {"log_probability": self.log_p.tolist(), "tail_probability": self.tail.tolist()}

    def grids(self) -> Sequence[Grid]:
        first = np.argsort(self.tail, kind="stable")[:MOST_UNUSUAL]
        rows = tuple((f"{r + 1:,}", number(self.log_p[r]), f"{self.tail[r]:.3g}") for r in first)
        usual = RARE * len(self.tail)
        note = f"Below {RARE:g}: {self.rare:,} rows; about {usual:,.0f} if all are usual."
        header = ("row", "log p(row)", "tail probability")
        notes = (note, *([f"- {self.note}"] if self.note else []))
        return [Grid("Most unusual rows", header, rows, notes=notes)]


@dataclass(frozen=True, eq=False, repr=False)
class Assignment(Printable):
    """Posteriors of hidden variables and missing cells of rows, in the order of the input."""

    variables: tuple[Assigned, ...]  # categories
    numbers: tuple[AssignedNumber, ...] = ()
    library: str = POLARS  # dataframe library of the input
    notes: tuple[str, ...] = ()  # absent and unused columns
    unusual: Unusual | None = None  # with `anomalies`

    @property
    def classes(self) -> tuple[str, ...]:
        """Labels of the states of the (first) hidden variable."""
        return self.variables[0].states

    @property
    def probabilities(self) -> FloatArray:
        """Posterior of the (first) hidden variable, (rows, K); NaN if a row is impossible."""
        return self.variables[0].probabilities

    @property
    def best(self) -> IntArray:
        """Most probable state of the (first) hidden variable, (rows,); -1 if impossible."""
        return self.variables[0].best

    @property
    def impossible(self) -> int:
        """Number of rows with probability 0 under the model."""
        never = [v.best < 0 for v in self.variables] + [np.isnan(v.best) for v in self.numbers]
        return int(np.any(never, axis=0).sum()) if never else 0

    @property
    def rows(self) -> int:
        """Number of rows."""
        if self.unusual is not None:
            return len(self.unusual.tail)
        return len(self.variables[0].missing if self.variables else self.numbers[0].missing)

    def tidy(self) -> Columns:
        columns: dict[str, Sequence[Any]] = {}
        every: list[Assigned | AssignedNumber] = [*self.variables, *self.numbers]
        for v in every:
            columns |= v.columns()
        return columns if self.unusual is None else {**columns, **self.unusual.tidy()}

    def usual_library(self) -> str:
        """Name the dataframe library of the input."""
        return self.library

    def to_dict(self) -> dict[str, Any]:
        """Give the document of `--json`: numbers of rows, without the rows."""
        sizes = {v.name: v.sizes for v in self.variables}
        numbers = {v.name: int(v.missing.sum()) for v in self.numbers}  # imputed cells
        return {
            "rows": self.rows,
            "classes": self.variables[0].sizes if self.variables else {},
            "variables": sizes,
            **({"numbers": numbers} if numbers else {}),
            "impossible": self.impossible,
            **({} if self.unusual is None else self.unusual.to_dict()),
        }

    def to_csv(self) -> str:
        """Write every row as CSV, with full precision; `print` shows a summary."""
        columns = self.tidy()
        return csv_table(tuple(columns), zip(*columns.values(), strict=True))

    def grids(self) -> Sequence[Grid]:
        grids = [self._grid(v) for v in self.variables if v.hidden]
        if filled := [v for v in self.variables if not v.hidden]:
            grids.append(_grid_of_columns(filled))
        if self.numbers:
            grids.append(self._grid_of_numbers())
        if self.unusual is not None:
            grids += self.unusual.grids()
        if self.impossible:
            note = f"{self.impossible:,} have probability 0 under the model: they are not assigned."
            grids.append(Grid("What to know", (), (), notes=(note,)))
        return grids

    def _grid_of_numbers(self) -> Grid:
        rows = []
        for v in self.numbers:
            filled = v.best[v.missing & ~np.isnan(v.best)]
            ends = [f"{x:.4g}" for x in (filled.min(), filled.max())] if len(filled) else ["", ""]
            rows.append((v.name, f"{len(filled):,}", *ends))
        return Grid("Numbers", ("number", "rows", "from", "to"), tuple(rows))

    def _grid(self, v: Assigned) -> Grid:
        open_rows, sure = v.assigned, v.probabilities.max(axis=1)
        rows = []
        for k, name in enumerate(v.states):
            mine = open_rows & (v.best == k)
            mean = float(sure[mine].mean()) if mine.any() else float("nan")
            rows.append((name, f"{int(mine.sum()):,}", probability(mean, exact=False)))
        title = f"{v.name}: {int(open_rows.sum()):,} of {len(v.best):,} rows assigned"
        return Grid(title, (v.name, "rows", "mean probability"), tuple(rows))


def _grid_of_columns(filled: Sequence[Assigned]) -> Grid:
    """Summarise the imputed columns, one per row."""
    rows = []
    for v in filled:
        counts = np.bincount(v.best[v.assigned], minlength=len(v.states))
        mean = v.probabilities.max(axis=1)[v.assigned].mean() if v.assigned.any() else np.nan
        often = int(counts.argmax())
        most = f"{v.states[often]} ({counts[often]:,})" if counts.any() else "–"
        rows.append((v.name, f"{int(counts.sum()):,}", most, probability(mean, exact=False)))
    header = ("column", "cells", "most often", "mean probability")
    return Grid("Filled in", header, tuple(rows), frozenset({0, 2}))


@dataclass(frozen=True, eq=False, repr=False)
class RowLikelihoods(Printable):
    """Log-likelihoods of rows."""

    KEYS = "rows log_likelihood=total"

    source: str  # of the rows
    each: FloatArray  # (rows,) log p(row), nats

    @property
    def total(self) -> float:
        """Log p of all rows."""
        return float(self.each.sum())

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.each)

    def tidy(self) -> Columns:
        return {"log_likelihood": self.each.tolist()}

    def grids(self) -> Sequence[Grid]:
        mean = number(self.total / len(self.each))
        return [Grid(f"{self.source}: log p = {number(self.total)}, {mean} nats for each row")]
