"""`lacunet learn`: the best graph without hidden variables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import Format, check_format, command, progress, say, show
from lacunet.cli.table_words import read
from lacunet.model.formats import check_network_file, write_network
from lacunet.report.documents import learned_document, table_document
from lacunet.search.greedy import Settings


@command
def learn(
    data: o.Data,
    alpha: o.Alpha = "k2",
    max_parents: Annotated[
        int | None,
        typer.Option(help="Most parents of a variable (default: any number).", show_default=False),
    ] = None,
    restarts: Annotated[int, typer.Option(help="More climbs, from the best graph shaken.")] = 0,
    tabu: Annotated[
        int, typer.Option(help="Length of the tabu list; above 0 the search also walks downhill.")
    ] = 0,
    seed: o.Seed = 0,
    missing: o.Missing = None,
    weights: o.Weights = None,
    columns: o.Columns = None,
    exclude: o.Exclude = None,
    save: Annotated[
        Path | None,
        typer.Option(
            help="Network file to write: .bif, .xmlbif, .xdsl, .json.", show_default=False
        ),
    ] = None,
    form: o.FormatOption = Format.TEXT,
    json: o.Json = False,
) -> None:
    """Learn the graph over the columns of a complete table: greedy search for the largest BD.

    Edges are added, deleted or reversed one at a time, from the empty graph. The score is exact.
    """
    check_format(form, json)
    alphas = o.parse_alpha(alpha)
    Settings(max_parents, restarts, tabu, seed)
    if save is not None:
        check_network_file(save)
    table = read(data, None, missing, weights, columns, exclude)
    with progress() as listener:
        found = api.learn_structure(
            table,
            alpha=alphas,
            max_parents=max_parents,
            restarts=restarts,
            tabu=tabu,
            seed=seed,
            listener=listener,
        )
    if save is not None:
        write_network(api.with_parameters(found.network, table, alphas), save)
    document = {
        "data": table_document(table),
        "seed": seed,
        "alpha": alphas,
        **learned_document(found),
        "model": None if save is None else str(save),
    }
    show(found, document, json, form)
    if save is not None:
        say(f"written: {save}")
