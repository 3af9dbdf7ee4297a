"""`lacunet compare`: which structure?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import Format, check_format, command, progress
from lacunet.cli.outcome import check_outputs, finish
from lacunet.cli.table_words import answers, read
from lacunet.evidence.clock import Goal
from lacunet.learn.fit import DEFAULT_STARTS
from lacunet.learn.objective import Estimate
from lacunet.learn.schedules import Schedule
from lacunet.model.prior import PAPER_ALPHA
from lacunet.scores import choose_scores


@command
def compare(
    data: o.Data,
    networks: Annotated[
        list[Path],
        typer.Argument(
            metavar="NETWORK...",
            help="Structures: .bif, .xmlbif, .xdsl or .json.",
            show_default=False,
        ),
    ],
    hidden: o.HiddenOption = None,
    scores: o.Scores = "usual",
    estimate: o.EstimateOption = Estimate.MAP,
    alpha: o.Alpha = str(PAPER_ALPHA),
    starts: o.Starts = DEFAULT_STARTS,
    schedule: o.ScheduleOption = Schedule.DEFAULT,
    seed: o.Seed = 0,
    threads: o.Threads = None,
    dimension: o.Dimension = "parameters",
    missing: o.Missing = None,
    missing_as_state: o.MissingAsState = False,
    weights: o.Weights = None,
    save: o.SaveFolder = None,
    report: o.Report = None,
    evidence: o.Evidence = False,
    calibrate: o.Calibrate = False,
    target: o.Target = Goal.target,
    budget: o.Budget = f"{Goal.budget:g}s",
    criteria: o.Criteria = False,
    form: o.FormatOption = Format.TEXT,
    json: o.Json = False,
) -> None:
    """Rank whole structures by each score, with posterior probabilities; all are learned anew."""
    check_format(form, json)
    alphas = o.parse_alpha(alpha)
    seconds = o.parse_seconds(budget)
    Goal(target, seconds)
    choose_scores(scores)
    api.check_dimension(dimension)
    api.check_search(estimate, alphas, starts, schedule, seed, threads)
    check_outputs(save, report)
    structures = api.structures(networks, o.parse_hidden(hidden))
    table = read(data, structures[0].network, missing, weights, None, None)
    answers(table, missing_as_state)
    with progress() as listener:
        found = api.compare(
            table,
            {str(p.label): p.network for p in structures},
            scores=scores,
            estimate=estimate,
            alpha=alphas,
            starts=starts,
            schedule=schedule,
            seed=seed,
            threads=threads,
            dimension=dimension,
            missing_as_state=missing_as_state,
            evidence=evidence,
            calibrate=calibrate,
            target=target,
            budget=seconds,
            listener=listener,
        )
    finish(found, save, report, json, form, criteria)
