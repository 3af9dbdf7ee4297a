"""Tables of the calibration study, and what they say, in words."""

from collections.abc import Mapping, Sequence
from typing import Any

from lacunet.evidence.estimate import Verdict
from lacunet.paper.tables import Record
from lacunet.tabular import Grid, number
from studies.calibration.coverage_tables import MULTIPLES, TOO_FAR, Judged
from studies.calibration.reliability import EVIDENCE, SELECT, within

TITLES = {SELECT: "select (the default)", EVIDENCE: "evidence of every k"}
SHOWN = ("csl-occupied", "csl", "vb-occupied", "cs", "bic")  # of the scores, in the overview
BIN_NAMES = ("0–0.4", "0.4–0.6", "0.6–0.8", "0.8–1")


def overview_grid(rows: Sequence[Record]) -> Grid:
    """Give all cells in one table: the mean log probability of the true k, and of being right."""
    names = (SELECT, EVIDENCE, *SHOWN)
    header = ("cell", "leaves", "classes", "rows", "missing", "sets", *names, "largest", "right")
    body = tuple(
        (
            *(str(row[x]) for x in ("cell", "leaves", "classes", "rows")),
            f"{row['holes']:.0%}",
            str(row["datasets"]),
            *(_number(row["ways"].get(name, {}).get("log_true")) for name in names),
            f"{row['ways'][SELECT]['largest']:.0%}",
            f"{row['ways'][SELECT]['right']:.0%}",
        )
        for row in rows
    )
    notes = (
        "Mean log p(true k), by each posterior; higher is better.",
        "Evidence: of those data sets alone in which none is bounded only from below.",
        "Largest and right: the default's mean largest probability, and how often it is right.",
    )
    return Grid("Calibration, cell by cell", header, body, notes=notes)


def reliability_grid(row: Record) -> Grid:
    """Give the table of a cell: how good each posterior is, and how calibrated."""
    title = (
        f"{row['cell']}: {row['leaves']} binary leaves, 1 to {row['classes']} classes, "
        f"{row['rows']} rows, {row['holes']:.0%} missing, {row['datasets']} data sets"
    )
    header = ("posterior by", "sets", "mean log p(true k)", "±", "right", "largest", *BIN_NAMES)
    rows = tuple(
        (
            TITLES.get(way, way),
            str(s["datasets"]),
            number(s["log_true"]),
            number(s["log_true_stderr"] or float("nan")),
            f"{s['right']:.0%}",
            f"{s['largest']:.0%}",
            *_bins(s["bins"]),
        )
        for way, s in row["ways"].items()
    )
    cpu = ", ".join(f"{name} {seconds:.2f}" for name, seconds in row["cpu"].items())
    notes = (
        "Bins of the largest probability: stated → right ± binomial error (number).",
        f"CPU seconds of a data set: {cpu}.",
    )
    return Grid(title, header, rows, notes=notes)


def _bins(bins: Sequence[Mapping[str, Any]]) -> list[str]:
    by_end = {f"{b['from']:g}–{b['to']:g}": b for b in bins}
    return [_bin(by_end[name]) if name in by_end else "–" for name in BIN_NAMES]


def _bin(b: Mapping[str, Any]) -> str:
    return f"{b['stated']:.2f} → {b['right']:.2f} ± {b['error']:.2f} ({b['number']})"


def coverage_grid(rows: Sequence[Record]) -> Grid:
    """Give the table of coverage."""
    header = (
        "shape", "verdict", "method", "measured", "judged", *(f"within {k}" for k in MULTIPLES),
        f"beyond {TOO_FAR:g}", "largest off", "mean error", "largest", "above", "open", "late",
    )  # fmt: skip
    body = tuple(
        (
            row["cell"],
            row["verdict"],
            row["method"],
            str(row["measurements"]),
            str(row["judged"]),
            *(_share(row["within"], k) for k in MULTIPLES),
            _count(row["beyond"]),
            _number(row["largest_off"], 1),
            _number(row["mean_error"]),
            _number(row["largest_error"]),
            _count(row["above"]),
            str(row["open"]),
            str(row["late"]),
        )
        for row in rows
    )
    notes = (
        "Within k: share of the judged whose error is at most k standard errors.",
        "Mean and largest error: estimate − truth, in nats. Above: bounds that exceed the truth.",
        "Open: the bound from above leaves room for 3 nats more. Late: beyond 1.2 budgets.",
    )
    title = "Measured evidence against the reference"
    return Grid(title, header, body, frozenset({0, 1, 2}), notes)


def _share(shares: Mapping[str, float] | None, k: int) -> str:
    return "–" if shares is None else f"{shares[str(k)]:.0%}"


def _count(x: int | None) -> str:
    return "–" if x is None else str(x)


def _number(x: float | None, digits: int = 2) -> str:
    return "–" if x is None else number(x, digits)


def findings(rows: Sequence[Record], measured: Sequence[Judged]) -> list[str]:
    """Say, from the numbers, what can be trusted."""
    lines = [_about_default(row) for row in rows if SELECT in row["ways"]]
    reliable = [m for m in measured if m.verdict == Verdict.RELIABLE and m.decided]
    if reliable:
        two = sum(m.off <= MULTIPLES[1] for m in reliable) / len(reliable)
        far = sum(m.off > TOO_FAR for m in reliable)
        lines.append(
            f"Of {len(reliable)} evidences that say they are reliable, {two:.0%} are within 2 "
            f"standard errors of the truth, and {far} are beyond {TOO_FAR:g}."
        )
    empty = sum(m.error is None for m in measured)
    if empty:
        lines.append(f"{empty} measurements have no value at all.")
    return lines


def _about_default(row: Record) -> str:
    ways = row["ways"]
    told = ways[SELECT]
    text = (
        f"{row['cell']}: the default gives the true number of classes a mean log probability of "
        f"{told['log_true']:.2f}"
    )
    if EVIDENCE in ways:
        there = row["where_measured"]
        text += f" (in the {there['datasets']} data sets whose evidences are all measured "
        text += f"{there['log_true']:.2f}, by these {ways[EVIDENCE]['log_true']:.2f})"
    calm = within(told["every"])
    return f"{text}; {calm} of {len(told['every'])} bins are as stated, within two binomial errors."
