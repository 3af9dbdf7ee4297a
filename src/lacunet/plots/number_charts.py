"""Numbers by class: the density of one, and the rows in the plane of two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lacunet.charts.style import PRINT, Look
from lacunet.errors import OptionError
from lacunet.fitting.fit import Fit
from lacunet.models.network import Model
from lacunet.plots.door import SMALL, axes, curve
from lacunet.plots.profile_charts import profiles_of
from lacunet.summaries.number_profiles import NumberProfile, pair_rings
from lacunet.summaries.profiles import Profiles

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RINGS = (1.0, 2.0)  # standard deviations of ellipses


def plot_densities(
    fit: Fit | Model, number: str, ax: Axes | None = None, *, hidden: str | None = None
) -> Axes:
    """Draw the density of a number in each class; of counts and ordered answers, probabilities.

    Parameters
    ----------
    fit
        A fit, or a model.
    number
        A column of numbers.
    ax
        Where to draw (default: a new figure, one column wide).
    hidden
        The hidden variable (default: the first one).
    """
    profiles = profiles_of(fit, hidden)
    told = _number(profiles, number)
    ax = axes(ax)
    slope = 1.0 if told.whole else np.gradient(told.values, told.places)
    for k, state in enumerate(profiles.states):
        look = curve(Look(k)) if told.whole else {**curve(Look(k)), "marker": ""}
        ax.plot(told.values, told.density[k] / slope, label=f"{profiles.name} {state}", **look)
    if told.of_logarithm:
        ax.set_xscale("log")
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel(told.name, fontsize=SMALL)
    ax.set_ylabel("probability" if told.whole else "density", fontsize=SMALL)
    ax.legend(frameon=False)
    return ax


def plot_pair(fit: Fit, first: str, second: str, ax: Axes | None = None) -> Axes:
    """Draw the rows of a fit in the plane of two numbers, each in the colour of its class.

    Ellipses are one and two standard deviations around the means of the classes. Rows that miss one
    of the numbers are not drawn.

    Parameters
    ----------
    fit
        A fit of a latent class model.
    first, second
        Columns of numbers: across, and up.
    ax
        Where to draw (default: a new figure, one column wide).
    """
    profiles = profiles_of(fit, None)
    told = [_number(profiles, name) for name in (first, second)]
    problem, network = fit.problem, fit.problem.network
    columns = [network.observed.index(network.index(n.name)) for n in told]
    both = (problem.codes[:, columns] >= 0).all(axis=1)
    values = [
        np.asarray(network.variables[network.index(n.name)].states)[problem.codes[both, j]]
        for n, j in zip(told, columns, strict=True)
    ]
    mine = problem.about_hidden(fit.model.theta)[0][both].argmax(axis=1)
    ax, rings = axes(ax), pair_rings(fit.model, *told)
    for k, state in enumerate(profiles.states):
        colour = PRINT.curves[Look(k).colour]
        across, up = (x[mine == k] for x in values)
        ax.scatter(across, up, s=5.0, color=colour, linewidths=0.0, alpha=0.5)
        centre = [n.as_places(n.mean[k]) for n in told]
        for r in RINGS:
            around = (
                n.as_values(c + r * steps)
                for n, c, steps in zip(told, centre, rings[k], strict=True)
            )
            line = {**curve(Look(k)), "marker": ""}
            name = f"{profiles.name} {state}" if r == RINGS[0] else None
            ax.plot(*around, label=name, **line)
    for n, set_scale in zip(told, (ax.set_xscale, ax.set_yscale), strict=True):
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
