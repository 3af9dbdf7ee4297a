"""`lacunet select`, `compare`, `compare-missing`, `lrt` and `evidence`: model selection."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from lacunet import api
from lacunet.api.measuring import UNIFORM
from lacunet.cli import options as o
from lacunet.cli.console import command, echo, show
from lacunet.cli.outcome import (
    check_one_model,
    finish,
    print_summary,
    read_model,
    read_structure,
    show_and_save,
    show_forecast,
    warn_of_states,
)
from lacunet.cli.parsing import parse_hidden, parse_states
from lacunet.cli.paths import READS
from lacunet.errors import OptionError
from lacunet.selection.average import FIRST, Label, PriorLike, named_prior
from lacunet.settings import DEFAULTS, Settings
from lacunet.summaries.ratio_tests import REPLICATES
from lacunet.tabular import Printable

StatesOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        *o.CLASSES,
        help="Numbers of classes, or hidden states: 4, 1:8 or 2,4,8.",
        show_default="1:8, and more, up to 32, while they are probable",
    ),
]
PriorOption: TypeAlias = Annotated[
    str | None,
    o.option(
        "Prior of the number of classes: uniform, bnb (BNB(1, 4, 3) of the number less one, or "
        "bnb:1,4,3), geometric:0.1; or comma-separated weights, in the order of --classes "
        "(default: equal)."
    ),
]


@command
@o.options_after(
    api.select,
    states=("whole_range",),
    hidden=("scores", *o.LEARNING, "dimension"),
    prior=o.TABLE,
    report=o.MEASURING,
    tables=("blrt",),
    verbose=o.PRINTING,
)
def select(
    request: o.Request,
    data: o.Data,
    states: StatesOption = None,
    network: o.NetworkFile = None,
    hidden: o.HiddenOption = None,
    knowledge: o.KnowledgeFile = None,
    edge: o.EdgeOption = None,
    prior: PriorOption = None,
    resume: o.Resume = None,
    save: o.SaveFolder = None,
    report: o.Report = None,
    tables: o.Tables = None,
    dry_run: o.DryRun = False,
    criteria: o.Criteria = False,
    verbose: o.Verbose = False,
) -> None:
    """Choose the number of hidden states, with posterior probabilities.

    Without --network, these are the classes of a latent class model. With --network, they are the
    states of the variables of --hidden (default: all hidden variables of the network). Several
    variables are tried in every combination; the rest of the network is fixed.
    """
    numbers = parse_states(states or f"1:{FIRST}")
    table, given = read_structure(data, network, hidden, request)
    varied = api.to_vary(given.network, given.hidden) if given else ["class"]
    chances = _prior(prior, numbers, len(varied))
    if len(varied) > 1:
        echo(
            f"note: {len(numbers)} numbers of states of {', '.join(varied)} in every combination: "
            f"{len(numbers) ** len(varied):,} networks."
        )
    warn_of_states(numbers, table)
    models: dict[str, Any] = {"knowledge": knowledge, "edges": edge or ()}
    models["hidden"] = {} if given is None else given.hidden
    structure = None if given is None else given.network
    if dry_run:
        if states is None and len(varied) == 1:
            echo(f"note: more than {FIRST} are tried too if they are probable then.")
        show_forecast(request, table, numbers, structure, **models)
        return
    wanted, models["network"] = None if states is None else numbers, structure
    with request.work() as kwargs:
        result = api.select(table, wanted, prior=chances, resume=resume, **models, **kwargs)
    finish(result, request, save, report, criteria, verbose, tables=tables)


def _prior(text: str | None, states: Sequence[Label], varied: int) -> PriorLike:
    if text is None:
        return None
    if ":" in text or (text[:1].isalpha() and "," not in text):
        return named_prior(text)
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
    return dict(zip(states, weights, strict=True))


@command
@o.options_after(
    api.compare,
    hidden=("scores", *o.LEARNING, "dimension", *o.TABLE),
    report=o.MEASURING,
    reference=o.PRINTING,
)
def compare(
    request: o.Request,
    data: o.Data,
    networks: Annotated[
        list[Path],
        o.argument("NETWORK...", "Structures: .bif, .xmlbif, .xdsl, .json, or graphs as texts."),
        READS,
    ],
    hidden: o.HiddenOption = None,
    knowledge: o.KnowledgeFile = None,
    resume: o.Resume = None,
    save: o.SaveFolder = None,
    report: o.Report = None,
    dry_run: o.DryRun = False,
    criteria: o.Criteria = False,
    verbose: o.Verbose = False,
    reference: Annotated[
        Path | None,
        o.option(
            "Reference network: also print the distance of each structure's graph from it (SHD and "
            "F1 of CPDAGs)."
        ),
        READS,
    ] = None,
) -> None:
    """Rank whole structures by each score, with posterior probabilities; all are learned anew."""
    sizes, numbers = parse_hidden(hidden), request.settings.numbers
    table, structures = api.structures(data, networks, sizes, request.reading, numbers)
    print_summary(table, request)
    by_name = {str(p.label): p.network for p in structures}
    if dry_run:
        show_forecast(request, table, 1, networks=by_name, knowledge=knowledge)
        return
    distances = None if reference is None else api.graph_distances(by_name, reference, knowledge)
    with request.work() as kwargs:
        result = api.compare(table, by_name, knowledge=knowledge, resume=resume, **kwargs)
    finish(result, request, save, report, criteria, verbose, distances=distances)


@command
@o.options_after(
    api.compare_missing, hidden=("scores",), both_ways=(*o.LEARNING, *o.READING, *o.PRINTING)
)
def compare_missing(
    request: o.Request,
    data: o.Data,
    states: o.States = None,
    network: o.NetworkFile = None,
    hidden: o.HiddenOption = None,
    both_ways: Annotated[
        bool,
        o.switch("--both-ways", "Also test each column when all others depend on the classes."),
    ] = False,
) -> None:
    """Bayes factor of missing as an answer against missing at random, by column and overall.

    Both hypotheses are models of the values and of the missingness, so that their evidence is
    comparable. A cell is missing with one probability (at random), or with one for each class (as
    an answer, like --missing-as-state).
    """
    check_one_model(states, network)
    table, classes, structure = read_model(data, states, network, hidden, request)
    settings = request.settings
    with request.work() as kwargs:
        result = api.compare_missing(
            table, classes, network=structure, both_ways=both_ways, **kwargs
        )
    document = {**result.to_dict(), "seed": settings.seed, "alpha": settings.alpha}
    show(result, document, request.form)


@command
@o.options_after(
    api.likelihood_ratio_test,
    stop_after=(
        "starts",
        "schedule",
        "seed",
        "threads",
        *o.CLUSTER,
        *o.READING,
        "kinds",
        *o.PRINTING,
    ),
)
def lrt(
    request: o.Request,
    data: o.Data,
    states: Annotated[
        int,
        o.option(
            "Number of classes, or hidden states, to test; the alternative is one more.",
            *o.CLASSES,
        ),
    ],
    network: o.NetworkFile = None,
    hidden: o.HiddenOption = None,
    replicates: Annotated[
        int, typer.Option(help="Data sets to draw from the smaller model.")
    ] = REPLICATES,
    stop_after: Annotated[
        int | None, o.option("Stop when so many of them reach the statistic of the data.")
    ] = None,
) -> None:
    """Test a number of hidden states against one more: bootstrap likelihood-ratio test.

    Data sets are simulated from the smaller ML fit, with the missing cells of the real data, and
    fitted by both models. The p-value is the share of them that gain as much. The test of Vuong,
    Lo, Mendell and Rubin (VLMR, LMR) is printed beside it; prefer the bootstrap. Continuous numbers
    are refused, because they have no ML fit; counts and ordered answers are allowed.
    """
    if states < 1:
        raise OptionError(f"--classes {states}: there must be at least 1.")
    table, given = read_structure(data, network, hidden, request, states + 1)
    with request.work() as kwargs:
        if given is not None:
            kwargs |= {"network": given.network, "hidden": given.hidden}
        result = api.likelihood_ratio_test(
            table, states, replicates=replicates, stop_after=stop_after, **kwargs
        )
    show(result, {"data": table.to_dict(), **result.to_dict()}, request.form)


NetworkOption: TypeAlias = Annotated[
    Path | None,
    o.option(
        "Instead: a network, .json, .bif, .xmlbif or .xdsl. Only its structure is used "
        "(but see --sandwich).",
        *o.NETWORK,
    ),
    READS,
]
SandwichOption: TypeAlias = Annotated[
    bool,
    o.switch(
        "--sandwich",
        "Bounds from both sides, for data simulated from exactly the parameters of --network, "
        "which must be a draw from the prior (`lacunet random`).",
    ),
]


@command
@o.options_after(
    api.log_evidence,
    hidden=("alpha", "method", "target", "budget"),
    sandwich=("seed", "threads", "device", *o.CLUSTER, *o.READING, *o.NUMBERS),
    save=o.PRINTING,
)
def evidence(
    request: o.Request,
    data: o.Data,
    states: o.States = None,
    network: NetworkOption = None,
    hidden: o.HiddenOption = None,
    knowledge: o.KnowledgeFile = None,
    sandwich: SandwichOption = False,
    resume: o.Resume = None,
    dry_run: o.DryRun = False,
    save: o.SaveJson = None,
) -> None:
    """Compute log p(D|S), with a standard error and a verdict.

    The sum includes all labellings of hidden states, and empty states. The verdict is exact;
    reliable (standard error at most 0.5 nats, from 10 independent estimates or more, none above a
    fifth of the total); or lower bound only.
    """
    check_one_model(states, network)
    if sandwich:
        _check_sandwich(network, knowledge, resume)
    settings, given = request.settings, None
    if network is not None and sandwich:
        given = api.as_model(network, parse_hidden(hidden))
        table, classes, structure = read_model(data, states, given.network, None, request)
    else:
        table, classes, structure = read_model(data, states, network, hidden, request)
    _echo_prior(settings)
    if dry_run:
        show_forecast(request, table, classes, structure, knowledge=knowledge)
        return
    with request.work() as kwargs:
        if given is not None:
            result: Printable = api.log_evidence_bounds(table, given, **kwargs)
        else:
            kwargs |= {"network": structure, "knowledge": knowledge, "resume": resume}
            result = api.log_evidence(table, classes, **kwargs)
    document = {
        "data": table.to_dict(),
        "states": states,
        "alpha": settings.alpha,
        "seed": settings.seed,
        **result.to_dict(),
    }
    show_and_save(result, document, request, save)


def _echo_prior(settings: Settings) -> None:
    """Note the prior if it differs from that of other commands."""
    plain, others = UNIFORM.alpha, DEFAULTS.alpha
    if settings.alpha == plain:
        echo(
            f"note: alpha is {plain:g}, as in most published evidence; fit, select and compare "
            f"use {others:g}. To compare with them, give --alpha {others:g}."
        )


def _check_sandwich(network: Path | None, knowledge: Path | None, resume: Path | None) -> None:
    """Refuse options that contradict --sandwich."""
    if network is None:
        raise OptionError(
            "--sandwich needs the model that the data were simulated from: give --network."
        )
    if knowledge is not None:
        raise OptionError(
            "--sandwich takes fixed tables from the file of --network. Leave --knowledge out."
        )
    if resume is not None:
        raise OptionError("--resume stores samples of the evidence, not --sandwich.")
