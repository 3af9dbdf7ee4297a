"""Figures of a network, of class profiles as a heat map, and of numbers by class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from lacunet.api.inputs import as_network
from lacunet.charts.network import Arrow, Box, Certainty, draw
from lacunet.charts.network.drawing import CORNER, LEADING, Curve
from lacunet.charts.network.layout import ROOM
from lacunet.charts.style import EDGE, PRINT, TEXT, Look, edge_style, shading
from lacunet.data.discover import shorten
from lacunet.errors import OptionError
from lacunet.fitting.fit import Fit
from lacunet.models.ensemble import NetworkLike
from lacunet.models.network import Model
from lacunet.plots.door import POINTS, SMALL, SMALLER, THIN, axes, curve, load
from lacunet.structure.learned import Learned
from lacunet.summaries.profiles import Answers, NumberProfile, Profiles, pair_ellipses, profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INCH = 72.0  # points
INK = PRINT.page["soft"]


def network(
    of: NetworkLike | Fit | Learned,
    ax: Axes | None = None,
    *,
    certainty: Certainty | None = None,
    room: float = ROOM,
) -> Axes:
    """Draw a network: a box for each variable, an arrow from each parent to its child.

    Hidden variables have round boxes with dashed borders. Reversible edges of a learned graph have
    open heads.

    Parameters
    ----------
    of
        A network, a model, a fit, a learned graph, or the path of a network file.
    ax
        Axes to draw on (default: a new figure of the required size).
    certainty
        Probabilities of edges, ``{("parent", "child"): 0.9}``: more probable edges are broader and
        darker.
    room
        Largest width before leaves are stacked in columns, or layers run from left to right; a name
        of ten letters takes about 90.
    """
    compelled, structure = None, of
    if isinstance(of, Learned):
        compelled, structure = of.equivalence_class.compelled, of.network
    elif isinstance(of, Fit):
        structure = of.model
    drawing = draw(as_network(structure), certainty, compelled, room)
    size = POINTS / INCH * drawing.width, POINTS / INCH * drawing.height
    ax = axes(ax, size)
    ax.set_axis_off()
    ax.set_xlim(-1.0, drawing.width + 1.0)
    ax.set_ylim(drawing.height + 1.0, -1.0)
    ax.set_aspect("equal")
    # Points on paper per pixel of the drawing; at most the scale of texts in plots.
    wide, tall = ax.bbox.width / ax.figure.dpi, ax.bbox.height / ax.figure.dpi
    scale = min(POINTS, INCH * wide / drawing.width, INCH * tall / drawing.height)
    for trunk in drawing.trunks:
        _add_curve(ax, trunk, scale * EDGE[1], 1.0)
    for arrow in drawing.arrows:
        _add_arrow(ax, arrow, scale)
    for box in drawing.boxes:
        _add_box(ax, box, scale)
    return ax


def _add_curve(ax: Axes, curve: Curve, width: float, opacity: float) -> None:
    path = load("path").Path
    codes = [path.MOVETO, *[path.CURVE4] * (len(curve) - 1)]
    look: dict[str, Any] = {"edgecolor": INK, "linewidth": width, "alpha": opacity}
    ax.add_patch(load("patches").PathPatch(path(curve, codes), fill=False, **look))


def _add_arrow(ax: Axes, arrow: Arrow, scale: float) -> None:
    width, opacity = edge_style(arrow.certainty)
    _add_curve(ax, arrow.curve, scale * width, opacity)
    look: dict[str, Any] = {"edgecolor": INK, "linewidth": scale, "alpha": opacity}
    inside = PRINT.page["paper"] if arrow.turns else INK
    head = load("patches").Polygon(arrow.head, closed=True, facecolor=inside, **look)
    ax.add_patch(head)


def _add_box(ax: Axes, box: Box, scale: float) -> None:
    corner = box.height / 2 if box.hidden else CORNER
    look: dict[str, Any] = {
        "facecolor": PRINT.page["tint" if box.hidden else "faint"],
        "edgecolor": PRINT.page["accent"] if box.hidden else INK,
        "linestyle": (0, (4, 2.5)) if box.hidden else "-",
        "linewidth": 1.5 * THIN if box.hidden else THIN,
    }
    style = f"round,pad=0,rounding_size={corner}"
    patch = load("patches").FancyBboxPatch
    ax.add_patch(patch((box.left, box.top), box.width, box.height, boxstyle=style, **look))
    ax.text(
        box.x,
        box.y,
        "\n".join(line.replace("$", r"\$") for line in box.lines),
        ha="center",
        va="center_baseline" if len(box.lines) == 1 else "center",
        fontsize=scale * TEXT,
        linespacing=LEADING,
        color=PRINT.page["accent"] if box.hidden else PRINT.page["ink"],
        style="italic" if box.hidden else "normal",
    )


NAME = 34  # most characters of a row label
ROW, WIDE, EDGES = 0.17, 3.4, 0.7  # inches


def plot_profiles(
    fit: Fit | Model,
    ax: Axes | None = None,
    *,
    hidden: str | None = None,
    most: int = 20,
    numbers: bool = True,
) -> Axes:
    """Draw p(answer | class) as a heat map, starting with the variables that separate best.

    A variable with two states has one row, for the second state. A number has a row of class means;
    darker cells are higher above the overall mean.

    Parameters
    ----------
    fit
        A fit, or a model.
    ax
        Axes to draw on (default: a new figure, one column wide).
    hidden
        The hidden variable (default: the first one).
    most
        Largest number of variables.
    numbers
        Whether to write the probabilities and means on the cells.
    """
    profiles = profiles_of(fit, hidden)
    every: list[Answers | NumberProfile] = [*profiles.answers, *profiles.numbers]
    every.sort(key=lambda one: -one.information)
    rows = [row for one in every[:most] for row in _rows(one)]
    names, shades, texts = zip(*rows, strict=True)
    cells = np.array(shades)
    ax = axes(ax, (WIDE, EDGES + ROW * len(rows)))
    blend = load("colors").LinearSegmentedColormap.from_list
    heat = blend("heat", [PRINT.page["faint"], PRINT.page["heat"]])
    ax.pcolormesh(cells, cmap=heat, vmin=0.0, vmax=1.0, edgecolors="white", linewidth=1.2)
    if numbers:
        middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": SMALLER - 1.0}
        for y, row in enumerate(texts):
            for x, text in enumerate(row):
                ax.text(x + 0.5, y + 0.5, text, color=PRINT.page["low"], **middle)
    classes = zip(profiles.states, profiles.sizes, strict=True)
    sizes = [f"{profiles.name} {state}\n{p:.0%}" for state, p in classes]
    ax.set_xticks(np.arange(len(sizes)) + 0.5, sizes, fontsize=SMALLER)
    ax.set_yticks(np.arange(len(names)) + 0.5, names, fontsize=SMALLER)
    ax.tick_params(length=0)
    ax.xaxis.tick_top()
    ax.invert_yaxis()
    ax.spines[:].set_visible(False)
    return ax


def profiles_of(fit: Fit | Model, hidden: str | None) -> Profiles:
    """Return the profiles of a hidden variable (default: the first one)."""
    model = fit.model if isinstance(fit, Fit) else fit
    names = {model.network.variables[h].name: h for h in model.network.hidden}
    if not names:
        raise OptionError("the model has no hidden variable, so there are no profiles.")
    if hidden is not None and hidden not in names:
        raise OptionError(f"'{hidden}' is no hidden variable of the model: it has {list(names)}.")
    return profile(model, names[hidden] if hidden else model.network.hidden[0])


def _rows(one: Answers | NumberProfile) -> Iterator[tuple[str, list[float], list[str]]]:
    """Yield the label, the shades and the texts of each row of the heat map."""
    if isinstance(one, NumberProfile):
        means = [f"{x:.4g}" for x in one.mean[:-1].tolist()]
        yield shorten(f"{one.name}: {one.titles[0]}", NAME), shading(one)[:-1].tolist(), means
        return
    for k in range(1 if len(one.states) == 2 else 0, len(one.states)):
        given: list[float] = one.given[:, k].tolist()
        yield shorten(f"{one.name} = {one.states[k]}", NAME), given, [f"{p:.2f}" for p in given]


def plot_densities(
    fit: Fit | Model, number: str, ax: Axes | None = None, *, hidden: str | None = None
) -> Axes:
    """Draw the density of a number in each class; for counts and ordered answers, probabilities.

    Parameters
    ----------
    fit
        A fit, or a model.
    number
        Name of a numeric column.
    ax
        Axes to draw on (default: a new figure, one column wide).
    hidden
        The hidden variable (default: the first one).
    """
    profiles = profiles_of(fit, hidden)
    n = _number(profiles, number)
    ax = axes(ax)
    slope = 1.0 if n.whole else np.gradient(n.values, n.places)
    for k, state in enumerate(profiles.states):
        look = curve(Look(k)) if n.whole else {**curve(Look(k)), "marker": ""}
        ax.plot(n.values, n.density[k] / slope, label=f"{profiles.name} {state}", **look)
    if n.of_logarithm:
        ax.set_xscale("log")
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel(n.name, fontsize=SMALL)
    ax.set_ylabel("probability" if n.whole else "density", fontsize=SMALL)
    ax.legend(frameon=False)
    return ax


def plot_pair(fit: Fit, first: str, second: str, ax: Axes | None = None) -> Axes:
    """Draw the rows of a fit in the plane of two numbers, coloured by most probable class.

    Ellipses mark one and two standard deviations around the class means. Rows in which one of the
    numbers is missing are omitted.

    Parameters
    ----------
    fit
        A fit of a latent class model.
    first, second
        Names of numeric columns: horizontal and vertical axis.
    ax
        Axes to draw on (default: a new figure, one column wide).
    """
    profiles = profiles_of(fit, None)
    pair = [_number(profiles, name) for name in (first, second)]
    problem, network = fit.problem, fit.problem.network
    columns = [network.observed.index(network.index(n.name)) for n in pair]
    both = (problem.codes[:, columns] >= 0).all(axis=1)
    values = [
        np.asarray(network.variables[network.index(n.name)].states)[problem.codes[both, j]]
        for n, j in zip(pair, columns, strict=True)
    ]
    mine = problem.about_hidden(fit.model.theta)[0][both].argmax(axis=1)
    ax, ellipses = axes(ax), pair_ellipses(fit.model, *pair)
    for k, state in enumerate(profiles.states):
        colour = PRINT.curves[Look(k).colour]
        across, up = (x[mine == k] for x in values)
        ax.scatter(across, up, s=5.0, color=colour, linewidths=0.0, alpha=0.5)
        for r, ellipse in enumerate(ellipses[k]):
            around = (n.as_values(places) for n, places in zip(pair, ellipse, strict=True))
            name = None if r else f"{profiles.name} {state}"
            ax.plot(*around, label=name, **{**curve(Look(k)), "marker": ""})
    for n, set_scale in zip(pair, (ax.set_xscale, ax.set_yscale), strict=True):
        if n.of_logarithm:
            set_scale("log")
    ax.set_xlabel(first, fontsize=SMALL)
    ax.set_ylabel(second, fontsize=SMALL)
    ax.legend(frameon=False)
    return ax


def _number(profiles: Profiles, name: str) -> NumberProfile:
    names = [n.name for n in profiles.numbers]
    if name not in names:
        raise OptionError(f"'{name}' is no column of numbers of the model: it has {names}.")
    return profiles.numbers[names.index(name)]
