"""`lacunet lrt`: one more class? The bootstrap likelihood-ratio test."""

from __future__ import annotations

from typing import Annotated

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import Format, check_format, command, progress, say, show
from lacunet.cli.table_words import read
from lacunet.describe.bootstrap import check_number
from lacunet.describe.bootstrap_test import REPLICATES, STARTS
from lacunet.report.descriptions import ratio_document
from lacunet.report.documents import table_document
from lacunet.search.proposals import check_states


@command
def lrt(
    data: o.Data,
    states: Annotated[
        int,
        typer.Option(
            help="Number of hidden states to test; the alternative is one more.",
            show_default=False,
        ),
    ],
    network: o.NetworkFile = None,
    hidden: o.HiddenOption = None,
    replicates: Annotated[
        int, typer.Option(help="Data sets to draw from the smaller model.")
    ] = REPLICATES,
    stop_after: Annotated[
        int | None,
        typer.Option(
            help="Stop as soon as so many of them reach the statistic of the data.",
            show_default=False,
        ),
    ] = None,
    starts: o.Starts = STARTS,
    seed: o.Seed = 0,
    threads: o.Threads = None,
    missing: o.Missing = None,
    weights: o.Weights = None,
    columns: o.Columns = None,
    exclude: o.Exclude = None,
    form: o.FormatOption = Format.TEXT,
    json: o.Json = False,
) -> None:
    """Test a number of hidden states against one more: bootstrap likelihood-ratio test.

    Data sets are drawn from the ML fit with the smaller number, with the holes of the real data,
    and go through the same two fits. The p-value says how many of them gain as much.
    """
    check_format(form, json)
    api.check_search("ml", starts=starts, seed=seed, threads=threads)
    check_number(replicates)
    o.check_number_of_states(states)
    sizes = o.parse_hidden(hidden)
    structure = o.structure(network, sizes)
    table = read(data, structure, missing, weights, columns, exclude)
    for warning in check_states([states + 1], table):
        say(f"warning: {warning}")
    with progress() as listener:
        found = api.likelihood_ratio_test(
            table,
            states,
            network=structure,
            hidden=sizes,
            replicates=replicates,
            stop_after=stop_after,
            starts=starts,
            seed=seed,
            threads=threads,
            listener=listener,
        )
    show(found, {"data": table_document(table), **ratio_document(found)}, json, form)
