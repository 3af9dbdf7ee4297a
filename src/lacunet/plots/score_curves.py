"""Figures of a selection: the evidence and the posterior probability of every candidate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lacunet.data.discover import shorten
from lacunet.errors import OptionError
from lacunet.plots.figures import (
    LEGEND,
    POINTS,
    SMALL,
    axes,
    curve,
    legend_below,
    level_lines,
)
from lacunet.plots.style import CAP, ERROR_LINE, LINE, PRINT, RING, Look
from lacunet.selection.average import Label, Labellings
from lacunet.selection.grids import TITLES
from lacunet.selection.result import Selection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME = 24  # most characters of the name of a network
WIDTH = 3.4  # inches
LEGEND_ROW, NAME_ROW = 0.16, 0.24  # inches of a row of the legend, and of a network
NUMBERS = 12  # most numbers on the axis
BAR = 0.38  # width of a bar; candidates are 1 apart
ERROR_BAR: Any = {"fmt": "none", "capsize": POINTS * CAP, "linewidth": POINTS * ERROR_LINE}
RING_SIZES = {"markersize": 2 * POINTS * RING, "markeredgewidth": POINTS * LINE}
OPEN_RING: Any = {"marker": "o", "fillstyle": "none", **RING_SIZES}
PLAIN = Labellings.PLAIN.value


@dataclass(frozen=True)
class Series:
    """One score of every candidate."""

    title: str
    values: tuple[float, ...]  # NaN: the score failed or was not computed
    errors: tuple[float | None, ...]  # standard errors
    chosen: int | None  # index of the best candidate
    look: Look
    main: bool = False  # whether it is the headline score
    left_out: frozenset[int] = frozenset()  # candidates without this score: too far behind

    def failed(self, candidate: int) -> bool:
        """Whether the computation for a candidate failed."""
        return math.isnan(self.values[candidate]) and candidate not in self.left_out

    @property
    def known(self) -> list[float]:
        """The finite values."""
        return [v for v in self.values if math.isfinite(v)]


def ranked(selection: Selection) -> list[str]:
    """Name the scores common to all candidates, the headline score first."""
    return sorted((s.name for s in selection.scores), key=lambda n: n != selection.headline)


def score_series(selection: Selection, names: Sequence[str]) -> tuple[Series, ...]:
    """Return a curve for each of the named scores.

    The headline score has the first style, so that it looks the same in every chart.
    """
    every = ranked(selection)
    labels = [c.label for c in selection.candidates]
    curves = []
    for name in names:
        values = selection.values(name).values()
        each = [c.scores.get(name) for c in selection.candidates]
        chosen = selection.chosen[name]
        curves.append(
            Series(
                TITLES[name],
                tuple(v if math.isfinite(v) else math.nan for v in values),
                tuple(e.stderr if e else None for e in each),
                None if chosen is None else labels.index(chosen),
                Look(every.index(name)),
                name == selection.headline,
                frozenset(i for i, e in enumerate(each) if e is None),
            )
        )
    return tuple(curves)


def posteriors(selection: Selection, score: str | None = None) -> dict[str, dict[Label, float]]:
    """Return the probabilities of the candidates by each distinct count of labellings."""
    ways = {way.value: selection.posterior(score, way) for way in Labellings}
    plain, labelled = ways.values()
    return {PLAIN: plain} if plain == labelled else ways


def by_number(selection: Selection) -> bool:
    """Whether candidates are numbers of states, so that a curve is meaningful."""
    return all(isinstance(c.label, int) for c in selection.candidates)


def size_of(selection: Selection, scores: int = 0) -> tuple[float, float]:
    """Return width and height of a figure, in inches, with a legend of some scores."""
    names = 0 if by_number(selection) else len(selection.candidates)
    tall = max(1.2, 0.7 + NAME_ROW * names) if names else 2.2
    return WIDTH, tall + LEGEND_ROW * ((scores + 1) // 2)


def plot_evidence(
    selection: Selection,
    ax: Axes | None = None,
    *,
    scores: Sequence[str] | None = None,
    span: float | None = None,
    legend: bool = True,
) -> Axes:
    """Draw the log evidence of every candidate by every score; open rings mark the best ones.

    Numbers of classes run from left to right, named networks from top to bottom.

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
    known = [s.name for s in selection.scores]
    unknown = [name for name in scores or () if name not in known]
    if unknown:
        raise OptionError(f"'{unknown[0]}' is not a score of this selection: it has {known}.")
    curves = score_series(selection, known if scores is None else scores)
    alone, ax = ax is None, axes(ax, size_of(selection, len(curves)))
    named = not by_number(selection)
    draw_curves(ax, range(len(selection.candidates)), curves, across=named)
    if span is not None:
        top = max(v for curve in curves for v in curve.known)
        zoom(ax, (top - span, top + 0.05 * span), across=named)
    _name_candidates(selection, ax, "log evidence (nats)")
    if legend and alone:  # a new figure has room for a long legend
        legend_below(ax, 2)
    elif legend:
        ax.legend(**LEGEND)
    return ax


