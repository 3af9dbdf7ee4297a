"""Figures of class profiles in groups: a panel per class with a line per group, or reversed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lacunet.deprecation import renamed_parameter
from lacunet.errors import OptionError
from lacunet.models.ensemble import check_kind
from lacunet.models.network import Variable
from lacunet.plots.figures import curve, legend_below
from lacunet.plots.lines import (
    NAME,
    AxisPoint,
    Naming,
    draw_lines,
    draw_one,
    height,
    panels_of,
    tidy_panels,
)
from lacunet.plots.style import PRINT, Look
from lacunet.selection.group_comparison import GroupAnswer, GroupComparison, group_answers
from lacunet.selection.groups import Level
from lacunet.summaries.intervals import Intervals, intervals_to_draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACROSS, PANEL, NAMES = 4, 1.55, 2.1  # panels per row, inches of a panel and of the labels
# The line style of answers that are equal in all groups.
SHARED: dict[str, Any] = {"label": "all groups", "color": PRINT.page["ink"], "zorder": 2.5}
PANELS = ("classes", "groups")


@renamed_parameter("found", "comparison")
def plot_group_profiles(
    comparison: GroupComparison,
    *,
    level: str | None = None,
    panels: str = "classes",
    intervals: Intervals | bool = True,
    legend: bool = True,
) -> Axes:
    """Draw p(answer | class) in every group, with intervals.

    Class sizes come first. Answers that the model constrains to be equal in all groups appear once,
    in black. An item with two states shows the second; ordered answers show their mean, scaled from
    the lowest (0) to the highest (1). Other numeric columns are omitted.

    Parameters
    ----------
    comparison
        The result of `compare_groups`.
    level
        Which of its models: equal, partly equal or free (default: the chosen one).
    panels
        classes: a panel for each class with a line for each group; groups: a panel for each group
        with a line for each class.
    intervals
        The result of `intervals` for its fit (default: from the observed information, or the
        sampling design; False: none).
    legend
        Whether to draw a legend of the lines.

    Returns
    -------
    Axes
        The first panel; its attribute `figure` is the whole figure.
    """
    check_kind(
        comparison, GroupComparison, "no comparison of groups", "what compare_groups() returned"
    )
    levels = [f.level for f in comparison.levels.fits]
    if level not in (None, *levels):
        raise OptionError(f"level '{level}' was not fitted. There are: {', '.join(levels)}.")
    if panels not in PANELS:
        raise OptionError(f"panels '{panels}' is not known. Choose classes or groups.")
    shown = group_panels(
        comparison, Level(level or comparison.level), intervals, by_class=panels == "classes"
    )
    if shown is None:
        raise OptionError("every item is a number, so there are no categories to draw.")
    tall = height(shown.points[0], len(shown.lines))
    drawn = panels_of(shown.titles, ACROSS, tall, PANEL, NAMES)
    for panel, points in zip(drawn, shown.points, strict=True):
        draw_panel(panel, points, shown.lines)
    tidy_panels(drawn, shown.points[0], shown.title, ACROSS)
    if legend:
        lines = len(drawn[0].lines)
        legend_below(drawn[0], min(lines, ACROSS, max(2, len(shown.titles))))
    return drawn[0]


class GroupPanels(NamedTuple):
    """Titles and answers of the panels, names of the lines, and the title of the values."""

    titles: list[str]
    points: list[list[AxisPoint]]
    lines: list[str]
    title: str


def group_panels(
    comparison: GroupComparison, level: Level, intervals: Intervals | bool, *, by_class: bool = True
) -> GroupPanels | None:
    """Return a panel for each class, or for each group; None if every item is a number."""
    precise = intervals_to_draw(comparison.candidate(level).fit, intervals)
    answers = list(group_answers(comparison, level, precise))
    if len(answers) == 1:
        return None
    root = answers[0].variable
    classes = [f"{root.name} {label}" for label in root.labels]
    titles, lines = (classes, _groups(comparison)) if by_class else (_groups(comparison), classes)
    naming = Naming(list(dict.fromkeys(a.variable for a in answers[1:])))
    points = [list(_points(answers, naming, p, by_class)) for p in range(len(titles))]
    return GroupPanels(titles, points, lines, naming.axis(root))


def draw_panel(panel: Axes, points: Sequence[AxisPoint], lines: Sequence[str]) -> None:
    """Draw the lines of a panel; answers that are equal in all groups are one line, with gaps."""
    draw_lines(panel, points, lines)
    if any(p.shared for p in points):
        gap = np.full((3, 1), np.nan)
        alike = [replace(p, values=p.values if p.shared else gap, shared=False) for p in points]
        draw_one(panel, alike, 0, 0.0, {**curve(Look(0)), **SHARED})


def _groups(comparison: GroupComparison) -> list[str]:
    """Return the names of the groups, with their cases."""
    each = zip(comparison.groups, comparison.cases.tolist(), strict=True)
    names = (f"{name} (n = {round(cases, 1):,.10g})" for name, cases in each)
    return ["\n".join(wrap(name, NAME)) for name in names]


def _points(
    answers: Sequence[GroupAnswer], naming: Naming, panel: int, by_class: bool
) -> Iterator[AxisPoint]:
    """Yield the answers of one panel: all groups in a class, or all classes in a group."""
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
