"""`lacunet paper`: the experiments of CH96 repeated."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from lacunet.cli import options as o
from lacunet.cli.console import command, say, show
from lacunet.cli.paths import Writes
from lacunet.paper.reproduce import FULL_MODELS, reproduce
from lacunet.runtime.files import check_folder

Full: TypeAlias = Annotated[
    bool, o.switch("--full", f"{FULL_MODELS} models: means with honest error bars.")
]


@command
@o.options_after(reproduce, full=("seed", "threads", "json"))
def paper(
    asked: o.Asked,
    out: Annotated[
        Path, o.option("Folder for figures, tables, results and the page."), Writes(check_folder)
    ],
    models: Annotated[int, typer.Option(help="Random models of each experiment.")] = 1,
    datasets: Annotated[int, typer.Option(help="Data sets of each model.")] = 5,
    full: Full = False,
) -> None:
    """Repeat the experiments of Chickering & Heckerman (1996), published numbers beside ours.

    Can be interrupted at any moment: the same command goes on where it stopped. What the paper left
    open has commands of its own, beside the package: `python -m studies`.
    """
    count = max(models, FULL_MODELS) if full else models
    scale = {"models": count, "datasets": datasets, "seed": asked.settings.seed}
    words = "".join(f" --{name} {value}" for name, value in scale.items() if value)
    with asked.work() as how:
        line = f"lacunet paper --out {out}{words}"
        found = reproduce(out, models=count, datasets=datasets, command=line, **how)
    show(found, {"out": str(out), **scale, **found.document()}, asked.form)
    say(f"written: {found.page}")
