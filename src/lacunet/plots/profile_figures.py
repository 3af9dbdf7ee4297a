"""Figures of class profiles as a heat map, and of numbers by class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lacunet.data.discover import shorten
from lacunet.errors import OptionError
from lacunet.fitting.fit import Fit
from lacunet.models.network import Model
from lacunet.plots.figures import SMALL, SMALLER, axes, curve, load, round_numbers
from lacunet.plots.style import MOST_TICKS, PRINT, Look, shading
from lacunet.summaries.profiles import Answers, NumberProfile, Profiles, pair_ellipses, profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME = 34  # most characters of a row label
ROW, WIDE, EDGES = 0.17, 3.4, 0.7  # inches
WIDE_RANGE = 100.0  # ratio of the ends of a logarithmic axis above which powers of 10 are enough


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
                ax.text(x + 0.5, y + 0.5, text, color="black", **middle)
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
        raise OptionError(
            f"'{hidden}' is not a hidden variable of the model: it has {list(names)}."
        )
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
    n, ax = _number(profiles, number), axes(ax)
    draw_densities(ax, n, profiles)
    ax.legend(frameon=False)
    return ax


def draw_densities(ax: Axes, n: NumberProfile, profiles: Profiles) -> None:
    """Draw the density of a number in each state."""
    slope = 1.0 if n.whole else np.gradient(n.values, n.places)
    for k, state in enumerate(profiles.states):
        look = curve(Look(k)) if n.whole else {**curve(Look(k)), "marker": ""}
        ax.plot(n.values, n.density[k] / slope, label=f"{profiles.name} {state}", **look)
    _scale(ax, n)
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel(n.name, fontsize=SMALL)
    ax.set_ylabel("probability" if n.whole else "density", fontsize=SMALL)


def _scale(ax: Axes, n: NumberProfile, along: Literal["x", "y"] = "x") -> None:
    """Choose the scale and the ticks of the axis of a number."""
    axis = ax.xaxis if along == "x" else ax.yaxis
    if not n.of_logarithm:
        round_numbers(axis, whole=n.whole)
        return
    (ax.set_xscale if along == "x" else ax.set_yscale)("log")
    ticker = load("ticker")
    low, high = axis.get_view_interval()
    steps = [1.0, 2.0, 5.0] if high < WIDE_RANGE * low else [1.0]
    axis.set_major_locator(ticker.LogLocator(subs=steps, numticks=MOST_TICKS))
    axis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f"{x:.6g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


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
    ax = axes(ax)
    for k in range(len(profiles.states)):
        across, up = (x[mine == k] for x in values)
        look: dict[str, Any] = {"color": PRINT.curves[Look(k).colour], "linewidths": 0.0}
        ax.scatter(across, up, s=5.0, alpha=0.5, **look)
    draw_ellipses(ax, fit.model, pair, profiles)
    ax.legend(frameon=False)
    return ax


def draw_ellipses(
    ax: Axes, model: Model, pair: Sequence[NumberProfile], profiles: Profiles
) -> None:
    """Draw ellipses of two numbers, one and two standard deviations around the class means."""
    ellipses = pair_ellipses(model, *pair)
    for k, state in enumerate(profiles.states):
        for r, ellipse in enumerate(ellipses[k]):
            around = (n.as_values(places) for n, places in zip(pair, ellipse, strict=True))
            name = None if r else f"{profiles.name} {state}"
            ax.plot(*around, label=name, **{**curve(Look(k)), "marker": ""})
    _scale(ax, pair[0])
    _scale(ax, pair[1], "y")
    ax.set_xlabel(pair[0].name, fontsize=SMALL)
    ax.set_ylabel(pair[1].name, fontsize=SMALL)


def _number(profiles: Profiles, name: str) -> NumberProfile:
    names = [n.name for n in profiles.numbers]
    if name not in names:
        raise OptionError(f"'{name}' is not a column of numbers of the model: it has {names}.")
    return profiles.numbers[names.index(name)]
