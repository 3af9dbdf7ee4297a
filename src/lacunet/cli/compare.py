"""`lacunet compare`, `compare-missing` and `lrt`: structures, missing values, one more class."""

from pathlib import Path
from typing import Annotated

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command, show
from lacunet.cli.outcome import finish, show_forecast
from lacunet.cli.parsing import parse_hidden
from lacunet.cli.paths import READS
from lacunet.cli.table_words import check_one_model, read_structure, settle, tell
from lacunet.errors import OptionError
from lacunet.report.documents import table_document
from lacunet.report.fit_documents import bootstrap_document, missing_document
from lacunet.summaries.ratio_tests import REPLICATES


@command
@o.options_after(
    api.compare,
    hidden=(
        "scores",
        *o.LEARNING,
        "dimension",
        *o.HOLES,
        *o.LIMITS,
        *o.DESIGN,
        *o.COLUMNS,
        *o.NUMBERS,
    ),
    report=o.MEASURING,
    reference=o.PRINTING,
)
def compare(
    asked: o.Request,
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
    reference: Annotated[
        Path | None,
        o.option(
            "Network to take for the truth: also print how far each structure's graph is from its "
            "(SHD and F1 of CPDAGs)."
        ),
        READS,
    ] = None,
) -> None:
    """Rank whole structures by each score, with posterior probabilities; all are learned anew."""
    sizes, numbers = parse_hidden(hidden), asked.settings.numbers
    table, structures = api.structures(data, networks, sizes, asked.reading, numbers)
    tell(table, asked)
    by_name = {str(p.label): p.network for p in structures}
    if dry_run:
        show_forecast(asked, table, 1, networks=by_name, knowledge=knowledge)
        return
    distances = None if reference is None else api.graph_distances(by_name, reference, knowledge)
    with asked.work() as how:
        found = api.compare(table, by_name, knowledge=knowledge, resume=resume, **how)
    finish(found, asked.form, save, report, criteria, distances)


@command
@o.options_after(
    api.compare_missing, hidden=("scores",), both_ways=(*o.LEARNING, *o.READING, *o.PRINTING)
)
def compare_missing(
    asked: o.Request,
    data: o.Data,
    states: o.States = None,
    network: o.NetworkFile = None,
    hidden: o.HiddenOption = None,
    both_ways: Annotated[
        bool,
        o.switch("--both-ways", "Also ask of each column when the holes of all others may depend."),
    ] = False,
) -> None:
    """Do holes go with the classes? Bayes factor of missing as an answer, by column and overall.

    Both readings are models of the values and of which cells are missing, so that their evidence
    can be compared: a cell is missing with one probability (at random), or with one for each class
    (as an answer, which is what --missing-as-state takes it for).
    """
    check_one_model(states, network)
    table, given = read_structure(data, network, parse_hidden(hidden), asked, states)
    classes, structure = settle(given, states)
    settings = asked.settings
    with asked.work() as how:
        found = api.compare_missing(table, classes, network=structure, both_ways=both_ways, **how)
    document = {**missing_document(found), "seed": settings.seed, "alpha": settings.alpha}
    show(found, document, asked.form)


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
    asked: o.Request,
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
        int | None, o.option("Stop as soon as so many of them reach the statistic of the data.")
    ] = None,
) -> None:
    """Test a number of hidden states against one more: bootstrap likelihood-ratio test.

    Data sets are drawn from the ML fit with the smaller number, with the holes of the real data,
    and go through the same two fits. The p-value says how many of them gain as much. The test of
    Vuong, Lo, Mendell and Rubin (VLMR, LMR) is printed beside it; go by the bootstrap. Continuous
    numbers have no ML fit, so they are refused; counts and ordered answers are not.
    """
    if states < 1:
        raise OptionError(f"--classes {states}: there must be at least 1.")
    sizes = parse_hidden(hidden)
    table, given = read_structure(data, network, sizes, asked, states + 1)
    with asked.work() as how:
        if given is not None:
            how |= {"network": given.network, "hidden": given.hidden}
        found = api.likelihood_ratio_test(
            table, states, replicates=replicates, stop_after=stop_after, **how
        )
    show(found, {"data": table_document(table), **bootstrap_document(found)}, asked.form)
