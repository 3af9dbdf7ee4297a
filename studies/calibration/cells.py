"""Which cells there are: for posteriors over k, and for error bars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from lacunet.errors import OptionError
from studies.calibration.cell import Cell
from studies.calibration.judging import VerdictCell
from studies.calibration.other_priors import OTHERS, OtherCell
from studies.calibration.posteriors import PosteriorCell
from studies.calibration.shapes import SHAPES


@dataclass(frozen=True)
class CalibrationTask:
    """One data set of a cell: a line of the ledger."""

    cell: str  # its name
    dataset: int  # number of the data set


@dataclass(frozen=True)
class CalibrationDesign:
    """The cells of a study."""

    posteriors: Sequence[PosteriorCell] = ()
    verdicts: Sequence[VerdictCell] = ()
    others: Sequence[OtherCell] = ()

    @property
    def groups(self) -> Mapping[str, Sequence[Cell]]:
        """Cells of one kind, by the name of the kind."""
        return {"posteriors": self.posteriors, "verdicts": self.verdicts, "others": self.others}

    @cached_property
    def cells(self) -> Mapping[str, Cell]:
        """All of them, by name."""
        return {cell.name: cell for group in self.groups.values() for cell in group}

    def only(self, names: Sequence[str]) -> CalibrationDesign:
        """Keep the cells with some names, of cells or of groups; all, if none is named."""
        for name in names:
            if name not in self.groups and name not in self.cells:
                known = ", ".join((*self.groups, *self.cells))
                raise OptionError(f"'{name}' is not a cell of this study. Choose from {known}.")
        kept = {*names, *(cell.name for name in names for cell in self.groups.get(name, ()))}
        return CalibrationDesign(
            tuple(c for c in self.posteriors if not names or c.name in kept),
            tuple(c for c in self.verdicts if not names or c.name in kept),
            tuple(c for c in self.others if not names or c.name in kept),
        )

    def repeated(self, datasets: int) -> CalibrationDesign:
        """Draw so many data sets in every cell."""
        return CalibrationDesign(
            tuple(c.repeated(datasets) for c in self.posteriors),
            tuple(c.repeated(datasets) for c in self.verdicts),
            tuple(c.repeated(datasets) for c in self.others),
        )

    def tasks(self) -> Iterator[CalibrationTask]:
        """Every task, a data set of each cell in turn: a study that is stopped has all cells."""
        for r in range(max((cell.datasets for cell in self.cells.values()), default=0)):
            yield from (
                CalibrationTask(cell.name, r) for cell in self.cells.values() if r < cell.datasets
            )

    def weight(self, task: CalibrationTask) -> float:
        """How long a task takes, roughly."""
        return self.cells[task.cell].weight


CALIBRATION = CalibrationDesign(
    posteriors=(
        PosteriorCell("reference", 10, 6, 300, 0.0, datasets=300, measured=100),
        PosteriorCell("leaves-4", 4, 6, 300, 0.0, datasets=100, measured=30),
        PosteriorCell("leaves-16", 16, 6, 300, 0.0, datasets=100, measured=30),
        PosteriorCell("leaves-64", 64, 6, 300, 0.0, datasets=40, measured=10),
        PosteriorCell("classes-2", 10, 2, 300, 0.0, datasets=100, measured=30),
        PosteriorCell("classes-12", 20, 12, 400, 0.0, datasets=40, measured=10),
        PosteriorCell("classes-32", 64, 32, 400, 0.0, datasets=4, measured=1),
        PosteriorCell("rows-50", 10, 6, 50, 0.0, datasets=100, measured=30),
        PosteriorCell("rows-1000", 10, 6, 1000, 0.0, datasets=60, measured=10),
        PosteriorCell("rows-5000", 10, 6, 5000, 0.0, datasets=20, measured=4),
        PosteriorCell("holes-10", 10, 6, 300, 0.1, datasets=100, measured=30),
        PosteriorCell("holes-30", 10, 6, 300, 0.3, datasets=100, measured=30),
        PosteriorCell("small", 4, 4, 50, 0.3, datasets=100, measured=30),
        PosteriorCell("large", 32, 8, 5000, 0.1, datasets=4, measured=1),
    ),
    verdicts=(
        VerdictCell("classes", SHAPES["classes"], (30, 300), datasets=60, weight=1.0),
        VerdictCell("many-classes", SHAPES["many-classes"], (100, 400), datasets=30, weight=5.0),
        VerdictCell("chain", SHAPES["chain"], (30, 300), datasets=40, weight=2.0),
        VerdictCell("factorial", SHAPES["factorial"], (30, 300), datasets=40, weight=2.0),
        VerdictCell("asia", SHAPES["asia"], (50, 400), datasets=30, weight=1.0),
        VerdictCell("child", SHAPES["child"], (100, 400), datasets=20, weight=3.0),
        VerdictCell("insurance", SHAPES["insurance"], (100, 400), datasets=20, weight=4.0),
    ),
    others=OTHERS,
)
