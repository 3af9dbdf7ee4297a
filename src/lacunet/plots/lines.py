"""Class profiles as lines over answers, with intervals: the usual figure of papers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lacunet.errors import OptionError
from lacunet.fitting.fit import Fit
from lacunet.models.network import Model, Variable
from lacunet.plots.figures import (
    GREY,
    LEGEND,
    POINTS,
    SMALL,
    SMALLER,
    THIN,
    axes,
    curve,
    legend_below,
    load,
)
from lacunet.plots.style import ERROR_LINE, Look
from lacunet.runtime.arrays import FloatArray
from lacunet.summaries.intervals import Intervals, drawn_answers, drawn_name, intervals_to_draw
from lacunet.summaries.profiles import check_items

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME, LINES = 30, 2  # most characters of a line of a label, and most lines
APART, MOST_APART = 0.09, 0.5  # offset between two lines and between all, in rows
ROW, EDGES, TITLE = 0.22, 0.9, 0.35  # inches
LINE_ROW = 0.018  # extra inches per answer and line, so that intervals do not overlap


@dataclass(frozen=True)
class AxisPoint:
    """An answer on the axis, or the heading of one or several items (without values)."""

    name: str
    values: FloatArray | None = None  # (3, lines) estimate, low, high
    joined: bool = False  # whether a line joins it to the previous point
    shared: bool = False  # whether all lines have the same value
    section: bool = False  # whether it is a heading of several items


class Naming:
    """The labels of answers on the axis: after the item's name, or below it if that is long."""

    def __init__(self, items: Sequence[Variable]) -> None:
        """Choose the form of the labels from the items drawn."""
        each = [drawn_answers(v) for v in items]
        self.single = all(len(answers) == 1 for answers in each)  # one answer per item
        whole = {
            v.labels[1:] if v.family.tabular else tuple(answers.values())
            for v, answers in zip(items, each, strict=True)
        }
        (states,) = whole if len(whole) == 1 else [()]
        self.common = states[0] if len(states) == 1 else ""  # the answer common to all items
        names = (drawn_name(v, k) for v, answers in zip(items, each, strict=True) for k in answers)
        # Whether the names of items are separate headings.
        self.below = not self.single and any(len(wrap(name, NAME)) > LINES for name in names)
        self.means = [v.family.on_a_scale for v in items]

    def heading(self, v: Variable) -> list[AxisPoint]:
        """Return the heading of an item, if it is separate."""
        return [AxisPoint(v.heading)] if self.below else []

    def name(self, v: Variable, state: int) -> str:
        """Return the label of an answer."""
        if self.below:
            return drawn_answers(v)[state]
        return v.heading if self.single and self.common else drawn_name(v, state)

    def axis(self, root: Variable) -> str:
        """Return the title of the value axis, of probabilities and scaled means."""
        ends = "lowest 0, highest 1"
        if all(self.means):
            return f"{self.common or 'mean'}\n({ends})"
        title = f"p({self.common or 'answer'} | {root.name})"
        return f"{title}\n(means: {ends})" if any(self.means) else title


