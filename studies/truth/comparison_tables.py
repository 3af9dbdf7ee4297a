"""From lines of the ledger to tables: errors, choices, costs, starts."""

import statistics
from collections.abc import Sequence
from typing import Any

from lacunet.evidence.estimate import Verdict
from lacunet.paper.experiments import Design
from lacunet.paper.tables import Record, by_dataset, by_panel, largest, summary
from lacunet.scores import SCORES

ALL_LABELLINGS = {s.name for s in SCORES if s.every_labelling}
NAMES = [s.name for s in SCORES if not s.only_exact]
WAYS = ("paper", "default", "thorough", "highest")  # to start EM
PAPER_STARTS = {f"{name} (paper starts)": name for name in ("cs", "laplace")}


def error(record: Record, score: str) -> float | None:
    """Score − evidence, in nats; one labelling or all, as the score counts."""
    value = record["scores"].get(score)
    truth = record["truth"]["value" if score in ALL_LABELLINGS else "one_labelling"]
    return None if value is None else float(value - truth)


def errors_table(records: Sequence[Record], design: Design) -> list[Record]:
    """Error of each score at the generating number of states, and its size over all of them."""
    rows = []
    for row, mine in by_panel(records, design.panels):
        row["evidences"] = len(mine)
        row["stderr"] = max((r["truth"]["stderr"] or 0.0 for r in mine), default=0.0)
        row["lower_bounds"] = sum(r["truth"]["verdict"] == Verdict.LOWER_BOUND for r in mine)
        row["scores"] = {}
        for name in NAMES:
            errors = [(r, e) for r in mine if (e := error(r, name)) is not None]
            row["scores"][name] = {
                "at_c": _mean([e for r, e in errors if r["states"] == r["c"]]),
                "mean_size": _mean([abs(e) for _, e in errors]),
            }
        rows.append(row)
    return rows


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def choices_table(records: Sequence[Record], design: Design) -> list[Record]:
    """Δc of each score against the evidence, and what the evidence itself chooses."""
    rows = []
    for row, mine in by_panel(records, design.panels):
        choices = [_choices(dataset) for dataset in by_dataset(mine).values()]
        for truth in ("truth", "one_labelling"):
            row[truth] = summary([chosen[truth] for chosen in choices])
        row["scores"] = {
            name: summary([chosen[name] - chosen["truth"] for chosen in choices if name in chosen])
            for name in (*NAMES, *PAPER_STARTS)
        }
        rows.append(row)
    return rows


def _choices(dataset: Sequence[Record]) -> dict[str, int]:
    """States that the evidence, and each score with a value everywhere, choose for a data set."""
    curves = {
        "truth": [r["truth"]["value"] for r in dataset],
        "one_labelling": [r["truth"]["one_labelling"] for r in dataset],
        **{name: [r["scores"].get(name) for r in dataset] for name in NAMES},
        **{
            title: [r["starts"]["paper"]["scores"][name] for r in dataset]
            for title, name in PAPER_STARTS.items()
        },
    }
    return {
        name: dataset[best]["states"]
        for name, curve in curves.items()
        if None not in curve and (best := largest(curve)) is not None
    }


def _generating(records: Sequence[Record]) -> list[Record]:
    """Give the lines at k = c."""
    return [r for r in records if r["states"] == r["c"]]


def costs_table(records: Sequence[Record], design: Design) -> list[Record]:
    """Median seconds of each score at the generating number of states."""
    return [
        {
            **place,
            "seconds": {
                name: statistics.median(r["seconds"][name] for r in mine if name in r["seconds"])
                for name in ("em", "evidence", *NAMES)
                if any(name in r["seconds"] for r in mine)
            },
        }
        for place, mine in by_panel(_generating(records), design.panels)
    ]


def starts_table(records: Sequence[Record], design: Design) -> list[Record]:
    """Where each way to start EM ends, against EM from the generating parameters, at k = c."""
    return [
        {**place, "datasets": len(mine), "ways": {way: _way(mine, way) for way in WAYS}}
        for place, mine in by_panel(_generating(records), design.panels)
    ]


def _way(mine: Sequence[Record], way: str) -> dict[str, Any]:
    pairs = [(r["starts"][way], r["starts"]["generating"]) for r in mine]
    gains = [end["log_posterior"] - aim["log_posterior"] for end, aim in pairs]
    mass = [
        end["scores"]["cs"] - aim["scores"]["cs"]
        for end, aim in pairs
        if end["scores"]["cs"] is not None
    ]
    return {
        "log_posterior": statistics.fmean(gains),
        "cs": _mean(mass),
        "reached": sum(g > -1e-3 for g in gains),
        "seconds": statistics.median(end["seconds"] for end, _ in pairs),
    }
