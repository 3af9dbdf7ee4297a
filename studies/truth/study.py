"""The whole of it: measure what is not measured yet, then write figures, tables and the page."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from lacunet.evidence.smc import prepare_sampling
from lacunet.paper.experiments import Experimenter, Task, begin
from lacunet.paper.reproduce import experiments_grid, findings_grid, render, versions
from lacunet.paper.tables import Record, draw_experiments
from lacunet.runtime.checkpoint import Ledger
from lacunet.runtime.executor import Executor, on_threads
from lacunet.runtime.files import write_text
from lacunet.runtime.progress import Listener, ignore
from lacunet.settings import Settings
from lacunet.tabular import Grid, Printable
from studies.design import STUDIES, StudyDesign
from studies.truth import comparison_tables as tables
from studies.truth.measurements import Measurer, weight
from studies.truth.truth_curves import with_evidence

STUDY = Settings(target=0.2, budget=20.0)  # of each evidence
SHOWN = ("csl", "laplace", "vb", "cs", "draper", "bic")  # on the terminal; the page has all


@dataclass(frozen=True, eq=False, repr=False)
class TruthStudy(Printable):
    """What was found, and where it was written."""

    KEYS = "errors choices findings"

    folder: Path
    errors: tuple[Record, ...]
    choices: tuple[Record, ...]
    findings: tuple[str, ...]

    @property
    def page(self) -> Path:
        """The page that shows it all."""
        return self.folder / "truth.html"

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        errors = "Score − evidence at the generating number of states, nats, mean"
        choices = "States chosen by a score − states chosen by the evidence, mean"
        return [
            experiments_grid(errors, self.errors, {name: (name, "at_c") for name in SHOWN}),
            experiments_grid(choices, self.choices, {name: (name, "mean") for name in SHOWN}),
            findings_grid(self.findings),
        ]


def study(
    out: str | Path,
    *,
    models: int = 1,
    datasets: int = 5,
    settings: Settings = STUDY,
    design: StudyDesign = STUDIES,
    command: str = "python -m studies truth",
    listener: Listener = ignore,
) -> TruthStudy:
    """Hold every score against the measured evidence; what the folder has is not done again."""
    repeated, goal = {"models": models, "datasets": datasets}, settings.goal
    made = {"seed": settings.seed, "starts": settings.starts}
    ledger = begin(out, "truth.jsonl", made, Task, **repeated)
    todo = list(design.truth_tasks(models, datasets))
    with on_threads(settings.threads, listener) as executor:
        prepare_sampling(executor)
        measurer = Measurer(Experimenter(design, **made), goal, executor.silent())
        _measure_all(todo, measurer, ledger, executor)
    records = [ledger.records[task] for task in todo]
    how = {"target": goal.target, "budget": goal.budget, "versions": versions()}
    asked = {**repeated, **made, **how, "command": command}
    return _write(records, design, Path(out), asked)


def _measure_all(
    todo: Sequence[Task], measurer: Measurer, ledger: Ledger[Task], executor: Executor
) -> None:
    """One after the other, each on all threads; each result is kept as soon as it is there."""
    total, done = sum(map(weight, todo)), 0.0
    for _, group in groupby(todo, key=lambda task: replace(task, states=0)):
        tasks = list(group)
        left = [task for task in tasks if task not in ledger]
        records = measurer.run(left)
        for task in tasks:
            executor.report(f"n={task.n} c={task.c} N={task.N}, {task.states} states", done / total)
            if task in left:
                ledger.add(next(records))
            done += weight(task)
    executor.report("evidence measured", 1.0)


def _write(
    records: list[dict[str, Any]], design: StudyDesign, folder: Path, asked: dict[str, Any]
) -> TruthStudy:
    """Write tables, figures and the page."""
    errors, choices = tables.errors_table(records, design), tables.choices_table(records, design)
    costs, starts = tables.costs_table(records, design), tables.starts_table(records, design)
    document = {"errors": errors, "choices": choices, "costs": costs, "starts": starts}
    write_text(folder / "truth.json", json.dumps(document, indent=1) + "\n")
    figures = {
        n: draw_experiments(f"truth{n}", [with_evidence(records, p) for p in panels], folder)
        for n, panels in design.figures.items()
    }
    lines = findings(errors, choices, starts)
    content = {**document, "figures": figures, "findings": lines, "settings": asked}
    page = render(content, Path(__file__).parent, names=tables.NAMES, ways=tables.WAYS)
    write_text(folder / "truth.html", page)
    return TruthStudy(folder, tuple(errors), tuple(choices), tuple(lines))


def findings(
    errors: Sequence[Record], choices: Sequence[Record], starts: Sequence[Record]
) -> list[str]:
    """Say, from the numbers, which scores are near and which choose well."""
    lines = []
    size = _mean_sizes(errors, "mean_size")
    if size:
        ranked = sorted(size, key=lambda name: size[name])
        near = ", ".join(f"{name} ({size[name]:.1f})" for name in ranked[:4])
        far = ", ".join(f"{name} ({size[name]:.0f})" for name in ranked[-3:])
        lines.append(
            f"Mean distance from the evidence over all experiments, in nats: nearest {near}; "
            f"farthest {far}."
        )
    off = _mean_sizes(choices, "mean")
    if off:
        best = sorted(off, key=lambda name: off[name])
        lines.append(
            "Mean distance of the chosen number of states from that of the evidence: "
            + ", ".join(f"{name} {off[name]:.1f}" for name in best)
            + "."
        )
    for row in starts:
        paper, default = row["ways"]["paper"], row["ways"]["thorough"]
        if row["c"] >= 8:
            lines.append(
                f"n = {row['n']}, c = {row['c']}: random starts end {paper['log_posterior']:+.0f} "
                f"nats from EM started at the generating parameters; the thorough schedule "
                f"{default['log_posterior']:+.0f} ({default['reached']} of {row['datasets']} data "
                "sets reach it)."
            )
    return lines


def _mean_sizes(rows: Sequence[Record], key: str) -> dict[str, float]:
    """Mean sizes over the experiments, of the scores that every one of them has."""
    return {
        name: statistics.fmean(abs(row["scores"][name][key]) for row in rows)
        for name in tables.NAMES
        if rows and all(row["scores"][name][key] is not None for row in rows)
    }
