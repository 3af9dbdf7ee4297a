"""The whole of it: draw and judge what is not judged yet, then write tables, diagrams, the page."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lacunet.evidence.smc import prepare_sampling
from lacunet.paper.experiments import Work, begin, run_all
from lacunet.paper.reproduce import findings_grid, render, versions
from lacunet.paper.tables import Record
from lacunet.runtime.executor import on_threads
from lacunet.runtime.files import write_text
from lacunet.runtime.progress import Listener, ignore
from lacunet.settings import Settings
from lacunet.tabular import Grid, Printable
from studies.calibration import calibration_grids as grids
from studies.calibration.cell import DrawSettings
from studies.calibration.cells import CALIBRATION, CalibrationDesign, CalibrationTask
from studies.calibration.coverage_tables import coverage_table, judged
from studies.calibration.diagrams import write_diagrams
from studies.calibration.known_networks import KNOWN
from studies.calibration.other_tables import others_findings, others_grid, others_table
from studies.calibration.reliability import reliability_table

CALIBRATE = Settings(target=0.15, budget=20.0)  # of each evidence


@dataclass(frozen=True, eq=False, repr=False)
class Calibrated(Printable):
    """What was found, and where it was written."""

    KEYS = "reliability coverage others findings"

    folder: Path
    reliability: tuple[Record, ...]  # a row for each cell of posteriors
    coverage: tuple[Record, ...]  # a row for each shape, verdict and method
    others: tuple[Record, ...]  # a row for each cell of other priors, and for each factor of them
    findings: tuple[str, ...]

    @property
    def page(self) -> Path:
        """The page that shows it all."""
        return self.folder / "calibration.html"

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        rows = self.reliability
        every = [grids.overview_grid(rows)] if len(rows) > 1 else []
        every += map(grids.reliability_grid, rows)
        every += [grids.coverage_grid(self.coverage)] if self.coverage else []
        every += [others_grid(self.others)] if self.others else []
        return [*every, findings_grid(self.findings)]


def calibrate(
    out: str | Path,
    *,
    cells: Sequence[str] = (),
    datasets: int | None = None,
    settings: Settings = CALIBRATE,
    design: CalibrationDesign = CALIBRATION,
    command: str = "python -m studies calibration",
    listener: Listener = ignore,
) -> Calibrated:
    """Judge posteriors and error bars on data that are drawn; what the folder has is not redone.

    Parameters
    ----------
    out
        Folder for results, tables, diagrams and the page.
    cells
        Names of cells, or of the groups `posteriors`, `verdicts` and `others` (default: all).
    datasets
        Data sets of each cell (default: as the design says).
    settings, design, command, listener
        How to work; what there is; how the page says it was made; who hears of progress.
    """
    design = design.only(cells)
    repeated = {} if datasets is None else {"datasets": datasets}
    how = DrawSettings(settings.seed, settings.starts, settings.goal)
    made = {"seed": how.seed, "starts": how.starts, **asdict(how.goal)}
    ledger = begin(out, "calibration.jsonl", made, CalibrationTask, **repeated)
    if datasets is not None:
        design = design.repeated(datasets)
    todo = list(design.tasks())
    with on_threads(settings.threads, listener) as executor:
        prepare_sampling(executor, *KNOWN.values())
        work = Work(partial(_run, design, how), design.weight, _title)
        run_all(todo, work, ledger, executor)
    records = [ledger.records[task] for task in todo]
    asked = {**made, "command": command, "versions": versions()}
    return _write(records, design, Path(out), asked)


def _run(design: CalibrationDesign, how: DrawSettings, task: CalibrationTask) -> dict[str, Any]:
    return {**asdict(task), **design.cells[task.cell].run(task.dataset, how)}


def _title(task: CalibrationTask) -> str:
    return f"{task.cell}, data set {task.dataset + 1}"


def _write(
    records: Sequence[Record], design: CalibrationDesign, folder: Path, asked: dict[str, Any]
) -> Calibrated:
    """Write tables, diagrams and the page."""
    rows = [reliability_table(records, cell) for cell in design.posteriors]
    names = {cell.name for cell in design.verdicts}
    problems = [r for r in records if r["cell"] in names]
    measured = judged(problems, asked["budget"])
    coverage = coverage_table(measured)
    others = others_table(records, design.others)
    lines = [*grids.findings(rows, measured), *others_findings(others)]
    found = Calibrated(folder, tuple(rows), tuple(coverage), tuple(others), tuple(lines))
    write_text(folder / "calibration.json", json.dumps(found.to_dict(), indent=1) + "\n")
    write_text(folder / "calibration.md", found.to_markdown())
    content = {
        "figures": write_diagrams(rows, folder),
        "tables": [grid.html() for grid in found.grids()[:-1]],
        "findings": lines,
        "settings": {
            **asked,
            "problems": len(problems),
            "cpu": sum(sum(r["cpu"].values()) for r in records),
        },
    }
    write_text(folder / "calibration.html", render(content, Path(__file__).parent))
    return found
