"""Figures 1 to 3 with the measured evidence, and how far the scores are from it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lacunet.paper.design import Panel
from lacunet.paper.figures import STYLE, Curves, Style, draw_panels
from lacunet.paper.tables import Record

TRUTH = "evidence (± standard error)"
CURVES: dict[str, Style] = {
    TRUTH: ("#cc2f7b", "*", "-"),
    "csl": ("#8a5fbf", "P", "-"),
    **STYLE,
}


def curves(records: Sequence[Record], panel: Panel) -> tuple[Curves, dict[int, float]]:
    """Scores and evidence of the first data set, for one labelling, and the evidence's errors."""
    mine = [
        r
        for r in records
        if (r["n"], r["c"], r["N"]) == panel and r["model"] == 0 and r["dataset"] == 0
    ]
    mine.sort(key=lambda r: int(r["states"]))
    found: Curves = {TRUTH: {r["states"]: r["truth"]["one_labelling"] for r in mine}}
    for name in CURVES:
        if name != TRUTH:
            known = [r for r in mine if r["scores"].get(name) is not None]
            found[name] = {r["states"]: r["scores"][name] for r in known}
    return found, {r["states"]: r["truth"]["stderr"] for r in mine}


def write_figure(
    number: int, panels_of: Sequence[Panel], records: Sequence[Record], folder: Path
) -> str:
    """Write truthN.svg and .png; return the <svg> element."""
    found = {panel: curves(records, panel) for panel in panels_of}
    panels = [(panel, found[panel][0]) for panel in panels_of]
    errors = {panel: found[panel][1] for panel in panels_of}
    return draw_panels(f"truth{number}", panels, CURVES, folder, errors)
