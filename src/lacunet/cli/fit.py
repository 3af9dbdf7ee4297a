"""`lacunet fit`: one latent class model, or one network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import Format, check_format, command, progress, say, show
from lacunet.cli.table_words import answers, read
from lacunet.describe.bootstrap import check_number, check_replicates
from lacunet.describe.intervals import FEWEST, LEVEL, check_level
from lacunet.errors import OptionError
from lacunet.learn.fit import DEFAULT_STARTS
from lacunet.learn.objective import Estimate
from lacunet.learn.schedules import Schedule
from lacunet.model.formats import check_network_file, write_network
from lacunet.model.prior import PAPER_ALPHA
from lacunet.report.descriptions import intervals_document, statistics_document
from lacunet.report.documents import fit_document, hidden_sizes, table_document
from lacunet.search.proposals import check_states
from lacunet.tabular import Printable, Together


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
    intervals: Annotated[
        bool,
        typer.Option(
            "--intervals", help="Standard errors and confidence intervals of all probabilities."
        ),
    ] = False,
    level: Annotated[float, typer.Option(help="Level of confidence of --intervals.")] = LEVEL,
    bootstrap: Annotated[
        int,
        typer.Option(
            help="Replicates of a parametric bootstrap: --intervals from it, not the Hessian."
        ),
    ] = 0,
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
    estimate: o.EstimateOption = Estimate.MAP,
    alpha: o.Alpha = str(PAPER_ALPHA),
    starts: o.Starts = DEFAULT_STARTS,
    schedule: o.ScheduleOption = Schedule.DEFAULT,
    seed: o.Seed = 0,
    threads: o.Threads = None,
    missing: o.Missing = None,
    missing_as_state: o.MissingAsState = False,
    weights: o.Weights = None,
    columns: o.Columns = None,
    exclude: o.Exclude = None,
    form: o.FormatOption = Format.TEXT,
    json: o.Json = False,
) -> None:
    """Fit a latent class model with a given number of classes, or a network.

    Of a network only the structure is taken; its parameters are learned anew.
    """
    if (states is None) == (network is None):
        raise OptionError("give --states for a latent class model, or --network; one of the two.")
    if states is not None:
        o.check_number_of_states(states)
    check_format(form, json)
    check_level(level)
    if bootstrap:
        check_number(bootstrap, FEWEST)
    resembled = None if like is None else api.as_model(like)
    alphas = o.parse_alpha(alpha)
    api.check_search(estimate, alphas, starts, schedule, seed, threads)
    if save is not None:
        check_network_file(save)
    structure = o.structure(network, o.parse_hidden(hidden))
    table = read(data, structure, missing, weights, columns, exclude)
    answers(table, missing_as_state)
    if bootstrap:
        check_replicates(table.counts, bootstrap, FEWEST)
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
            missing_as_state=missing_as_state,
            listener=listener,
        )
    if resembled is not None:
        found = api.match_classes(found, resembled)
    if save is not None:
        write_network(found.model, save)
    document = {
        "data": table_document(table),
        "seed": seed,
        "alpha": alphas,
        "states": states,
        "hidden": hidden_sizes(found.model.network),
        "dimension": found.model.network.dimension,
        "missing_as_state": missing_as_state,
        **fit_document(found),
        "seconds": {"em": found.seconds},
        "model": None if save is None else str(save),
    }
    results: list[Printable] = [found]
    if intervals or bootstrap:
        with progress() as listener:
            precise = api.intervals(
                table,
                found,
                level=level,
                bootstrap=bootstrap,
                seed=seed,
                threads=threads,
                missing_as_state=missing_as_state,
                listener=listener,
            )
        results.append(precise)
        document["intervals"] = intervals_document(precise)
    if statistics:
        described = api.fit_statistics(table, found, missing_as_state=missing_as_state)
        results.append(described)
        document["fit_statistics"] = statistics_document(described)
    show(Together(*results), document, json, form)
    if save is not None:
        say(f"written: {save}")
