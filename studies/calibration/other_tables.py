"""Stated against right, where the prior that made the data is not the analyst's."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lacunet.paper.tables import Record
from lacunet.tabular import Grid, number
from studies.calibration.other_priors import REMARKS, OtherCell
from studies.calibration.reliability import LEAST, bins_of, cpu_seconds

TOLERATED = 0.08  # by which the probability stated may exceed the share that is right
WHOLE = (0.0, 1.0)  # one bin for all probabilities


def others_table(records: Sequence[Record], cells: Sequence[OtherCell]) -> list[Record]:
    """Sum up each cell, then the data sets that one factor of the design has in common."""
    by_name = {cell.name: cell for cell in cells}
    factors: Mapping[str, Callable[[Record], str]] = {
        "cell": lambda r: str(r["cell"]),
        "rows": lambda r: f"{by_name[r['cell']].rows} rows",
        "profiles": lambda r: f"{r['profile']} profiles",
        "weights": lambda r: f"weights 1/j^{r['power']:g}",
        "classes": lambda r: f"true number {r['classes']}",
        "all": lambda _: "all",
    }
    mine = [r for r in records if r["cell"] in by_name]
    return [
        {"factor": factor, "which": which, **_summary([r for r in mine if value(r) == which])}
        for factor, value in factors.items()
        for which in dict.fromkeys(map(value, mine))
    ]


def _summary(mine: Sequence[Record]) -> dict[str, Any]:
    """Sum up data sets: all answers, and those without a remark that limits them."""
    said = [r["select"]["remarks"] for r in mine]
    answers = [r["select"] for r in mine]
    too_many = [a["choice"] - r["classes"] for a, r in zip(answers, mine, strict=True)]
    at_true = [dict(zip(a["states"], a["probabilities"], strict=True)) for a in answers]
    p = [chances.get(r["classes"]) or 0.0 for chances, r in zip(at_true, mine, strict=True)]
    logs = np.log(np.maximum(p, np.exp(LEAST)))
    return {
        "datasets": len(mine),
        **_stated(mine),
        "too_many": float(np.mean([x > 0 for x in too_many])),
        "too_few": float(np.mean([x < 0 for x in too_many])),
        "log_true": float(logs.mean()),
        "says": {name: float(np.mean([name in s for s in said])) for name in REMARKS},
        "silent": _stated([r for r, s in zip(mine, said, strict=True) if not s]),
        "cpu": cpu_seconds(mine)["select"],
    }


def _stated(mine: Sequence[Record]) -> dict[str, Any]:
    """Give the mean probability of the chosen number, and how often it is the true one."""
    if not mine:
        return {"number": 0, "stated": None, "right": None, "error": None}
    stated = np.array([max(p or 0.0 for p in r["select"]["probabilities"]) for r in mine])
    right = np.array([r["select"]["choice"] == r["classes"] for r in mine])
    (only,) = bins_of(stated, right, WHOLE)
    return {name: only[name] for name in ("number", "stated", "right", "error")}


def others_grid(rows: Sequence[Record]) -> Grid:
    """Give the table: a line for each cell, then for each factor."""
    header = (
        "data sets", "sets", "stated", "right", "difference", "too many", "too few", "log p(true)",
        *(f"says: {name}" for name in REMARKS), "silent", "difference, silent", "CPU s",
    )  # fmt: skip
    body = tuple(
        (
            row["which"],
            str(row["datasets"]),
            number(row["stated"]),
            number(row["right"]),
            _difference(row),
            *(f"{row[name]:.0%}" for name in ("too_many", "too_few")),
            number(row["log_true"]),
            *(f"{share:.0%}" for share in row["says"].values()),
            str(row["silent"]["number"]),
            _difference(row["silent"]),
            number(row["cpu"], 1),
        )
        for row in rows
    )
    notes = (
        "Stated: mean probability of the chosen number.",
        f"Difference: stated − right ± binomial error; * more than {TOLERATED:g}.",
        f"Says: share of answers whose first lines say this: {'; '.join(REMARKS.values())}.",
        "Silent: answers that say none of this.",
        "log p(true): mean log probability of the true number.",
    )
    title = "The default answer on data from other priors"
    return Grid(title, header, body, notes=notes)


def _difference(row: Mapping[str, Any]) -> str:
    if row["stated"] is None:
        return "–"
    excess = row["stated"] - row["right"]
    return f"{excess:+.2f} ± {row['error']:.2f}{'*' if excess > TOLERATED else ''}"


def others_findings(rows: Sequence[Record]) -> list[str]:
    """Say which cells state more than they hold."""
    cells = [row for row in rows if row["factor"] == "cell"]
    if not cells:
        return []
    over = [c["which"] for c in cells if c["stated"] - c["right"] > TOLERATED]
    quiet = [
        c["which"]
        for c in cells
        if c["silent"]["number"] and c["silent"]["stated"] - c["silent"]["right"] > TOLERATED
    ]
    line = f"Other priors: stated exceeds right by more than {TOLERATED:g} in {_of(over, cells)}; "
    return [f"{line}among answers without a remark, in {_of(quiet, cells)}."]


def _of(names: Sequence[str], cells: Sequence[Record]) -> str:
    named = f" ({', '.join(names)})" if names else ""
    return f"{len(names)} of {len(cells)} cells{named}"
