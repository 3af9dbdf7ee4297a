"""Tables with a column `fold`: train on the other folds, test on one."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lacunet.arrays import CodeArray, IntArray
from lacunet.data import Column, Table

FOLD = "fold"


@dataclass(frozen=True)
class DataSet:
    """A file `discrete-NAME.csv`, and what a published program reached on its folds."""

    name: str
    published: float  # LCM by EM: mean over the folds of log p(test rows), nats
    best: float  # the best of nine programs,
    by: str  # and which: MSPN sum-product networks; EAST latent trees; IL, CIL latent forests


SETS = (  # F. Rodriguez-Sanchez, incremental latent forests, run 1
    DataSet("hayes_roth", -89.7, -88.9, "MSPN"),
    DataSet("house_building", -293.3, -293.3, "LCM"),
    DataSet("vote", -188.9, -174.3, "MSPN"),
    DataSet("spect_heart", -317.1, -288.3, "EAST"),
    DataSet("car_evaluation", -3287.6, -1503.8, "IL"),
    DataSet("alarm", -2642.6, -1180.0, "EAST"),
    DataSet("mushroom", -5921.3, -5519.6, "EAST"),
    DataSet("coil_42", -6952.7, -6269.0, "CIL"),
)


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


def read_folds(folder: Path, name: str) -> Folds:
    """Read a file of a folder."""
    with (folder / f"discrete-{name}.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    where = header.index(FOLD)
    cells = np.array(rows)
    fold = cells[:, where].astype(np.int64)
    columns, codes = [], []
    for j in (j for j in range(len(header)) if j != where):
        states, own = np.unique(cells[:, j], return_inverse=True)
        columns.append(Column(header[j], tuple(states.tolist())))
        codes.append(own.astype(np.int32))
    return Folds(tuple(columns), np.column_stack(codes), fold)
