"""Class profiles as lines: the picture that papers about latent classes print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.charts.style import ERROR_LINE, Look
from lacunet.describe.intervals import Intervals, hessian_intervals, shown_states
from lacunet.describe.item_table import check_items
from lacunet.errors import ModelError, OptionError
from lacunet.learn.fit import Fit
from lacunet.model.latent_class import LatentClasses
from lacunet.model.network import Model, Network
from lacunet.plots.door import GREY, POINTS, SMALL, SMALLER, THIN, axes, curve, load

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME, LINES = 30, 2  # characters of a line of a name, and lines
SHORT, FEW = 8, 14  # characters and number of names that have room side by side
APART, MOST_APART = 0.09, 0.5  # of the room of an answer: between two classes, between all
ROW, WIDE, TALL, EDGES = 0.22, 4.2, 2.6, 0.9  # inches
CLASS_ROW = 0.018  # inches more for each answer and class, so that intervals do not overlap
TOGETHER = 6  # classes whose lines can still be told apart in one panel
ACROSS, PANEL, NAMES = 5, 1.2, 2.0  # panels in a row, inches of each, and of the names beside them
GREY_LINE: dict[str, Any] = {"color": GREY, "linewidth": THIN, "alpha": 0.25, "zorder": 1.0}


@dataclass(frozen=True)
class _Point:
    """An answer on the axis, or the name of a group (without values)."""

    name: str
    values: FloatArray | None = None  # (3, K) estimate, low, high
    joined: bool = False  # whether a line leads here from the point before


def plot_profile_lines(
    fit: Fit | Model,
    ax: Axes | None = None,
    *,
    intervals: Intervals | bool = True,
    groups: Mapping[str, Sequence[str]] | None = None,
    legend: bool = True,
) -> Axes:
    """Draw p(answer | class) as a line for each class, items in their order, with intervals.

    Of an item with two states the second is drawn. Few items with short names stand side by side,
    others below each other. Columns of numbers have no probabilities, and are left out. More than
    six classes have a panel each, before the others in grey, and the first panel is given back.

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
    classes, precise = check_items(model.network), _precise(fit, intervals)
    points = list(_points(model, classes, precise, groups))
    sizes = model.network.layout.table(model.theta, classes.root).tolist()
    title = _axis_title(model.network, classes)
    names = [
        f"{classes.variable.name} {label} ({share:.0%})"
        for label, share in zip(classes.variable.labels, sizes, strict=True)
    ]
    if ax is None and len(names) > TOGETHER:
        return _in_panels(points, names, title)
    upright = groups is None and _fit_side_by_side([p.name for p in points])
    room = ROW + CLASS_ROW * len(names)
    size = (max(WIDE, 0.4 * len(points)), TALL) if upright else (WIDE, EDGES + room * len(points))
    alone, ax = ax is None, axes(ax, size)
    step = min(APART, MOST_APART / len(names))
    for c, name in enumerate(names):
        off = step * (c - (len(names) - 1) / 2)
        _draw(ax, points, c, off, name, upright=upright)
    _tidy(ax, points, title, upright=upright)
    if legend:
        how: dict[str, Any] = {"fontsize": SMALLER, "frameon": False, "handlelength": 3.0}
        if alone:  # the figure is ours: there is room for as many names as it takes
            ax.figure.legend(loc="outside lower center", ncols=min(len(names), 3), **how)
        else:
            ax.legend(**how)
    return ax


