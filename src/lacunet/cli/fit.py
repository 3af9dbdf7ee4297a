"""`lacunet fit`: one latent class model, or one network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lacunet import api
from lacunet.api.options import ReadOptions
from lacunet.cli import options as o
from lacunet.cli.console import Format, command, progress, say, show
from lacunet.cli.parsing import parse_hidden
from lacunet.cli.table_words import check_one_model, doubt, network_of, read
from lacunet.describe.bootstrap import check_replicates
from lacunet.describe.intervals import FEWEST
from lacunet.model.formats import check_network_file, write_network
from lacunet.report.descriptions import intervals_document, statistics_document
from lacunet.report.documents import fit_document, hidden_sizes, table_document
from lacunet.settings import Settings
from lacunet.tabular import Printable, Together


@command
@o.options_after(
    api.fit,
    intervals=("level", "bootstrap"),
    like=(
        *o.LEARNING,
        "missing",
        "missing_as_state",
        "weights",
        "columns",
        "exclude",
        *o.PRINTING,
    ),
)
def fit(
    data: o.Data,
    states: o.States = None,
    network: o.NetworkFile = None,
    hidden: o.HiddenOption = None,
    save: Annotated[
        Path | None,
        typer.Option(
            help="Model file to write: .json, or .bif, .xmlbif, .xdsl.", show_default=False
        ),
    ] = None,
    intervals: Annotated[
        bool,
        typer.Option(
            "--intervals", help="Standard errors and confidence intervals of all probabilities."
        ),
    ] = False,
    statistics: Annotated[
        bool,
        typer.Option(
            "--statistics",
            help="AIC, BIC, CAIC, SABIC (lower is better), entropy, G², bivariate residuals.",
        ),
    ] = False,
    like: Annotated[
        Path | None,
        typer.Option(
            help="Model file: number the hidden states like those that they resemble there.",
            show_default=False,
        ),
    ] = None,
    *,
    settings: Settings,
    reading: ReadOptions,
    form: Format,
) -> None:
    """Fit a latent class model with a given number of classes, or a network.

    Of a network only the structure is taken; its parameters are learned anew.
    """
    check_one_model(states, network)
    resembled = None if like is None else api.as_model(like)
    if save is not None:
        check_network_file(save)
    structure = network_of(network, parse_hidden(hidden))
    table = read(data, structure, reading, settings)
    if settings.bootstrap:  # it comes after the work, so what stands in its way is said before
        check_replicates(table.counts, settings.bootstrap, FEWEST)
    if states is not None:
        doubt([states], table)
    with progress() as listener:
        found = api.fit(table, states, network=structure, settings=settings, listener=listener)
    if resembled is not None:
        found = api.match_classes(found, resembled)
    if save is not None:
        write_network(found.model, save)
    document = {
        "data": table_document(table),
        "seed": settings.seed,
        "alpha": settings.alpha,
        "states": states,
        "hidden": hidden_sizes(found.model.network),
        "dimension": found.model.network.dimension,
        "missing_as_state": settings.missing_as_state,
        **fit_document(found),
        "seconds": {"em": found.seconds},
        "model": None if save is None else str(save),
    }
    results: list[Printable] = [found]
    if intervals or settings.bootstrap:
        with progress() as listener:
            precise = api.intervals(table, found, settings=settings, listener=listener)
        results.append(precise)
        document["intervals"] = intervals_document(precise)
    if statistics:
        described = api.fit_statistics(table, found, settings=settings)
        results.append(described)
        document["fit_statistics"] = statistics_document(described)
    show(Together(*results), document, form)
    if save is not None:
        say(f"written: {save}")
