"""`lacunet compare`: which structure?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lacunet import api
from lacunet.api.options import ReadOptions
from lacunet.cli import options as o
from lacunet.cli.console import Format, command, progress
from lacunet.cli.outcome import check_outputs, finish
from lacunet.cli.parsing import parse_hidden
from lacunet.cli.table_words import read
from lacunet.settings import Settings


@command
@o.options_after(
    api.compare,
    hidden=("scores", *o.LEARNING, "dimension", "missing", "missing_as_state", "weights"),
    report=o.MEASURING,
    criteria=o.PRINTING,
)
def compare(
    data: o.Data,
    networks: Annotated[
        list[Path],
        typer.Argument(
            metavar="NETWORK...",
            help="Structures: .bif, .xmlbif, .xdsl or .json.",
            show_default=False,
        ),
    ],
    hidden: o.HiddenOption = None,
    save: o.SaveFolder = None,
    report: o.Report = None,
    criteria: o.Criteria = False,
    *,
    settings: Settings,
    reading: ReadOptions,
    form: Format,
) -> None:
    """Rank whole structures by each score, with posterior probabilities; all are learned anew."""
    check_outputs(save, report)
    structures = api.structures(networks, parse_hidden(hidden))
    table = read(data, structures[0].network, reading, settings)
    by_name = {str(p.label): p.network for p in structures}
    with progress() as listener:
        found = api.compare(table, by_name, settings=settings, listener=listener)
    finish(found, save, report, form, criteria)
