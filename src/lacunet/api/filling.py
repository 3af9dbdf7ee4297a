"""Holes of rows filled in, in a dataframe or an array: the most probable value, or a draw."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from lacunet.data.filled import Filling, Support, filled_array, filled_frame
from lacunet.data.rows import Rows
from lacunet.data.values import as_values
from lacunet.inference.leaves import all_with_values
from lacunet.inference.queries.answers import draw_columns, fillings
from lacunet.models.holders import Speaker
from lacunet.models.network import Network
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray

Told: TypeAlias = Mapping[int, Filling]  # by the place of the column


class Holes(NamedTuple):
    """Rows with missing cells, and the model that fills them in."""

    rows: Rows
    speaker: Speaker
    places: Sequence[int]  # where the columns of the rows stand in the table that they are from
    learned: Network  # its numbers have the values of the rows that were learned from

    @property
    def open(self) -> BoolArray:
        """(rows, columns) what is to be filled in: not a value that is merely unknown."""
        found = self.rows.codes < 0
        return found if self.rows.unknown is None else found & ~self.rows.unknown

    @property
    def asked(self) -> Speaker:
        """Who knows the numbers that the rows show."""
        return all_with_values(self.speaker, self.rows.columns)

    def most_probable(self) -> Told:
        """The most probable value of each hole; of numbers, what is expected.

        An expected number is rounded to the decimals of its column, and stays in its range.
        """
        return dict(self._most_probable())

    def _most_probable(self) -> Iterator[tuple[int, Filling]]:
        for j, (values, which) in fillings(self.asked, self.rows.codes).items():
            told = self.open[:, j] & (which >= 0)
            if self.rows.columns[j].kind.number:
                expected = np.where(told, np.asarray(values, np.float64)[which], np.nan)
                yield self._numbers(j, self._support(self.rows.columns[j].name).near(expected))
            else:
                own = np.where(told, which, -1)
                yield self.places[j], Filling(as_values(values), own, self.rows.codes[:, j])

    def drawn(self, rng: np.random.Generator) -> Told:
        """A draw for each hole; all of a row together.

        A number that is drawn is replaced by the value next to it that was learned from: draws keep
        to the range of their column, to its decimals, and to what else its values are like.
        """
        some = np.flatnonzero(self.open.any(axis=1))
        cells = np.full(self.rows.codes.shape, np.nan)
        if len(some):
            cells[some] = draw_columns(self.asked, self.rows.codes[some], rng)
        return dict(self._of_cells(cells))

    def _of_cells(self, cells: FloatArray) -> Iterator[tuple[int, Filling]]:
        for j, column in enumerate(self.rows.columns):
            drawn = np.where(self.open[:, j], cells[:, j], np.nan)
            if np.isnan(drawn).all():
                continue
            if column.kind.number:
                yield self._numbers(j, self._support(column.name).nearest(drawn))
            else:
                own = np.nan_to_num(drawn, nan=-1).astype(np.int64)
                yield self.places[j], Filling(as_values(column.states), own, self.rows.codes[:, j])

    def _support(self, name: str) -> Support:
        """What values a column of numbers can have: those of the rows that were learned from."""
        return Support.of(self.learned.variables[self.learned.index(name)].states)

    def _numbers(self, j: int, x: FloatArray) -> tuple[int, Filling]:
        """Numbers for the holes of a column, (rows,), NaN = nothing."""
        values = np.unique(x[~np.isnan(x)])
        shown = np.append(np.asarray(self.rows.columns[j].states, np.float64), np.nan)
        return self.places[j], Filling(
            values, _found(x, values), _found(shown[self.rows.codes[:, j]], values)
        )


def _found(x: FloatArray, values: FloatArray) -> IntArray:
    """Which of the values, which rise, each number is; −1: none of them."""
    at = np.searchsorted(values, x)
    return np.where(np.append(values, np.nan)[at] == x, at, -1)


def filled(X: Any, told: Told) -> Any:
    """Give a table with its holes filled: the same kind, with the types that it had."""
    return filled_frame(X, told) if hasattr(X, "columns") else filled_array(np.array(X), told)