def zoom(ax: Axes, limits: tuple[float, float], *, across: bool) -> None:
    """Set the range of values."""
    (ax.set_xlim if across else ax.set_ylim)(*limits)


def draw_curves(
    ax: Axes, places: Sequence[float], curves: Sequence[Series], *, across: bool = False
) -> None:
    """Draw scores over positions; an open ring marks the best candidate by a score.

    `across` draws values from left to right, as marks that no line joins.
    """
    level_lines(ax, "x" if across else "y")
    for s in curves:
        look = curve(s.look, main=s.main) | ({"linestyle": "none"} if across else {})
        same = {"color": look["color"], "zorder": look["zorder"]}
        ends = (s.values, places) if across else (places, s.values)
        ax.plot(*ends, label=s.title, **look)
        if any(s.errors):
            _error_bars(ax, ends, [e or 0.0 for e in s.errors], across=across, **same)
        if s.chosen is not None:
            ax.plot(*([end[s.chosen]] for end in ends), **OPEN_RING, **same)


def _error_bars(ax: Axes, ends: Any, errors: list[float], *, across: bool, **look: Any) -> None:
    """Draw standard errors of the values, which run from left to right or upwards."""
    both = {"xerr": errors} if across else {"yerr": errors}
    options: dict[str, Any] = {**both, **ERROR_BAR, **look}
    ax.errorbar(*ends, **options)


# The near view reaches 10 nats below the best value, or down to the fourth-best candidate if lower.
LEAST_REACH = 10.0
BEST = 4  # at most half of the candidates
FURTHER = 2.0  # reach for the choices of other scores, as a multiple
PADDING = 0.06  # of the span, above and below
WORTH_ZOOMING = 2.0  # least ratio of the whole range to the near one


def near_best(curves: Sequence[Series]) -> tuple[float, float] | None:
    """Return the range near the answer; None if that is nearly the whole range.

    It covers the best few candidates by the main score, and the best candidate of each other score
    unless that is far away.
    """
    main = sorted(next((s.known for s in curves if s.main), []), reverse=True)
    if not main:
        return None
    reach = max(LEAST_REACH, main[0] - main[: min(BEST, max(2, len(main) // 2))][-1])
    tops = [max(s.known) for s in curves if s.known]
    close = [t for t in tops if abs(t - main[0]) <= FURTHER * reach]
    low, high = min(main[0] - reach, *close), max(close)
    values = [v for s in curves for v in s.known]
    if max(values) - min(values) < WORTH_ZOOMING * (high - low):
        return None
    return low - PADDING * (high - low), high + PADDING * (high - low)


def plot_posterior(
    selection: Selection,
    ax: Axes | None = None,
    *,
    score: str | None = None,
    labellings: bool = True,
    legend: bool = True,
) -> Axes:
    """Draw the probability of every candidate, plain and with log k! for equal labellings.

    Error bars show one standard error if the evidence was measured. Bars of named networks lie.

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
    ax, bars = axes(ax, size_of(selection)), posteriors(selection, score)
    if not labellings:
        bars = {PLAIN: bars[PLAIN]}
    certainty, named = selection.certainty, not by_number(selection)
    of_answer = score in (None, certainty.by)  # only these probabilities have standard errors
    errors = [(e or 0.0) * of_answer for e in certainty.stderr.values()]
    width = BAR if len(bars) > 1 else 2 * BAR
    for i, (name, chances) in enumerate(bars.items()):
        places = [j + (i - (len(bars) - 1) / 2) * width for j in range(len(chances))]
        sizes = [0.0 if math.isnan(p) else p for p in chances.values()]
        look: dict[str, Any] = {
            "color": PRINT.page[("shade", "hole")[i]],
            "hatch": ("", "////")[i],
            "edgecolor": "white",
        }
        (ax.barh if named else ax.bar)(places, sizes, width, label=name, **look)
        if i == 0 and any(errors):
            ends = (sizes, places) if named else (places, sizes)
            _error_bars(ax, ends, errors, across=named, color=PRINT.page["ink"])
    level_lines(ax, "x" if named else "y")
    _name_candidates(selection, ax, f"probability by {TITLES[score or selection.headline]}")
    zoom(ax, (0.0, 1.0), across=named)
    if legend and len(bars) > 1:
        ax.legend(**LEGEND)
    return ax


def _name_candidates(selection: Selection, ax: Axes, values: str) -> None:
    """Name the candidates and the axis of values; there is room for some of many numbers."""
    # Paths may hold undecodable bytes, which no font has.
    names = [str(c.label).encode("utf-8", "replace").decode() for c in selection.candidates]
    labels = [shorten(name, NAME) for name in names]
    if by_number(selection):
        every = math.ceil(len(labels) / NUMBERS)
        ax.set_xticks(range(0, len(labels), every), labels[::every])
        ax.set_xlabel(selection.unit, fontsize=SMALL)
        ax.set_ylabel(values, fontsize=SMALL)
    else:
        ax.set_yticks(range(len(labels)), labels)
        ax.set_ylim(len(labels) - 0.4, -0.6)
        ax.set_xlabel(values, fontsize=SMALL)
