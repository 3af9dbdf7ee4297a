"""The whole of it: measure what is not measured yet, then write figures, tables and the page."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from lacunet.evidence.prepare_sampling import prepare_sampling
from lacunet.executor import Executor, on_threads
from lacunet.files import write_text
from lacunet.paper.design import PAPER, Design, Task
from lacunet.paper.experiments import Experimenter
from lacunet.paper.ledger import Ledger, begin
from lacunet.paper.page import render, versions
from lacunet.paper.truth import comparison_tables as tables
from lacunet.paper.truth.measurements import Measurer, weight
from lacunet.paper.truth.truth_curves import write_figure
from lacunet.progress import Listener, ignore
from lacunet.settings import Settings
from lacunet.tabular import Grid, Printable

STUDY = Settings(target=0.2, budget=20.0)  # of each evidence
SHOWN = ("csl", "laplace", "vb", "cs", "draper", "bic")  # on the terminal; the page has all


@dataclass(frozen=True, eq=False)
class TruthStudy(Printable):
    """What was found, and where it was written."""

    folder: Path
    errors: tuple[dict[str, Any], ...]
    choices: tuple[dict[str, Any], ...]
    findings: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Give what `--json` shows."""
        tables = {"errors": list(self.errors), "choices": list(self.choices)}
        return {**tables, "findings": list(self.findings)}

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""

        def rows(table: Sequence[dict[str, Any]], key: str) -> tuple[tuple[str, ...], ...]:
            return tuple(
                (
                    *(str(row[x]) for x in ("n", "c", "N")),
                    *(_signed(row["scores"][name][key]) for name in SHOWN),
                )
                for row in table
            )

        header = ("n", "c", "N", *SHOWN)
        return [
            Grid(
                "Score − evidence at the generating number of states, nats, mean",
                header,
                rows(self.errors, "at_c"),
                frozenset(),
            ),
            Grid(
                "States chosen by a score − states chosen by the evidence, mean",
                header,
                rows(self.choices, "mean"),
                frozenset(),
            ),
            Grid("Findings", (), (), notes=tuple(f"- {line}" for line in self.findings)),
        ]


def _signed(x: float | None) -> str:
    return "–" if x is None else f"{x:+.1f}"


def study(
    out: str | Path,
    *,
    models: int = 1,
    datasets: int = 5,
    settings: Settings = STUDY,
    design: Design = PAPER,
    command: str = "lacunet paper --truth",
    listener: Listener = ignore,
) -> TruthStudy:
    """Hold every score against the measured evidence; what the folder has is not done again."""
    seed, starts, goal = settings.seed, settings.starts, settings.goal
    asked: dict[str, Any] = {"models": models, "datasets": datasets, "seed": seed, "starts": starts}
    ledger = begin(out, "truth.jsonl", **asked)
    todo = list(design.truth_tasks(models, datasets))
    with on_threads(settings.threads, listener) as executor:
        prepare_sampling(executor)
        measurer = Measurer(Experimenter(design, seed, starts), goal, executor.silent())
        _measure_all(todo, measurer, ledger, executor)
    records = [ledger.records[task.key] for task in todo]
    asked |= {"target": goal.target, "budget": goal.budget, "command": command}
    return _write(records, design, Path(out), {**asked, "versions": versions()})


def _measure_all(
    todo: Sequence[Task], measurer: Measurer, ledger: Ledger, executor: Executor
) -> None:
    """One after the other, each on all threads; each result is kept as soon as it is there."""
    total, done = sum(map(weight, todo)), 0.0
    for _, group in groupby(todo, key=lambda task: replace(task, states=0)):
        tasks = list(group)
        left = [task for task in tasks if task not in ledger]
        records = measurer.run(left)
        for task in tasks:
            title = f"n={task.n} c={task.c} N={task.N}, {task.states} states"
            executor.say(title, done / total)
            if task in left:
                ledger.add(next(records))
            done += weight(task)
    executor.say("evidence measured", 1.0)


def _write(
    records: list[dict[str, Any]], design: Design, folder: Path, asked: dict[str, Any]
) -> TruthStudy:
    """Write tables, figures and the page."""
    measured = tables.measured(records)
    errors, choices = tables.errors_table(measured, design), tables.choices_table(measured, design)
    costs, starts = tables.costs_table(measured, design), tables.starts_table(measured, design)
    document = {"errors": errors, "choices": choices, "costs": costs, "starts": starts}
    write_text(folder / "truth.json", json.dumps(document, indent=1) + "\n")
    figures = [
        {"number": number, "svg": write_figure(number, panels, measured, folder)}
        for number, panels in design.figures.items()
    ]
    lines = findings(errors, choices, starts)
    page = render(
        "truth/page.html.j2",
        {**document, "figures": figures, "findings": lines, "settings": asked},
        names=tables.NAMES,
        ways=tables.WAYS,
    )
    write_text(folder / "truth.html", page)
    return TruthStudy(folder, tuple(errors), tuple(choices), tuple(lines))


def findings(
    errors: Sequence[dict[str, Any]],
    choices: Sequence[dict[str, Any]],
    starts: Sequence[dict[str, Any]],
) -> list[str]:
    """Say, from the numbers, which scores are near and which choose well."""
    lines = []
    size = _means(errors, "mean_size")
    ranked = sorted(size, key=lambda name: size[name])
    if ranked:
        near = ", ".join(f"{name} ({size[name]:.1f})" for name in ranked[:4])
        far = ", ".join(f"{name} ({size[name]:.0f})" for name in ranked[-3:])
        lines.append(
            f"Mean distance from the evidence over all experiments, in nats: nearest {near}; "
            f"farthest {far}."
        )
    off = {
        name: statistics.fmean(abs(row["scores"][name]["mean"]) for row in choices)
        for name in tables.NAMES
        if choices and all(row["scores"][name]["mean"] is not None for row in choices)
    }
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


def _means(rows: Sequence[dict[str, Any]], key: str) -> dict[str, float]:
    """Means over the experiments, of the scores that every one of them has."""
    return {
        name: statistics.fmean(row["scores"][name][key] for row in rows)
        for name in tables.NAMES
        if rows and all(row["scores"][name][key] is not None for row in rows)
    }
