"""One line for each comparison, one table for people, one file for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HEADER = ("case", "what is compared", "ours", "theirs", "ratio", "wanted", "verdict")
WORDS = frozenset({0, 1, 5, 6})  # columns that read as words: left-aligned
LOG_LIK_TOLERANCE = 1e-6  # relative


@dataclass(frozen=True)
class Line:
    """One comparison: what is shown, whether it is as wanted, and every number behind it."""

    case: str
    compared: str
    ours: str = ""
    theirs: str = ""
    ratio: str = ""
    wanted: str = ""  # empty: shown only
    met: bool | None = None  # None: nothing is asked of it, or it could not be measured
    raw: Mapping[str, Any] = field(default_factory=dict)  # JSON

    @property
    def verdict(self) -> str:
        return {True: "met", False: "NOT met", None: ""}[self.met]

    @property
    def cells(self) -> tuple[str, ...]:
        return (
            self.case,
            self.compared,
            self.ours,
            self.theirs,
            self.ratio,
            self.wanted,
            self.verdict,
        )


def faster(
    case: str, compared: str, ours: float, theirs: float, wanted: float | None, **raw: Any
) -> Line:
    """How many times as long they take; `wanted` is the least, None where it is only shown."""
    ratio = theirs / ours
    return Line(
        case,
        compared,
        seconds(ours),
        seconds(theirs),
        f"{ratio:.3g} × faster",
        "" if wanted is None else f"≥ {wanted:g} ×",
        None if wanted is None else ratio >= wanted,
        {"ours": ours, "theirs": theirs, "ratio": ratio, **raw},
    )


def as_long(
    case: str, compared: str, ours: float, theirs: float, limit: float | None, **raw: Any
) -> Line:
    """How many times their time is ours; `limit` is the most, None where it is only shown."""
    ratio = ours / theirs
    return Line(
        case,
        compared,
        seconds(ours),
        seconds(theirs),
        f"{ratio:.3g} × as long",
        "" if limit is None else f"≤ {limit:g} ×",
        None if limit is None else ratio <= limit,
        {"ours": ours, "theirs": theirs, "ratio": ratio, **raw},
    )


def within(case: str, compared: str, ours: float, limit: float | None, **raw: Any) -> Line:
    """Show a time for itself; `limit` in seconds, absolute, None where it is only shown."""
    wanted = "" if limit is None else f"< {limit:g} s, absolute"
    met = None if limit is None else ours < limit
    return Line(case, compared, seconds(ours), "", "", wanted, met, {"ours": ours, **raw})


def same_log_lik(
    case: str,
    compared: str,
    ours: float,
    theirs: float,
    *,
    asked: bool = True,
    tolerance: float = LOG_LIK_TOLERANCE,
    **raw: Any,
) -> Line:
    """Compare two log-likelihoods; where `asked`, they must be equal but for rounding."""
    difference = abs(ours - theirs) / abs(theirs)
    return Line(
        case,
        compared,
        f"{ours:.4f}",
        f"{theirs:.4f}",
        f"{difference:.1e} apart",
        f"≤ {tolerance:g} apart" if asked else "",
        difference <= tolerance if asked else None,
        {"ours": ours, "theirs": theirs, "relative_difference": difference, **raw},
    )


def skipped(case: str, compared: str, reason: str, ours: float | None = None) -> Line:
    """Say why there is nothing to compare; our time, if there is one, is shown all the same."""
    shown = "" if ours is None else seconds(ours)
    raw = {"ours": ours, "skipped": reason}
    return Line(case, compared, shown, "", "", f"skipped: {reason}", None, raw)


def seconds(value: float) -> str:
    unit, scale = ("s", 1.0) if value >= 1 else ("ms", 1e3) if value >= 1e-3 else ("µs", 1e6)
    number = value * scale
    return f"{number:.0f} {unit}" if number >= 100 else f"{number:.3g} {unit}"


def megabytes(value: float) -> str:
    return f"{value / 1e6:.1f} MB"


def table(lines: Iterable[Line]) -> str:
    """Give the lines as aligned text."""
    rows = [HEADER, *(line.cells for line in lines)]
    last = HEADER.index("wanted")  # a reason for skipping may run on: it widens no column
    widths = [max(len(row[c]) for row in rows) for c in range(last)]
    widths += [max((len(row[last]) for row in rows if row[last + 1]), default=0)]
    texts = (
        "  ".join(
            cell.ljust(width) if c in WORDS else cell.rjust(width)
            for c, (cell, width) in enumerate(zip(row, [*widths, 0], strict=True))
        ).rstrip()
        for row in rows
    )
    return "\n".join(texts)


def summary(lines: Sequence[Line]) -> str:
    met = [line.met for line in lines if line.met is not None]
    left_out = sum("skipped" in line.raw for line in lines)
    return (
        f"{sum(met)} of {len(met)} met"
        + (f", {met.count(False)} NOT met" if not all(met) else "")
        + (f", skipped: {left_out}" if left_out else "")
    )


def write(path: Path, facts: Mapping[str, Any], lines: Iterable[Line]) -> None:
    """Write everything that was measured, each trial of it, as JSON."""
    rows = [
        {**dict(zip(HEADER, line.cells, strict=True)), "met": line.met, "raw": dict(line.raw)}
        for line in lines
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**facts, "lines": rows}, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
