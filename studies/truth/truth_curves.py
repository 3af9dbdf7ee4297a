"""Figures 1 to 3 with the measured evidence, and how far the scores are from it."""

from collections.abc import Sequence
from dataclasses import replace

from lacunet.paper.experiments import PAPER_SCORES, Panel
from lacunet.paper.tables import Experiment, Record, by_dataset, curve, experiment
from lacunet.plots.style import Look

TRUTH = "evidence (± standard error)"
NAMES = (*PAPER_SCORES, "csl")  # the paper's first, so that they look as on its own page


def with_evidence(records: Sequence[Record], panel: Panel) -> Experiment:
    """Give scores and evidence of the first data set, for one labelling."""
    truths = [r["truth"] for r in by_dataset(records).get((*panel, 0, 0), [])]
    values, errors = [t["one_labelling"] for t in truths], tuple(t["stderr"] for t in truths)
    evidence = curve(TRUTH, values, Look(len(NAMES)), errors=errors, main=True)
    scores = experiment(records, panel, NAMES)
    return replace(scores, curves=(evidence, *scores.curves))
