"""`lacunet compare`: which structure?"""

from pathlib import Path
from typing import Annotated

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command
from lacunet.cli.outcome import finish, show_forecast
from lacunet.cli.parsing import parse_hidden
from lacunet.cli.paths import READS
from lacunet.cli.table_words import tell


@command
@o.options_after(
    api.compare,
    hidden=(
        "scores",
        *o.LEARNING,
        "dimension",
        *o.HOLES,
        *o.LIMITS,
        *o.DESIGN,
        *o.COLUMNS,
        *o.NUMBERS,
    ),
    report=o.MEASURING,
    reference=o.PRINTING,
)
def compare(
    asked: o.Asked,
    data: o.Data,
    networks: Annotated[
        list[Path],
        o.argument("NETWORK...", "Structures: .bif, .xmlbif, .xdsl, .json, or graphs as texts."),
        READS,
    ],
    hidden: o.HiddenOption = None,
    knowledge: o.KnowledgeFile = None,
    resume: o.Resume = None,
    save: o.SaveFolder = None,
    report: o.Report = None,
    dry_run: o.DryRun = False,
    criteria: o.Criteria = False,
    reference: Annotated[
        Path | None,
        o.option(
            "Network to take for the truth: also print how far each structure's graph is from its "
            "(SHD and F1 of CPDAGs)."
        ),
        READS,
    ] = None,
) -> None:
    """Rank whole structures by each score, with posterior probabilities; all are learned anew."""
    sizes, numbers = parse_hidden(hidden), asked.settings.numbers
    table, structures = api.structures(data, networks, sizes, asked.reading, numbers)
    tell(table, asked)
    by_name = {str(p.label): p.network for p in structures}
    if dry_run:
        show_forecast(asked, table, 1, networks=by_name, knowledge=knowledge)
        return
    distances = None if reference is None else api.graph_distances(by_name, reference, knowledge)
    with asked.work() as how:
        found = api.compare(table, by_name, knowledge=knowledge, resume=resume, **how)
    finish(found, asked.form, save, report, criteria, distances)
