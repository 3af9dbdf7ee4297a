"""The paper's figures: five scores against the number of root states, four experiments each."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lacunet.charts.series import Series
from lacunet.charts.style import Look
from lacunet.paper.design import Panel
from lacunet.paper.experiments import PAPER_SCORES
from lacunet.paper.tables import Record, by_dataset, fits, largest
from lacunet.plots.door import GREY, SMALL, SMALLER, THIN, axes, load, paper_style, round_numbers
from lacunet.plots.score_curves import draw_curves
from lacunet.runtime.files import atomic_path, write_text
from lacunet.selection.grids import TITLES
from lacunet.tabular.export import csv_table

SIZE = (7.2, 5.4)  # inches: the width of a page


@dataclass(frozen=True)
class Experiment:
    """Curves over the numbers of root states, for one data set."""

    panel: Panel
    states: tuple[int, ...]
    curves: tuple[Series, ...]


def curve(title: str, values: Sequence[float | None], look: Look, **more: Any) -> Series:
    """Give the curve of a score; its largest value is marked."""
    errors = more.pop("errors", (None,) * len(values))
    known = tuple(math.nan if v is None else v for v in values)
    return Series(title, known, errors, largest(values), look, **more)


def experiment(records: Sequence[Record], panel: Panel, names: Sequence[str]) -> Experiment:
    """Give the scores of an experiment's first data set."""
    mine = by_dataset(records).get((*panel, 0, 0), [])
    scores = {name: [r["scores"].get(name) for r in mine] for name in names}
    curves = (curve(TITLES[name], scores[name], Look(i)) for i, name in enumerate(names))
    return Experiment(panel, tuple(r["states"] for r in mine), tuple(curves))


def write_figure(
    number: int, panels: Sequence[Panel], records: Sequence[Record], folder: Path
) -> str:
    """Write figureN.svg, .png and .csv; return the <svg> element."""
    experiments = [experiment(fits(records), panel, PAPER_SCORES) for panel in panels]
    write_text(folder / f"figure{number}.csv", _data(experiments))
    return draw_experiments(f"figure{number}", experiments, folder)


def draw_experiments(stem: str, experiments: Sequence[Experiment], folder: Path) -> str:
    """Draw four experiments to .svg and .png; return the <svg> element."""
    with paper_style():
        figure = load("figure").Figure(figsize=SIZE, layout="constrained")
        for ax, shown in zip(figure.subplots(2, 2).flat, experiments, strict=True):
            _draw(axes(ax), shown)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        below: dict[str, Any] = {"loc": "outside lower center", "frameon": False}
        figure.legend(handles, labels, ncols=5, handlelength=2.6, **below)
        return save_figure(figure, stem, folder)


def save_figure(figure: Any, stem: str, folder: Path) -> str:
    """Write a figure to .svg and .png; return the <svg> element."""
    for ending, more in (("svg", {"metadata": {"Date": None}}), ("png", {"dpi": 200})):
        with atomic_path(folder / f"{stem}.{ending}") as path:
            figure.savefig(path, format=ending, **more)
    text = (folder / f"{stem}.svg").read_text(encoding="utf-8")
    return text[text.index("<svg") :]  # what stands before it has no place inside a page


def _draw(ax: Any, shown: Experiment) -> None:
    n, c, N = shown.panel
    draw_curves(ax, shown.states, shown.curves)
    ax.axvline(c, color=GREY, linewidth=THIN, linestyle=":")
    ax.set_title(f"n = {n}, c = {c}, N = {N}", fontsize=SMALL, loc="left")
    ax.set_xlabel("states of the root", fontsize=SMALLER)
    ax.set_ylabel("log marginal likelihood", fontsize=SMALLER)
    round_numbers(ax.xaxis, whole=True)


def _data(experiments: Sequence[Experiment]) -> str:
    rows = (
        [*e.panel, k, *(s.values[i] for s in e.curves)]
        for e in experiments
        for i, k in enumerate(e.states)
    )
    return csv_table(["n", "c", "N", "states", *PAPER_SCORES], rows)
