"""Lines over answers, with intervals: what pictures of profiles are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from lacunet.charts.style import ERROR_LINE, Look
from lacunet.models.network import Variable
from lacunet.plots.door import GREY, POINTS, SMALL, SMALLER, THIN, axes, curve, load
from lacunet.runtime.arrays import FloatArray
from lacunet.summaries.drawn_answers import drawn_answers, drawn_name

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
