"""Matplotlib's door, and how figures look."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lacunet.optional import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ONE_COLUMN = (3.4, 2.5)  # inches: one column of a paper
SMALL, SMALLER = 8.0, 7.0  # points
# Okabe & Ito's colours, which people of every colour vision tell apart, less yellow: too faint.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#777777")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", ":", "-.")


def load() -> Any:
    """Give pyplot."""
    return require("matplotlib.pyplot", extra="plots", what="a plot")


def axes(ax: Axes | None, size: tuple[float, float] = ONE_COLUMN) -> Axes:
    """Give the Axes to draw on, tidied; a new figure, if none is given."""
    if ax is None:
        ax = load().subplots(figsize=size, layout="constrained")[1]
    ax.tick_params(labelsize=SMALLER, width=0.6, length=2.5)
    for side, spine in ax.spines.items():
        spine.set_linewidth(0.6)
        spine.set_visible(side in ("left", "bottom"))
    return ax


def look(i: int) -> dict[str, Any]:
    """How the i-th curve is drawn: no two alike, even without colours."""
    return {
        "color": COLOURS[i % len(COLOURS)],
        "marker": MARKS[i % len(MARKS)],
        "linestyle": DASHES[i // len(COLOURS) % len(DASHES)],
        "markersize": 3.2,
        "linewidth": 0.9,
    }


@contextmanager
def paper_style() -> Iterator[None]:
    """Set fonts for a paper, and keep texts as texts in the files that are written.

    >>> import matplotlib
    >>> with paper_style():
    ...     matplotlib.rcParams["svg.fonttype"]
    'none'
    """
    settings = {
        "font.size": SMALL,
        "axes.labelsize": SMALL,
        "legend.fontsize": SMALLER,
        "svg.fonttype": "none",
        "svg.hashsalt": "lacunet",
        "pdf.fonttype": 42,  # TrueType: what journals ask for
        "savefig.bbox": "tight",
    }
    with load().rc_context(settings):
        yield
