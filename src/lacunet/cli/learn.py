"""`lacunet learn`: the best graph without hidden variables."""

from pathlib import Path
from typing import Annotated

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command, say_written, show
from lacunet.cli.outcome import command_line
from lacunet.cli.table_words import read
from lacunet.model.formats import check_network_file, write_network
from lacunet.report.documents import learned_document, table_document
from lacunet.report.page import check_report, write_network_report
from lacunet.report.page.learned import learned_answer


@command
@o.options_after(api.learn_structure, data=("alpha",), tabu=("seed", *o.READING), report=o.PRINTING)
def learn(
    asked: o.Asked,
    data: o.Data,
    max_parents: Annotated[
        int | None, o.option("Most parents of a variable (default: any number).")
    ] = None,
    restarts: Annotated[int, typer.Option(help="More climbs, from the best graph shaken.")] = 0,
    tabu: Annotated[
        int, typer.Option(help="Length of the tabu list; above 0 the search also walks downhill.")
    ] = 0,
    save: Annotated[
        Path | None,
        o.option("Network file to write: .bif, .xmlbif, .xdsl, .json; .dot for a picture."),
    ] = None,
    report: o.Report = None,
) -> None:
    """Learn the graph over the columns of a complete table: greedy search for the largest BD.

    Edges are added, deleted or reversed one at a time, from the empty graph. The score is exact.
    """
    if save is not None:
        check_network_file(save)
    if report is not None:
        check_report(report)
    table = read(data, None, asked)
    settings = asked.settings
    with asked.work() as how:
        found = api.learn_structure(
            table, max_parents=max_parents, restarts=restarts, tabu=tabu, **how
        )
    model = api.with_parameters(found.network, table, settings.alpha)
    if save is not None:
        write_network(model, save)
    if report is not None:
        answer = learned_answer(found, model, table, settings)
        write_network_report(answer, report, command=command_line())
    document = {
        "data": table_document(table),
        "seed": settings.seed,
        "alpha": settings.alpha,
        **learned_document(found),
        "model": None if save is None else str(save),
    }
    show(found, document, asked.form)
    say_written(save, report)
