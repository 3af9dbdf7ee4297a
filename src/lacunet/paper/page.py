"""One self-contained page: what was asked, figures, tables, published beside measured.

The paper's tables as tables to print: ours, and the published numbers beside them.
"""

import importlib.metadata
import platform
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from lacunet.charts.style import style_sheet
from lacunet.optional import require
from lacunet.paper.experiments import PAPER_SCORES
from lacunet.paper.tables import OTHERS, Record
from lacunet.selection.grids import TITLES as SCORES
from lacunet.tabular import Grid

TITLES = SCORES | {"em": "EM", "cs": "CS"}
PACKAGES = ("lacunet", "numpy", "scipy", "numba")
NEAR = 0.5  # states: means this near to each other count as equal
FAR = 2.0  # standard deviations, of both sides together, from which means count as different


def versions() -> str:
    """Name what computed the numbers."""
    packages = [f"{name} {importlib.metadata.version(name)}" for name in PACKAGES]
    return ", ".join([f"Python {platform.python_version()}", *packages, platform.machine()])


def signed(x: float | None) -> str:
    """Write a difference."""
    return "–" if x is None else f"{x:+.1f}"


def experiments_grid(
    title: str, table: Sequence[Record], columns: Mapping[str, tuple[str, str]]
) -> Grid:
    """Give a table for `print`: each experiment, and for each column a number of a score."""
    rows = (
        (
            *(str(row[x]) for x in ("n", "c", "N")),
            *(signed(row["scores"][name][what]) for name, what in columns.values()),
        )
        for row in table
    )
    return Grid(title, ("n", "c", "N", *columns), tuple(rows), frozenset())


def findings_grid(lines: Sequence[str]) -> Grid:
    """Give the findings for `print`."""
    return Grid("Findings", (), (), notes=tuple(f"- {line}" for line in lines))


def findings(table1: Sequence[Record], reality: Sequence[Record]) -> list[str]:
    """Say, from the numbers, where they agree with the published ones and where not."""
    lines = []
    below = [r for r in table1 if r["scores"]["bic"]["mean"] <= 0]
    lines.append(
        f"BIC chooses no more states than Laplace on average in {len(below)} of {len(table1)} "
        "experiments (published: in all of them)."
    )
    printed = [
        (r, name, r["scores"][name])
        for r in table1
        for name in OTHERS
        if r["scores"][name]["published_mean"] is not None
    ]
    far = [(r, name, x) for r, name, x in printed if _differ(x)]
    lines.append(
        f"{len(printed) - len(far)} of {len(printed)} means of Table 1 agree with the published "
        f"ones within {FAR:g} standard errors of both sides together, or {NEAR:g} of a state."
    )
    if table1 and table1[0]["models"] == 1:
        lines.append(
            "Both sides used one random model for each experiment, and models differ among "
            "themselves more than data sets of one model do: see --models and --full."
        )
    lines.extend(
        f"They differ at n = {r['n']}, c = {r['c']}, N = {r['N']}, {TITLES[name]}: "
        f"{x['mean']:+.1f} here, {x['published_mean']:+.1f} published."
        for r, name, x in far
    )
    if reality:
        first = reality[0]
        larger = all(b["mean"] > a["mean"] for a, b in pairwise(reality))
        lines.append(
            f"The hidden-root model beats the best graph by {first['mean']:.0f} nats on average"
            + (", by more for larger models, as published." if larger else ".")
        )
    return lines


def _differ(x: Record) -> bool:
    """Whether a mean is further from the published one than chance explains."""
    ours = x["stderr"] if x["stderr"] is not None else x["sd"] / max(x["count"], 1) ** 0.5
    theirs = x["published_sd"] / 5**0.5
    # No variation over a few data sets does not mean certainty.
    chance = FAR * (ours**2 + theirs**2) ** 0.5
    return bool(abs(x["mean"] - x["published_mean"]) > max(chance, NEAR))


HERE = Path(__file__).parent


def render(content: dict[str, Any], folder: Path = HERE, **more: Any) -> str:
    """Fill `page.html.j2` of a folder; what it extends is in this one."""
    jinja2 = require("jinja2", extra="paper", what="the page")
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FileSystemLoader([folder, HERE]),
    )
    environment.filters |= {
        "plusminus": plusminus,
        "printed": printed,
        "one": lambda x: "–" if x is None else f"{x:.1f}",
        "signed": lambda x: signed(x).replace("-", "−"),
        "plain": lambda x: "–" if x is None else f"{x:g}",
        "seconds": seconds,
        "times": lambda x: "–" if x is None else f"{x:,.0f}×",
        "small": lambda x: "–" if x is None else f"{x:.2g}",
    }
    text: str = environment.get_template("page.html.j2").render(
        titles=TITLES, colours=style_sheet(), **content, **more
    )
    return text


def plusminus(x: Record) -> str:
    """Write mean ± standard deviation, and the standard error of the mean in brackets."""
    if x["mean"] is None:
        return "–"
    text = f"{x['mean']:.1f}".replace("-0.0", "0.0").replace("-", "−")
    text += f" ± {x['sd']:.1f}" if x["sd"] else ""
    return f"{text} ({x['stderr']:.1f})" if x.get("stderr") and "published_mean" in x else text


def printed(x: Record) -> str:
    """Write what was published."""
    if x.get("published_mean") is None:
        return "–"
    sd = f" ± {x['published_sd']:g}" if x["published_sd"] else ""
    return f"{x['published_mean']:g}{sd}".replace("-", "−")


def seconds(x: float | None) -> str:
    """Write a time."""
    if x is None:
        return "–"
    return f"{x:,.0f}" if x >= 100 else f"{x:.2g}" if x >= 0.001 else f"{1e6 * x:.0f} µs"


TIMED = ("em", *PAPER_SCORES)
PLACE = ("n", "c", "N")


def table1_grid(rows: Sequence[Record]) -> Grid:
    """Give Table 1: states chosen by a score − states chosen by Laplace."""
    columns = [title for s in OTHERS for title in (TITLES[s], "1996")]
    body = tuple(
        (
            *(str(row[x]) for x in PLACE),
            f"{row['laplace_states']['mean']:.1f}",
            *(
                text
                for s in OTHERS
                for text in (plusminus(row["scores"][s]), printed(row["scores"][s]))
            ),
        )
        for row in rows
    )
    title = "Table 1: states chosen by a score − states chosen by Laplace"
    return Grid(title, (*PLACE, "Laplace chose", *columns), body, frozenset())


def table2_grid(rows: Sequence[Record]) -> Grid:
    """Give Table 2: seconds."""
    columns = [title for s in TIMED for title in (TITLES[s], "1996")]
    body = tuple(
        (
            str(row["states"]),
            str(row["dimension"]),
            *(
                seconds(row["seconds"][s][when])
                for s in TIMED
                for when in ("measured", "published")
            ),
        )
        for row in rows
    )
    return Grid("Table 2: seconds", ("states", "d", *columns), body, frozenset())


def reality_grid(rows: Sequence[Record]) -> Grid:
    """Give Δm of §5."""
    body = tuple(
        (*(str(row[x]) for x in PLACE), str(row["count"]), plusminus(row), printed(row))
        for row in rows
    )
    title = "Reality check: Laplace of the hidden-root model − log BD of the best graph"
    return Grid(title, (*PLACE, "repetitions", "Δm", "1996"), body, frozenset())
