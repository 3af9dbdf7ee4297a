"""`lacunet evidence`: log p(D|S) itself, with an error bar."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import Format, check_format, command, progress, say, show
from lacunet.cli.table_words import read
from lacunet.errors import OptionError
from lacunet.evidence.clock import Goal
from lacunet.evidence.measure import Method
from lacunet.report.documents import measurement_document, sandwich_document, table_document
from lacunet.search.proposals import check_states


@command
def evidence(
    data: o.Data,
    states: Annotated[
        int | None,
        typer.Option(help="Number of classes of a latent class model.", show_default=False),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="Instead: a network, .json, .bif, .xmlbif or .xdsl. Only its structure counts "
            "(but see --sandwich).",
            show_default=False,
        ),
    ] = None,
    hidden: o.HiddenOption = None,
    alpha: o.Alpha = "1",
    method: Annotated[
        Method,
        typer.Option(
            help="exact: sum over all completions; smc: particles that take in case after case; "
            "ais: annealing from modes; auto: the cheapest that does."
        ),
    ] = Method.AUTO,
    target: o.Target = Goal.target,
    budget: o.Budget = f"{Goal.budget:g}s",
    sandwich: Annotated[
        bool,
        typer.Option(
            "--sandwich",
            help="Bounds from both sides: for data that were simulated from exactly the "
            "parameters of --model, which were drawn from the prior (`lacunet random`).",
        ),
    ] = False,
    seed: o.Seed = 0,
    threads: o.Threads = None,
    missing: o.Missing = None,
    weights: o.Weights = None,
    columns: o.Columns = None,
    exclude: o.Exclude = None,
    form: o.FormatOption = Format.TEXT,
    json: o.Json = False,
) -> None:
    """Compute log p(D|S) itself, with an error bar and a verdict.

    All labellings of hidden states and all ways to leave some empty are included. The verdict is
    exact; reliable (standard error at most 0.5 nats, resting on 10 independent estimates or more,
    none with more than a fifth of the whole); or lower bound only.
    """
    check_format(form, json)
    if (states is None) == (model is None):
        raise OptionError("give --states for a latent class model, or --model; one of the two.")
    if sandwich and model is None:
        raise OptionError(
            "--sandwich needs the model that the data were simulated from: give --model."
        )
    if states is not None:
        o.check_number_of_states(states)
    alphas = o.parse_alpha(alpha)
    seconds = o.parse_seconds(budget)
    Goal(target, seconds)
    api.check_search(alpha=alphas, seed=seed, threads=threads)
    sizes = o.parse_hidden(hidden)
    if states is not None and sizes:
        raise OptionError("--hidden names variables of a network. Give the network: --model.")
    given = api.as_model(model, sizes) if model is not None and sandwich else None
    structure = given.network if given else o.structure(model, sizes)
    table = read(data, structure, missing, weights, columns, exclude)
    if states is not None:
        for warning in check_states([states], table):
            say(f"warning: {warning}")
    document = {"data": table_document(table), "states": states, "alpha": alphas, "seed": seed}
    if given is not None:
        with progress() as listener:
            bounds = api.log_evidence_bounds(
                table,
                given,
                alpha=alphas,
                target=target,
                budget=seconds,
                seed=seed,
                threads=threads,
                listener=listener,
            )
        show(bounds, {**document, **sandwich_document(bounds)}, json, form)
        return
    with progress() as listener:
        found = api.log_evidence(
            table,
            states,
            network=structure,
            alpha=alphas,
            method=method,
            target=target,
            budget=seconds,
            seed=seed,
            threads=threads,
            listener=listener,
        )
    show(found, {**document, **measurement_document(found)}, json, form)
