"""The paper's figures: five approximate log marginal likelihoods against the number of root states.

matplotlib is an extra; this file is its one door.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from lacunet.files import atomic_path, write_text
from lacunet.optional import require
from lacunet.paper.design import Panel
from lacunet.paper.tables import Record, fits
from lacunet.scores import SCORES

Curves: TypeAlias = dict[str, dict[int, float]]  # by name and number of states
Style: TypeAlias = tuple[str, str, str]  # colour, marker, line

# Distinct in hue, lightness and marker, so that they can be told apart in print and when
# colours look alike.
STYLE: dict[str, Style] = {
    "laplace": ("#000000", "o", "-"),
    "cs": ("#0072b2", "s", "-"),
    "mled": ("#56b4e9", "^", "--"),
    "draper": ("#d55e00", "D", "-"),
    "bic": ("#009e73", "v", "-"),
}
TITLES = {s.name: s.title for s in SCORES}


def load_matplotlib() -> Any:
    """Give matplotlib, drawing to files only."""
    mpl = require("matplotlib", extra="paper", what="a figure")
    mpl.use("Agg")
    return mpl


def curves(records: Sequence[Record], panel: Panel) -> Curves:
    """Scores of the first data set of the first model, by name and number of states."""
    found: dict[str, dict[int, float]] = {name: {} for name in STYLE}
    for r in fits(records):
        if (r["n"], r["c"], r["N"]) == panel and r["model"] == 0 and r["dataset"] == 0:
            for name, value in r["scores"].items():
                if value is not None:
                    found[name][r["states"]] = value
    return {name: dict(sorted(curve.items())) for name, curve in found.items()}


def write_figure(
    number: int, panels_of: Sequence[Panel], records: Sequence[Record], folder: Path
) -> str:
    """Write figureN.svg, .png and .csv; return the <svg> element."""
    panels = [(panel, curves(records, panel)) for panel in panels_of]
    write_text(folder / f"figure{number}.csv", _data(panels))
    return draw_panels(f"figure{number}", panels, STYLE, folder)


def draw_panels(
    stem: str,
    panels: Sequence[tuple[Panel, Curves]],
    style: Mapping[str, Style],
    folder: Path,
    errors: Mapping[Panel, Mapping[int, float]] | None = None,
    ylabel: str = "log marginal likelihood",
) -> str:
    """Draw curves of four experiments to .svg and .png; return the <svg> element.

    `errors` are standard errors of the first curve of the style, by experiment.
    """
    mpl = load_matplotlib()
    import matplotlib.pyplot as plt

    look = {
        "font.size": 9,
        "svg.fonttype": "none",
        "svg.hashsalt": "lacunet",
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with mpl.rc_context(look):
        figure, axes = plt.subplots(2, 2, figsize=(9, 6.4), layout="constrained")
        for axis, (panel, found) in zip(axes.flat, panels, strict=True):
            _draw(axis, panel, found, style, ylabel)
            if errors and panel in errors:
                first = next(iter(style))
                bars = [errors[panel][k] for k in found[first]]
                colour = style[first][0]
                states, values = list(found[first]), list(found[first].values())
                axis.errorbar(states, values, bars, fmt="none", ecolor=colour, capsize=2)
        handles, labels = axes.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
        for ending, more in (("svg", {"metadata": {"Date": None}}), ("png", {"dpi": 160})):
            with atomic_path(folder / f"{stem}.{ending}") as path:
                figure.savefig(path, format=ending, **more)
        plt.close(figure)
    text = (folder / f"{stem}.svg").read_text(encoding="utf-8")
    return text[text.index("<svg") :]  # what stands before it has no place inside a page


def _draw(axis: Any, panel: Panel, found: Curves, style: Mapping[str, Style], ylabel: str) -> None:
    n, c, N = panel
    for name, (colour, marker, line) in style.items():
        if curve := found.get(name):
            states, values = list(curve), list(curve.values())
            axis.plot(
                states,
                values,
                line,
                color=colour,
                marker=marker,
                markersize=3.5,
                label=TITLES.get(name, name),
            )
            top = max(curve, key=lambda k: curve[k])
            axis.plot(top, curve[top], marker, color=colour, markersize=8, fillstyle="none")
    axis.axvline(c, color="#999999", linewidth=0.8, linestyle=":")
    axis.set_title(f"n = {n}, c = {c}, N = {N}", fontsize=10, loc="left")
    axis.set_xlabel("states of the root")
    axis.set_ylabel(ylabel)
    axis.xaxis.get_major_locator().set_params(integer=True)


def _data(panels: Sequence[tuple[Panel, Curves]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["n", "c", "N", "states", *STYLE])
    for panel, found in panels:
        for k in sorted({k for curve in found.values() for k in curve}):
            writer.writerow([*panel, k, *(found[name].get(k, "") for name in STYLE)])
    return buffer.getvalue()
