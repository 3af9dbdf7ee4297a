"""Figures 1 to 3 with the measured evidence, and how far the scores are from it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lacunet.charts.style import Look
from lacunet.paper.design import Panel
from lacunet.paper.experiments import PAPER_SCORES
from lacunet.paper.figures import TITLES, Experiment, curve, draw_experiments, first_dataset
from lacunet.paper.tables import Record

TRUTH = "evidence (± standard error)"
NAMES = (*PAPER_SCORES, "csl")  # the paper's first, so that they look as on its own page


def write_figure(
    number: int, panels: Sequence[Panel], records: Sequence[Record], folder: Path
) -> str:
    """Write truthN.svg and .png; return the <svg> element."""
    experiments = [_experiment(records, panel) for panel in panels]
    return draw_experiments(f"truth{number}", experiments, folder)


def _experiment(records: Sequence[Record], panel: Panel) -> Experiment:
    """Scores and evidence of the first data set, for one labelling."""
    mine = first_dataset(records, panel)
    states = tuple(r["states"] for r in mine)
    truth = {r["states"]: r["truth"]["one_labelling"] for r in mine}
    errors = tuple(r["truth"]["stderr"] for r in mine)
    scores = {name: {r["states"]: r["scores"].get(name) for r in mine} for name in NAMES}
    return Experiment(
        panel,
        states,
        (
            curve(TRUTH, states, truth, Look(len(NAMES)), errors=errors, main=True),
            *(curve(TITLES[name], states, scores[name], Look(i)) for i, name in enumerate(NAMES)),
        ),
    )
