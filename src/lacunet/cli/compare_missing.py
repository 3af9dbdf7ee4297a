"""`lacunet compare-missing`: missing at random, or missing as an answer?"""

from __future__ import annotations

from typing import Annotated

import typer

from lacunet import api
from lacunet.api.options import ReadOptions
from lacunet.cli import options as o
from lacunet.cli.console import Format, command, progress, show
from lacunet.cli.parsing import parse_hidden
from lacunet.cli.table_words import check_one_model, doubt, network_of, read
from lacunet.report.descriptions import missing_document
from lacunet.settings import Settings


@command
@o.options_after(
    api.compare_missing,
    hidden=("scores",),
    both_ways=(*o.LEARNING, *o.READING, *o.PRINTING),
)
def compare_missing(
    data: o.Data,
    states: o.States = None,
    network: o.NetworkFile = None,
    hidden: o.HiddenOption = None,
    both_ways: Annotated[
        bool,
        typer.Option(
            "--both-ways", help="Also ask of each column when the holes of all others may depend."
        ),
    ] = False,
    *,
    settings: Settings,
    reading: ReadOptions,
    form: Format,
) -> None:
    """Do holes go with the classes? Bayes factor of missing as an answer, by column and overall.

    Both readings are models of the values and of which cells are missing, so that their evidence
    can be compared: a cell is missing with one probability (at random), or with one for each class
    (as an answer, which is what --missing-as-state takes it for).
    """
    check_one_model(states, network)
    structure = network_of(network, parse_hidden(hidden))
    table = read(data, structure, reading)
    if states is not None:
        doubt([states], table)
    with progress() as listener:
        found = api.compare_missing(
            table,
            states,
            network=structure,
            both_ways=both_ways,
            settings=settings,
            listener=listener,
        )
    document = {**missing_document(found), "seed": settings.seed, "alpha": settings.alpha}
    show(found, document, form)
