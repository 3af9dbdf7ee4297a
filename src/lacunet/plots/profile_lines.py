"""Class profiles as lines: the picture that papers about latent classes print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lacunet.errors import OptionError
from lacunet.fitting.fit import Fit
from lacunet.models.latent_class import LatentClasses
from lacunet.models.network import Model, Network
from lacunet.plots.door import GREY, SMALLER, THIN, axes
from lacunet.plots.line_panels import (
    EDGES,
    ROW,
    Naming,
    Point,
    draw,
    draw_line,
    height,
    offsets,
    panels_of,
    tidy,
    tidy_panels,
)
from lacunet.summaries.drawn_answers import drawn_answers
from lacunet.summaries.given_intervals import intervals_to_draw
from lacunet.summaries.intervals import Intervals
from lacunet.summaries.item_table import check_items

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHORT, FEW = 8, 14  # characters and number of names that have room side by side
WIDE, TALL = 4.2, 2.6  # inches
TOGETHER = 6  # classes whose lines can still be told apart in one panel
ACROSS, PANEL, NAMES = 5, 1.2, 2.0  # panels in a row, inches of each, and of the names beside them
GREY_LINE: dict[str, Any] = {"color": GREY, "linewidth": THIN, "alpha": 0.25, "zorder": 1.0}


def plot_profile_lines(
    fit: Fit | Model,
    ax: Axes | None = None,
    *,
    intervals: Intervals | bool = True,
    groups: Mapping[str, Sequence[str]] | None = None,
    legend: bool = True,
) -> Axes:
    """Draw p(answer | class) as a line for each class, items in their order, with intervals.

    Of an item with two states the second is drawn; of ordered answers their mean, from the lowest
    (0) to the highest (1). Other columns of numbers are left out. Few items with short names stand
    side by side, others below each other. More than six classes have a panel each, before the
    others in grey, and the first panel is given back.

    Parameters
    ----------
    fit
        A fit of a latent class model, or a model.
    ax
        Where to draw (default: a new figure).
    intervals
        What `intervals` gave (default: from the observed information, or the sampling design;
        False: none).
    groups
        Items that belong together, by the name of their group; others come last.
    legend
        Whether to name the classes.
    """
    model = fit.model if isinstance(fit, Fit) else fit
    classes, precise = check_items(model.network), intervals_to_draw(fit, intervals)
    items = _drawn(model.network, classes)
    naming = Naming.of([model.network.variables[i] for i in items])
    points = list(_points(model, items, naming, precise, groups))
    sizes = model.network.layout.table(model.theta, classes.root).tolist()
    title = naming.axis(classes.variable)
    names = [
        f"{classes.variable.name} {label} ({share:.0%})"
        for label, share in zip(classes.variable.labels, sizes, strict=True)
    ]
    if ax is None and len(names) > TOGETHER:
        return _in_panels(points, names, title)
    upright = groups is None and _fit_side_by_side([p.name for p in points])
    size = (max(WIDE, 0.4 * len(points)), TALL)
    if not upright:
        size = (WIDE, EDGES + height(points, len(names)))
    alone, ax = ax is None, axes(ax, size)
    for c, (name, off) in enumerate(zip(names, offsets(len(names)), strict=True)):
        draw(ax, points, c, off, name, upright=upright)
    tidy(ax, points, title, upright=upright)
    if legend:
        how: dict[str, Any] = {"fontsize": SMALLER, "frameon": False, "handlelength": 3.0}
        if alone:  # the figure is ours: there is room for as many names as it takes
            ax.figure.legend(loc="outside lower center", ncols=min(len(names), 3), **how)
        else:
            ax.legend(**how)
    return ax


def _in_panels(points: Sequence[Point], names: Sequence[str], title: str) -> Axes:
    """Give each class a panel of its own, in which all others are grey."""
    panels = panels_of(names, ACROSS, ROW * len(points), PANEL, NAMES)
    for c, (panel, name) in enumerate(zip(panels, names, strict=True)):
        for other in range(len(names)):
            if other != c:
                draw_line(panel, points, other, 0.0, GREY_LINE, upright=False)
        draw(panel, points, c, 0.0, name)
    tidy_panels(panels, points, title, ACROSS)
    return panels[0]


def _drawn(network: Network, classes: LatentClasses) -> list[int]:
    """Give the items that have answers, in their order."""
    items = [i for i in network.shown if i in classes.leaves]
    items = [i for i in items if drawn_answers(network.variables[i])]
    if not items:
        raise OptionError("every item is a number: plot_densities draws these.")
    return items


def _points(
    model: Model,
    items: Sequence[int],
    naming: Naming,
    precise: Intervals | None,
    groups: Mapping[str, Sequence[str]] | None,
) -> Iterator[Point]:
    """Give the answers in their order; a line goes on where every item has one point."""
    network = model.network
    names = {network.variables[i].name: i for i in items}
    for title, members in _grouped(names, groups):
        if title:
            yield Point(title, section=True)
        before = False
        for i in members:
            v = network.variables[i]
            table = network.layout.table(model.theta, i)
            ends = (table, table)
            if precise is not None:
                ends = precise.table(v.name).low, precise.table(v.name).high
            yield from naming.heading(v)
            for k in drawn_answers(v):
                values = np.stack([table[:, k], *(x[:, k] for x in ends)])
                yield Point(naming.name(v, k), values, joined=before)
                before = True
            before = naming.single


def _grouped(
    names: Mapping[str, int], groups: Mapping[str, Sequence[str]] | None
) -> Iterator[tuple[str, list[int]]]:
    """Give items by group, as they are listed there; those in none come last."""
    told = groups or {}
    taken: list[str] = []
    for title, members in told.items():
        for name in members:
            if name not in names:
                raise OptionError(f"groups: '{name}' is no item here; there are {list(names)}.")
            if name in taken:
                raise OptionError(f"groups: '{name}' is in two of them. Name it once.")
            taken.append(name)
        yield title, [names[name] for name in members]
    others = [i for name, i in names.items() if name not in taken]
    if others:
        yield ("others" if told else ""), others


def _fit_side_by_side(names: Sequence[str]) -> bool:
    return len(names) <= FEW and max(map(len, names)) <= SHORT
