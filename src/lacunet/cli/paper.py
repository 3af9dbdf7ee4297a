"""`lacunet paper`: CH96 repeated."""

from pathlib import Path
from typing import Annotated

import typer

from lacunet.cli import options as o
from lacunet.cli.console import command, say, show
from lacunet.paper.reproduce import FULL_MODELS, reproduce
from lacunet.paper.truth.study import study


@command
@o.options_after(study, truth=("target", "budget", "seed", "threads", "json"))
def paper(
    asked: o.Asked,
    out: Annotated[Path, o.option("Folder for figures, tables, results and the page.")],
    models: Annotated[int, typer.Option(help="Random models of each experiment.")] = 1,
    datasets: Annotated[int, typer.Option(help="Data sets of each model.")] = 5,
    full: Annotated[
        bool, o.switch("--full", f"{FULL_MODELS} models: means with honest error bars.")
    ] = False,
    truth: Annotated[
        bool,
        o.switch(
            "--truth",
            "Hold every score against the measured evidence, instead of against Laplace. "
            "Takes about an hour for each data set.",
        ),
    ] = False,
) -> None:
    """Repeat the experiments of Chickering & Heckerman (1996), published numbers beside ours.

    Can be interrupted at any moment: the same command goes on where it stopped.
    """
    settings = asked.settings
    count, seed = max(models, FULL_MODELS) if full else models, settings.seed
    command_line = f"lacunet paper --out {out} --models {count} --datasets {datasets} --seed {seed}"
    if truth:
        command_line += f" --truth --target {settings.target:g} --budget {settings.budget:g}s"
    work, page = (study, "truth.html") if truth else (reproduce, "paper.html")
    with asked.work() as how:
        found = work(out, models=count, datasets=datasets, command=command_line, **how)
    scale = {"out": str(out), "models": count, "datasets": datasets, "seed": seed}
    show(found, {**scale, **found.document()}, asked.form)
    say(f"written: {out / page}")
