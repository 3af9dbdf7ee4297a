"""Tables with a column `fold`: train on the other folds, test on one."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.density.published import DataSet
from lacunet.data import Column, Table
from lacunet.data.kinds import ColumnKind
from lacunet.runtime.arrays import CodeArray, IntArray
from lacunet.runtime.states import Numbers, by_name

FOLD = "fold"


@dataclass(frozen=True, eq=False)
class Folds:
    """A table in parts. States are those of the whole file: a training part may miss one."""

    columns: tuple[Column, ...]
    codes: CodeArray  # (rows, columns)
    fold: IntArray  # (rows,)

    @property
    def numbers(self) -> list[int]:
        """The folds there are."""
        return np.unique(self.fold).tolist()

    def train(self, fold: int) -> Table:
        """All rows but those of one fold."""
        return Table.from_codes(self.codes[self.fold != fold], self.columns)

    def test(self, fold: int) -> CodeArray:
        """The rows of one fold."""
        return self.codes[self.fold == fold]


def read_folds(folder: Path, one: DataSet) -> Folds:
    """Read the file of a data set from a folder."""
    with (folder / one.file).open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    where = header.index(FOLD)
    cells = np.array(rows)
    fold = cells[:, where].astype(np.int64)
    columns, codes = [], []
    for j in by_name(header):  # as the models that are learned have them
        if j == where:
            continue
        if one.is_number(header[j]):
            values, own = np.unique(cells[:, j].astype(np.float64), return_inverse=True)
            columns.append(Column(header[j], Numbers(values), ColumnKind.GAUSSIAN))
        else:
            states, own = np.unique(cells[:, j], return_inverse=True)
            columns.append(Column(header[j], tuple(states.tolist())))
        codes.append(own.astype(np.int32))
    return Folds(tuple(columns), np.column_stack(codes), fold)
