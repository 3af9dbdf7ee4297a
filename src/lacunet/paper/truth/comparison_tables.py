"""From lines of the ledger to tables: errors, choices, costs, starts."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lacunet.evidence.estimate import Verdict
from lacunet.paper.design import Design, Panel
from lacunet.paper.tables import Record, summary
from lacunet.paper.truth.measurements import KIND
from lacunet.scores import SCORES

ALL_LABELLINGS = {s.name for s in SCORES if s.every_labelling}
NAMES = [s.name for s in SCORES if not s.only_exact]
WAYS = ("paper", "default", "thorough", "mass")  # to start EM


def measured(records: Iterable[Record]) -> list[Record]:
    """The lines with a measured evidence."""
    return [r for r in records if r["kind"] == KIND]


def error(record: Record, score: str) -> float | None:
    """Score − evidence, in nats; one labelling or all, as the score counts."""
    value = record["scores"].get(score)
    if value is None:
        return None
    truth = record["truth"]
    return float(value - truth["value" if score in ALL_LABELLINGS else "one_labelling"])


def by_dataset(records: Sequence[Record]) -> dict[tuple[Panel, int, int], list[Record]]:
    """Lines of one data set together, by (experiment, model, data set)."""
    together = defaultdict(list)
    for r in records:
        together[(r["n"], r["c"], r["N"]), r["model"], r["dataset"]].append(r)
    return {place: sorted(mine, key=lambda r: r["states"]) for place, mine in together.items()}


def _by_panel(
    records: Sequence[Record], design: Design, *, generating: bool = False
) -> Iterator[tuple[Record, list[Record]]]:
    """Give each experiment that there are lines of, and these; or those at k = c alone."""
    for panel in design.panels:
        mine = [r for r in records if (r["n"], r["c"], r["N"]) == panel]
        mine = [r for r in mine if not generating or r["states"] == r["c"]]
        if mine:
            yield dict(zip(("n", "c", "N"), panel, strict=True)), mine


def errors_table(records: Sequence[Record], design: Design) -> list[Record]:
    """Error of each score at the generating number of states, and its size over all of them."""
    rows = []
    for row, mine in _by_panel(records, design):
        row["evidences"] = len(mine)
        row["stderr"] = max(r["truth"]["stderr"] for r in mine)
        row["lower_bounds"] = sum(r["truth"]["verdict"] == Verdict.LOWER_BOUND for r in mine)
        row["scores"] = {}
        for name in NAMES:
            at_c = [e for r in mine if r["states"] == r["c"] and (e := error(r, name)) is not None]
            everywhere = [e for r in mine if (e := error(r, name)) is not None]
            row["scores"][name] = {
                "at_c": statistics.fmean(at_c) if at_c else None,
                "mean_size": statistics.fmean(map(abs, everywhere)) if everywhere else None,
            }
        rows.append(row)
    return rows


def choices_table(records: Sequence[Record], design: Design) -> list[Record]:
    """Δc of each score against the evidence, and what the evidence itself chooses."""
    choices: dict[Panel, list[dict[str, int]]] = defaultdict(list)
    for (panel, _, _), mine in by_dataset(records).items():
        chosen = {"truth": max(mine, key=lambda r: r["truth"]["value"])["states"]}
        chosen["one_labelling"] = max(mine, key=lambda r: r["truth"]["one_labelling"])["states"]
        for name in NAMES:
            known = [r for r in mine if r["scores"].get(name) is not None]
            if len(known) == len(mine):
                chosen[name] = max(known, key=lambda r: r["scores"][name])["states"]
        for name in ("cs", "laplace"):
            curve = {r["states"]: r["starts"]["paper"]["scores"][name] for r in mine}
            if all(v is not None for v in curve.values()):
                chosen[f"{name} (paper starts)"] = max(curve, key=lambda k: curve[k])
        choices[panel].append(chosen)
    rows = []
    for panel in design.panels:
        if panel not in choices:
            continue
        row: Record = dict(zip(("n", "c", "N"), panel, strict=True))
        row["truth"] = summary([x["truth"] for x in choices[panel]])
        row["one_labelling"] = summary([x["one_labelling"] for x in choices[panel]])
        names = [*NAMES, "cs (paper starts)", "laplace (paper starts)"]
        row["scores"] = {
            name: summary([x[name] - x["truth"] for x in choices[panel] if name in x])
            for name in names
        }
        rows.append(row)
    return rows


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
        for place, mine in _by_panel(records, design, generating=True)
    ]


def starts_table(records: Sequence[Record], design: Design) -> list[Record]:
    """Where each way to start EM ends, against EM from the generating parameters, at k = c."""
    return [
        {**place, "datasets": len(mine), "ways": {way: _way(mine, way) for way in WAYS}}
        for place, mine in _by_panel(records, design, generating=True)
    ]


def _way(mine: Sequence[Record], way: str) -> dict[str, Any]:
    gains = [
        r["starts"][way]["log_posterior"] - r["starts"]["generating"]["log_posterior"] for r in mine
    ]
    mass = [
        r["starts"][way]["scores"]["cs"] - r["starts"]["generating"]["scores"]["cs"]
        for r in mine
        if r["starts"][way]["scores"]["cs"] is not None
    ]
    return {
        "log_posterior": statistics.fmean(gains),
        "cs": statistics.fmean(mass) if mass else None,
        "reached": sum(g > -1e-3 for g in gains),
        "seconds": statistics.median(r["starts"][way]["seconds"] for r in mine),
    }
