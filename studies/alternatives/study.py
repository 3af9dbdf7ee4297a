"""The whole of it: compare what is not compared yet, then write tables and the page."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lacunet.fitting.prepare import prepare
from lacunet.paper.experiments import Experimenter, Task, Work, begin, run_all
from lacunet.paper.reproduce import findings_grid, render, versions
from lacunet.paper.tables import Record
from lacunet.runtime.executor import on_threads
from lacunet.runtime.files import write_text
from lacunet.runtime.progress import Listener, ignore
from lacunet.settings import DEFAULTS, Settings
from lacunet.tabular import Grid, Printable
from studies.alternatives import alternative_tables as tables
from studies.alternatives.comparisons import Comparer, weight
from studies.design import STUDIES, StudyDesign


@dataclass(frozen=True, eq=False, repr=False)
class Alternatives(Printable):
    """What was found, and where it was written."""

    KEYS = "ascents hessians findings"

    folder: Path
    ascents: tuple[Record, ...]  # a row for each experiment
    hessians: tuple[Record, ...]  # likewise
    findings: tuple[str, ...]

    @property
    def page(self) -> Path:
        """The page that shows it all."""
        return self.folder / "alternatives.html"

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        both = [tables.ascents_grid(self.ascents), tables.hessians_grid(self.hessians)]
        return [*both, findings_grid(self.findings)]


def compare_alternatives(
    out: str | Path,
    *,
    models: int = 1,
    datasets: int = 5,
    settings: Settings = DEFAULTS,
    design: StudyDesign = STUDIES,
    command: str = "python -m studies alternatives",
    listener: Listener = ignore,
) -> Alternatives:
    """Hold what CH96 names beside what it uses; what the folder has is not done again."""
    repeated = {"models": models, "datasets": datasets}
    made = {"seed": settings.seed, "starts": settings.starts}
    ledger = begin(out, "alternatives.jsonl", made, Task, **repeated)
    todo = list(design.alternative_tasks(models, datasets))
    with on_threads(settings.threads, listener) as executor:
        prepare(executor)
        run = partial(Comparer.run, Comparer(Experimenter(design, **made)), executor.silent())
        run_all(todo, Work(run, weight, _title), ledger, executor)
    records = [ledger.records[task] for task in todo]
    ascents = tables.ascents_table(records, design.alternative_panels)
    hessians = tables.hessians_table(records, design.alternative_panels)
    lines = tables.findings(ascents, hessians)
    found = Alternatives(Path(out), tuple(ascents), tuple(hessians), tuple(lines))
    _write(found, {**repeated, **made, "command": command, "versions": versions()})
    return found


def _title(task: Task) -> str:
    return f"n={task.n} c={task.c} N={task.N}, data set {task.dataset + 1}"


def _write(found: Alternatives, asked: dict[str, Any]) -> None:
    """Write the tables and the page."""
    text = json.dumps(found.to_dict(), indent=1) + "\n"
    write_text(found.folder / "alternatives.json", text)
    write_text(found.folder / "alternatives.md", found.to_markdown())
    tables = [grid.html() for grid in found.grids()[:-1]]
    content = {"tables": tables, "findings": found.findings, "settings": asked}
    write_text(found.page, render(content, Path(__file__).parent))
