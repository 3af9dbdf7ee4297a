"""Repeat the experiments: run the missing tasks, then write figures, tables and the page.

Tables have the published numbers beside the measured ones; the page is self-contained.
"""

import importlib.metadata
import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from lacunet.paper import tables
from lacunet.paper.experiments import (
    PAPER,
    PAPER_SCORES,
    Design,
    Experimenter,
    Task,
    begin,
    run_all,
    work_of,
)
from lacunet.paper.tables import OTHERS, Record, write_figure
from lacunet.plots.style import style_sheet
from lacunet.runtime.executor import on_threads
from lacunet.runtime.files import write_text
from lacunet.runtime.progress import Listener, ignore
from lacunet.selection.grids import TITLES as SCORES
from lacunet.settings import DEFAULTS, Settings
from lacunet.tabular import Grid, Printable

FULL_MODELS = 20
TITLES = SCORES | {"em": "EM", "cs": "CS"}
PACKAGES = ("lacunet", "numpy", "scipy", "numba")
NEAR = 0.5  # states: closer means count as equal
FAR = 2.0  # combined standard errors above which means count as different
FOLDER = Path(__file__).parent
TIMED = ("em", *PAPER_SCORES)
PLACE = ("n", "c", "N")
MADE = "states chosen by a score − states chosen by Laplace"


@dataclass(frozen=True, eq=False, repr=False)
class Reproduction(Printable):
    """The results, and the folder with all files."""

    KEYS = "table1 findings"

    folder: Path
    records: tuple[dict[str, Any], ...]
    table1: tuple[dict[str, Any], ...]
    findings: tuple[str, ...]

    @property
    def page(self) -> Path:
        """The page with all results."""
        return self.folder / "paper.html"

    def grids(self) -> Sequence[Grid]:
        """Return the tables for `print` and notebooks."""
        means = {"": "mean", " (1996)": "published_mean"}
        columns = {f"{s}{year}": (s, mean) for s in OTHERS for year, mean in means.items()}
        title = f"Table 1: {MADE}, mean"
        return [experiments_grid(title, self.table1, columns), findings_grid(self.findings)]


def reproduce(
    out: str | Path,
    *,
    models: int = 1,
    datasets: int = 5,
    settings: Settings = DEFAULTS,
    design: Design = PAPER,
    command: str = "lacunet paper",
    listener: Listener = ignore,
) -> Reproduction:
    """Repeat the experiments of CH96 into a folder; results that the folder has are reused."""
    repeated = {"models": models, "datasets": datasets}
    made = {"seed": settings.seed, "starts": settings.starts}
    ledger = begin(out, "results.jsonl", made, Task, **repeated)
    todo = list(design.tasks(models, datasets))
    with on_threads(settings.threads, listener) as executor:
        run_all(todo, work_of(Experimenter(design, **made), executor), ledger, executor)
    # In the order of the design, and without further records of a longer earlier run.
    records = [ledger.records[task] for task in todo]
    scale = "one random model and five data sets for each experiment, as in the paper"
    if (models, datasets) != (1, 5):
        scale = f"{models} random models and {datasets} data sets of each, for each experiment"
    request = {**repeated, **made, "command": command, "scale": scale}
    return _write(records, design, Path(out), request)


def _write(
    records: list[dict[str, Any]], design: Design, folder: Path, request: dict[str, Any]
) -> Reproduction:
    table1, table2 = tables.table1(records, design), tables.table2(records, design)
    reality, convergence = tables.reality(records, design), tables.convergence(records)
    checked = {"comparisons": reality, "convergence": convergence}
    documents = {"table1": table1, "table2": table2, "reality_check": checked}
    for name, document in documents.items():
        write_text(folder / f"{name}.json", json.dumps(document, indent=1) + "\n")
    lines = findings(table1, reality)
    shown = (table1_grid(table1), table2_grid(table2), reality_grid(reality), findings_grid(lines))
    write_text(folder / "paper.md", "\n".join(grid.markdown() for grid in shown))
    content = {
        "figures": {n: write_figure(n, p, records, folder) for n, p in design.figures.items()},
        "table1": table1,
        "table2": table2,
        "timed": design.timed,
        "convergence": convergence,
        "reality": reality,
        "epsilons": tables.epsilons(records, design),
        "epsilons_range": list(design.epsilons),
        "findings": lines,
        "settings": {
            **request,
            "versions": versions(),
            "fits": len(tables.fits(records)),
            "seconds": sum(sum(r["seconds"].values()) for r in records),
        },
    }
    write_text(folder / "paper.html", render(content, others=OTHERS, timings=TIMED))
    return Reproduction(folder, tuple(records), tuple(table1), tuple(lines))


def versions() -> str:
    """Versions of Python and of the packages, and the machine."""
    packages = [f"{name} {importlib.metadata.version(name)}" for name in PACKAGES]
    return ", ".join([f"Python {platform.python_version()}", *packages, platform.machine()])


