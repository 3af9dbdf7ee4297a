"""`lacunet paper`: CH96 repeated, and what it left open."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from lacunet.cli import options as o
from lacunet.cli.console import command, say, show
from lacunet.cli.parsing import split
from lacunet.cli.paths import Writes
from lacunet.errors import OptionError
from lacunet.paper.alternatives.study import compare_alternatives
from lacunet.paper.calibration.study import calibrate
from lacunet.paper.reproduce import FULL_MODELS, reproduce
from lacunet.paper.truth.study import study
from lacunet.runtime.files import check_folder

DATASETS = 5  # of each model, where nothing else is said
WORK: Mapping[str, Callable[..., Any]] = {
    "truth": study,
    "alternatives": compare_alternatives,
    "calibration": calibrate,
}


Full: TypeAlias = Annotated[
    bool, o.switch("--full", f"{FULL_MODELS} models: means with honest error bars.")
]
Datasets: TypeAlias = Annotated[
    int | None,
    o.option(
        f"Data sets of each model (default: {DATASETS}), or of each cell of --calibration "
        "(default: as the cell says)."
    ),
]
Truth: TypeAlias = Annotated[
    bool,
    o.switch(
        "--truth",
        "Hold every score against the measured evidence, instead of against Laplace. Takes about "
        "an hour for each data set.",
    ),
]
OtherWays: TypeAlias = Annotated[
    bool,
    o.switch(
        "--alternatives",
        "Compare what the paper names beside what it uses: conjugate gradients with EM; "
        "supplemented EM, finite differences and likelihood-ratio tests with the exact Hessian.",
    ),
]
Calibration: TypeAlias = Annotated[
    bool,
    o.switch(
        "--calibration",
        "Judge posteriors over the number of classes, and error bars of measured evidence, on data "
        "drawn from the prior and from others. Takes hours; --cells and --datasets make it "
        "shorter.",
    ),
]
Cells: TypeAlias = Annotated[
    list[str] | None,
    o.option(
        f"Cells of --calibration, as reference, posteriors, verdicts or others; {o.REPEAT}",
        metavar="NAME",
    ),
]


@command
@o.options_after(study, cells=("target", "budget", "seed", "threads", "json"))
def paper(
    asked: o.Asked,
    out: Annotated[
        Path, o.option("Folder for figures, tables, results and the page."), Writes(check_folder)
    ],
    models: Annotated[int, typer.Option(help="Random models of each experiment.")] = 1,
    datasets: Datasets = None,
    full: Full = False,
    truth: Truth = False,
    alternatives: OtherWays = False,
    calibration: Calibration = False,
    cells: Cells = None,
) -> None:
    """Repeat the experiments of Chickering & Heckerman (1996), published numbers beside ours.

    Can be interrupted at any moment: the same command goes on where it stopped.
    """
    studies = {"truth": truth, "alternatives": alternatives, "calibration": calibration}
    chosen = [name for name, wanted in studies.items() if wanted]
    if len(chosen) > 1:
        raise OptionError(f"{' and '.join(f'--{c}' for c in chosen)}: give one of them.")
    if cells and not calibration:
        raise OptionError("--cells are those of --calibration: give both.")
    count = max(models, FULL_MODELS) if full else models
    scale: dict[str, Any] = {
        "models": count,
        "datasets": DATASETS if datasets is None else datasets,
    }
    if calibration:
        scale = {"cells": split(cells), "datasets": datasets}
    settings = asked.settings
    words = [f"lacunet paper --out {out}", *(f"--{name}" for name in chosen)]
    words += _words({**scale, "seed": settings.seed})
    if truth or calibration:
        words.append(f"--target {settings.target:g} --budget {settings.budget:g}s")
    work = WORK[chosen[0]] if chosen else reproduce
    with asked.work() as how:
        found = work(out, **scale, command=" ".join(words), **how)
    known = {"out": str(out), **scale, "seed": settings.seed}
    show(found, {**known, **found.document()}, asked.form)
    say(f"written: {found.page}")


def _words(options: Mapping[str, Any]) -> list[str]:
    """Write options as they are given; what was not given is left out."""
    return [
        f"--{name} {','.join(x) if isinstance(x, list) else x}" for name, x in options.items() if x
    ]
