"""Items by classes, as papers print them: estimates, standard errors in parentheses."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lacunet.errors import ModelError
from lacunet.models.latent_class import LatentClasses, find_classes
from lacunet.models.network import Network
from lacunet.runtime.arrays import FloatArray
from lacunet.summaries.intervals import Intervals, shown_states
from lacunet.tabular import Columns, Grid, Printable, Shown, measured, number, probability
from lacunet.tabular.export import csv_table

SIZE = "class size"
WITHOUT = "–: no standard error: at 0 or 1, or not determined by the data."


@dataclass(frozen=True, eq=False)
class ItemLine:
    """One answer to an item, or what is told of a number, in each of K classes."""

    item: str
    answer: str  # its state; of a number: mean, sd
    estimate: FloatArray  # (K,)
    stderr: FloatArray  # (K,) NaN where there is none
    share: bool  # whether it is a probability

    def cells(self) -> list[Shown]:
        """Write each estimate, its standard error behind it."""
        pairs = zip(self.estimate.tolist(), self.stderr.tolist(), strict=True)
        return [self._cell(*pair) for pair in pairs]

    def _cell(self, estimate: float, stderr: float) -> Shown:
        write = probability if self.share else measured
        if stderr == 0.0:  # known beforehand
            return write(estimate)
        # As many decimals as the estimate has; one that they would show as 0 says so.
        error = number(stderr) if math.isnan(stderr) else write(stderr)
        return Shown(f"{write(estimate)} ({error})", estimate)


@dataclass(frozen=True, eq=False, repr=False)
class ItemTable(Printable):
    """Class sizes, then every item in every class, with standard errors."""

    intervals: Intervals
    classes: tuple[str, ...]  # K headings
    lines: tuple[ItemLine, ...]

    def tidy(self) -> Columns:
        """Give a row for each line of the table: of each class the estimate and its error."""
        told: dict[str, Sequence[object]] = {
            "item": [line.item for line in self.lines],
            "answer": [line.answer for line in self.lines],
        }
        for c, name in enumerate(self.classes):
            told[name] = [float(line.estimate[c]) for line in self.lines]
            told[f"{name} s.e."] = [float(line.stderr[c]) for line in self.lines]
        return told

    def to_csv(self) -> str:
        """Give the table as CSV: estimates and standard errors in columns of their own."""
        columns = self.tidy()
        return csv_table(tuple(columns), zip(*columns.values(), strict=True))

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        rows = tuple((line.item, line.answer, *line.cells()) for line in self.lines)
        notes = ["In parentheses: standard errors.", self.intervals.method]
        if any(np.isnan(line.stderr).any() for line in self.lines):
            notes.append(WITHOUT)
        notes += [f"- {flag}" for flag in self.intervals.flags]
        header = ("item", "answer", *self.classes)
        return [Grid("Items by class", header, rows, frozenset({0, 1}), tuple(notes))]


def check_items(network: Network) -> LatentClasses:
    """Refuse a network that has no table of items by classes."""
    classes = find_classes(network)
    if classes is None:
        raise ModelError(
            "only latent class models whose answers listen to their class alone have a table of "
            "items by classes. Of others, --intervals tells every parameter."
        )
    return classes


def item_table(intervals: Intervals) -> ItemTable:
    """Give the table of a latent class model, from its standard errors."""
    classes = check_items(intervals.model.network)
    heads = tuple(f"{classes.variable.name} {label}" for label in classes.variable.labels)
    return ItemTable(intervals, heads, tuple(_lines(intervals, classes)))


def _lines(intervals: Intervals, classes: LatentClasses) -> Iterator[ItemLine]:
    network = intervals.model.network
    sizes = intervals.table(classes.variable.name)
    yield ItemLine(SIZE, "", sizes.estimate, sizes.stderr, share=True)
    for v in (network.variables[i] for i in network.shown if i in classes.leaves):
        if v.family.tabular:
            table = intervals.table(v.name)
            for k in shown_states(v):
                estimate, stderr = table.estimate[:, k], table.stderr[:, k]
                yield ItemLine(v.heading, v.labels[k], estimate, stderr, share=True)
        else:
            for title, told in intervals.told(v.name).items():
                yield ItemLine(v.heading, title, told.estimate, told.stderr, share=False)
