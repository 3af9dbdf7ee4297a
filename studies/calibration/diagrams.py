"""Reliability diagrams: the share of right statements against the probability that they state."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lacunet.paper.tables import Record, save_figure
from lacunet.plots.figures import GREY, SMALL, SMALLER, THIN, axes, curve, load, paper_style
from lacunet.plots.score_curves import ERROR_BAR
from lacunet.plots.style import Look
from studies.calibration.reliability import EVIDENCE, SELECT

SHOWN = (SELECT, EVIDENCE, "csl-occupied", "csl", "vb-occupied", "cs", "bic")
PER_FIGURE = 4  # cells
CELL = (3.6, 3.2)  # inches: half the width of a page
LEGEND = 0.6  # inches that it takes up, below
ERRORS = 2.0  # binomial errors that a bar shows, each way


def write_diagrams(rows: Sequence[Record], folder: Path) -> list[str]:
    """Write reliabilityN.svg and .png, four cells each; return the <svg> elements."""
    parts = [rows[i : i + PER_FIGURE] for i in range(0, len(rows), PER_FIGURE)]
    return [_write(f"reliability{n}", part, folder) for n, part in enumerate(parts, start=1)]


def _write(stem: str, rows: Sequence[Record], folder: Path) -> str:
    with paper_style():
        columns = min(2, len(rows))
        lines = -(-len(rows) // columns)
        # The legend takes the width of a page, also below a single cell.
        size = (2 * CELL[0], lines * CELL[1] + LEGEND)
        figure = load("figure").Figure(figsize=size, layout="constrained")
        places = list(figure.subplots(lines, columns, squeeze=False).flat)
        for ax, row in zip(places, rows, strict=False):
            _draw(axes(ax), row)
        for ax in places[len(rows) :]:
            ax.set_axis_off()
        handles = {
            label: handle
            for ax in figure.axes
            for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
        }
        below: dict[str, Any] = {"loc": "outside lower center", "frameon": False}
        figure.legend(handles.values(), handles.keys(), ncols=4, handlelength=2.6, **below)
        return save_figure(figure, stem, folder)


def _draw(ax: Any, row: Record) -> None:
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=THIN)
    for place, way in enumerate(SHOWN):
        if way in row["ways"]:
            _line(ax, way, row["ways"][way]["every"], Look(place), main=place == 0)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_aspect("equal")
    title = f"{row['cell']}: {row['leaves']} leaves, {row['classes']} classes, {row['rows']} rows"
    ax.set_title(f"{title}, {row['holes']:.0%} missing", fontsize=SMALL, loc="left")
    ax.set_xlabel("probability stated", fontsize=SMALLER)
    ax.set_ylabel("share that is right", fontsize=SMALLER)


def _line(
    ax: Any, way: str, bins: Sequence[Mapping[str, float]], look: Look, *, main: bool
) -> None:
    how = curve(look, main=main)
    stated, right = [b["stated"] for b in bins], [b["right"] for b in bins]
    ax.plot(stated, right, label=way, **how)
    if main:  # bars on every curve would hide them all
        errors = [ERRORS * b["error"] for b in bins]
        ax.errorbar(stated, right, errors, color=how["color"], zorder=how["zorder"], **ERROR_BAR)
