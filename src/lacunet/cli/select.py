"""`lacunet select`: how many hidden classes?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command, progress, say, show
from lacunet.data import Table, read_table
from lacunet.errors import OptionError
from lacunet.learn.fit import DEFAULT_STARTS
from lacunet.learn.objective import Estimate
from lacunet.learn.schedules import Schedule
from lacunet.model.prior import PAPER_ALPHA
from lacunet.report.documents import selection_document
from lacunet.report.folder import check_folder, save_selection
from lacunet.search.states import check_states


@command
def select(
    data: o.Data,
    states: Annotated[str, typer.Option(help="Numbers of hidden states: 4, 1:8 or 2,4,8.")] = "1:8",
    scores: o.Scores = "all",
    estimate: o.EstimateOption = Estimate.MAP,
    alpha: o.Alpha = PAPER_ALPHA,
    starts: o.Starts = DEFAULT_STARTS,
    schedule: o.ScheduleOption = Schedule.DEFAULT,
    seed: o.Seed = 0,
    threads: o.Threads = None,
    dimension: o.Dimension = "parameters",
    prior: Annotated[
        str | None,
        typer.Option(
            help="Prior weights of the numbers of states, with commas between, in the order of "
            "--states [default: all the same].",
            show_default=False,
        ),
    ] = None,
    missing: o.Missing = None,
    weights: o.Weights = None,
    columns: o.Columns = None,
    exclude: o.Exclude = None,
    save: Annotated[
        Path | None,
        typer.Option(help="Folder for the result and the model files.", show_default=False),
    ] = None,
    json: o.Json = False,
) -> None:
    """Choose the number of hidden classes of a table with holes, and say how sure that is."""
    numbers = o.parse_states(states)
    api.check_scoring(scores, dimension)
    if save is not None:
        check_folder(save)
    table = read_table(data, **o.reading(missing, weights, columns, exclude))
    audit(table)
    for warning in check_states(numbers, table):
        say(f"warning: {warning}")
    with progress() as listener:
        found = api.select(
            table,
            numbers,
            scores=scores,
            estimate=estimate,
            alpha=alpha,
            starts=starts,
            schedule=schedule,
            seed=seed,
            threads=threads,
            dimension=dimension,
            prior=_prior(prior, numbers),
            listener=listener,
        )
    show(found, selection_document(found), json)
    if save is not None:
        say(f"written: {save_selection(found, save)}")


def audit(table: Table) -> None:
    """Say, before the work, what was read."""
    say(
        f"{table.source}: {table.rows:,} rows ({table.distinct_rows:,} distinct), "
        f"{len(table.columns)} columns, {table.missing.mean():.1%} of the cells missing"
    )
    for note in table.notes:
        say(f"note: {note}")


def _prior(text: str | None, states: list[int]) -> dict[int, float] | None:
    if text is None:
        return None
    try:
        weights = [float(part) for part in text.split(",")]
    except ValueError:
        raise OptionError(
            f"--prior '{text}' is not a list of numbers with commas between."
        ) from None
    if len(weights) != len(states):
        raise OptionError(
            f"--prior has {len(weights)} weights for {len(states)} numbers of states. "
            "Give one for each."
        )
    return dict(zip(states, weights, strict=True))
