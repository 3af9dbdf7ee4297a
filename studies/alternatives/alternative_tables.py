"""From lines of the ledger to tables: what each way costs, and whether it agrees."""

import statistics
from collections.abc import Sequence
from typing import Any

from lacunet.paper.experiments import Panel
from lacunet.paper.tables import Record, by_panel
from lacunet.tabular import Grid, number
from studies.alternatives.climbing import NEAR
from studies.alternatives.comparisons import EXACT, HESSIANS, RATIOS, WAYS

EVERY_HESSIAN = (*HESSIANS, RATIOS)


def ascents_table(records: Sequence[Record], panels: Sequence[Panel]) -> list[Record]:
    """Give for each experiment and way up: cost, and where it ends among all from its start."""
    rows = []
    for place, mine in by_panel(records, panels):
        runs = [ascent for r in mine for ascent in r["ascents"]]
        best = [max(a["log_posterior"] for a in run.values()) for run in runs]
        rows.append(
            {
                **place,
                "dimension": mine[0]["dimension"],
                "climbs": len(runs),
                "ways": {way: _ascent([run[way] for run in runs], best) for way in WAYS},
            }
        )
    return rows


def _ascent(mine: Sequence[Record], best: Sequence[float]) -> dict[str, Any]:
    below = [b - a["log_posterior"] for a, b in zip(mine, best, strict=True)]
    return {
        "steps": statistics.median(a["steps"] for a in mine),
        "near": statistics.median(a["near"] for a in mine),
        "cpu": statistics.median(a["cpu"] for a in mine),
        "converged": sum(a["converged"] for a in mine),
        "highest": sum(b <= NEAR for b in below),
        "below": statistics.fmean(below),
    }


def hessians_table(records: Sequence[Record], panels: Sequence[Panel]) -> list[Record]:
    """Give for each experiment and Hessian: cost, and the distance from the exact one."""
    rows = []
    for place, mine in by_panel(records, panels):
        smallest = min(r["smallest"] for r in mine)
        row = {**place, "dimension": mine[0]["dimension"], "datasets": len(mine)}
        ways = {way: _hessian([r["hessians"] for r in mine], way) for way in EVERY_HESSIAN}
        rows.append({**row, "smallest": smallest, "ways": ways})
    return rows


def _hessian(mine: Sequence[Record], way: str) -> dict[str, Any]:
    both = [(h[way], h[EXACT]) for h in mine]
    off = [
        a["laplace"] - b["laplace"]
        for a, b in both
        if a["laplace"] is not None and b["laplace"] is not None
    ]
    return {
        "passes": statistics.median(a["passes"] for a, _ in both),
        "cpu": statistics.median(a["cpu"] for a, _ in both),
        "failed": sum(a["log_det"] is None for a, _ in both),
        "laplace": max(off, key=abs, default=None),
        "difference": _largest([a["difference"] for a, _ in both]),
        "asymmetry": _largest([a["asymmetry"] for a, _ in both]),
    }


def _largest(values: Sequence[float | None]) -> float | None:
    return max((v for v in values if v is not None), default=None)


def ascents_grid(rows: Sequence[Record]) -> Grid:
    """Give the table of climbs for `print`."""
    header = (
        "n", "c", "N", "d", "way up", "E steps", "to 0.01 nats", "CPU ms", "converged", "highest",
        "nats below",
    )  # fmt: skip
    body = tuple(
        (
            *(str(row[x]) for x in ("n", "c", "N", "dimension")),
            way,
            f"{a['steps']:.0f}",
            f"{a['near']:.0f}",
            f"{1000 * a['cpu']:.0f}",
            f"{a['converged']} of {row['climbs']}",
            f"{a['highest']} of {row['climbs']}",
            number(a["below"]),
        )
        for row in rows
        for way, a in row["ways"].items()
    )
    notes = (
        "From the same random starts; medians.",
        "Highest: within 0.01 nats of the best of the three. Nats below it: mean.",
    )
    return Grid("Ways up", header, body, frozenset({4}), notes)


def hessians_grid(rows: Sequence[Record]) -> Grid:
    """Give the table of Hessians for `print`."""
    header = (
        "n", "c", "N", "d", "Hessian by", "passes", "CPU ms", "Laplace − exact", "largest entry",
        "asymmetry", "failed",
    )  # fmt: skip
    body = tuple(
        (
            *(str(row[x]) for x in ("n", "c", "N", "dimension")),
            way,
            f"{h['passes']:.0f}",
            f"{1000 * h['cpu']:.0f}",
            "–" if h["laplace"] is None else f"{h['laplace']:+.2g}",
            _small(h["difference"]),
            _small(h["asymmetry"]),
            f"{h['failed']} of {row['datasets']}",
        )
        for row in rows
        for way, h in row["ways"].items()
    )
    notes = (
        "At the same maximum. Passes: E steps, or inferences as long as one; medians.",
        "Laplace − exact: the largest difference of Laplace's approximation, in nats.",
        "Largest entry off, and asymmetry: of the Hessian, in units of its curvatures.",
    )
    return Grid("Hessians", header, body, frozenset({4}), notes)


def _small(x: float | None) -> str:
    return "–" if x is None else f"{x:.0e}"


def findings(ascents: Sequence[Record], hessians: Sequence[Record]) -> list[str]:
    """Say, from the numbers, what each way costs and where it fails."""
    lines = []
    for way in WAYS:
        runs = sum(row["climbs"] for row in ascents)
        highest = sum(row["ways"][way]["highest"] for row in ascents)
        converged = sum(row["ways"][way]["converged"] for row in ascents)
        steps = statistics.median(row["ways"][way]["steps"] for row in ascents)
        lines.append(
            f"{way}: {steps:.0f} E steps in the median experiment; {converged} of {runs} climbs "
            f"converged, {highest} ended at the highest maximum that any way found from its start."
        )
    for way in EVERY_HESSIAN[1:]:
        off = _largest([abs(row["ways"][way]["laplace"] or 0.0) for row in hessians])
        failed = sum(row["ways"][way]["failed"] for row in hessians)
        passes = statistics.median(
            row["ways"][way]["passes"] / row["dimension"] for row in hessians
        )
        text = f"{way}: {passes:.1f} passes for each parameter; Laplace at most {off:.2g} nats off"
        lines.append(f"{text}, no value on {failed} data sets." if failed else f"{text}.")
    return lines