def columns_of(panels: int, across: int) -> int:
    """Return the number of panels per row, at most `across`, that balances the rows.

    >>> columns_of(6, 4), columns_of(5, 4), columns_of(2, 4)
    (3, 3, 2)
    """
    rows = -(-panels // across)
    return -(-panels // rows)


def panels_of(
    titles: Sequence[str], across: int, tall: float, wide: float, names: float
) -> list[Axes]:
    """Create a panel for each title, `tall` by `wide` inches, with `names` inches for labels."""
    columns = columns_of(len(titles), across)
    rows = -(-len(titles) // columns)
    size = (names + wide * columns, EDGES + rows * (TITLE + tall))
    options: dict[str, Any] = {"figsize": size, "sharex": True, "sharey": True, "squeeze": False}
    made = load().subplots(rows, columns, layout="constrained", **options)[1]
    grid: list[Axes] = made.reshape(-1).tolist()
    for panel, title in zip(grid, titles, strict=False):
        axes(panel).set_title(title, fontsize=SMALLER)
    for panel in grid[len(titles) :]:
        panel.set_visible(False)
    return grid[: len(titles)]


def tidy_panels(
    panels: Sequence[Axes], points: Sequence[AxisPoint], title: str, across: int
) -> None:
    """Label the answers of all panels; the lowest panel of each column has tick labels."""
    for place, panel in enumerate(panels):
        below = place + columns_of(len(panels), across) >= len(panels)
        tidy(panel, points, title if below else "", upright=False)
        panel.tick_params(labelbottom=below)
        panel.set_xticks([0.0, 0.5, 1.0])


def height(points: Sequence[AxisPoint], lines: int) -> float:
    """Return the height of a list of answers, in inches."""
    return (ROW + LINE_ROW * lines) * len(points)


def draw_lines(
    ax: Axes, points: Sequence[AxisPoint], names: Sequence[str], *, upright: bool = False
) -> None:
    """Draw a line with markers and intervals for each name; small offsets separate intervals."""
    step = min(APART, MOST_APART / len(names))
    for c, name in enumerate(names):
        off = step * (c - (len(names) - 1) / 2)
        draw_one(ax, points, c, off, {"label": name, **curve(Look(c))}, upright=upright)


def draw_one(
    ax: Axes,
    points: Sequence[AxisPoint],
    c: int,
    off: float,
    look: dict[str, Any],
    *,
    upright: bool = False,
) -> None:
    """Draw one line with its intervals."""
    drawn = draw_line(ax, points, c, off, look, upright=upright)
    marked = [
        (place, p.values[:, c]) for place, p in drawn if p.values is not None and not p.shared
    ]
    at = np.array([place for place, _ in marked])
    bars = np.array([values for _, values in marked]).reshape(-1, 3)
    known = np.isfinite(bars).all(axis=1) & (bars[:, 2] > bars[:, 1])
    (ax.vlines if upright else ax.hlines)(
        at[known],
        bars[known, 1],
        bars[known, 2],
        color=look["color"],
        linewidth=POINTS * ERROR_LINE,
        alpha=0.55,
        zorder=look["zorder"] - 0.5,
    )


def draw_line(
    ax: Axes,
    points: Sequence[AxisPoint],
    c: int,
    off: float,
    look: dict[str, Any],
    *,
    upright: bool = False,
) -> list[tuple[float, AxisPoint]]:
    """Draw a line with gaps where points are not joined; return (position, point) pairs.

    Shared points have no marker.
    """
    drawn = [
        (place + off * (not p.shared), p) for place, p in enumerate(points) if p.values is not None
    ]
    line: list[tuple[float, float]] = []
    marked: list[int] = []
    for place, point in drawn:
        assert point.values is not None
        if line and not point.joined:  # a gap
            line.append((place, np.nan))
        marked += [len(line)] * (not point.shared)
        line.append((place, float(point.values[0, c])))
    places, values = zip(*line, strict=True)
    ends = (places, values) if upright else (values, places)
    ax.plot(*ends, **(look if len(marked) == len(drawn) else {**look, "markevery": marked}))
    return drawn


def tidy(ax: Axes, points: Sequence[AxisPoint], title: str, *, upright: bool) -> None:
    """Label the answers, and set the value axis from 0 to 1."""
    names = ["\n".join(wrapped(p.name)) for p in points]
    positions = range(len(points))
    grid: dict[str, Any] = {"color": GREY, "linewidth": 0.5 * THIN, "alpha": 0.5}
    ax.set_axisbelow(True)
    if upright:
        ax.set_xticks(positions, names, fontsize=SMALLER)
        ax.set_ylim(-0.02, 1.02)
        ax.set_ylabel(title, fontsize=SMALL)
        ax.grid(axis="y", **grid)
        return
    ax.set_yticks(positions, names, fontsize=SMALLER)
    for text, point in zip(ax.get_yticklabels(), points, strict=False):  # none on a shared axis
        if point.values is None:
            text.set(fontweight="bold", fontsize=SMALL if point.section else SMALLER)
    ax.set_ylim(len(points) - 0.4, -0.6)
    ax.set_xlim(-0.02, 1.02)
    ax.set_xlabel(title, fontsize=SMALL)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", **grid)


def wrapped(name: str) -> list[str]:
    """Break a long name between words; an ellipsis marks truncation."""
    lines = wrap(name, NAME) or [""]
    return lines if len(lines) <= LINES else [*lines[: LINES - 1], lines[LINES - 1] + "…"]


SHORT, FEW = 8, 14  # most characters and number of labels side by side
WIDE, TALL = 4.2, 2.6  # inches
TOGETHER = 6  # most classes in one panel
ACROSS, PANEL, NAMES = 5, 1.2, 2.0  # panels per row, inches of a panel and of the labels
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

    An item with two states shows the second; ordered answers show their mean, scaled from the
    lowest (0) to the highest (1). Other numeric columns are omitted. Few items with short names
    stand side by side, others below each other. Each of more than six classes has its own panel,
    with the others in grey; the function then returns the first panel.

    Parameters
    ----------
    fit
        A fit of a latent class model, or a model.
    ax
        Axes to draw on (default: a new figure).
    intervals
        The result of `intervals` (default: from the observed information, or the sampling design;
        False: none).
    groups
        Names of items by the title of their group; other items come last.
    legend
        Whether to draw a legend of the classes.
    """
    lines = profile_lines(fit, intervals, groups)
    points, names, title = lines
    if ax is None and len(names) > TOGETHER:
        panels = panels_of(names, ACROSS, ROW * len(points), PANEL, NAMES)
        for c, panel in enumerate(panels):
            draw_class(panel, lines, c)
        tidy_panels(panels, points, title, ACROSS)
        return panels[0]
    short = len(points) <= FEW and max(len(p.name) for p in points) <= SHORT
    upright = groups is None and short
    size = (max(WIDE, 0.4 * len(points)), TALL)
    if not upright:
        size = (WIDE, EDGES + height(points, len(names)))
    alone, ax = ax is None, axes(ax, size)
    draw_lines(ax, points, names, upright=upright)
    tidy(ax, points, title, upright=upright)
    if legend and alone:  # a new figure has room for a long legend
        legend_below(ax, min(len(names), 3))
    elif legend:
        ax.legend(**LEGEND)
    return ax


class ProfileLines(NamedTuple):
    """Answers, the names of the lines, and the title of the axis of values."""

    points: list[AxisPoint]
    names: list[str]
    title: str


def profile_lines(
    fit: Fit | Model,
    intervals: Intervals | bool = True,
    groups: Mapping[str, Sequence[str]] | None = None,
) -> ProfileLines:
    """Return the answers of a latent class model, with a line for each class."""
    model = fit.model if isinstance(fit, Fit) else fit
    network = model.network
    classes, precise = check_items(network), intervals_to_draw(fit, intervals)
    items = [network.variables[i] for i in network.shown if i in classes.leaves]
    items = [v for v in items if drawn_answers(v)]
    if not items:
        raise OptionError("every item is a number: plot_densities draws these.")
    naming = Naming(items)
    points = list(_points(model, items, naming, precise, groups))
    root = classes.variable
    sizes = network.layout.table(model.theta, classes.root).tolist()
    names = [f"{root.name} {k} ({p:.0%})" for k, p in zip(root.labels, sizes, strict=True)]
    return ProfileLines(points, names, naming.axis(root))


def draw_class(ax: Axes, lines: ProfileLines, c: int) -> None:
    """Draw the line of one class, with all others in grey."""
    for other in range(len(lines.names)):
        if other != c:
            draw_line(ax, lines.points, other, 0.0, GREY_LINE)
    draw_one(ax, lines.points, c, 0.0, curve(Look(c)))


def _points(
    model: Model,
    items: Sequence[Variable],
    naming: Naming,
    precise: Intervals | None,
    groups: Mapping[str, Sequence[str]] | None,
) -> Iterator[AxisPoint]:
    """Yield the answers in order; lines join items if every item has one point."""
    for title, members in _grouped({v.name: v for v in items}, groups or {}):
        if title:
            yield AxisPoint(title, section=True)
        before = False
        for v in members:
            table = model.network.layout.table(model.theta, model.network.index(v.name))
            ends = (table, table)
            if precise is not None:
                ends = precise.table(v.name).low, precise.table(v.name).high
            yield from naming.heading(v)
            for k in drawn_answers(v):
                values = np.stack([table[:, k], *(x[:, k] for x in ends)])
                yield AxisPoint(naming.name(v, k), values, joined=before)
                before = True
            before = naming.single


def _grouped(
    items: Mapping[str, Variable], groups: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, list[Variable]]]:
    """Yield the items of each group in order; items without a group come last."""
    others = dict(items)
    for title, members in groups.items():
        for name in members:
            if name not in items:
                raise OptionError(f"groups: '{name}' is not an item here; there are {list(items)}.")
            if name not in others:
                raise OptionError(f"groups: '{name}' is in two of them. Name it once.")
            del others[name]
        yield title, [items[name] for name in members]
    if others:
        yield ("others" if groups else ""), list(others.values())
