"""Figures of class profiles in groups: a panel per class with a line per group, or reversed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from lacunet.errors import OptionError
from lacunet.models.ensemble import check_kind
from lacunet.models.network import Variable
from lacunet.plots.figures import curve
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


def plot_group_profiles(
    found: GroupComparison,
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
    found
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
        raise OptionError("every item is a number, so there are no categories to draw.")
    root = answers[0].variable
    classes = [f"{root.name} {label}" for label in root.labels]
    by_class = panels == "classes"
    titles, lines = (classes, _groups(found)) if by_class else (_groups(found), classes)
    naming = Naming(list(dict.fromkeys(a.variable for a in answers[1:])))
    each = [list(_points(answers, naming, p, by_class)) for p in range(len(titles))]
    drawn = panels_of(titles, ACROSS, height(each[0], len(lines)), PANEL, NAMES)
    for panel, points in zip(drawn, each, strict=True):
        draw(panel, points, lines)
        _draw_shared(panel, points)
    tidy_panels(drawn, each[0], naming.axis(root), ACROSS)
    if legend:
        _name_lines(drawn[0], max(2, len(titles)))
    return drawn[0]


def _name_lines(first: Axes, most: int) -> None:
    """Draw a legend below the figure, with at most `most` columns."""
    names = [str(line.get_label()) for line in first.lines]
    columns = min(len(names), ACROSS, most)
    first.figure.legend(first.lines, names, loc="outside lower center", ncols=columns, **LEGEND)


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


def _draw_shared(panel: Axes, points: Sequence[AxisPoint]) -> None:
    """Draw the answers that are equal in all groups as one line, with gaps for the others."""
    if any(p.shared for p in points):
        gap = np.full((3, 1), np.nan)
        alike = [replace(p, values=p.values if p.shared else gap, shared=False) for p in points]
        draw_one(panel, alike, 0, 0.0, {**curve(Look(0)), **SHARED})
