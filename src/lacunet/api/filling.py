"""Holes of rows filled in, in a dataframe or an array: the most probable value, or a draw."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from lacunet.arrays import BoolArray, FloatArray
from lacunet.data.filled import Filling, filled_array, filled_frame
from lacunet.data.rows import Rows
from lacunet.data.values import as_values
from lacunet.inference.asking.drawing import draw_columns
from lacunet.inference.asking.filling import fillings
from lacunet.inference.leaves import all_with_values
from lacunet.model.holders import Speaker

Told: TypeAlias = Mapping[int, Filling]  # by the place of the column


class Holes(NamedTuple):
    """Rows with holes, and who is asked what stands in them."""

    rows: Rows
    speaker: Speaker
    places: Sequence[int]  # where the columns of the rows stand in the table that they are from

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
        """The most probable value of each hole; of numbers, what is expected."""
        return dict(self._most_probable())

    def _most_probable(self) -> Iterator[tuple[int, Filling]]:
        for j, (values, which) in fillings(self.asked, self.rows.codes).items():
            own = np.where(self.open[:, j], which, -1)
            yield self.places[j], Filling(as_values(values), own, self._shown(j))

    def drawn(self, rng: np.random.Generator) -> Told:
        """A draw for each hole; all of a row together."""
        some = np.flatnonzero(self.open.any(axis=1))
        cells = np.full(self.rows.codes.shape, np.nan)
        if len(some):
            cells[some] = draw_columns(self.asked, self.rows.codes[some], rng)
        return dict(self._of_cells(cells))

    def _of_cells(self, cells: FloatArray) -> Iterator[tuple[int, Filling]]:
        for j, column in enumerate(self.rows.columns):
            told = self.open[:, j] & ~np.isnan(cells[:, j])
            if told.any():
                number = column.kind.number
                values = cells[:, j] if number else as_values(column.states)
                which = np.arange(len(cells)) if number else np.nan_to_num(cells[:, j])
                own = np.where(told, which, -1).astype(np.int64)
                yield self.places[j], Filling(values, own, self._shown(j))

    def _shown(self, j: int) -> Any:
        """Which values rows show; a number that is expected is none of those that they do."""
        return np.where(self.rows.columns[j].kind.number, -1, self.rows.codes[:, j])


def filled(X: Any, told: Told) -> Any:
    """Give a table with its holes filled: the same kind, with the types that it had."""
    return filled_frame(X, told) if hasattr(X, "columns") else filled_array(np.array(X), told)
