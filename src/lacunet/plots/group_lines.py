"""Profiles of classes in groups: a panel for each class with a line for each group, or reversed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from lacunet.charts.style import PRINT, Look
from lacunet.errors import OptionError
from lacunet.models.ensemble import check_kind
from lacunet.models.network import Variable
from lacunet.plots.door import curve
from lacunet.plots.lines import (
    LEGEND,
    NAME,
    AxisPoint,
    Naming,
    draw,
    draw_one,
    height,
    panels_of,
    tidy_panels,
)
from lacunet.selection.group_comparison import GroupComparison
from lacunet.selection.groups import GroupAnswer, Level, group_answers
from lacunet.summaries.intervals import Intervals, intervals_to_draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACROSS, PANEL, NAMES = 4, 1.55, 2.1  # panels in a row, inches of each, and of the names beside them
# The look of what is the same in all groups.
ALIKE: dict[str, Any] = {"label": "all groups", "color": PRINT.page["ink"], "zorder": 2.5}
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
    levels = [f.level for f in found.levels.fits]
    if level not in (None, *levels):
        raise OptionError(f"level '{level}' was not fitted. There are: {', '.join(levels)}.")
    shown = Level(level or found.level)
    if panels not in PANELS:
        raise OptionError(f"panels '{panels}' is not known. Choose classes or groups.")
    precise = intervals_to_draw(found.candidate(shown).fit, intervals)
    answers = list(group_answers(found, shown, precise))
    if len(answers) == 1:
        raise OptionError("every item is a number: there are no answers to draw.")
    root = answers[0].variable
    classes = [f"{root.name} {label}" for label in root.labels]
    by_class = panels == "classes"
    titles, lines = (classes, _groups(found)) if by_class else (_groups(found), classes)
    naming = Naming(list(dict.fromkeys(a.variable for a in answers[1:])))
    each = [list(_points(answers, naming, p, by_class)) for p in range(len(titles))]
    drawn = panels_of(titles, ACROSS, height(each[0], len(lines)), PANEL, NAMES)
    for panel, points in zip(drawn, each, strict=True):
        draw(panel, points, lines)
        _draw_alike(panel, points)
    tidy_panels(drawn, each[0], naming.axis(root), ACROSS)
    if legend:
        _name_lines(drawn[0], max(2, len(titles)))
    return drawn[0]


def _name_lines(first: Axes, most: int) -> None:
    """Name the lines below the whole picture, in at most so many columns."""
    names = [str(line.get_label()) for line in first.lines]
    columns = min(len(names), ACROSS, most)
    first.figure.legend(first.lines, names, loc="outside lower center", ncols=columns, **LEGEND)


def _groups(found: GroupComparison) -> list[str]:
    """Name the groups, with their cases."""
    each = zip(found.groups, found.cases.tolist(), strict=True)
    names = (f"{name} (n = {round(cases, 1):,.10g})" for name, cases in each)
    return ["\n".join(wrap(name, NAME)) for name in names]


def _points(
    answers: Sequence[GroupAnswer], naming: Naming, panel: int, by_class: bool
) -> Iterator[AxisPoint]:
    """Give the answers of one panel: values of all groups in a class, or of all classes in one."""
    before: Variable | None = None
    for a in answers:
        values = a.values[:, :, panel] if by_class else a.values[:, panel]
        if a.state is None:
            yield AxisPoint("class size", values)
            continue
        first = a.variable is not before
        joined = before is not None and (naming.single or not first)
        if first:
            yield from naming.heading(a.variable)
        before = a.variable
        yield AxisPoint(naming.name(before, a.state), values, joined, shared=by_class and a.shared)


def _draw_alike(panel: Axes, points: Sequence[AxisPoint]) -> None:
    """Draw the answers that are the same in all groups as one line, with gaps for the others."""
    if any(p.shared for p in points):
        gap = np.full((3, 1), np.nan)
        alike = [replace(p, values=p.values if p.shared else gap, shared=False) for p in points]
        draw_one(panel, alike, 0, 0.0, {**curve(Look(0)), **ALIKE})
