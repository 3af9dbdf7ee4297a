"""Matplotlib's door: Axes and curves in the style of `lacunet.charts`, for print."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lacunet.charts import style
from lacunet.charts.style import PRINT
from lacunet.optional import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

ONE_COLUMN = (3.4, 2.5)  # inches: one column of a paper
SMALL, SMALLER = 8.0, 7.0  # points
POINTS = SMALLER / style.TEXT  # in a figure, for each pixel on a page
THIN = 0.6  # points
GREY = PRINT.curves[-1]
SETTINGS = {
    "font.size": SMALL,
    "axes.labelsize": SMALL,
    "legend.fontsize": SMALLER,
    "svg.fonttype": "none",
    "svg.hashsalt": "lacunet",
    "pdf.fonttype": 42,  # TrueType: what journals ask for
    "savefig.bbox": "tight",
}


def load(module: str = "pyplot", *, extra: str = "plots", what: str = "a plot") -> Any:
    """Give one of matplotlib's modules."""
    return require(f"matplotlib.{module}", extra=extra, what=what)


def axes(ax: Axes | None, size: tuple[float, float] = ONE_COLUMN) -> Axes:
    """Give the Axes to draw on, tidied; a new figure, if none is given."""
    if ax is None:
        ax = load().subplots(figsize=size, layout="constrained")[1]
    ax.tick_params(labelsize=SMALLER, width=THIN, length=2.5)
    for side, spine in ax.spines.items():
        spine.set_linewidth(THIN)
        spine.set_visible(side in ("left", "bottom"))
    return ax


def level_lines(ax: Axes) -> None:
    """Put round numbers on the upright axis, a line at each."""
    ax.grid(axis="y", color=PRINT.page["line"], linewidth=0.8 * THIN)
    ax.set_axisbelow(True)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    round_numbers(ax.yaxis)


def round_numbers(axis: Axis, *, whole: bool = False) -> None:
    """Put round numbers on an axis, written out."""
    ticker = load("ticker")
    axis.set_major_locator(ticker.MaxNLocator(style.MOST_TICKS, steps=style.STEPS, integer=whole))
    axis.set_major_formatter(ticker.ScalarFormatter(useOffset=False))


def curve(look: style.Look, *, main: bool = False) -> dict[str, Any]:
    """How matplotlib draws a curve."""
    corners = [(x, -y) for x, y in (*look.corners, *look.corners[:1])]
    reach = max((abs(v) for corner in corners for v in corner), default=1.0)
    return {
        "color": PRINT.curves[look.colour],
        "linestyle": (0, look.dash) if look.dash and not main else "-",
        "linewidth": POINTS * (style.MAIN_LINE if main else style.LINE),
        "marker": corners or "o",
        "markersize": 2 * reach * POINTS * (style.MAIN_MARK if main else style.MARK),
        "markeredgewidth": 0.0,
        "zorder": 3.0 if main else 2.0,
    }


@contextmanager
def paper_style() -> Iterator[None]:
    """Set fonts for a paper, and keep texts as texts in the files that are written.

    >>> import matplotlib
    >>> with paper_style():
    ...     matplotlib.rcParams["svg.fonttype"]
    'none'
    """
    with load().rc_context(SETTINGS):
        yield
