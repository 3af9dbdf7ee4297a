"""Lines over answers, with intervals: what pictures of profiles are made of.

Class profiles as lines: the picture that papers about latent classes print.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from lacunet.charts.style import ERROR_LINE, Look
from lacunet.errors import OptionError
from lacunet.fitting.fit import Fit
from lacunet.models.latent_class import LatentClasses
from lacunet.models.network import Model, Network, Variable
from lacunet.plots.door import GREY, POINTS, SMALL, SMALLER, THIN, axes, curve, load
from lacunet.runtime.arrays import FloatArray
from lacunet.summaries.intervals import Intervals, drawn_answers, drawn_name, intervals_to_draw
from lacunet.summaries.profiles import check_items

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME, LINES = 30, 2  # characters of a line of a name, and lines
APART, MOST_APART = 0.09, 0.5  # of the room of an answer: between two lines, between all
ROW, EDGES, TITLE = 0.22, 0.9, 0.35  # inches
LINE_ROW = 0.018  # inches more for each answer and line, so that intervals do not overlap


@dataclass(frozen=True)
class Point:
    """An answer on the axis, or a heading (without values): of an item, or of several."""

    name: str
    values: FloatArray | None = None  # (3, lines) estimate, low, high
    joined: bool = False  # whether a line leads here from the point before
    shared: bool = False  # whether all lines are the same here
    section: bool = False  # whether it is the heading of several items


@dataclass(frozen=True)
class Naming:
    """How answers are named on the axis: with their item, or below its name if that is too long."""

    single: bool  # whether every item has one answer that is drawn
    common: str  # that answer, where it is the same of all; else nothing
    below: bool  # whether items are headings of their own
    means: int  # items of which the mean is drawn
    items: int

    @classmethod
    def of(cls, items: Sequence[Variable]) -> Naming:
        """Look at the items that are drawn."""
        each = [drawn_answers(v) for v in items]
        single = all(len(answers) == 1 for answers in each)
        whole = {
            v.labels[1:] if v.family.tabular else tuple(drawn_answers(v).values()) for v in items
        }
        (states,) = whole if len(whole) == 1 else [()]
        names = [drawn_name(v, k) for v in items for k in drawn_answers(v)]
        below = not single and any(len(wrap(name, NAME)) > LINES for name in names)
        means = sum(v.family.on_a_scale for v in items)
        return cls(single, states[0] if len(states) == 1 else "", below, means, len(items))

    def heading(self, v: Variable) -> list[Point]:
        """Give the line above the answers to an item, if there is one."""
        return [Point(v.heading)] if self.below else []

    def name(self, v: Variable, state: int) -> str:
        """Name an answer."""
        if self.below:
            return drawn_answers(v)[state]
        return v.heading if self.single and self.common else drawn_name(v, state)

    def axis(self, root: Variable) -> str:
        """Give the title of the axis of probabilities, and of means between the ends of a scale."""
        ends = "lowest 0, highest 1"
        if self.means == self.items:
            return f"{self.common or 'mean'}\n({ends})"
        title = f"p({self.common or 'answer'} | {root.name})"
        return f"{title}\n(means: {ends})" if self.means else title


def columns_of(panels: int, across: int) -> int:
    """Give the number of panels in a row, at most so many, so that rows are about as long.

    >>> columns_of(6, 4), columns_of(5, 4), columns_of(2, 4)
    (3, 3, 2)
    """
    rows = -(-panels // across)
    return -(-panels // rows)


def panels_of(
    titles: Sequence[str], across: int, tall: float, wide: float, names: float
) -> list[Axes]:
    """Make a panel for each title, so many in a row; inches of each, and of the names beside."""
    columns = columns_of(len(titles), across)
    rows = -(-len(titles) // columns)
    size = (names + wide * columns, EDGES + rows * (TITLE + tall))
    how: dict[str, Any] = {"figsize": size, "sharex": True, "sharey": True, "squeeze": False}
    made = load().subplots(rows, columns, layout="constrained", **how)[1]
    grid: list[Axes] = made.reshape(-1).tolist()
    for panel, title in zip(grid, titles, strict=False):
        axes(panel).set_title(title, fontsize=SMALLER)
    for panel in grid[len(titles) :]:
        panel.set_visible(False)
    return grid[: len(titles)]


def tidy_panels(panels: Sequence[Axes], points: Sequence[Point], title: str, across: int) -> None:
    """Name the answers of all panels; what is below no other has numbers on its axis."""
    for place, panel in enumerate(panels):
        below = place + columns_of(len(panels), across) >= len(panels)
        tidy(panel, points, title if below else "", upright=False)
        panel.tick_params(labelbottom=below)
        panel.set_xticks([0.0, 0.5, 1.0])


def height(points: Sequence[Point], lines: int) -> float:
    """Inches that answers below each other need."""
    return (ROW + LINE_ROW * lines) * len(points)


def offsets(lines: int) -> list[float]:
    """How far lines are off the place of an answer, so that their intervals can be told apart."""
    step = min(APART, MOST_APART / lines)
    return [step * (i - (lines - 1) / 2) for i in range(lines)]


def draw(
    ax: Axes,
    points: Sequence[Point],
    c: int,
    off: float,
    name: str,
    *,
    upright: bool = False,
    **changes: Any,
) -> None:
    """Draw one line: between points that are joined, with marks and intervals where it is alone.

    `changes` are of its look, in matplotlib's words.
    """
    look = {**curve(Look(c)), **changes}
    told = draw_line(ax, points, c, off, {"label": name, **look}, upright=upright)
    told = [(place, p) for place, p in told if not p.shared]
    at = np.array([place for place, _ in told])
    bars = np.array([p.values[:, c] for _, p in told]).reshape(-1, 3)  # type: ignore[index]
    known = np.isfinite(bars).all(axis=1) & (bars[:, 2] > bars[:, 1])
    lines = ax.vlines if upright else ax.hlines
    lines(
        at[known],
        bars[known, 1],
        bars[known, 2],
        color=look["color"],
        linewidth=POINTS * ERROR_LINE,
        alpha=0.55,
        zorder=look["zorder"] - 0.5,
    )


def draw_line(
    ax: Axes, points: Sequence[Point], c: int, off: float, look: dict[str, Any], *, upright: bool
) -> list[tuple[float, Point]]:
    """Draw a line with gaps where points are not joined; give points with their places.

    Where all lines are the same, this one has no mark of its own.
    """
    told = [
        (place + off * (not p.shared), p) for place, p in enumerate(points) if p.values is not None
    ]
    places: list[float] = []
    values: list[float] = []
    marked: list[int] = []
    for place, point in told:
        if places and not point.joined:  # a gap
            places.append(place)
            values.append(np.nan)
        marked += [len(places)] * (not point.shared)
        places.append(place)
        values.append(float(point.values[0, c]))  # type: ignore[index]
    ends = (places, values) if upright else (values, places)
    ax.plot(*ends, **(look if len(marked) == len(told) else {**look, "markevery": marked}))
    return told


def tidy(ax: Axes, points: Sequence[Point], title: str, *, upright: bool) -> None:
    """Name the answers, and put the axis of probabilities from 0 to 1."""
    names = ["\n".join(wrapped(p.name)) for p in points]
    here = range(len(points))
    grid: dict[str, Any] = {"color": GREY, "linewidth": 0.5 * THIN, "alpha": 0.5}
    ax.set_axisbelow(True)
    if upright:
        ax.set_xticks(here, names, fontsize=SMALLER)
        ax.set_ylim(-0.02, 1.02)
        ax.set_ylabel(title, fontsize=SMALL)
        ax.grid(axis="y", **grid)
        return
    ax.set_yticks(here, names, fontsize=SMALLER)
    for text, point in zip(ax.get_yticklabels(), points, strict=False):  # none where shared
        if point.values is None:
            text.set(fontweight="bold", fontsize=SMALL if point.section else SMALLER)
    ax.set_ylim(len(points) - 0.4, -0.6)
    ax.set_xlim(-0.02, 1.02)
    ax.set_xlabel(title, fontsize=SMALL)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", **grid)


def wrapped(name: str) -> list[str]:
    """Break a long name between words, and say where it goes on."""
    lines = wrap(name, NAME) or [""]
    if len(lines) > LINES:
        lines = [*lines[: LINES - 1], lines[LINES - 1] + "…"]
    return lines


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