def findings(table1: Sequence[Record], reality: Sequence[Record]) -> list[str]:
    """Describe where the numbers agree with the published ones and where they do not."""
    below = [r for r in table1 if r["scores"]["bic"]["mean"] <= 0]
    printed = [
        (r, name, r["scores"][name])
        for r in table1
        for name in OTHERS
        if r["scores"][name]["published_mean"] is not None
    ]
    far = [(r, name, x) for r, name, x in printed if _differ(x)]
    near = len(printed) - len(far)
    choices = (
        f"BIC chooses no more states than Laplace on average in {len(below)} of {len(table1)} "
        "experiments (published: in all of them)."
    )
    means = (
        f"{near} of {len(printed)} means of Table 1 agree with the published ones within "
        f"{FAR:g} standard errors of both sides together, or {NEAR:g} of a state."
    )
    lines = [choices, means]
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
        larger = all(b["mean"] > a["mean"] for a, b in pairwise(reality))
        lines.append(
            f"The hidden-root model beats the best graph by {reality[0]['mean']:.0f} nats on "
            f"average{', by more for larger models, as published' * larger}."
        )
    return lines


def _differ(x: Record) -> bool:
    """Whether a mean is further from the published one than chance explains."""
    ours = x["stderr"] if x["stderr"] is not None else x["sd"] / max(x["count"], 1) ** 0.5
    theirs = x["published_sd"] / 5**0.5
    # Zero variation over a few data sets is not certainty.
    chance = FAR * (ours**2 + theirs**2) ** 0.5
    return bool(abs(x["mean"] - x["published_mean"]) > max(chance, NEAR))


def render(content: dict[str, Any], folder: Path = FOLDER, **more: Any) -> str:
    """Fill `page.html.j2` of a folder, which may extend a template of this one."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FileSystemLoader([folder, FOLDER]),
    )
    environment.filters |= {
        "plusminus": plusminus,
        "printed": printed,
        "seconds": seconds,
        "one": _known("{:.1f}"),
        "signed": lambda x: signed(x).replace("-", "−"),
        "plain": _known("{:g}"),
        "times": _known("{:,.0f}×"),
        "small": _known("{:.2g}"),
    }
    text: str = environment.get_template("page.html.j2").render(
        titles=TITLES, colours=style_sheet(), **content, **more
    )
    return text


def _known(form: str) -> Callable[[float | None], str]:
    """Formatter of a number that may be missing."""
    return lambda x: "–" if x is None else form.format(x)


def signed(x: float | None) -> str:
    """Format a difference."""
    return _known("{:+.1f}")(x)


def plusminus(x: Record) -> str:
    """Format mean ± standard deviation, and the standard error of the mean in brackets."""
    if x["mean"] is None:
        return "–"
    text = f"{x['mean']:.1f}".replace("-0.0", "0.0").replace("-", "−")
    text += f" ± {x['sd']:.1f}" if x["sd"] else ""
    return f"{text} ({x['stderr']:.1f})" if x.get("stderr") and "published_mean" in x else text


def printed(x: Record) -> str:
    """Format a published mean."""
    if x.get("published_mean") is None:
        return "–"
    sd = f" ± {x['published_sd']:g}" if x["published_sd"] else ""
    return f"{x['published_mean']:g}{sd}".replace("-", "−")


def seconds(x: float | None) -> str:
    """Format a time."""
    if x is None:
        return "–"
    return f"{x:,.0f}" if x >= 100 else f"{x:.2g}" if x >= 0.001 else f"{1e6 * x:.0f} µs"


def experiments_grid(
    title: str, table: Sequence[Record], columns: Mapping[str, tuple[str, str]]
) -> Grid:
    """Table of the experiments, with a number of a score in each column."""
    return _grid(
        title,
        table,
        (*PLACE, *columns),
        lambda row: [*_place(row), *(signed(row["scores"][s][x]) for s, x in columns.values())],
    )


def findings_grid(lines: Sequence[str]) -> Grid:
    """Return the findings for `print`."""
    return Grid("Findings", notes=tuple(f"- {line}" for line in lines))


def table1_grid(rows: Sequence[Record]) -> Grid:
    """Return Table 1: states chosen by a score − states chosen by Laplace."""

    def cells(row: Record) -> list[str]:
        each = [row["scores"][s] for s in OTHERS]
        differences = [text for x in each for text in (plusminus(x), printed(x))]
        return [*_place(row), f"{row['laplace_states']['mean']:.1f}", *differences]

    columns = [title for s in OTHERS for title in (TITLES[s], "1996")]
    return _grid(f"Table 1: {MADE}", rows, (*PLACE, "Laplace chose", *columns), cells)


def table2_grid(rows: Sequence[Record]) -> Grid:
    """Return Table 2: seconds."""

    def cells(row: Record) -> list[str]:
        each = [row["seconds"][s] for s in TIMED]
        times = [seconds(x[when]) for x in each for when in ("measured", "published")]
        return [str(row["states"]), str(row["dimension"]), *times]

    columns = [title for s in TIMED for title in (TITLES[s], "1996")]
    return _grid("Table 2: seconds", rows, ("states", "d", *columns), cells)


def reality_grid(rows: Sequence[Record]) -> Grid:
    """Return Δm of §5."""
    return _grid(
        "Reality check: Laplace of the hidden-root model − log BD of the best graph",
        rows,
        (*PLACE, "repetitions", "Δm", "1996"),
        lambda row: [*_place(row), str(row["count"]), plusminus(row), printed(row)],
    )


def _grid(
    title: str,
    rows: Sequence[Record],
    header: Sequence[str],
    cells: Callable[[Record], Sequence[str]],
) -> Grid:
    return Grid(title, tuple(header), tuple(tuple(cells(row)) for row in rows), frozenset())


def _place(row: Record) -> list[str]:
    return [str(row[x]) for x in PLACE]