def _in_panels(points: Sequence[_Point], names: Sequence[str], title: str) -> Axes:
    """Give each class a panel of its own, in which all others are grey."""
    columns = min(ACROSS, len(names))
    rows = -(-len(names) // columns)
    size = (NAMES + PANEL * columns, EDGES + rows * (0.35 + ROW * len(points)))
    how: dict[str, Any] = {"figsize": size, "sharex": True, "sharey": True, "squeeze": False}
    _, grid = load().subplots(rows, columns, layout="constrained", **how)
    panels = grid.reshape(-1).tolist()
    for c, (panel, name) in enumerate(zip(panels, names, strict=False)):
        axes(panel)
        panel.set_title(name, fontsize=SMALLER)
        for other in range(len(names)):
            if other != c:
                _draw_line(panel, points, other, 0.0, GREY_LINE, upright=False)
        _draw(panel, points, c, 0.0, name, upright=False)
        below = c + columns >= len(names)  # nothing stands under it
        _tidy(panel, points, title if below else "", upright=False)
        panel.tick_params(labelbottom=below)
        panel.set_xticks([0.0, 0.5, 1.0])
    for panel in panels[len(names) :]:
        panel.set_visible(False)
    first: Axes = panels[0]
    return first


def _precise(fit: Fit | Model, intervals: Intervals | bool) -> Intervals | None:
    """Give the intervals to draw; none where there are none."""
    if isinstance(intervals, Intervals):
        model = fit.model if isinstance(fit, Fit) else fit
        if not np.array_equal(intervals.model.theta, model.theta):
            raise OptionError("these intervals are of other parameters. Give intervals(data, fit).")
        return intervals
    if not intervals or not isinstance(fit, Fit):
        return None
    try:
        return hessian_intervals(fit.problem, fit.model, fit.estimate)
    except ModelError:  # a search that ended early: lines are still worth a picture
        return None


def _points(
    model: Model,
    classes: LatentClasses,
    precise: Intervals | None,
    groups: Mapping[str, Sequence[str]] | None,
) -> Iterator[_Point]:
    """Give the answers in their order; a line goes on where every item has one point."""
    network = model.network
    items = [i for i in network.shown if i in classes.leaves]
    items = [i for i in items if network.variables[i].family.tabular]
    if not items:
        raise OptionError("every item is a number: plot_densities draws these.")
    names = {network.variables[i].name: i for i in items}
    single = all(len(shown_states(network.variables[i])) == 1 for i in items)
    state = _common_state(network, items)
    for title, members in _grouped(names, groups):
        if title:
            yield _Point(title)
        before = False
        for i in members:
            v = network.variables[i]
            table = network.layout.table(model.theta, i)
            ends = (table, table)
            if precise is not None:
                ends = precise.table(v.name).low, precise.table(v.name).high
            for k in shown_states(v):
                name = v.heading if single and state else f"{v.heading} = {v.labels[k]}"
                values = np.stack([table[:, k], *(x[:, k] for x in ends)])
                yield _Point(name, values, joined=before)
                before = True
            before = single


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


def _common_state(network: Network, items: Sequence[int]) -> str:
    """Give the answer that is drawn of every item, where it is the same and there are two."""
    drawn = {network.variables[i].labels[1:] for i in items}
    (states,) = drawn if len(drawn) == 1 else [()]
    return states[0] if len(states) == 1 else ""


def _axis_title(network: Network, classes: LatentClasses) -> str:
    items = [i for i in classes.leaves if network.variables[i].family.tabular]
    answer = _common_state(network, items) or "answer"
    return f"p({answer} | {classes.variable.name})"


def _fit_side_by_side(names: Sequence[str]) -> bool:
    return len(names) <= FEW and max(map(len, names)) <= SHORT


def _draw(
    ax: Axes, points: Sequence[_Point], c: int, off: float, name: str, *, upright: bool
) -> None:
    """Draw one class: lines between points that are joined, marks, intervals."""
    look = curve(Look(c))
    told = _draw_line(ax, points, c, off, {"label": name, **look}, upright=upright)
    at = np.array([place for place, _ in told])
    bars = np.array([p.values[:, c] for _, p in told])  # type: ignore[index]
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


def _draw_line(
    ax: Axes, points: Sequence[_Point], c: int, off: float, look: dict[str, Any], *, upright: bool
) -> list[tuple[float, _Point]]:
    """Draw the line of a class, with gaps where points are not joined; give points with places."""
    told = [(place + off, p) for place, p in enumerate(points) if p.values is not None]
    places: list[float] = []
    values: list[float] = []
    for place, point in told:
        if places and not point.joined:  # a gap
            places.append(place)
            values.append(np.nan)
        places.append(place)
        values.append(float(point.values[0, c]))  # type: ignore[index]
    ax.plot(*((places, values) if upright else (values, places)), **look)
    return told


def _tidy(ax: Axes, points: Sequence[_Point], title: str, *, upright: bool) -> None:
    """Name the answers, and put the axis of probabilities from 0 to 1."""
    names = ["\n".join(_wrapped(p.name)) for p in points]
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
            text.set_fontweight("bold")
    ax.set_ylim(len(points) - 0.4, -0.6)
    ax.set_xlim(-0.02, 1.02)
    ax.set_xlabel(title, fontsize=SMALL)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", **grid)


def _wrapped(name: str) -> list[str]:
    """Break a long name between words, and say where it goes on."""
    lines = wrap(name, NAME) or [""]
    if len(lines) > LINES:
        lines = [*lines[: LINES - 1], lines[LINES - 1] + "…"]
    return lines
