"""Profiles of classes in groups: a panel for each class with a line for each group, or reversed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from lacunet.charts.style import PRINT
from lacunet.errors import OptionError
from lacunet.models.ensemble import check_kind
from lacunet.models.network import Variable
from lacunet.plots.door import SMALLER
from lacunet.plots.lines import (
    NAME,
    Naming,
    Point,
    draw,
    height,
    offsets,
    panels_of,
    tidy_panels,
)
from lacunet.selection.group_comparison import GroupAnswer, GroupComparison, group_answers
from lacunet.selection.groups import Level
from lacunet.summaries.intervals import Intervals, intervals_to_draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACROSS, PANEL, NAMES = 4, 1.55, 2.1  # panels in a row, inches of each, and of the names beside them
ALL, SIZE = "all groups", "class size"
ALIKE = PRINT.page["ink"]  # colour of what is the same in all groups
PANELS = ("classes", "groups")


def plot_group_profiles(
    found: GroupComparison,
    *,
    level: str | None = None,
    panels: str = "classes",
    intervals: Intervals | bool = True,
    legend: bool = True,
) -> Axes:
    """Draw p(answer | class) in every group, with intervals: are the classes the same?

    Class sizes come first. Answers that the model makes the same in all groups are drawn once, in
    black. Of an item with two states the second is drawn; of ordered answers their mean, from the
    lowest (0) to the highest (1). Other columns of numbers are left out.

    Parameters
    ----------
    found
        What `compare_groups` returned.
    level
        Which of its models: equal, partly equal or free (default: its answer).
    panels
        classes: a panel for each class, in which every group has a line; groups: a panel for each
        group, in which every class has one.
    intervals
        What `intervals` gave for its fit (default: from the observed information, or the sampling
        design; False: none).
    legend
        Whether to name the lines.

    Returns
    -------
    Axes
        Those of the first panel; `.figure` is the whole.
    """
    check_kind(found, GroupComparison, "no comparison of groups", "what compare_groups() returned")
    shown = _level(found, level)
    if panels not in PANELS:
        raise OptionError(f"panels '{panels}' is not known. Choose classes or groups.")
    precise = intervals_to_draw(found.candidate(shown).fit, intervals)
    answers = list(group_answers(found, shown, precise))
    if len(answers) == 1:
        raise OptionError("every item is a number: there are no answers to draw.")
    groups = [
        "\n".join(wrap(f"{name} (n = {round(cases, 1):,.10g})", NAME))
        for name, cases in zip(found.groups, found.cases.tolist(), strict=True)
    ]
    root = found.grouped(shown).network.variables[found.grouped(shown).root]
    classes = [f"{root.name} {label}" for label in root.labels]
    by_class = panels == "classes"
    titles, lines = (classes, groups) if by_class else (groups, classes)
    items = list(dict.fromkeys(a.variable for a in answers[1:]))
    naming = Naming.of(items)
    each = [_points(answers, naming, p, by_class) for p in range(len(titles))]
    drawn = panels_of(titles, ACROSS, height(each[0], len(lines)), PANEL, NAMES)
    for panel, points in zip(drawn, each, strict=True):
        _draw_lines(panel, points, lines)
    tidy_panels(drawn, each[0], naming.axis(root), ACROSS)
    first = drawn[0]
    if legend:
        _name_lines(first, min(ACROSS, max(2, len(titles))))
    return first


def _name_lines(panel: Axes, columns: int) -> None:
    """Name the lines below all panels."""
    how: dict[str, Any] = {"fontsize": SMALLER, "frameon": False, "handlelength": 3.0}
    lines = panel.lines
    names = [str(line.get_label()) for line in lines]
    how["ncols"] = min(len(names), columns)
    panel.figure.legend(lines, names, loc="outside lower center", **how)


def _level(found: GroupComparison, level: str | None) -> Level:
    there = [f.level for f in found.levels.fits]
    if level is None:
        return found.level
    if level not in there:
        raise OptionError(f"level '{level}' was not fitted. There are: {', '.join(there)}.")
    return Level(level)


def _points(
    answers: Sequence[GroupAnswer], naming: Naming, panel: int, by_class: bool
) -> list[Point]:
    """Give the answers of one panel: values of all groups in a class, or of all classes in one."""
    found: list[Point] = []
    before: Variable | None = None
    for a in answers:
        values = a.values[:, :, panel] if by_class else a.values[:, panel]
        if a.state is None:
            found.append(Point(SIZE, values))
            continue
        first = a.variable is not before
        joined = before is not None and (naming.single or not first)
        found += naming.heading(a.variable) if first else []
        name, before = naming.name(a.variable, a.state), a.variable
        found.append(Point(name, values, joined, shared=by_class and a.shared))
    return found


def _draw_lines(panel: Axes, points: Sequence[Point], names: Sequence[str]) -> None:
    """Draw a line for each name, and over them what is the same in all."""
    for i, (name, off) in enumerate(zip(names, offsets(len(names)), strict=True)):
        draw(panel, points, i, off, name)
    if any(p.shared for p in points):
        alike = [_alike(p) for p in points]
        draw(panel, alike, 0, 0.0, ALL, color=ALIKE, zorder=2.5)


def _alike(point: Point) -> Point:
    """Give an answer that is the same in all groups as one of a line; a gap, if it is not."""
    values = point.values if point.shared else np.full((3, 1), np.nan)
    return replace(point, values=values, shared=False)
