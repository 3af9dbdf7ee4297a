"""`lacunet compare-missing`: missing at random, or missing as an answer?"""

from __future__ import annotations

from typing import Annotated

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import Format, check_format, command, progress, say, show
from lacunet.cli.table_words import read
from lacunet.errors import OptionError
from lacunet.learn.fit import DEFAULT_STARTS
from lacunet.learn.objective import Estimate
from lacunet.learn.schedules import Schedule
from lacunet.model.prior import PAPER_ALPHA
from lacunet.report.descriptions import missing_document
from lacunet.scores import HEADLINE, choose_scores
from lacunet.search.proposals import check_states


@command
def compare_missing(
    data: o.Data,
    states: Annotated[
        int | None,
        typer.Option(help="Number of classes of a latent class model.", show_default=False),
    ] = None,
    network: o.NetworkFile = None,
    hidden: o.HiddenOption = None,
    scores: o.Scores = HEADLINE.name,
    both_ways: Annotated[
        bool,
        typer.Option(
            "--both-ways", help="Also ask of each column when the holes of all others may depend."
        ),
    ] = False,
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
    form: o.FormatOption = Format.TEXT,
    json: o.Json = False,
) -> None:
    """Do holes go with the classes? Bayes factor of missing as an answer, by column and overall.

    Both readings are models of the values and of which cells are missing, so that their evidence
    can be compared: a cell is missing with one probability (at random), or with one for each class
    (as an answer, which is what --missing-as-state takes it for).
    """
    check_format(form, json)
    if (states is None) == (network is None):
        raise OptionError("give --states for a latent class model, or --network; one of the two.")
    if states is not None:
        o.check_number_of_states(states)
    alphas = o.parse_alpha(alpha)
    choose_scores(scores)
    api.check_search(estimate, alphas, starts, schedule, seed, threads)
    structure = o.structure(network, o.parse_hidden(hidden))
    table = read(data, structure, missing, weights, columns, exclude)
    if states is not None:
        for warning in check_states([states], table):
            say(f"warning: {warning}")
    with progress() as listener:
        found = api.compare_missing(
            table,
            states,
            network=structure,
            scores=scores,
            estimate=estimate,
            alpha=alphas,
            starts=starts,
            schedule=schedule,
            seed=seed,
            threads=threads,
            both_ways=both_ways,
            listener=listener,
        )
    show(found, {**missing_document(found), "seed": seed, "alpha": alphas}, json, form)
