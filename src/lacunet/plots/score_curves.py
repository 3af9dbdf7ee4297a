"""Evidence and probability of the candidates of a selection."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lacunet.data.audit import shorten
from lacunet.errors import OptionError
from lacunet.plots.door import COLOURS, SMALL, SMALLER, axes, look
from lacunet.search.average import Labellings
from lacunet.search.candidates import Selection
from lacunet.search.grids import TITLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME = 24  # characters of the name of a network
WITH_LEGEND = (3.4, 3.1)  # inches
BAR = 0.38  # width of a bar, where candidates are 1 apart


def plot_evidence(
    selection: Selection,
    ax: Axes | None = None,
    *,
    scores: Sequence[str] | None = None,
    span: float | None = None,
    legend: bool = True,
) -> Axes:
    """Draw the log evidence of every candidate by every score; an open ring is a score's choice.

    Parameters
    ----------
    selection
        What `select` or `compare` returns.
    ax
        Where to draw (default: a new figure, one column wide).
    scores
        Names of the scores (default: all that every candidate has).
    span
        Show only so many nats below the highest value; a model that is far too small otherwise
        squeezes all others together.
    legend
        Whether to name the curves.
    """
    alone, ax = ax is None, axes(ax, WITH_LEGEND)
    known = [s.name for s in selection.scores]
    places = range(len(selection.candidates))
    names = known if scores is None else list(scores)
    for i, name in enumerate(names):
        if name not in known:
            raise OptionError(f"'{name}' is no score of this selection: it has {known}.")
        each = [c.scores[name] for c in selection.candidates]
        values = [e.value for e in each]
        style = look(i)
        ax.plot(places, values, label=TITLES[name], **style)
        if any(e.stderr for e in each):
            errors = [e.stderr or 0.0 for e in each]
            colour = style["color"]
            ax.errorbar(places, values, errors, fmt="none", ecolor=colour, capsize=2, lw=0.8)
        chosen = [
            j for j, c in enumerate(selection.candidates) if c.label == selection.chosen[name]
        ]
        if chosen:
            ring: dict[str, Any] = {"marker": "o", "markersize": 7, "fillstyle": "none"}
            ax.plot(chosen, [values[chosen[0]]], color=style["color"], markeredgewidth=0.8, **ring)
    if span is not None:
        top = max(v for name in names for v in selection.values(name).values() if v == v)
        ax.set_ylim(top - span, top + 0.05 * span)
    _name_candidates(selection, ax)
    ax.set_ylabel("log evidence (nats)", fontsize=SMALL)
    if legend:
        how: dict[str, Any] = {"fontsize": SMALLER, "frameon": False, "handlelength": 2.2}
        if alone:  # the figure is ours: there is room below for as many names as it takes
            ax.figure.legend(loc="outside lower center", ncols=2, **how)
        else:
            ax.legend(**how)
    return ax


def plot_posterior(
    selection: Selection,
    ax: Axes | None = None,
    *,
    score: str | None = None,
    labellings: bool = True,
    legend: bool = True,
) -> Axes:
    """Draw the probability of every candidate, plain and with log k! for equal labellings.

    Parameters
    ----------
    selection
        What `select` or `compare` returns.
    ax
        Where to draw (default: a new figure, one column wide).
    score
        The score to go by (default: that of the answer).
    labellings
        Whether to draw the second bar, where it differs.
    legend
        Whether to name the bars.
    """
    ax = axes(ax)
    bars = {"plain": selection.posterior(score)}
    other = selection.posterior(score, Labellings.ALL)
    if labellings and other != bars["plain"]:
        bars["with log k!"] = other
    width = BAR if len(bars) > 1 else 2 * BAR
    for i, (name, chances) in enumerate(bars.items()):
        left = [j + (i - (len(bars) - 1) / 2) * width for j in range(len(chances))]
        heights = [0.0 if math.isnan(p) else p for p in chances.values()]
        ax.bar(
            left, heights, width, color=COLOURS[i], label=name, hatch=("", "////")[i], ec="white"
        )
    _name_candidates(selection, ax)
    ax.set_ylim(0.0, 1.0)
    ax.set_ylabel(f"probability by {TITLES[score or selection.headline]}", fontsize=SMALL)
    if legend and len(bars) > 1:
        ax.legend(fontsize=SMALLER, frameon=False)
    return ax


def _name_candidates(selection: Selection, ax: Axes) -> None:
    labels = [shorten(str(c.label), NAME) for c in selection.candidates]
    numbers = all(isinstance(c.label, int) for c in selection.candidates)
    ax.set_xticks(range(len(labels)), labels, rotation=0 if numbers else 30)
    if numbers:
        ax.set_xlabel("hidden states", fontsize=SMALL)
    else:
        for text in ax.get_xticklabels():
            text.set(horizontalalignment="right", rotation_mode="anchor")
