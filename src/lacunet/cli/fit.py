"""`lacunet fit`: one latent class model, or one network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command, progress, say, show
from lacunet.cli.tables import read
from lacunet.errors import OptionError
from lacunet.learn.fit import DEFAULT_STARTS
from lacunet.learn.objective import Estimate
from lacunet.learn.schedules import Schedule
from lacunet.model.formats import check_network_file, write_network
from lacunet.model.prior import PAPER_ALPHA
from lacunet.report.documents import fit_document, hidden_sizes, table_document
from lacunet.search.states import check_states


@command
def fit(
    data: o.Data,
    states: Annotated[
        int | None,
        typer.Option(help="Number of classes of a latent class model.", show_default=False),
    ] = None,
    network: o.NetworkFile = None,
    hidden: o.HiddenOption = None,
    save: Annotated[
        Path | None,
        typer.Option(
            help="Model file to write: .json, or .bif, .xmlbif, .xdsl.", show_default=False
        ),
    ] = None,
    estimate: o.EstimateOption = Estimate.MAP,
    alpha: o.Alpha = str(PAPER_ALPHA),
    starts: o.Starts = DEFAULT_STARTS,
    schedule: o.ScheduleOption = Schedule.DEFAULT,
    seed: o.Seed = 0,
    threads: o.Threads = None,
    missing: o.Missing = None,
    weights: o.Weights = None,
    columns: o.Columns = None,
    exclude: o.Exclude = None,
    json: o.Json = False,
) -> None:
    """Fit a latent class model with a given number of classes, or a network.

    Of a network only the structure is taken; its parameters are learned anew.
    """
    if (states is None) == (network is None):
        raise OptionError("give --states for a latent class model, or --network; one of the two.")
    if states is not None and states < 1:
        raise OptionError(f"--states {states}: there must be at least 1 hidden state.")
    alphas = o.parse_alpha(alpha)
    api.check_search(estimate, alphas, starts, schedule, seed, threads)
    if save is not None:
        check_network_file(save)
    structure = o.structure(network, o.parse_hidden(hidden))
    table = read(data, structure, missing, weights, columns, exclude)
    if states is not None:
        for warning in check_states([states], table):
            say(f"warning: {warning}")
    with progress() as listener:
        found = api.fit(
            table,
            states,
            network=structure,
            estimate=estimate,
            alpha=alphas,
            starts=starts,
            schedule=schedule,
            seed=seed,
            threads=threads,
            listener=listener,
        )
    if save is not None:
        write_network(found.model, save)
    document = {
        "data": table_document(table),
        "seed": seed,
        "alpha": alphas,
        "states": states,
        "hidden": hidden_sizes(found.model.network),
        "dimension": found.model.network.dimension,
        **fit_document(found),
        "seconds": {"em": found.seconds},
        "model": None if save is None else str(save),
    }
    show(found, document, json)
    if save is not None:
        say(f"written: {save}")
