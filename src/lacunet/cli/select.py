"""`lacunet select`: how many hidden classes?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import Format, check_format, command, progress, say
from lacunet.cli.outcome import check_outputs, finish
from lacunet.cli.table_words import answers, read
from lacunet.errors import OptionError
from lacunet.evidence.clock import Goal
from lacunet.learn.fit import DEFAULT_STARTS
from lacunet.learn.objective import Estimate
from lacunet.learn.schedules import Schedule
from lacunet.model.prior import PAPER_ALPHA
from lacunet.search.average import Label, check_prior
from lacunet.search.proposals import check_states


@command
def select(
    data: o.Data,
    states: Annotated[str, typer.Option(help="Numbers of hidden states: 4, 1:8 or 2,4,8.")] = "1:8",
    network: o.NetworkFile = None,
    hidden: o.HiddenOption = None,
    scores: o.Scores = "usual",
    estimate: o.EstimateOption = Estimate.MAP,
    alpha: o.Alpha = str(PAPER_ALPHA),
    starts: o.Starts = DEFAULT_STARTS,
    schedule: o.ScheduleOption = Schedule.DEFAULT,
    seed: o.Seed = 0,
    threads: o.Threads = None,
    dimension: o.Dimension = "parameters",
    prior: Annotated[
        str | None,
        typer.Option(
            help="Prior weights of the numbers of states, with commas between, in the order of "
            "--states (default: all the same).",
            show_default=False,
        ),
    ] = None,
    missing: o.Missing = None,
    missing_as_state: o.MissingAsState = False,
    weights: o.Weights = None,
    columns: o.Columns = None,
    exclude: o.Exclude = None,
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
    """Choose the number of hidden states, and say how sure that is.

    Without --network, those are the classes of a latent class model of the table. With it, the
    states of the variables that --hidden names (or, without it, of the network's own hidden ones),
    the rest of the network as given; several of them in every combination.
    """
    numbers = o.parse_states(states)
    check_format(form, json)
    alphas = o.parse_alpha(alpha)
    seconds = o.parse_seconds(budget)
    Goal(target, seconds)
    api.check_scores(scores, numbers)
    api.check_dimension(dimension)
    api.check_search(estimate, alphas, starts, schedule, seed, threads)
    check_outputs(save, report)
    sizes = o.parse_hidden(hidden)
    structure = o.structure(network, sizes)
    varied = api.to_vary(structure, sizes) if structure else ["class"]
    chances = _prior(prior, numbers, len(varied))
    table = read(data, structure, missing, weights, columns, exclude)
    answers(table, missing_as_state)
    if len(varied) > 1:
        say(
            f"note: {len(numbers)} numbers of states of {', '.join(varied)} in every combination: "
            f"{len(numbers) ** len(varied):,} networks."
        )
    for warning in check_states(numbers, table):
        say(f"warning: {warning}")
    with progress() as listener:
        found = api.select(
            table,
            numbers,
            network=structure,
            hidden=sizes,
            scores=scores,
            estimate=estimate,
            alpha=alphas,
            starts=starts,
            schedule=schedule,
            seed=seed,
            threads=threads,
            dimension=dimension,
            prior=chances,
            missing_as_state=missing_as_state,
            evidence=evidence,
            calibrate=calibrate,
            target=target,
            budget=seconds,
            listener=listener,
        )
    finish(found, save, report, json, form, criteria)


def _prior(text: str | None, states: Sequence[Label], varied: int) -> dict[Label, float] | None:
    if text is None:
        return None
    if varied > 1:
        raise OptionError("--prior has no meaning for combinations of several hidden variables.")
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
    chances = dict(zip(states, weights, strict=True))
    check_prior(chances, states)
    return chances
