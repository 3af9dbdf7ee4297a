"""The whole of it: run what is not done yet, then write figures, tables and the page."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lacunet.paper import tables
from lacunet.paper.experiments import PAPER, PAPER_SCORES, Design, Experimenter, Task, work_of
from lacunet.paper.ledger import begin, run_all
from lacunet.paper.page import (
    experiments_grid,
    findings,
    findings_grid,
    reality_grid,
    render,
    table1_grid,
    table2_grid,
    versions,
)
from lacunet.paper.tables import write_figure
from lacunet.runtime.executor import on_threads
from lacunet.runtime.files import write_text
from lacunet.runtime.progress import Listener, ignore
from lacunet.settings import DEFAULTS, Settings
from lacunet.tabular import Grid, Printable

FULL_MODELS = 20


@dataclass(frozen=True, eq=False, repr=False)
class Reproduction(Printable):
    """What was found, and where it was written."""

    folder: Path
    records: tuple[dict[str, Any], ...]
    table1: tuple[dict[str, Any], ...]
    findings: tuple[str, ...]

    @property
    def page(self) -> Path:
        """The page that shows it all."""
        return self.folder / "paper.html"

    def document(self) -> dict[str, Any]:
        """Give what `--json` shows."""
        return {"table1": list(self.table1), "findings": list(self.findings)}

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        means = {"": "mean", " (1996)": "published_mean"}
        columns = {f"{s}{year}": (s, mean) for s in tables.OTHERS for year, mean in means.items()}
        title = "Table 1: states chosen by a score − states chosen by Laplace, mean"
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
    """Repeat CH96's experiments into a folder; what the folder has already is not done again."""
    repeated = {"models": models, "datasets": datasets}
    made = {"seed": settings.seed, "starts": settings.starts}
    ledger = begin(out, "results.jsonl", made, Task, **repeated)
    todo = list(design.tasks(models, datasets))
    with on_threads(settings.threads, listener) as executor:
        run_all(todo, work_of(Experimenter(design, **made), executor), ledger, executor)
    # In the order of the design, and only what was asked for: a longer earlier run changes nothing.
    records = [ledger.records[task] for task in todo]
    asked = {**repeated, **made, "command": command}
    return _write(records, design, Path(out), asked)


def _write(
    records: list[dict[str, Any]], design: Design, folder: Path, asked: dict[str, Any]
) -> Reproduction:
    table1, table2 = tables.table1(records, design), tables.table2(records, design)
    reality, convergence = tables.reality(records, design), tables.convergence(records)
    checked = {"comparisons": reality, "convergence": convergence}
    documents = {"table1": table1, "table2": table2, "reality_check": checked}
    for name, document in documents.items():
        write_text(folder / f"{name}.json", json.dumps(document, indent=1) + "\n")
    lines = findings(table1, reality)
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
            **asked,
            "scale": _scale(**asked),
            "versions": versions(),
            "fits": len(tables.fits(records)),
            "seconds": sum(sum(r["seconds"].values()) for r in records),
        },
    }
    shown = (table1_grid(table1), table2_grid(table2), reality_grid(reality), findings_grid(lines))
    write_text(folder / "paper.md", "\n".join(grid.markdown() for grid in shown))
    page = render(content, others=tables.OTHERS, timings=("em", *PAPER_SCORES))
    write_text(folder / "paper.html", page)
    return Reproduction(folder, tuple(records), tuple(table1), tuple(lines))


def _scale(models: int, datasets: int, **_others: object) -> str:
    if (models, datasets) == (1, 5):
        return "one random model and five data sets for each experiment, as in the paper"
    return f"{models} random models and {datasets} data sets of each, for each experiment"
