"""Access to matplotlib: Axes and curves in the style of `style`, figure files, traces."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lacunet.errors import OptionError
from lacunet.plots import style
from lacunet.plots.style import PRINT
from lacunet.runtime.files import StrPath, atomic_path, check_file
from lacunet.summaries.em_traces import Traces

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

ONE_COLUMN = (3.4, 2.5)  # inches: one column of a paper
SMALL, SMALLER = 8.0, 7.0  # points
POINTS = SMALLER / style.TEXT  # points in a figure per pixel of a page
THIN = 0.6  # points
GREY = PRINT.curves[-1]
LEGEND: dict[str, Any] = {"fontsize": SMALLER, "frameon": False, "handlelength": 2.6}
SETTINGS = {
    "font.size": SMALL,
    "axes.labelsize": SMALL,
    "legend.fontsize": SMALLER,
    "svg.fonttype": "none",
    "svg.hashsalt": "lacunet",
    "pdf.fonttype": 42,  # TrueType, which journals require
    "savefig.bbox": "tight",
}


def load(module: str = "pyplot") -> Any:
    """Return a module of matplotlib, which is imported on first use."""
    return import_module(f"matplotlib.{module}")


def axes(ax: Axes | None, size: tuple[float, float] = ONE_COLUMN) -> Axes:
    """Return the given Axes, or those of a new figure, with thin spines and small ticks."""
    if ax is None:
        ax = load().subplots(figsize=size, layout="constrained")[1]
    ax.tick_params(labelsize=SMALLER, width=THIN, length=2.5)
    for side, spine in ax.spines.items():
        spine.set_linewidth(THIN)
        spine.set_visible(side in ("left", "bottom"))
    return ax


def level_lines(ax: Axes, along: Literal["x", "y"] = "y") -> None:
    """Draw a line at each round number of the axis of values."""
    ax.grid(axis=along, color=PRINT.page["line"], linewidth=0.8 * THIN)
    ax.set_axisbelow(True)
    ax.spines["left" if along == "y" else "bottom"].set_visible(False)
    ax.tick_params(axis=along, length=0)
    round_numbers(ax.yaxis if along == "y" else ax.xaxis)


def legend_below(ax: Axes, columns: int) -> None:
    """Draw the legend of some axes below the whole figure."""
    handles, names = ax.get_legend_handles_labels()
    ax.figure.legend(handles, names, loc="outside lower center", ncols=columns, **LEGEND)


def round_numbers(axis: Axis, *, whole: bool = False) -> None:
    """Place ticks at round numbers, without offsets."""
    ticker = load("ticker")
    axis.set_major_locator(ticker.MaxNLocator(style.MOST_TICKS, steps=style.STEPS, integer=whole))
    axis.set_major_formatter(ticker.ScalarFormatter(useOffset=False))


def curve(look: style.Look, *, main: bool = False) -> dict[str, Any]:
    """Return matplotlib's line properties of a curve."""
    return {
        "color": PRINT.curves[look.colour],
        "linestyle": (0, look.dash) if look.dash and not main else "-",
        "linewidth": POINTS * (style.MAIN_LINE if main else style.LINE),
        "marker": look.marker,
        "markersize": 2 * POINTS * (style.MAIN_MARK if main else style.MARK),
        "markeredgewidth": 0.0,
        "zorder": 3.0 if main else 2.0,
    }


@contextmanager
def paper_style() -> Iterator[None]:
    """Set fonts for a paper, and keep texts as text in saved files.

    >>> import matplotlib
    >>> with paper_style():
    ...     matplotlib.rcParams["svg.fonttype"]
    'none'
    """
    with load().rc_context(SETTINGS):
        yield


ENDINGS = (".svg", ".pdf", ".png")
LACKING = r"Glyph (\d+) .* missing from"  # matplotlib's warning
DOTS = 200  # per inch of a PNG


def check_picture(target: StrPath) -> None:
    """Raise an error before the computation if a figure cannot be written."""
    if Path(target).suffix.lower() not in ENDINGS:
        known = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        raise OptionError(f"'{target}': figures are written to {known} files. Choose one of these.")
    check_file(target)


def write_picture(ax: Axes, path: StrPath, report: Callable[[str], None]) -> Path:
    """Save and close the figure of an Axes; report letters missing from the font."""
    figure: Any = ax.figure
    with atomic_path(path) as temporary, warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", message=LACKING)
        kind = Path(path).suffix.lower().removeprefix(".")
        figure.savefig(temporary, format=kind, dpi=DOTS)
    lacking = set[str]()
    for w in caught:
        if match := re.match(LACKING, str(w.message)):
            lacking.add(match[1])
        else:
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    if lacking:
        letters = "".join(chr(int(code)) for code in sorted(lacking, key=int))
        report(
            f"{os.fspath(path)}: the font lacks '{letters}', which are drawn as boxes. Set another "
            "font.family in matplotlibrc."
        )
    load().close(figure)
    return Path(path)


NEAREST = 1e-8  # nats: least distance from the best value on the logarithmic axis


def plot_trace(traces: Traces, ax: Axes | None = None, *, below: bool = True) -> Axes:
    """Draw the objective after every step of every start of a search.

    Starts that reached a maximum are blue, the best one thick; starts dropped in the race are grey.

    Parameters
    ----------
    traces
        The result of `em_traces`.
    ax
        Axes to draw on (default: a new figure, one column wide).
    below
        Draw the distance to the best final value on a logarithmic scale; else the objective.
    """
    ax = axes(ax)
    best = traces.best.end
    for trace in reversed(traces.traces):
        values = np.maximum(best - trace.values, NEAREST) if below else trace.values
        winner = trace is traces.best
        ax.plot(
            np.arange(len(values)),
            values,
            color=PRINT.curves[0] if trace.climbed else GREY,
            linewidth=1.6 if winner else 0.7,
            alpha=1.0 if winner else 0.6,
            zorder=3 if winner else 2 if trace.climbed else 1,
        )
    if below:
        ax.set_yscale("log")
    ax.set_xlabel("step", fontsize=SMALL)
    words = "nats below the best" if below else f"{traces.objective} (nats)"
    ax.set_ylabel(words, fontsize=SMALL)
    return ax
