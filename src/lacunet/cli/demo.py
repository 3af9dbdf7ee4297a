"""`lacunet demo`: the main job, on data that come with the package."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command, say, show
from lacunet.cli.paths import Writes
from lacunet.cli.table_words import audit
from lacunet.data.datasets import dataset_path
from lacunet.data.read import read_table
from lacunet.report.documents import selection_document
from lacunet.report.folder import save_selection
from lacunet.runtime.files import check_folder


@command
@o.options_after(api.select, save=("threads", "json"))
def demo(
    asked: o.Asked,
    save: Annotated[
        Path, typer.Option(help="Folder for what it writes."), Writes(check_folder)
    ] = Path("lacunet-demo"),
) -> None:
    """Choose the number of hidden classes in a bundled survey with missing answers."""
    path = dataset_path("survey")
    say(shlex.join(["lacunet", "select", str(path), "--states", "1:6", "--save", str(save)]))
    table = read_table(path)
    audit(table)
    with asked.work() as how:
        found = api.select(table, range(1, 7), **how)
    save_selection(found, save)
    show(found, {**selection_document(found), "written": str(save)}, asked.form)
    say(f"written: {save} (selection.txt, selection.json, candidates.csv, model-K.json)")
