"""`lacunet compare`: which structure?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command, progress
from lacunet.cli.selections import finish
from lacunet.cli.tables import read
from lacunet.files import check_folder
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
    scores: o.Scores = "all",
    estimate: o.EstimateOption = Estimate.MAP,
    alpha: o.Alpha = str(PAPER_ALPHA),
    starts: o.Starts = DEFAULT_STARTS,
    schedule: o.ScheduleOption = Schedule.DEFAULT,
    seed: o.Seed = 0,
    threads: o.Threads = None,
    dimension: o.Dimension = "parameters",
    missing: o.Missing = None,
    weights: o.Weights = None,
    save: Annotated[
        Path | None,
        typer.Option(help="Folder for the result and the model files.", show_default=False),
    ] = None,
    json: o.Json = False,
) -> None:
    """Rank whole structures by each score, with posterior probabilities; all are learned anew."""
    alphas = o.parse_alpha(alpha)
    choose_scores(scores)
    api.check_dimension(dimension)
    api.check_search(estimate, alphas, starts, schedule, seed, threads)
    if save is not None:
        check_folder(save)
    structures = api.structures(networks, o.parse_hidden(hidden))
    table = read(data, structures[0].network, missing, weights, None, None)
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
            listener=listener,
        )
    finish(found, save, json)
