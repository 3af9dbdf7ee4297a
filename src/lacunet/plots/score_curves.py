"""Figures of the evidence and the posterior probabilities of a selection."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lacunet.data.discover import shorten
from lacunet.errors import OptionError
from lacunet.plots.figures import POINTS, SMALL, SMALLER, axes, curve, level_lines
from lacunet.plots.style import (
    AXIS,
    CAP,
    ERROR_LINE,
    LINE,
    PLAIN,
    PRINT,
    RING,
    Series,
    by_number,
    errors_of,
    posteriors,
    score_series,
)
from lacunet.selection.grids import TITLES
from lacunet.selection.result import Selection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME = 24  # most characters of the name of a network
WITH_LEGEND = (3.4, 3.1)  # inches
BAR = 0.38  # width of a bar; candidates are 1 apart
ERROR_BAR: Any = {"fmt": "none", "capsize": POINTS * CAP, "linewidth": POINTS * ERROR_LINE}
RING_SIZES = {"markersize": 2 * POINTS * RING, "markeredgewidth": POINTS * LINE}
OPEN_RING: Any = {"marker": "o", "fillstyle": "none", **RING_SIZES}


def plot_evidence(
    selection: Selection,
    ax: Axes | None = None,
    *,
    scores: Sequence[str] | None = None,
    span: float | None = None,
    legend: bool = True,
) -> Axes:
    """Draw the log evidence of every candidate by every score; open rings mark the best ones.

    Parameters
    ----------
    selection
        The result of `select` or `compare`.
    ax
        Axes to draw on (default: a new figure, one column wide).
    scores
        Names of the scores (default: those of all candidates).
    span
        Range of the axis below the highest value, in nats; a model that is far too small otherwise
        compresses the rest.
    legend
        Whether to draw a legend of the scores.
    """
    alone, ax = ax is None, axes(ax, WITH_LEGEND)
    known = [s.name for s in selection.scores]
    unknown = [name for name in scores or () if name not in known]
    if unknown:
        raise OptionError(f"'{unknown[0]}' is not a score of this selection: it has {known}.")
    curves = score_series(selection, known if scores is None else scores)
    draw_curves(ax, range(len(selection.candidates)), curves)
    if span is not None:
        top = max(v for curve in curves for v in curve.known)
        ax.set_ylim(top - span, top + 0.05 * span)
    _name_candidates(selection, ax)
    ax.set_ylabel(AXIS, fontsize=SMALL)
    if legend:
        options: dict[str, Any] = {"fontsize": SMALLER, "frameon": False, "handlelength": 2.6}
        if alone:  # a new figure has room for a long legend
            ax.figure.legend(loc="outside lower center", ncols=2, **options)
        else:
            ax.legend(**options)
    return ax


def draw_curves(ax: Axes, places: Sequence[float], curves: Sequence[Series]) -> None:
    """Draw scores over positions; an open ring marks the best candidate by a score."""
    level_lines(ax)
    for s in curves:
        look = curve(s.look, main=s.main)
        ax.plot(places, s.values, label=s.title, **look)
        same = {"color": look["color"], "zorder": look["zorder"]}
        if any(s.errors):
            errors = [e or 0.0 for e in s.errors]
            ax.errorbar(places, s.values, errors, **ERROR_BAR, **same)
        if s.chosen is not None:
            ax.plot([places[s.chosen]], [s.values[s.chosen]], **OPEN_RING, **same)


def plot_posterior(
    selection: Selection,
    ax: Axes | None = None,
    *,
    score: str | None = None,
    labellings: bool = True,
    legend: bool = True,
) -> Axes:
    """Draw the probability of every candidate, plain and with log k! for equal labellings.

    Error bars show one standard error if the evidence was measured.

    Parameters
    ----------
    selection
        The result of `select` or `compare`.
    ax
        Axes to draw on (default: a new figure, one column wide).
    score
        Name of the score (default: that of the answer).
    labellings
        Whether to draw the bars with log k!, if they differ.
    legend
        Whether to draw a legend of the bars.
    """
    ax, bars = axes(ax), posteriors(selection, score)
    if not labellings:
        bars = {PLAIN: bars[PLAIN]}
    width = BAR if len(bars) > 1 else 2 * BAR
    errors = [e or 0.0 for e in errors_of(selection, score).values()]
    colours = (PRINT.page["shade"], PRINT.page["hole"])
    for i, (name, chances) in enumerate(bars.items()):
        left = [j + (i - (len(bars) - 1) / 2) * width for j in range(len(chances))]
        heights = [0.0 if math.isnan(p) else p for p in chances.values()]
        style: dict[str, Any] = {
            "color": colours[i],
            "hatch": ("", "////")[i],
            "edgecolor": "white",
        }
        ax.bar(left, heights, width, label=name, **style)
        if i == 0 and any(errors):
            ax.errorbar(left, heights, errors, **ERROR_BAR, color=PRINT.page["ink"])
    level_lines(ax)
    _name_candidates(selection, ax)
    ax.set_ylim(0.0, 1.0)
    ax.set_ylabel(f"probability by {TITLES[score or selection.headline]}", fontsize=SMALL)
    if legend and len(bars) > 1:
        ax.legend(fontsize=SMALLER, frameon=False)
    return ax


def _name_candidates(selection: Selection, ax: Axes) -> None:
    labels = [shorten(str(c.label), NAME) for c in selection.candidates]
    numbers = by_number(selection)
    ax.set_xticks(range(len(labels)), labels, rotation=0 if numbers else 30)
    if numbers:
        ax.set_xlabel(selection.unit, fontsize=SMALL)
    else:
        for text in ax.get_xticklabels():
            text.set(horizontalalignment="right", rotation_mode="anchor")
