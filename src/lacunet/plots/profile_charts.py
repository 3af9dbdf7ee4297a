"""Class profiles as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lacunet.charts.shading import shading
from lacunet.charts.style import PRINT
from lacunet.data.audit import shorten
from lacunet.errors import OptionError
from lacunet.fitting.fit import Fit
from lacunet.models.network import Model
from lacunet.plots.door import SMALLER, axes, load
from lacunet.summaries.number_profiles import NumberProfile
from lacunet.summaries.profiles import Answers, Profiles, profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME = 34  # characters of the name of an answer
ROW, WIDE, EDGES = 0.17, 3.4, 0.7  # inches


def plot_profiles(
    fit: Fit | Model,
    ax: Axes | None = None,
    *,
    hidden: str | None = None,
    most: int = 20,
    numbers: bool = True,
) -> Axes:
    """Draw p(answer | class) as a heat map, the variables that separate the classes most first.

    Of a variable with two states only the second is drawn; the first has the rest. Of a number it
    is the mean, the darker the higher above that of everybody.

    Parameters
    ----------
    fit
        A fit, or a model.
    ax
        Where to draw (default: a new figure, one column wide).
    hidden
        The hidden variable (default: the first one).
    most
        How many variables to draw.
    numbers
        Whether to write the probabilities and means on the cells.
    """
    profiles = profiles_of(fit, hidden)
    told: list[Answers | NumberProfile] = [*profiles.answers, *profiles.numbers]
    told.sort(key=lambda one: -one.information)
    rows = [row for one in told[:most] for row in _rows(one)]
    names, cells = [row.name for row in rows], np.array([row.shades for row in rows])
    ax = axes(ax, (WIDE, EDGES + ROW * len(rows)))
    blend = load("colors").LinearSegmentedColormap.from_list
    heat = blend("heat", [PRINT.page["faint"], PRINT.page["heat"]])
    ax.pcolormesh(cells, cmap=heat, vmin=0.0, vmax=1.0, edgecolors="white", linewidth=1.2)
    if numbers:
        for y, row in enumerate(rows):
            middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": SMALLER - 1.0}
            for x, text in enumerate(row.texts):
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
    """Give the profiles of a hidden variable, of the first one without a name."""
    model = fit.model if isinstance(fit, Fit) else fit
    names = {model.network.variables[h].name: h for h in model.network.hidden}
    if not names:
        raise OptionError("the model has no hidden variable, so there are no profiles.")
    if hidden is not None and hidden not in names:
        raise OptionError(f"'{hidden}' is no hidden variable of the model: it has {list(names)}.")
    return profile(model, names[hidden] if hidden else model.network.hidden[0])


class _Row(NamedTuple):
    """A row of the heat map: what it is of, how dark its cells are, what stands on them."""

    name: str
    shades: list[float]
    texts: list[str]


def _rows(told: Answers | NumberProfile) -> list[_Row]:
    if isinstance(told, NumberProfile):
        name = shorten(f"{told.name}: {told.titles[0]}", NAME)
        means = [f"{x:.4g}" for x in told.mean[:-1].tolist()]
        return [_Row(name, shading(told)[:-1].tolist(), means)]
    shown = list(zip(told.states, told.given.T.tolist(), strict=True))
    if len(shown) == 2:
        del shown[0]
    return [
        _Row(shorten(f"{told.name} = {state}", NAME), given, [f"{p:.2f}" for p in given])
        for state, given in shown
    ]
