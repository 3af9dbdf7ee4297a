"""`lacunet fit`: one number of classes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command, progress, say, show
from lacunet.cli.select import audit
from lacunet.data import read_table
from lacunet.learn.fit import DEFAULT_STARTS
from lacunet.learn.objective import Estimate
from lacunet.learn.schedules import Schedule
from lacunet.model.modelfile import write_model
from lacunet.model.prior import PAPER_ALPHA
from lacunet.report.documents import fit_document, table_document
from lacunet.search.states import check_states


@command
def fit(
    data: o.Data,
    states: Annotated[int, typer.Option(help="Number of hidden classes.", show_default=False)],
    save: Annotated[
        Path | None, typer.Option(help="Model file to write (JSON).", show_default=False)
    ] = None,
    estimate: o.EstimateOption = Estimate.MAP,
    alpha: o.Alpha = PAPER_ALPHA,
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
    """Fit a latent class model with a given number of classes."""
    table = read_table(data, **o.reading(missing, weights, columns, exclude))
    audit(table)
    for warning in check_states([states], table):
        say(f"warning: {warning}")
    with progress() as listener:
        found = api.fit(
            table,
            states,
            estimate=estimate,
            alpha=alpha,
            starts=starts,
            schedule=schedule,
            seed=seed,
            threads=threads,
            listener=listener,
        )
    if save is not None:
        write_model(found.model, save)
    document = {
        "data": table_document(table),
        "seed": seed,
        "alpha": alpha,
        "states": states,
        "dimension": found.model.network.dimension,
        **fit_document(found),
        "seconds": {"em": found.seconds},
        "model": None if save is None else str(save),
    }
    show(found, document, json)
    if save is not None:
        say(f"written: {save}")
